"""Which files commands made in a folder, on disk: a new process does not take them for the person's own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from pilothouse.types import durable_files, limits


class _Content(msgspec.Struct, frozen=True):
    folder: str
    # The inode of each: what has another one by then is another file.
    made: dict[str, int]


class MadeRecord:
    """The record of one folder; where it cannot be read or written, nothing is known, as without it."""

    def __init__(self, records: Path, folder: str) -> None:
        self._folder = folder
        self._path = records / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"

    def read(self) -> dict[str, int]:
        """Return what commands made, as far as that was written down."""
        try:
            content = msgspec.json.decode(self._path.read_bytes(), type=_Content)
        except (OSError, msgspec.MsgspecError):
            return {}
        return content.made if content.folder == self._folder else {}

    def write(self, made: Mapping[str, int]) -> None:
        """Write it down; a power cut may take the last of it."""
        with suppress(OSError):
            if not made:
                self._path.unlink(missing_ok=True)
                return
            durable_files.make_folder(self._path.parent)
            data = msgspec.json.encode(_Content(self._folder, dict(made)))
            durable_files.replace(self._path, data, durable=False)
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Keep the records of so many folders."""
        records = sorted(self._path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in records[limits.MADE_RECORDS :]:
            path.unlink(missing_ok=True)
