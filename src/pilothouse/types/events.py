"""Events: what the timeline is made of, and what every reader is sent.

A durable event has a number (`seq`), gap-free within its conversation. A live delta has `seq` 0:
it is sent at once and never kept; the same text follows in a durable delta about every 250 ms.
Deltas carry the offset where their text begins, so a reader that has part of it takes only the rest.
Offsets count UTF-16 units, as JavaScript does.
"""

import msgspec

from pilothouse.types.conversations import Conversation
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import Run


class _Event(msgspec.Struct, frozen=True, tag_field="type", rename="camel", kw_only=True):
    """Base of all events; `at` is seconds since 1970 by the writer's clock, for display only."""

    seq: int = 0
    at: float = 0.0


class ItemCreated(_Event, frozen=True, tag="item.created"):
    """A new item, whole."""

    item: Item


class ItemDelta(_Event, frozen=True, tag="item.delta"):
    """More text of a streaming item; `offset` counts the UTF-16 units before it."""

    item_id: str
    offset: int
    text: str


class ItemUpdated(_Event, frozen=True, tag="item.updated"):
    """New status or more data of an item; `data` is merged key by key."""

    item_id: str
    status: ItemStatus | None = None
    data: JsonObject = msgspec.field(default_factory=dict)


class ItemCompleted(_Event, frozen=True, tag="item.completed"):
    """The item's last event; its text is what the deltas gave."""

    item_id: str
    status: ItemStatus
    data: JsonObject = msgspec.field(default_factory=dict)


class RunUpdated(_Event, frozen=True, tag="run.updated"):
    """A run began, waits, ended or was taken over."""

    run: Run


class ConversationUpdated(_Event, frozen=True, tag="conversation.updated"):
    """The title or the settings changed, or the conversation was deleted or restored."""

    conversation: Conversation


Event = ItemCreated | ItemDelta | ItemUpdated | ItemCompleted | RunUpdated | ConversationUpdated

event_decoder = msgspec.json.Decoder(Event)


def utf16_length(text: str) -> int:
    """Return how long JavaScript says a text is."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def without_text(delta: ItemDelta) -> ItemDelta:
    """Return how far a text has come, without the text."""
    end = delta.offset + utf16_length(delta.text)
    return ItemDelta(seq=delta.seq, at=delta.at, item_id=delta.item_id, offset=end, text="")
