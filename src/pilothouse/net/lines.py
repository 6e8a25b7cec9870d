"""Cutting a stream of bytes into lines, in time linear to its length."""

from __future__ import annotations

from pilothouse.net.errors import NetError
from pilothouse.types import limits


class Lines:
    """Collects bytes and gives back whole lines without their line feed; other white space stays."""

    def __init__(self, limit: int = limits.STREAM_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the lines that are now complete."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise NetError("large", f"it sent a line of more than {self._limit // 1024} KB")
        return lines

    def rest(self) -> list[bytes]:
        """Return what stands after the last line feed, as a line if there is any."""
        tail = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return [tail] if tail.strip() else []


def sse_data(lines: list[bytes]) -> list[bytes]:
    """Return the data of server-sent events, one per `data:` line: no model provider spreads one over several."""
    return [line[5:] for line in lines if line[:5] == b"data:" and not line[5:].isspace() and len(line) > 5]


def json_lines(lines: list[bytes]) -> list[bytes]:
    """Return the lines that hold something."""
    return [line for line in lines if line and not line.isspace()]
