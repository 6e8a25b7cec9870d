"""Looks from a thread whether the event loop still moves, and tells what holds it up."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from pilothouse.types import limits

_log = logging.getLogger(__name__)
# When each loop was last found held up.
_blocked: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()
# How long each loop last took to get to what the watchdog gave it.
_lags: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


def was_blocked() -> bool:
    """Return whether the running loop was held up lately."""
    at = _blocked.get(asyncio.get_running_loop())
    return at is not None and time.monotonic() - at < limits.DEGRADED_FOR


def lag() -> float:
    """Return how many seconds the running loop last took to get to what it was given."""
    return _lags.get(asyncio.get_running_loop(), 0.0)


@contextmanager
def watching() -> Generator[None, None, None]:
    """Watch the running loop, from a thread of its own."""
    stop = threading.Event()
    watched = (asyncio.get_running_loop(), threading.get_ident(), stop)
    thread = threading.Thread(target=_watch, args=watched, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()


def _watch(loop: asyncio.AbstractEventLoop, loop_thread: int, stop: threading.Event) -> None:
    while not stop.wait(limits.BLOCKED_LOOP):
        moved = threading.Event()
        try:
            loop.call_soon_threadsafe(_moved, loop, moved, time.monotonic())
        except RuntimeError:
            # The loop was closed.
            return
        if moved.wait(limits.BLOCKED_LOOP) or stop.is_set():
            continue
        began = time.monotonic() - limits.BLOCKED_LOOP
        _log.error("nothing moves; everything waits for this:\n%s", _stack(loop_thread))
        while not moved.wait(limits.BLOCKED_LOOP) and not stop.is_set():
            _blocked[loop] = time.monotonic()
        _blocked[loop] = time.monotonic()
        _log.error("everything had to wait for %.1f s", time.monotonic() - began)


def _moved(loop: asyncio.AbstractEventLoop, moved: threading.Event, asked: float) -> None:
    _lags[loop] = time.monotonic() - asked
    moved.set()


def _stack(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    return "".join(traceback.format_stack(frame)) if frame is not None else "(the thread is gone)"
