"""Measures how the processor time of some work grows with the size of its input."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from itertools import pairwise
from types import FrameType

# As long is the text of a first look. Work that begins anew at many places of it takes far longer than `SOON`:
# with a nanosecond for each step, and a beginning every forty characters, it is 3 ms.
FIRST_LOOK = 16 * 1024
SOON = 0.0015
# Below it a clock says little about how a time grows.
NOISE = 0.001
# Well above the noise: whatever grows faster than the input has shown it by then.
PLAIN = 0.004
# Work that takes longer is broken off: expressions that take for ever look for signals.
PATIENCE = 0.25
# Doubling the input may do this to the time; twice is what is wanted, the rest is for caches and a busy machine.
GROWTH = 3.0
# So many times too much in a row is no accident.
_ROUNDS = 8


class TooLong(Exception):
    """The work was broken off."""


def processor_seconds(work: Callable[[], object], patience: float = PATIENCE) -> float:
    """Return the processor time of this thread for some work; infinite if it was broken off."""
    working = True

    def break_off(_signal: int, frame: FrameType | None) -> None:
        if working and _clears_away(frame):
            # What is raised there reaches nobody; a moment later it does.
            signal.setitimer(signal.ITIMER_VIRTUAL, SOON)
        elif working:
            raise TooLong

    before, start = signal.signal(signal.SIGVTALRM, break_off), time.thread_time()
    try:
        # Within: a short patience may be over before the next line.
        signal.setitimer(signal.ITIMER_VIRTUAL, patience)
        work()
        working = False
    except TooLong:
        return float("inf")
    finally:
        working = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - start


def _clears_away(frame: FrameType | None) -> bool:
    """Return whether a callback of a weak reference or a finalizer is at work."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or "weakref" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def growth(work: Callable[[int], Callable[[], object]], longest: int) -> str:
    """Return what is wrong with how the work grows up to a length of input; empty if doubling at most triples it."""
    if processor_seconds(work(min(longest, FIRST_LOOK)), patience=2 * SOON) < SOON:
        return ""
    before, size = 0.0, 8
    # Where it is plain that the time grows as it should, the longest is not waited for.
    while size <= longest and before < PLAIN:
        now = processor_seconds(work(size))
        if now > NOISE and now > GROWTH * max(before, NOISE / 2) and (wrong := _look_again(work, size, longest)):
            return wrong
        before, size = now, size * 2 if size >= 128 else size + 8
    return ""


def _look_again(work: Callable[[int], Callable[[], object]], size: int, longest: int) -> str:
    """Return what is wrong if doubling does too much twice, and goes on doing so.

    The sizes take turns: whatever else the machine does for some milliseconds is then not in the way of one size alone.
    """
    sizes = (size // 2, size, min(size * 2, longest))
    best = dict.fromkeys(sizes, float("inf"))
    for _ in range(_ROUNDS):
        for each in best:
            best[each] = min(best[each], processor_seconds(work(each)))
        times = [best[each] for each in sizes]
        if any(now <= GROWTH * max(before, NOISE / 2) for before, now in pairwise(times) if before < float("inf")):
            return ""
    return ", ".join(f"{each} take {time * 1000:.1f} ms" for each, time in zip(sizes, times, strict=True))
