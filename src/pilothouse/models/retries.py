"""Asking again before the first event, visibly and with patience that ends."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import datetime

from pilothouse.models.failures import Setback
from pilothouse.types import limits
from pilothouse.types.stream import Failed, Retrying, StreamEvent

_RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
# A length of time as providers write it: "1s", "6m0s", "1h2m", "20 ms", "1.5 seconds".
_PIECE = r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|d|days?)(?![a-z])"
_LENGTH = rf"(?:{_PIECE}[ ,]*+(?:and )?)+"
# How they say it in words: "Please try again in 1.5s", "Please retry after 26 seconds".
_ASKED = re.compile(rf"(?:try again|retry) (?:in|after) ({_LENGTH})", re.IGNORECASE)
_UNITS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
# In the names of headers: "x-ratelimit-reset-requests", "anthropic-ratelimit-tokens-reset", "x-ratelimit-reset".
_LIMIT, _RESET = "ratelimit", "reset"

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
        if setback.retry_after is None:
            setback.retry_after = _told(setback.failed.message)
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


def retry_after(headers: Mapping[str, str], body: bytes = b"", *, limited: bool = False) -> float | None:
    """Return for how many seconds a provider asks to wait: in a header, in its words, else until its limit begins anew.

    The last counts only where a limit is what failed: those headers come with every answer.
    """
    if wait := _number(headers.get("retry-after-ms", "")):
        return wait / 1000
    if (wait := _seconds(headers.get("retry-after", ""))) is not None:
        return wait
    text = body.decode("utf-8", "replace")
    if told := _RETRY_DELAY.search(text):
        return float(told[1])
    if (wait := _told(text)) is not None:
        return wait
    return _until_reset(headers) if limited else None


def _told(words: str) -> float | None:
    """Return the wait that a sentence speaks of."""
    asked = _ASKED.search(words)
    return _length(asked[1]) if asked else None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return when a limit begins anew: one that is used up, else the soonest, if that is soon enough to be the one."""
    resets = {name: value for name, value in headers.items() if _LIMIT in name and _RESET in name}
    waits = {name: wait for name, value in resets.items() if (wait := _seconds(value))}
    spent = [wait for name, wait in waits.items() if _number(headers.get(name.replace(_RESET, "remaining"), "")) == 0]
    if spent:
        return max(spent)
    soonest = min(waits.values(), default=math.inf)
    return soonest if soonest <= limits.RETRY_MAX_WAIT else None


def _seconds(value: str) -> float | None:
    """Return how far away a time is: a number of seconds, a length with units, or a moment in any usual form."""
    if (number := _number(value)) is not None:
        # Moments are told in seconds, or in milliseconds, since 1970.
        moment = number / 1000 if number > 1e11 else number
        return max(0.0, moment - time.time()) if moment > 1e9 else number
    if (length := _length(value)) is not None:
        return length
    # Imported only here: hardly any answer says a date, and it takes as long as all the rest of this.
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return max(0.0, read(value).timestamp() - time.time())
        except (TypeError, ValueError, OverflowError):
            continue
    return None


def _length(text: str) -> float | None:
    text = text.strip().lower()
    if not re.fullmatch(_LENGTH, text):
        return None
    return sum(float(number) * _UNITS.get(unit[:3], _UNITS[unit[0]]) for number, unit in re.findall(_PIECE, text))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
