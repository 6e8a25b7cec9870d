"""The file that says where the process is that has the data folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from pilothouse.types.address import ADDRESS_FILE, ServerAddress
from pilothouse.types.json import encode


def write_address(home: Path, address: ServerAddress) -> None:
    """Say where this process listens, to this account only."""
    target, draft = home / ADDRESS_FILE, home / f".{ADDRESS_FILE}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode(address))
        draft.replace(target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read_address(home: Path) -> ServerAddress | None:
    """Return who listens, or None when nobody does."""
    try:
        address = msgspec.json.decode((home / ADDRESS_FILE).read_bytes(), type=ServerAddress)
    except (OSError, msgspec.DecodeError):
        return None
    return address if _alive(address.pid) else None


def remove_address(home: Path) -> None:
    """Take the file away, unless another process has put its own there."""
    address = read_address(home)
    if address is not None and address.pid == os.getpid():
        with suppress(OSError):
            (home / ADDRESS_FILE).unlink()


def _alive(pid: int) -> bool:
    if os.name == "nt":
        # There, signal 0 would end the process; a client that cannot connect finds out soon enough.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0
