"""What each server wrote, on disk: one JSON record a line, bounded, written in batches beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from pilothouse.types import limits
from pilothouse.types.servers import LogLine

_log = logging.getLogger(__name__)
_MISSING = "It writes faster than its log is kept; lines are missing here."


class Log:
    """The log of one server."""

    def __init__(self, path: Path, soon: Callable[[], None]) -> None:
        self._path = path
        self._soon = soon
        self._waiting: list[LogLine] = []
        # Of the running second: when it began, how much was taken, whether something was left out.
        self._second, self._taken, self._full = 0.0, 0, False
        self._guard = threading.Lock()
        self._forgotten = False

    def write(self, line: LogLine) -> None:
        """Keep a line soon; what comes too fast is left out, and the log says so."""
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._taken, self._full = now, 0, False
        self._taken += len(line.text)
        if line.source != "host" and self._taken > limits.SERVER_LOG_PACE:
            if self._full:
                return
            self._full = True
            line = LogLine(at=line.at, source="host", level="warning", text=_MISSING)
        self._waiting.append(line)
        self._soon()

    def take(self) -> Sequence[LogLine]:
        """Return what waits to be written, and begin anew."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def append(self, lines: Sequence[LogLine]) -> None:
        """Write lines to the file; of one that is full, the newer half stays."""
        data = b"".join(_record(line) for line in lines)
        with self._guard:
            if self._forgotten:
                return
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _private(self._path, os.O_APPEND) as file:
                file.write(data)
                size = file.tell()
            if size > limits.SERVER_LOG_BYTES:
                self._halve()

    def read(self) -> list[LogLine]:
        """Return the newest lines in the file; what is no record is passed over."""
        try:
            records = self._path.read_bytes().split(b"\n")
        except OSError:
            return []
        lines = []
        for record in records[-limits.SERVER_LOG_LINES - 1 :]:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                lines.append(msgspec.json.decode(record, type=LogLine))
        return lines

    def forget(self) -> None:
        """Delete the file; nothing is written any more."""
        with self._guard:
            self._forgotten = True
            self._path.unlink(missing_ok=True)

    def _halve(self) -> None:
        newer = self._path.read_bytes()[-limits.SERVER_LOG_BYTES // 2 :]
        beside = self._path.with_suffix(".new")
        with _private(beside, os.O_TRUNC) as file:
            file.write(newer[newer.find(b"\n") + 1 :])
        beside.replace(self._path)


class Logbook:
    """The logs of all servers, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[str, Log] = {}
        self._writing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._failed = False

    def log(self, server_id: str) -> Log:
        if server_id not in self._logs:
            plain = re.sub(r"[^A-Za-z0-9_-]", "-", server_id)[:64]
            self._logs[server_id] = Log(self._folder / f"{plain}.log", self._soon)
        return self._logs[server_id]

    async def forget(self, server_id: str) -> None:
        log = self.log(server_id)
        del self._logs[server_id]
        await asyncio.to_thread(log.forget)

    async def close(self) -> None:
        """Write what still waits."""
        self._closing.set()
        if self._writing is not None:
            await self._writing

    def _soon(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="server-logs")

    async def _write(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.SERVER_LOG_EVERY):
                    await self._closing.wait()
            batches = [(log, lines) for log in self._logs.values() if (lines := log.take())]
            if not batches:
                self._writing = None
                return
            await asyncio.to_thread(self._append, batches)

    def _append(self, batches: Sequence[tuple[Log, Sequence[LogLine]]]) -> None:
        for log, lines in batches:
            try:
                log.append(lines)
            except OSError as error:
                # Told once: a full disk is no reason to write more.
                if not self._failed:
                    _log.warning("the log of a server cannot be written: %s", error.strerror)
                self._failed = True


def _record(line: LogLine) -> bytes:
    """Return a line as one record in plain ASCII: nothing in it ends the line or moves a cursor."""
    text = line.text.encode("utf-8", "replace").decode()
    record = {"at": line.at, "source": line.source, "level": line.level, "text": text}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _private(path: Path, flags: int) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600), "ab")
