"""Asking again before the first event, visibly and with patience that ends."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from email.utils import parsedate_to_datetime

from pilothouse.models.failures import Setback
from pilothouse.types import limits
from pilothouse.types.stream import Failed, Retrying, StreamEvent

_RETRY_DELAY = re.compile(rb'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')

Attempt = Callable[[], AsyncGenerator[StreamEvent, None]]


async def patiently(attempt: Attempt, first_wait: float = limits.RETRY_FIRST_WAIT) -> AsyncGenerator[StreamEvent, None]:
    """Yield an attempt's events; make it anew while it fails before its first one and patience lasts."""
    began = time.monotonic()
    number = 0
    while True:
        number += 1
        started = False
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    started = True
                    yield event
            return
        except Setback as error:
            setback = error
        wait = _pause(setback, number, first_wait)
        if started or wait is None or time.monotonic() - began + wait > limits.MODEL_WAIT_TOTAL:
            yield _given_up(setback, number, started)
            return
        yield Retrying(number, round(wait, 2), setback.why)
        await asyncio.sleep(wait)


def _pause(setback: Setback, number: int, first_wait: float) -> float | None:
    """Return how long to wait before the next try, or None when there is none."""
    if not setback.failed.retryable or number >= setback.tries:
        return None
    if setback.retry_after is not None:
        return setback.retry_after if setback.retry_after <= limits.RETRY_MAX_WAIT else None
    # Spread, so that many runs that failed together do not come back together.
    return float(min(limits.RETRY_MAX_WAIT, first_wait * 2 ** (number - 1)) * random.uniform(0.75, 1.25))  # noqa: S311


def _given_up(setback: Setback, number: int, started: bool) -> Failed:
    """Return the failure as told at the end: how often it was tried, and when it may work again."""
    failed = setback.failed
    more = ""
    if not started and setback.retry_after is not None and setback.retry_after > limits.RETRY_MAX_WAIT:
        more = f" It asks to wait {setback.retry_after:.0f} s."
    elif number > 1 and not started:
        more = f" Tried {number} times."
    # Before the first event patience has ended here; whether a broken answer is asked for again is the loop's choice.
    return Failed(failed.code, failed.message + more, failed.retryable and started, failed.status)


def retry_after(milliseconds: str, seconds: str, body: bytes = b"") -> float | None:
    """Return what the headers `retry-after-ms` and `retry-after`, or Gemini's body, ask for, in seconds."""
    if wait := _number(milliseconds):
        return wait / 1000
    if (wait := _number(seconds)) is not None:
        return wait
    if told := _RETRY_DELAY.search(body):
        return float(told[1])
    try:
        return max(0.0, parsedate_to_datetime(seconds).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
