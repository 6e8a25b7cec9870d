"""Whole results and other parts: how they are kept while the store is away, and how people look at them."""

from __future__ import annotations

import msgspec

from pilothouse.runs.feed import Feed
from pilothouse.runs.patience import patiently
from pilothouse.types.api import FullResult, PartData, ResultPart
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.ports import KeptResult
from pilothouse.types.records import Records


class PatientKeeper:
    """Keeps results in the store, waiting while it can take nothing: a call's result is not lost to a full disk."""

    def __init__(self, records: Records, feed: Feed) -> None:
        self._records = records
        self._feed = feed

    async def keep_result(self, result: KeptResult) -> None:
        """Keep the result of a call, instead of any that was kept for it before."""
        await patiently(self._feed, lambda: self._records.keep_result(result))


async def full_result(records: Records, owner: str, item_id: str) -> FullResult:
    """Return a call's whole result, as far as it was kept."""
    item = await _call(records, owner, item_id)
    return await records.result(owner, item_id) or FullResult(
        item_id=item_id, parts=_in_timeline(item), cut=bool(item.data.get("cut"))
    )


async def part(records: Records, owner: str, item_id: str, index: int) -> PartData:
    """Return the bytes of one part of a message or a call's result."""
    kept = await records.part(owner, item_id, index)
    if kept is not None:
        return kept
    item = await records.item(owner, item_id)
    for each in _in_timeline(item) if item.kind == "tool_call" else ():
        if each.index == index:
            return PartData(media_type="text/plain; charset=utf-8", name=each.name, data=each.text.encode())
    raise PilothouseError("not_found", "There is no such part, or it was not kept.")


async def _call(records: Records, owner: str, item_id: str) -> Item:
    item = await records.item(owner, item_id)
    if item.kind != "tool_call":
        raise PilothouseError("bad_request", "That is not a tool call.")
    return item


def _in_timeline(item: Item) -> tuple[ResultPart, ...]:
    """Return the pieces of a result that was not kept apart; a single longer one is the item's own text."""
    parts = msgspec.convert(item.data.get("content") or [], tuple[ResultPart, ...])
    if not parts:
        return (ResultPart(index=0, kind="text", text=item.text, bytes=len(item.text.encode())),) if item.text else ()
    if len(parts) == 1 and not parts[0].text and parts[0].bytes:
        return (msgspec.structs.replace(parts[0], text=item.text),)
    return parts
