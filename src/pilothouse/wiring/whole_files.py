"""Files that are there whole or not at all, for this account alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError


@contextmanager
def new_file(target: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Give a file to write to; it gets its name when all of it is on the disk, and never if writing fails."""
    _refuse_taken(target, replace=replace)
    partial = target.with_name(f".{target.name}.partial")
    try:
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        why = (error.strerror or "it is not possible").lower()
        raise PilothouseError("bad_request", f"{target} cannot be written: {why}.", fix="Name another file.") from None
    with os.fdopen(descriptor, "wb") as sink:
        if not durable_files.take_lock(descriptor):
            raise PilothouseError("conflict", f"Another command is writing {target} right now.")
        try:
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
            yield sink
            sink.flush()
            durable_files.sync(descriptor)
            _refuse_taken(target, replace=replace)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    durable_files.sync_names(target.parent)


def drop_partial(folder: Path) -> None:
    """Remove what commands that were killed left half written."""
    for partial in folder.glob(".pilothouse-*.partial"):
        with suppress(OSError):
            descriptor = os.open(partial, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if durable_files.take_lock(descriptor):
                    partial.unlink()
            finally:
                os.close(descriptor)


def _refuse_taken(target: Path, *, replace: bool) -> None:
    # A link that leads nowhere, or to itself, is somebody's too.
    if os.path.lexists(target) and not replace:
        message = f"{target} is there already." if target.exists() else f"{target} is a link that leads to no file."
        raise PilothouseError("conflict", message, fix="Name another file, or add --replace.")


def keep_copy(path: Path, folder: Path) -> None:
    """Give a file a second name in another folder, which it keeps when something else gets its first."""
    try:
        os.link(path, folder / path.name)
    except OSError:
        # Not every file system has second names.
        shutil.copy2(path, folder / path.name)
        sync_file(folder / path.name)


def sync_file(path: Path) -> None:
    """Wait until a file's bytes are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        durable_files.sync(descriptor)
    finally:
        os.close(descriptor)
