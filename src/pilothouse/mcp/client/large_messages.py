"""Large messages, read in steps so that everyone else gets a turn in between.

What is large in one and needed by nobody as data (`structuredContent`, a schema of megabytes) stays `msgspec.Raw`:
JSON that was checked but not unfolded, which would take seconds and ten times its size in memory.
"""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import Any

import msgspec

from pilothouse.mcp.client.channel import Message
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, is_within

# A character that is no part of an escape and no half of another: a text may be cut before it.
_SEAM = re.compile(rb'[^\x80-\xff"\\/bfnrtu0-9a-fA-F]')
# What is read of a large object; other fields are passed over.
_FIELDS = (
    *("content", "structuredContent", "isError", "resultType", "inputRequests", "requestState", "_meta"),
    *("tools", "items", "data", "nextCursor", "next", "cursor", "next_cursor", "servers"),
    *("contents", "resources", "prompts", "messages", "instructions", "capabilities", "serverInfo", "protocolVersion"),
    *("type", "text", "mimeType", "uri", "name", "title", "description", "resource", "blob", "annotations"),
    *("inputSchema", "outputSchema", "parameters", "input_schema", "level", "logger", "code", "message"),
)


def shallow(value: Any) -> Any:
    """Return a value as it is; raise what `msgspec` raises when it is nested too deeply to be walked through."""
    if not is_within(value, limits.MCP_DEPTH):
        raise msgspec.DecodeError("it is nested too deeply")
    return value


async def read_large(line: bytes) -> list[Message]:
    """Return the messages in a long line, a batch one by one; raise what `msgspec` raises when it is no JSON."""
    await _check_marks(line)
    raws = _items(msgspec.Raw(line)) if line.startswith(b"[") else [msgspec.Raw(line)]
    return [Message(await _envelope(raw), len(memoryview(raw))) for raw in raws]


async def _check_marks(line: bytes) -> None:
    """Raise what `msgspec` raises for a huge message of so many pieces that each look at it would hold everyone up."""
    if len(line) <= limits.HUGE_MESSAGE_BYTES:
        return
    marks = 0
    for start in range(0, len(line), limits.LARGE_PIECE_BYTES):
        marks += sum(line.count(mark, start, start + limits.LARGE_PIECE_BYTES) for mark in (b",", b"[", b"{", b"\\"))
        await asyncio.sleep(0)
        if marks > limits.HUGE_MESSAGE_MARKS:
            raise msgspec.DecodeError("it is in too many pieces")


async def _envelope(raw: msgspec.Raw) -> JsonObject:
    found = msgspec.json.decode(raw, type=_Envelope)
    members = {name: getattr(found, name) for name in found.__struct_fields__}
    return {name: await _body(value) for name, value in members.items() if value is not msgspec.UNSET}


async def _body(raw: msgspec.Raw) -> Any:
    """Unfold a result, or parameters, or an error: what the protocol names, down to the blocks of a list."""
    await asyncio.sleep(0)
    if _is(raw, b"["):
        return await _blocks(raw)
    if not _is(raw, b"{"):
        return await _leaf(raw)
    body: JsonObject = {}
    for name, value in _fields(raw).items():
        is_list = name != "structuredContent" and _is(value, b"[")
        body[name] = await _blocks(value) if is_list else await _leaf(value)
    return body


async def _blocks(raw: msgspec.Raw) -> list[Any]:
    await asyncio.sleep(0)
    return [await _block(item) for item in _items(raw)]


async def _block(raw: msgspec.Raw) -> Any:
    """Unfold a piece of content, an embedded resource, a tool."""
    if not _is(raw, b"{"):
        return await _leaf(raw)
    await asyncio.sleep(0)
    found = _fields(raw)
    return {name: await (_block(value) if name == "resource" else _leaf(value)) for name, value in found.items()}


async def _leaf(raw: msgspec.Raw) -> Any:
    if len(memoryview(raw)) <= limits.LARGE_PIECE_BYTES:
        return shallow(msgspec.json.decode(raw))
    return await _text(raw) if _is(raw, b'"') else raw


def _is(raw: msgspec.Raw, opening: bytes) -> bool:
    """Return whether this is large and of a kind."""
    view = memoryview(raw)
    return len(view) > limits.LARGE_PIECE_BYTES and view[:1] == opening


async def _text(raw: msgspec.Raw) -> str:
    """Read a long text piece by piece."""
    source = memoryview(raw)[1:-1]
    pieces: list[str] = []
    start = 0
    while start < len(source):
        seam = _SEAM.search(source, start + limits.LARGE_PIECE_BYTES)
        end = seam.start() if seam else len(source)
        pieces.append(msgspec.json.decode(b'"' + source[start:end] + b'"'))
        start = end
        await asyncio.sleep(0)
    return "".join(pieces)


def _fields(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    known = msgspec.json.decode(raw, type=_known())
    values = zip(_FIELDS, known.__struct_fields__, strict=True)
    return {name: value for name, field in values if (value := getattr(known, field)) is not msgspec.UNSET}


def _items(raw: msgspec.Raw) -> list[msgspec.Raw]:
    few = msgspec.json.decode(raw, type=_few())
    values = (getattr(few, field) for field in few.__struct_fields__)
    return [value for value in values if value is not msgspec.UNSET]


class _Envelope(msgspec.Struct):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


@cache
def _known() -> type[msgspec.Struct]:
    fields = [(f"f{number}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for number in range(len(_FIELDS))]
    return msgspec.defstruct("Known", fields, rename={f"f{number}": name for number, name in enumerate(_FIELDS)})


@cache
def _few() -> type[msgspec.Struct]:
    """Return a list of which the first things are taken; the others are passed over without taking memory."""
    count = range(limits.LARGE_MESSAGE_BLOCKS)
    fields = [(f"f{number}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for number in count]
    return msgspec.defstruct("Few", fields, array_like=True)
