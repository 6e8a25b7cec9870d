"""Text files that a person names: read within a bound, and never waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pilothouse.types.errors import PilothouseError

# Opening a pipe that nobody writes to would wait for ever.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_text(path: Path, most: int, what: str, shown: str = "") -> str:
    """Return the text of a file that may be so large; raise a PilothouseError in one sentence.

    `what` is what it is too large for: "a settings file"; `shown` is how the path stands in that sentence.
    """
    shown = shown or str(path)
    try:
        data = _bytes(path, most + 1)
    except OSError as error:
        why = (error.strerror or "unknown reason").lower()
        raise PilothouseError("bad_request", f"{shown} cannot be read: {why}.") from None
    if data is None:
        message = f"{shown} is a pipe, a device or a folder, and no file."
        raise PilothouseError("bad_request", message, fix="Name a file; what a program writes is piped in with `-`.")
    if len(data) > most:
        raise PilothouseError("too_large", f"{shown} is too large for {what}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PilothouseError("bad_request", f"{shown} is not UTF-8 text.") from None


def _bytes(path: Path, most: int) -> bytes | None:
    """Return the beginning of a file; None for what is none."""
    descriptor = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most)
