"""What an event does to an item: the one rule that the database, a run and every reader share."""

from __future__ import annotations

import msgspec

from pilothouse.types.events import Event, ItemCompleted, ItemUpdated
from pilothouse.types.items import Item


def changed(item: Item, event: Event) -> Item:
    """Return the item after the event; events about other things leave it as it is."""
    match event:
        case ItemUpdated():
            return msgspec.structs.replace(
                item, status=event.status or item.status, data=item.data | event.data, updated_at=event.at
            )
        case ItemCompleted():
            return msgspec.structs.replace(item, status=event.status, data=item.data | event.data, updated_at=event.at)
        case _:
            return item
