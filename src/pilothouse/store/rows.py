"""Rows to records and back, and the one place where ownership is checked."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.types.api import MessageAccepted
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import encode_text
from pilothouse.types.runs import Run

item_decoder = msgspec.json.Decoder(Item)
run_decoder = msgspec.json.Decoder(Run)
_accepted_decoder = msgspec.json.Decoder(MessageAccepted)
_settings_decoder = msgspec.json.Decoder(ConversationSettings)


def conversation_of(row: sa.Row[tuple[object, ...]]) -> Conversation:
    """Return the conversation that a row holds."""
    fields = dict(row._mapping)
    fields["settings"] = _settings_decoder.decode(fields["settings"])
    return Conversation(**fields)


def owned_conversation(
    connection: sa.Connection, owner: str, conversation_id: str, *, deleted: bool = False
) -> Conversation:
    """Return the conversation if it is this owner's; to anyone else it does not exist."""
    table = schema.conversations
    query = sa.select(table).where(table.c.id == conversation_id, table.c.owner == owner)
    row = connection.execute(query).one_or_none()
    if row is None or (row.deleted_at is not None and not deleted):
        raise PilothouseError("not_found", "There is no such conversation.")
    return conversation_of(row)


def owned_run(connection: sa.Connection, owner: str, run_id: str) -> Run:
    """Return the run if it is this owner's."""
    table = schema.runs
    body = connection.execute(sa.select(table.c.body).where(table.c.id == run_id, table.c.owner == owner)).scalar()
    if body is None:
        raise PilothouseError("not_found", "There is no such run.")
    return run_decoder.decode(body)


def owned_item(connection: sa.Connection, owner: str, item_id: str) -> Item:
    """Return the item if it stands in a conversation of this owner."""
    body = connection.execute(sa.select(schema.items.c.body).where(schema.items.c.id == item_id)).scalar()
    if body is None:
        raise PilothouseError("not_found", "There is no such item.")
    item = item_decoder.decode(body)
    owned_conversation(connection, owner, item.conversation_id)
    return item


def receipt(connection: sa.Connection, owner: str, key: str) -> MessageAccepted | None:
    """Return what was answered to the first message with this idempotency key."""
    table = schema.receipts
    body = connection.execute(sa.select(table.c.body).where(table.c.owner == owner, table.c.key == key)).scalar()
    return _accepted_decoder.decode(body) if body is not None else None


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
