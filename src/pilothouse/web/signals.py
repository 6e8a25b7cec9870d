"""Signals: the first asks the server to stop, the second ends it at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Stop(asyncio.Event):
    """Set when the server is asked to stop."""

    # By which signal.
    signal: int | None = None


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Catch the signals that end a program, for as long as the host is open.

    The handlers run between any two steps of Python, so the second signal works even when the loop is busy.
    """
    stop, loop = Stop(), asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.signal is not None:
            os._exit(128 + number)
        stop.signal = number
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
