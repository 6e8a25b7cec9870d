"""Server-sent events, cut from bytes as the standard says, in time linear to their length."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from pilothouse.net.errors import NetError
from pilothouse.types import limits

# The name under which a line that is no field is handed on: some gateways send their session as such.
BARE = ":bare"


class Event(NamedTuple):
    """One event; `id` is the last one seen on the stream, `retry` the seconds that this event asks to wait."""

    name: str
    data: bytes
    id: str = ""
    retry: float | None = None


class Events:
    """Collects bytes and gives back whole events."""

    def __init__(self, limit: int = limits.MCP_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._line: list[bytes] = []
        self._after_return = False
        self._started = False
        self.last_id = ""
        self._data: list[bytes] = []
        self._name = ""
        self._retry: float | None = None
        self._touched = False

    def feed(self, chunk: bytes) -> list[Event]:
        """Take more bytes and return the events that are now complete."""
        if not chunk:
            return []
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._after_return = chunk[-1:] == b"\r"
        lines = chunk.splitlines()
        rest = lines.pop() if lines and chunk[-1:] not in (b"\n", b"\r") else b""
        events: list[Event] = []
        for line in lines:
            self._grow(len(line))
            whole = b"".join((*self._line, line)) if self._line else line
            self._line.clear()
            events += self._take(whole)
        if rest:
            self._grow(len(rest))
            self._line.append(rest)
        return events

    async def feed_in_steps(self, chunk: bytes) -> AsyncIterator[Event]:
        """Take more bytes like `feed`; others have their turn between the parts of a long chunk."""
        for start in range(0, len(chunk), limits.STREAM_STEP_BYTES):
            if start:
                await asyncio.sleep(0)
            for event in self.feed(chunk[start : start + limits.STREAM_STEP_BYTES]):
                yield event

    def rest(self) -> list[Event]:
        """Return what stands at the end of a stream without the blank line that should follow it."""
        events = self._take(b"".join(self._line)) if self._line else []
        self._line.clear()
        return events + self._take(b"")

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise NetError("large", f"it sent an event of more than {self._limit >> 20} MB", sent=True)

    def _take(self, line: bytes) -> list[Event]:
        if not self._started:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._started = True
        if not line:
            return self._finish()
        field, colon, value = line.partition(b":")
        if field in (b"data", b"event", b"id", b"retry"):
            self._set(field, value.removeprefix(b" "))
            return []
        # What is ignored does not add up.
        self._size -= min(len(line), self._size)
        return [Event(BARE, line)] if field and (not colon or b"=" in line) else []

    def _set(self, field: bytes, value: bytes) -> None:
        match field:
            case b"data":
                self._data.append(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self.last_id = value.decode("utf-8", "replace")
                self._touched = True
            case b"retry" if value.isdigit():
                self._retry = int(value[:9]) / 1000

    def _finish(self) -> list[Event]:
        event = Event(self._name, b"\n".join(self._data), self.last_id, self._retry)
        said = bool(self._data) or self._touched or self._retry is not None
        self._data = []
        self._name = ""
        self._retry = None
        self._touched = False
        self._size = 0
        return [event] if said else []
