"""What an event does to an item: the one rule that the database, a run and every reader share."""

from __future__ import annotations

import msgspec

from pilothouse.types.events import Event, ItemCompleted, ItemUpdated
from pilothouse.types.items import Data, ItemOf


def changed(item: ItemOf[Data], event: Event) -> ItemOf[Data]:
    """Return the item after the event; events about other things leave it as it is."""
    match event:
        case ItemUpdated():
            return msgspec.structs.replace(
                item, status=event.status or item.status, raw=item.raw | event.data, updated_at=event.at
            )
        case ItemCompleted():
            return msgspec.structs.replace(item, status=event.status, raw=item.raw | event.data, updated_at=event.at)
        case _:
            return item
