"""What a call gave, from its item: for results that are kept nowhere else."""

from __future__ import annotations

from pilothouse.types.api import FullResult, ResultPart
from pilothouse.types.items import Item


def of_item(item: Item) -> FullResult:
    """Return the text that the timeline has."""
    parts = (ResultPart(index=0, kind="text", text=item.text, bytes=len(item.text.encode())),) if item.text else ()
    return FullResult(item_id=item.id, parts=parts, cut=bool(item.data.get("cut")))
