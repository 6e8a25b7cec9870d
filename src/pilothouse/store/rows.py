"""Rows to records and back, and the one place where ownership is checked."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from pilothouse.store import inline, schema
from pilothouse.store.packed_text import plain_body
from pilothouse.store.statements import Statement
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import encode_text
from pilothouse.types.runs import Run

_item_decoder = msgspec.json.Decoder(Item)
run_decoder = msgspec.json.Decoder(Run)
settings_decoder = msgspec.json.Decoder(ConversationSettings)


class ItemDecoder:
    """Reads items from their rows."""

    @staticmethod
    def decode(body: bytes) -> Item:
        """Return the item that a row's body is."""
        return _item_decoder.decode(plain_body(body))


item_decoder = ItemDecoder()
_COLUMNS = tuple(Conversation.__struct_fields__)
_CONVERSATION = Statement(
    "SELECT id, owner, title, title_source, settings, created_at, updated_at, last_seq, deleted_at, activity "
    "FROM conversations WHERE id = :id AND owner = :owner"
)
_RUN = Statement("SELECT body FROM runs WHERE id = :id AND owner = :owner")
_ITEM = Statement("SELECT body FROM items WHERE id = :id")


def item_of(body: bytes) -> Item:
    """Return the item that a row holds, as readers get it; of its images only what they are."""
    return inline.item_without(item_decoder.decode(body))


def conversation_of(row: sa.Row[tuple[object, ...]]) -> Conversation:
    """Return the conversation that a row holds."""
    return _conversation(dict(row._mapping))


def _conversation(fields: dict[str, Any]) -> Conversation:
    fields["settings"] = settings_decoder.decode(fields["settings"])
    return Conversation(**fields)


def owned_conversation(
    connection: sa.Connection, owner: str, conversation_id: str, *, deleted: bool = False
) -> Conversation:
    """Return the conversation if it is this owner's; to anyone else it does not exist."""
    found = _CONVERSATION.rows(connection, {"id": conversation_id, "owner": owner})
    conversation = _conversation(dict(zip(_COLUMNS, found[0], strict=True))) if found else None
    if conversation is None or (conversation.deleted_at is not None and not deleted):
        raise PilothouseError("not_found", "There is no such conversation.")
    return conversation


def owned_run(connection: sa.Connection, owner: str, run_id: str) -> Run:
    """Return the run if it is this owner's."""
    body = _RUN.first(connection, {"id": run_id, "owner": owner})
    if body is None:
        raise PilothouseError("not_found", "There is no such run.")
    return run_decoder.decode(body)


def owned_item(connection: sa.Connection, owner: str, item_id: str) -> Item:
    """Return the item if it stands in a conversation of this owner."""
    body = _ITEM.first(connection, {"id": item_id})
    if body is None:
        raise PilothouseError("not_found", "There is no such item.")
    item = item_of(body)
    owned_conversation(connection, owner, item.conversation_id)
    return item


def put_conversation(connection: sa.Connection, conversation: Conversation) -> None:
    """Write what a person may change about a conversation."""
    table = schema.conversations
    connection.execute(
        sa.update(table)
        .where(table.c.id == conversation.id)
        .values(
            title=conversation.title,
            title_source=conversation.title_source,
            settings=encode_text(conversation.settings),
            updated_at=conversation.updated_at,
            deleted_at=conversation.deleted_at,
        )
    )


def add_conversation(connection: sa.Connection, conversation: Conversation) -> None:
    """Insert a new conversation."""
    connection.execute(
        sa.insert(schema.conversations).values(
            id=conversation.id,
            owner=conversation.owner,
            title=conversation.title,
            title_source=conversation.title_source,
            settings=encode_text(conversation.settings),
            created_at=conversation.created_at,
            updated_at=conversation.updated_at,
            deleted_at=None,
            activity=None,
            last_seq=0,
        )
    )
