"""What came over the network, as messages: single, in a batch, or wrapped the way some gateways do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import msgspec

from pilothouse.mcp.client.channel import Garbage, Incoming, Message, RequestId
from pilothouse.mcp.client.large_messages import read_large, shallow
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

_WRAPPERS = ("data", "payload", "message", "body")
# A wrapper in a wrapper in a text is as deep as any gateway goes.
_DEPTH = 6
# What a text that is no JSON makes the decoder raise.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


async def arrivals_in_steps(data: bytes, answering: RequestId | None = None) -> list[Incoming]:
    """Return the messages in a text like `arrivals`; a large one holds nobody up."""
    text = data.strip()
    if len(text) <= limits.LARGE_MESSAGE_BYTES or text[:1] not in (b"{", b"["):
        return arrivals(data, answering)
    try:
        found = await read_large(text)
    except UNREADABLE as error:
        return [_garbage(data, f"not JSON: {error}", answering)]
    if not all(message.value.keys() & {"method", "result", "error"} for message in found):
        return arrivals(data, answering)
    return [Message(_addressed(message.value, answering), message.size) for message in found[: limits.BATCH_MESSAGES]]


def arrivals(data: bytes, answering: RequestId | None = None) -> list[Incoming]:
    """Return the messages in a text; `answering` is the request that it can only be the answer to."""
    try:
        value = _decoded(data)
    except UNREADABLE as error:
        return [_garbage(data, f"not JSON: {error}", answering)]
    found = list(islice(_messages(value, _DEPTH), limits.BATCH_MESSAGES))
    if not found:
        return [_garbage(data, "not a JSON-RPC message", answering)]
    return [Message(_addressed(one, answering), len(data) // len(found)) for one in found]


def answers(arrived: Incoming, request_id: RequestId | None) -> bool:
    """Return whether this is the answer to a request."""
    if request_id is None or not isinstance(arrived, Message):
        return False
    return "method" not in arrived.value and arrived.value.get("id") == request_id


def _decoded(data: bytes) -> object:
    try:
        return shallow(msgspec.json.decode(data))
    except msgspec.DecodeError:
        # Python's own writer makes numbers that JSON does not have; they are taken for nothing.
        if b"NaN" not in data and b"Infinity" not in data:
            raise
    try:
        return shallow(json.loads(data, parse_constant=lambda _: None))
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from None


def _garbage(data: bytes, why: str, answering: RequestId | None) -> Garbage:
    return Garbage(data[: limits.GARBAGE_BYTES].decode("utf-8", "replace"), why, answering)


def _messages(value: object, depth: int) -> Iterator[JsonObject]:
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value:
            yield from _messages(one, depth - 1)
    elif isinstance(value, str):
        yield from _messages(_inner(value), depth - 1)
    elif isinstance(value, dict):
        if value.keys() & {"method", "result", "error"}:
            yield value
        else:
            wrapped = (value[name] for name in _WRAPPERS if name in value)
            yield from next((found for one in wrapped if (found := list(_messages(one, depth - 1)))), [])


def _inner(text: str) -> object:
    try:
        return shallow(msgspec.json.decode(text)) if text.lstrip()[:1] in ("{", "[") else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _addressed(message: JsonObject, answering: RequestId | None) -> JsonObject:
    """Return an answer under the id of its request where the way it came says which that is.

    Errors often come without an id, and some servers send a number back as a text.
    """
    number = message.get("id")
    if answering is None or "method" in message or number == answering:
        return message
    return {**message, "id": answering} if number is None or str(number) == str(answering) else message
