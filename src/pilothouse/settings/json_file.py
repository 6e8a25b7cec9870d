"""A JSON file that people and programs edit at the same time, and that is never lost."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pilothouse.settings import json_text
from pilothouse.types import limits
from pilothouse.types.durable_files import free_name, replace, take_lock
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import JsonStore

T = TypeVar("T")

# What tells one state of a file from another without reading it; None when it is not there.
Stamp = tuple[int, int, int, int] | None
# How often a taken lock is tried again; a write takes a few milliseconds.
_RETRY = 0.01


class JsonFile(Generic[T]):
    """The last good content of a file, kept in force while the file is broken.

    `parse` makes the value from the raw object and raises BadField for what does not fit. `initial`
    gives the content of a file that is missing or empty at the first look; `fallback` stands in for
    a file that is broken from the start. A copy of the last good content is kept at `backup`, so
    that a restart beside a broken file loses nothing either.
    """

    def __init__(
        self,
        path: Path,
        parse: Callable[[JsonObject], T],
        initial: Callable[[], JsonObject],
        *,
        fallback: Callable[[], JsonObject] | None = None,
        is_empty: Callable[[JsonObject], bool] = lambda raw: not raw,
        backup: Path | None = None,
    ) -> None:
        self._path = path
        self._parse = parse
        self._initial = initial
        self._fallback = fallback or initial
        self._is_empty = is_empty
        self._backup = backup
        self._guard = threading.RLock()
        self._stamp: Stamp = None
        self._problem: FileProblem | None = None
        self._raw: JsonObject
        self._value: T
        self._load_first()

    @property
    def value(self) -> T:
        self.refresh()
        return self._value

    def look(self) -> tuple[T, FileProblem | None]:
        self.refresh()
        # In this order: what another thread finds broken between the two is told.
        value = self._value
        return value, self._problem

    @property
    def problem(self) -> FileProblem | None:
        self.refresh()
        return self._problem

    def refresh(self) -> bool:
        if _stamp(self._path) == self._stamp:
            return False
        with self._guard:
            before = (self._problem, self._raw)
            self._load()
            return (self._problem, self._raw) != before

    def update(self, change: Callable[[JsonObject], None]) -> T:
        with self._guard, self._alone():
            while True:
                self.refresh()
                raw = copy.deepcopy(self._raw)
                change(raw)
                value = self._parse(raw)
                if self._problem is not None and self._path.is_file():
                    self._save_aside()
                # An editor knows nothing of our lock: what it saved just now is taken up, not overwritten.
                if replace(self._path, _encode(raw), unless=lambda: _stamp(self._path) != self._stamp):
                    self._accept(raw, value)
                    return value

    def _load_first(self) -> None:
        try:
            raw, _ = self._read()
            absent = raw is None or self._is_empty(raw)
        except (OSError, json_text.BadJson):
            absent = False
        if absent:
            self._create()
        self._load()
        if self._problem is not None:
            self._stand_in()

    def _create(self) -> None:
        with self._alone():
            raw, _ = self._read()
            # Another process may have been first.
            if raw is None or self._is_empty(raw):
                replace(self._path, _encode(self._initial()))

    def _stand_in(self) -> None:
        """Begin beside a broken file: with the kept copy of its last good content, else the fallback."""
        self._raw = self._fallback()
        self._value = self._parse(self._raw)
        if self._backup is not None:
            with contextlib.suppress(OSError, BadField, json_text.BadJson):
                raw = json_text.parse(self._backup.read_bytes())
                self._value = self._parse(raw)
                self._raw = raw

    def _read(self) -> tuple[JsonObject | None, bytes]:
        """Return the file's object and bytes; None when it is missing or has no content at all."""
        try:
            if self._path.stat().st_size > limits.SETTINGS_FILE_BYTES:
                raise json_text.BadJson(None, "The file is larger than any settings can be.")
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None, b""
        return (json_text.parse(data) if data.strip() else None), data

    def _load(self) -> None:
        # Taken before reading: an edit in between is noticed at the next look.
        stamp = _stamp(self._path)
        try:
            raw, data = self._read()
            if raw is None:
                reason = "The file is empty." if stamp else "The file is gone."
                raise json_text.BadJson(None, reason)
            try:
                value = self._parse(raw)
            except BadField as error:
                raise json_text.explain(data, error) from None
            self._accept(raw, value, stamp)
        except json_text.BadJson as error:
            self._reject(stamp, error.line, error.message)
        except OSError as error:
            self._reject(stamp, None, f"The file cannot be read: {(error.strerror or str(error)).lower()}.")

    def _accept(self, raw: JsonObject, value: T, stamp: Stamp = None) -> None:
        self._raw, self._value, self._problem = raw, value, None
        self._stamp = stamp or _stamp(self._path)
        self._keep_copy()

    def _reject(self, stamp: Stamp, line: int | None, message: str) -> None:
        self._stamp = stamp
        self._problem = FileProblem(file=str(self._path), line=line, message=message)

    def _keep_copy(self) -> None:
        if self._backup is None:
            return
        data = _encode(self._raw)
        # A copy that cannot be kept is no reason to fail; the file itself is good.
        with contextlib.suppress(OSError):
            if not self._backup.exists() or self._backup.read_bytes() != data:
                replace(self._backup, data, durable=False)

    def _save_aside(self) -> None:
        broken = self._path.with_name(f"{self._path.name}.broken-{time.strftime('%Y%m%d-%H%M%S')}")
        replace(free_name(broken), self._path.read_bytes())

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep our other processes away from the file, and tell a person what the disk refused."""
        try:
            with locked(self._path.with_name(f".{self._path.name}.lock")):
                yield
        except OSError as error:
            raise write_failure(self._path, error) from None


def write_failure(path: Path, error: OSError) -> PilothouseError:
    """Return what a person is told when a file could not be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return PilothouseError("disk_full", f"The disk is full; {path} was left as it was.", fix="Free some space.")
    reason = (error.strerror or str(error)).lower()
    fix = "Check that you may write in that folder."
    return PilothouseError("data_folder", f"{path} could not be written: {reason}.", fix=fix)


def _encode(raw: JsonObject) -> bytes:
    return json.dumps(raw, indent=2, ensure_ascii=False).encode() + b"\n"


def _stamp(path: Path) -> Stamp:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; the system frees it even when the process is killed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        deadline = time.monotonic() + limits.FILE_LOCK_TIMEOUT
        while not take_lock(descriptor):
            if time.monotonic() > deadline:
                message = f"Another process has been holding {path.name} for too long."
                raise PilothouseError("data_locked", message, fix="Close the other Pilothouse and try again.")
            time.sleep(_RETRY)
        yield
    finally:
        os.close(descriptor)


async def watch(
    files: Mapping[str, JsonStore[Any]], changed: Callable[[str], None], *, interval: float = limits.FILE_WATCH
) -> None:
    """Look at the files for ever, and call `changed` with the name of each whose content or problem changed."""
    # Compared with what was told last: whoever reads a file in between takes its edit up before we look.
    told = {name: file.look() for name, file in files.items()}
    while True:
        await asyncio.sleep(interval)
        for name, file in files.items():
            now = file.look()
            if now != told[name]:
                told[name] = now
                changed(name)
