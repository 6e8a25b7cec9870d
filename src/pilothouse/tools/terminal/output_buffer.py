"""What is kept of output that may have no end: its beginning and its end, or its newest part."""

from __future__ import annotations

from pilothouse.types import limits


class HeadTail:
    """The first and the last bytes of an output, and how many there were in all."""

    def __init__(self, head: int = limits.COMMAND_HEAD_BYTES, tail: int = limits.COMMAND_TAIL_BYTES) -> None:
        self._most = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, piece: bytes) -> None:
        """Take more output."""
        self.total += len(piece)
        room = self._most[0] - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        # Cutting rarely costs less than cutting at once.
        if len(self._tail) > 2 * self._most[1]:
            del self._tail[: -self._most[1]]

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """Return the first and the last bytes; they join when nothing was left out."""
        return bytes(self._head), bytes(self._tail[-self._most[1] :])

    @property
    def left_out(self) -> int:
        """Return how many bytes between them are not there."""
        head, tail = self.ends
        return self.total - len(head) - len(tail)


class Ring:
    """The newest bytes of an endless output, each at its index from the beginning; grows with what comes."""

    def __init__(
        self, start: int = 0, first: int = limits.TERMINAL_BUFFER_FIRST, most: int = limits.TERMINAL_BUFFER_MOST
    ) -> None:
        self._data = bytearray()
        self._most = most
        self.start = start
        self.capacity = first

    @property
    def end(self) -> int:
        """Return the index after the last byte."""
        return self.start + len(self._data)

    def add(self, piece: bytes) -> None:
        """Take more; the oldest goes when there is no room to grow."""
        self._data += piece
        while len(self._data) > self.capacity and self.capacity < self._most:
            self.capacity = min(self.capacity * 2, self._most)
        over = len(self._data) - self.capacity
        if over > 0:
            del self._data[:over]
            self.start += over

    def read(self, index: int, most: int) -> bytes:
        """Return bytes from an index on, or from the oldest that is there."""
        at = max(index - self.start, 0)
        with memoryview(self._data) as view:
            return bytes(view[at : at + most])

    def clear(self) -> None:
        """Let go of everything; the indexes go on."""
        self.start = self.end
        self._data = bytearray()
