"""Counts who works on a database in a thread of their own, so that it is closed only after them."""

from __future__ import annotations

import threading
from types import TracebackType

from pilothouse.types.errors import PilothouseError


class Callers:
    """Each enters before it takes a connection; after the end nobody enters any more."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._inside = 0
        self._ended = False

    def __enter__(self) -> None:
        with self._change:
            if self._ended:
                raise PilothouseError("cancelled", "Pilothouse is stopping.")
            self._inside += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._change:
            self._inside -= 1
            self._change.notify_all()

    def end(self) -> None:
        """Let nobody in, and wait until all are out."""
        with self._change:
            self._ended = True
            self._change.wait_for(lambda: not self._inside)
