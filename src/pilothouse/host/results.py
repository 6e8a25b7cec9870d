"""Whole results and other parts: how people look at them."""

from __future__ import annotations

from pilothouse.types.api import FullResult, PartData
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Call, is_a
from pilothouse.types.parts import in_item
from pilothouse.types.records import Records


async def full_result(records: Records, owner: str, item_id: str) -> FullResult:
    """Return a call's whole result, as far as it was kept."""
    item = await _call(records, owner, item_id)
    return await records.result(owner, item_id) or FullResult(item_id=item_id, parts=in_item(item), cut=item.data.cut)


async def part(records: Records, owner: str, item_id: str, index: int) -> PartData:
    """Return the bytes of one part of a message or a call's result."""
    kept = await records.part(owner, item_id, index)
    if kept is not None:
        return kept
    item = await records.item(owner, item_id)
    for each in in_item(item) if item.kind == "tool_call" else ():
        if each.index == index:
            return PartData(media_type="text/plain; charset=utf-8", name=each.name, data=each.text.encode())
    raise PilothouseError("not_found", "There is no such part, or it was not kept.")


async def _call(records: Records, owner: str, item_id: str) -> Call:
    item = await records.item(owner, item_id)
    if not is_a(item, CallData):
        raise PilothouseError("bad_request", "That is not a tool call.")
    return item
