"""A conversation's terminal on disk: every byte, when it came, and how large the window was.

Two files: the raw bytes, and one JSON array a line about them. `[t, "o", n]`: n bytes at t; `[t, "r", columns, rows]`:
the window; `[t, "s", {…}]`: a session began; `[t, "x", code]`: it ended. An index counts bytes from the first session
of the conversation on, whichever of them are still kept. Secrets that we know are covered before anything is written.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.tools.terminal.masking import Bare
from pilothouse.types import limits
from pilothouse.types.json import Frozen, encode
from pilothouse.types.ports import Cover
from pilothouse.types.terminals import SandboxKind, TerminalView

_log = logging.getLogger(__name__)
_LOOK = 0.01
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Began(Frozen, frozen=True):
    """A session as it was started."""

    folder: str
    shell: str
    columns: int
    rows: int
    at: float
    sandbox: SandboxKind
    # The index of its first byte.
    index: int
    network: bool = False

    def view(
        self, conversation_id: str, end_index: int, exit_code: int | None, *, running: bool = False
    ) -> TerminalView:
        """Return the session as people see it."""
        return TerminalView(
            session_id=conversation_id,
            conversation_id=conversation_id,
            tty_name="",
            working_directory=self.folder,
            shell=self.shell,
            pid=0,
            columns=self.columns,
            rows=self.rows,
            started_at=self.at,
            end_index=end_index,
            running=running,
            exit_code=exit_code,
            sandbox=self.sandbox,
        )


class Recording:
    """Writes down what a terminal says, a moment later and beside the event loop."""

    def __init__(self, folder: Path, conversation_id: str, cover: Cover | None = None) -> None:
        self._cover = cover or Bare()
        name = _UNFIT.sub("_", conversation_id)
        self._bytes = folder / f"{name}.bytes"
        self._times = folder / f"{name}.times"
        self._gone = folder / f"{name}.gone"
        self._pending = bytearray()
        self._lines: list[bytes] = []
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        # Terminals that wait until something was written.
        self._waiting: list[Callable[[], None]] = []
        # Why no more is written down; empty while all is well.
        self.stopped = ""
        self.last: Began | None = None
        self.exit_code: int | None = None
        # The index of the oldest byte that is kept.
        self.start = 0
        self._look()
        # The index after the newest byte, kept or not.
        self.index = self.end

    def _look(self) -> None:
        """Take up what an earlier process wrote."""
        size = self._bytes.stat().st_size if self._bytes.is_file() else 0
        self._written, noted = size, 0
        for _, kind, *rest in events(self._times):
            if kind == "b":
                self.start = int(str(rest[0]))
            elif kind == "o":
                noted += int(str(rest[0]))
            elif kind == "s":
                self.last, self.exit_code = msgspec.convert(rest[0], Began), None
            elif kind == "x":
                self.exit_code = int(str(rest[0]))
        # What was held back when that process died may have been the beginning of a secret.
        self._pending += b"*" * (noted - size)

    @property
    def exists(self) -> bool:
        """Return whether there ever was a session."""
        return self.last is not None

    @property
    def end(self) -> int:
        """Return the index after the newest byte that is kept."""
        return self.start + self._written + len(self._pending)

    @property
    def is_behind(self) -> bool:
        """Return whether the disk is slower than the terminal."""
        return len(self._pending) > limits.RECORDING_BEHIND

    def when_written(self, go_on: Callable[[], None]) -> None:
        """Call this once, as soon as some of what was taken is on the disk or given up."""
        self._waiting.append(go_on)

    def begin(self, began: Began) -> None:
        """Start a session's part; a recording that is half full begins anew."""
        if self._written > limits.RECORDING_BYTES // 2 or began.index != self.end:
            self._bytes.unlink(missing_ok=True)
            self._times.unlink(missing_ok=True)
            self.start, self._written = began.index, 0
            self._note("b", began.index)
        self.last, self.exit_code, self.stopped = began, None, ""
        self._note("s", msgspec.to_builtins(began))
        # A host that dies in the next moment has had this session all the same.
        self._hurry.set()

    def add(self, piece: bytes) -> None:
        """Take bytes that the terminal wrote."""
        self.index += len(piece)
        if self.stopped or not piece:
            return
        if self._written + len(self._pending) + len(piece) > limits.RECORDING_BYTES:
            self.stopped = "The recording is full."
            return
        self._pending += piece
        self._note("o", len(piece))
        if len(self._pending) > limits.RECORDING_BEHIND // 4:
            self._hurry.set()

    def resize(self, columns: int, rows: int) -> None:
        """Take another size of the window."""
        self._note("r", columns, rows)

    def ended(self, exit_code: int) -> None:
        """Take the end of the session."""
        self.exit_code = exit_code
        self._note("x", exit_code)

    def _note(self, kind: str, *rest: object) -> None:
        self._lines.append(encode([round(time.time(), 4), kind, *rest]))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon(), name="recording")

    async def _write_soon(self) -> None:
        """Write until there is nothing left. The only writer: what is on disk is there once."""
        while self._lines:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.RECORDING_FLUSH):
                    await self._hurry.wait()
            self._hurry.clear()
            data, lines = self._ready(), tuple(self._lines)
            del self._lines[: len(lines)]
            try:
                await asyncio.to_thread(self._write, data, lines)
            except OSError as error:
                self.stopped = f"The recording cannot be written: {error.strerror}."
                _log.warning("a terminal's recording cannot be written: %s", error.strerror)
                self._pending.clear()
                self._go_on()
                return
            # Taken out only once it is written: readers find it in one place or the other.
            self._written += len(data)
            del self._pending[: len(data)]
            self._go_on()

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, []
        for go_on in waiting:
            go_on()

    def _ready(self) -> bytes:
        """Return what can be written: what may be the beginning of a secret waits for the rest of it."""
        data = bytes(self._pending)
        return data if self.exit_code is not None else data[: len(data) - self._cover.undecided(data)]

    async def flush(self) -> None:
        """Wait until what was taken so far is written down."""
        wanted = self.end
        while self._writing is not None and not self._writing.done() and self.start + self._written < wanted:
            self._hurry.set()
            await asyncio.wait([self._writing], timeout=_LOOK)

    def _write(self, data: bytes, lines: tuple[bytes, ...]) -> None:
        self._bytes.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = b"".join(line + b"\n" for line in lines)
        for path, content in ((self._bytes, self._cover.cover(data)), (self._times, about)):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                view = memoryview(content)
                while view:
                    view = view[file.write(view) :]

    async def read(self, index: int, most: int) -> bytes:
        """Return bytes from an index on; nothing when they are not kept."""
        at = index - self.start
        if at < 0:
            return b""
        if at >= self._written:
            return bytes(self._pending[at - self._written : at - self._written + most])
        return await asyncio.to_thread(_read, self._bytes, at, min(most, self._written - at))

    async def cast(self, title: str) -> bytes:
        """Return the whole recording as an asciicast, version 2."""
        await self.flush()
        return await asyncio.to_thread(_cast, self._bytes, self._times, title)

    async def close(self) -> None:
        """Write down the rest; nothing more comes."""
        self._hurry.set()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    def mark(self, deleted: bool) -> None:
        """Say whether its conversation was deleted; a conversation that is brought back has its recording again."""
        if deleted and self._bytes.exists():
            self._gone.touch(mode=0o600)
        elif not deleted:
            self._gone.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Delete the recordings of conversations that cannot be brought back any more."""
    before = time.time() - limits.UNDO_DELETE_DAYS * 86_400
    for mark in folder.glob("*.gone") if folder.is_dir() else ():
        if mark.stat().st_mtime <= before:
            for suffix in (".bytes", ".times", ".gone"):
                mark.with_suffix(suffix).unlink(missing_ok=True)


def events(path: Path) -> list[list[object]]:
    """Return the lines of a recording; one that was cut short by a crash is passed over."""
    found = []
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                event = msgspec.json.decode(line)
                if isinstance(event, list) and len(event) >= 3:
                    found.append(event)
    return found


def _read(path: Path, at: int, most: int) -> bytes:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(at)
        return file.read(most)
    return b""


def _cast(data: Path, times: Path, title: str) -> bytes:
    raw = data.read_bytes() if data.is_file() else b""
    decoder = codecs.getincrementaldecoder("utf-8")("cp437")
    began: dict[str, object] | None = None
    lines, at, first = [], 0, 0.0
    for when, kind, *rest in events(times):
        now = float(str(when))
        if kind == "s" and began is None and isinstance(rest[0], dict):
            began, first = rest[0], now
        elif kind == "o":
            size = int(str(rest[0]))
            lines.append(encode([round(now - first, 4), "o", decoder.decode(raw[at : at + size])]))
            at += size
        elif kind == "r":
            lines.append(encode([round(now - first, 4), "r", f"{rest[0]}x{rest[1]}"]))
    columns, rows = (began or {}).get("columns", 80), (began or {}).get("rows", 24)
    header = {"version": 2, "width": columns, "height": rows, "timestamp": int(first), "title": title}
    header["env"] = {"SHELL": (began or {}).get("shell", ""), "TERM": "xterm-256color"}
    return b"\n".join([encode(header), *lines]) + b"\n"
