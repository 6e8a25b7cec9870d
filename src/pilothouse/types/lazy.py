"""What is imported late: the one way to have something that is made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Lazy(Generic[T_co]):
    """Called, it returns the one value that it stands for; the first call makes it, in whichever thread."""

    __slots__ = ("_lock", "_made", "_make")

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make
        self._made: T_co | None = None
        self._lock = threading.RLock()

    def __call__(self) -> T_co:
        """Return the value."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    @property
    def made(self) -> T_co | None:
        """Return the value if anyone has needed it, for whoever has to close it or has something to tell it."""
        return self._made
