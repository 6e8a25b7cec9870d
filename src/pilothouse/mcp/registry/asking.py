"""Asking a registry: one answer within its bounds, read in a thread, or why there is none in a sentence."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlencode

import msgspec

from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Fetched
from pilothouse.types import limits
from pilothouse.types.invisible import sound
from pilothouse.types.json import JsonObject, an_object

# "key": it wants a key, or another one; "busy": it asks for a pause; "absent": it has no such thing; "away": it cannot
# be reached; "large": it sent more than is read at once; "odd": what came is no answer of a registry.
Why = Literal["key", "busy", "absent", "away", "large", "odd"]


NO_KEY = "wants a key before it answers"
BAD_KEY = "did not take the key that it was given"
LOST_KEY = "has a key here that cannot be read: give it again, or forget it"


class RegistryTrouble(Exception):
    """A registry gave no answer; the text is what follows on its name: "cannot be reached: …"."""

    def __init__(self, why: Why, words: str, pause: float = 0.0) -> None:
        super().__init__(words)
        self.why: Why = why
        self.words = words
        # How long it wants to be left alone.
        self.pause = pause


class Answered(msgspec.Struct, frozen=True):
    """What a registry answered, and its own time then."""

    content: JsonObject
    clock: float


async def ask(url: str, query: Mapping[str, str | int], key: str = "") -> Answered:
    """Return the JSON object at an address of a registry; raise RegistryTrouble otherwise."""
    asked = {name: value for name, value in query.items() if value != ""}
    headers = {"accept": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    try:
        got = await fetch(
            f"{url}?{urlencode(asked)}" if asked else url,
            headers=headers,
            timeout=limits.REGISTRY_TIMEOUT,
            limit=limits.REGISTRY_PAGE_BYTES,
        )
    except NetError as error:
        if error.problem == "large":
            raise RegistryTrouble("large", f"answers with too much at once: {error.why}") from None
        raise RegistryTrouble("away", f"cannot be reached: {error.why}") from None
    _check(got, has_key=bool(key))
    # Two megabytes take a few hundredths of a second.
    return Answered(await asyncio.to_thread(_content, got.body), _clock(got))


def _check(got: Fetched, *, has_key: bool) -> None:
    if got.status == 200:
        return
    if got.status in (401, 403):
        raise RegistryTrouble("key", BAD_KEY if has_key else NO_KEY)
    if got.status == 404:
        raise RegistryTrouble("absent", "has nothing there")
    if got.status in (429, 503):
        pause = _pause(got.header("retry-after"))
        raise RegistryTrouble("busy", "asks to be left alone for a while", pause)
    if 300 <= got.status < 400:
        raise RegistryTrouble("odd", "sends us on to another address")
    raise RegistryTrouble("away", f"is not well: it answered with status {got.status}")


def _content(body: bytes) -> JsonObject:
    try:
        content = _decoded(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RegistryTrouble("odd", "answered with something that is not JSON")
    return an_object(content)


def _decoded(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
    # Half of a character in one entry is no reason to do without all others.
    return sound(json.loads(body))


def _pause(header: str) -> float:
    """Return the seconds that a registry asks for: a number or a time."""
    text = header.strip()
    if re.fullmatch(r"\d{1,9}", text):
        seconds = float(text)
    else:
        at = _seconds(text)
        seconds = at - time.time() if at else limits.REGISTRY_REST
    return min(max(seconds, 1.0), limits.REGISTRY_REST_MOST)


def _clock(got: Fetched) -> float:
    return _seconds(got.header("date")) or time.time()


def _seconds(text: str) -> float:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
