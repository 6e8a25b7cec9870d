"""What fills a model's window: the very pieces of the next request, by kind."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from pilothouse.agent.budget import last_counted
from pilothouse.agent.history import Piece, length, media_length, pieces
from pilothouse.agent.media import MediaLoader
from pilothouse.agent.requests import offered, spec_size
from pilothouse.types import limits
from pilothouse.types.item_data import CallData, MessageData, ResponseData
from pilothouse.types.items import Item, is_a
from pilothouse.types.messages import Block, ImageBlock, ResultBlock, ThinkingBlock
from pilothouse.types.ports import Tool
from pilothouse.types.tool_names import FILES
from pilothouse.types.usage import ContextKind, ContextPart, Counted, TokenUsage

_LABELS: dict[ContextKind, str] = {
    "system": "Instructions",
    "tools": "Built-in tools",
    "summary": "Summary of older messages",
    "files": "Files",
    "results": "Results of built-in tools",
    "pictures": "Pictures and sounds",
    "thinking": "Thinking",
    "conversation": "Conversation",
}
_OF_SERVER: dict[ContextKind, str] = {"tools": "Tools of {}", "results": "Results of {}"}


class _Key(NamedTuple):
    kind: ContextKind
    server: str = ""


class Opening(msgspec.Struct, frozen=True):
    """What every request begins with, and what its model takes."""

    system: str
    tools: Sequence[Tool]
    # By media type, as in an `OpenModel`.
    media: Mapping[str, int]
    model: str


class Filling(msgspec.Struct, frozen=True):
    """What the next request is made of, in tokens; the parts add up to what is used."""

    used: int
    counted: Counted
    parts: tuple[ContextPart, ...]


async def filling(opening: Opening, items: Sequence[Item]) -> Filling:
    """Return what fills the window; as its provider counted, where it did so for the last answer of this model.

    A provider counts a request as a whole. Its parts have their shares of that by their lengths, and what came since
    is reckoned at the same rate.
    """
    specs = offered([tool.spec for tool in opening.tools], items)
    names = {spec.name for spec in specs}
    sizes: defaultdict[_Key, float] = defaultdict(float)
    sizes[_Key("system")] += len(opening.system)
    for tool in opening.tools:
        if tool.spec.name in names:
            sizes[_Key("tools", tool.server)] += spec_size(tool.spec)
    last, before = _last_counted(items, opening.model), 0.0
    loader = MediaLoader(opening.media, _unread)
    # In a thread: of a long conversation everything is looked at.
    for number, piece in enumerate(await asyncio.to_thread(lambda: list(pieces(items, offered=names)))):
        if last is not None and not before and piece.role == "assistant" and last in piece.items:
            before = sum(sizes.values())
        for key, size in _sizes(piece, await loader.blocks(piece.blocks, by_model=piece.role == "assistant")):
            sizes[key] += size
        if number % limits.PIECES_AT_ONCE == 0:
            await asyncio.sleep(0)
    usage = last.data.usage if last is not None and is_a(last, ResponseData) and before else None
    return _filling(sizes, usage, before)


async def _unread(_item_id: str, _index: int) -> bytes:
    """Return some byte: what a picture counts as does not depend on what it shows."""
    return b"-"


def _last_counted(items: Sequence[Item], model: str) -> Item | None:
    """Return the last answer that was counted, if it is this model's."""
    last = last_counted(items)
    if last is None or last.data.model != model or last.data.usage is None or last.data.usage.input <= 0:
        return None
    return last


def _sizes(piece: Piece, blocks: Sequence[Block]) -> Iterable[tuple[_Key, float]]:
    """Yield what the blocks of a piece count as, in characters."""
    first = piece.items[0] if piece.items else None
    if first is None:
        return
    if first.kind in ("compaction", "reminder"):
        kind: ContextKind = "summary" if first.kind == "compaction" else "system"
        yield from ((_Key(kind), length(block)) for block in blocks)
        return
    for index, block in enumerate(blocks):
        match block:
            case ResultBlock():
                yield _of_result(piece.items[index]), len(block.text)
                yield _Key("pictures"), sum(map(media_length, block.media))
            case ImageBlock():
                yield _Key("pictures"), length(block)
            case ThinkingBlock():
                yield _Key("thinking"), length(block)
            case _:
                attached = _attached(first) if block is blocks[-1] else 0
                yield _Key("files"), attached
                yield _Key("conversation"), length(block) - attached


def _attached(item: Item) -> int:
    """Return how much of a message the person did not write themselves."""
    typed = item.data.typed_chars if is_a(item, MessageData) else None
    return max(0, len(item.text) - typed) if typed is not None else 0


def _of_result(item: Item) -> _Key:
    if not is_a(item, CallData):
        return _Key("results")
    data = item.data
    reads = data.tool == FILES and not data.server and str((data.arguments or {}).get("operation")).startswith("read")
    return _Key("files") if reads else _Key("results", data.server)


def _filling(sizes: Mapping[_Key, float], usage: TokenUsage | None, before: float) -> Filling:
    rate = usage.input / before if usage is not None else 1 / limits.CHARS_PER_TOKEN
    exact = {key: size * rate for key, size in sizes.items() if size > 0}
    used = round(sum(exact.values()))
    whole = {key: int(tokens) for key, tokens in exact.items()}
    # What rounding down leaves goes to those that lost most by it, so that the parts add up.
    by_loss = sorted(exact, key=lambda key: whole[key] - exact[key])
    for key in by_loss[: used - sum(whole.values())]:
        whole[key] += 1
    order = list(_LABELS)
    keys = sorted((key for key in whole if whole[key]), key=lambda key: (order.index(key.kind), key.server))
    parts = tuple(ContextPart(kind=key.kind, label=_label(key), tokens=whole[key], server=key.server) for key in keys)
    return Filling(used, "estimate" if usage is None else "provider", parts)


def _label(key: _Key) -> str:
    return _OF_SERVER[key.kind].format(key.server) if key.server else _LABELS[key.kind]
