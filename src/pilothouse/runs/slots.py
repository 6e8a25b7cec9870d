"""Which conversations are at work, and which wait for a free slot: in turn, so that none keeps the others waiting."""

from __future__ import annotations

from collections.abc import Callable


class Slots:
    """As many conversations at work as may be, and the others in line; one that has more to do goes to its end."""

    def __init__(self, most: Callable[[], int], begin: Callable[[str], None]) -> None:
        self._most = most
        self._begin = begin
        self._working = 0
        self._line: dict[str, None] = {}

    def ask(self, conversation_id: str) -> bool:
        """Begin with a conversation as soon as there is a slot; return whether there was one now."""
        self._line.setdefault(conversation_id)
        self._fill()
        return conversation_id not in self._line

    def free(self) -> None:
        """Let the next one in."""
        self._working -= 1
        self._fill()

    def waiting(self) -> list[str]:
        """Return who is in line, also one that has nothing left to do and does not know it yet."""
        return list(self._line)

    def close(self) -> None:
        """Begin with nobody any more."""
        self._line.clear()

    def _fill(self) -> None:
        # Asked each time: a person may set another number meanwhile.
        while self._line and self._working < self._most():
            first = next(iter(self._line))
            del self._line[first]
            self._working += 1
            self._begin(first)
