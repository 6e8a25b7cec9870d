"""Rows to records and back, and the one place where ownership is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pilothouse.store import inline_images
from pilothouse.store.packed_text import plain_body
from pilothouse.store.statements import Statement
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import encode, encode_text
from pilothouse.types.runs import Run, RunOptions

if TYPE_CHECKING:
    import sqlalchemy as sa

_item_decoder = msgspec.json.Decoder(Item)
run_decoder = msgspec.json.Decoder(Run)
settings_decoder = msgspec.json.Decoder(ConversationSettings)


_RUN_FIELDS, _OPTION_FIELDS = (
    [(field.name, field.encode_name, field.default) for field in msgspec.structs.fields(kind)]
    for kind in (Run, RunOptions)
)
_COLUMNS = tuple(Conversation.__struct_fields__)
# What `conversation_from` takes: all that a conversation has, in its order.
CONVERSATIONS = (
    "SELECT id, owner, title, title_source, settings, created_at, updated_at, last_seq, deleted_at, activity, "
    "branch, branches FROM conversations"
)
_CONVERSATION = Statement(f"{CONVERSATIONS} WHERE id = :id AND owner = :owner")
_RUN = Statement("SELECT body FROM runs WHERE id = :id AND owner = :owner")
_ITEM = Statement("SELECT body FROM items WHERE id = :id")
_PUT_CONVERSATION = Statement(
    "UPDATE conversations SET title = :title, title_source = :title_source, settings = :settings, "
    "updated_at = :updated_at, deleted_at = :deleted_at, branch = :branch WHERE id = :id"
)
_ADD_CONVERSATION = Statement(
    "INSERT INTO conversations (id, owner, title, title_source, settings, created_at, updated_at, last_seq) "
    "VALUES (:id, :owner, :title, :title_source, :settings, :created_at, :updated_at, 0)"
)


def kept_item(body: bytes) -> Item:
    """Return the item that a row holds."""
    return _item_decoder.decode(plain_body(body))


def item_of(body: bytes) -> Item:
    """Return the item that a row holds, as readers get it; of its images only what they are."""
    return inline_images.item_without(kept_item(body))


def conversation_of(row: sa.Row[tuple[object, ...]]) -> Conversation:
    """Return the conversation that a row holds."""
    return _conversation(dict(row._mapping))


def conversation_from(values: Sequence[Any]) -> Conversation:
    """Return the conversation whose columns these are."""
    return _conversation(dict(zip(_COLUMNS, values, strict=True)))


def _conversation(fields: dict[str, Any]) -> Conversation:
    kept = fields["settings"]
    settings = settings_decoder.decode(kept)
    # Before there were modes everything was asked about.
    fields["settings"] = settings if '"mode":' in kept else msgspec.structs.replace(settings, mode="ask")
    return Conversation(**fields)


def conversation_if_any(connection: sa.Connection, owner: str, conversation_id: str) -> Conversation | None:
    """Return the conversation if it is this owner's, deleted or not."""
    found = _CONVERSATION.rows(connection, {"id": conversation_id, "owner": owner})
    return conversation_from(found[0]) if found else None


def owned_conversation(
    connection: sa.Connection, owner: str, conversation_id: str, *, deleted: bool = False
) -> Conversation:
    """Return the conversation if it is this owner's; to anyone else it does not exist."""
    conversation = conversation_if_any(connection, owner, conversation_id)
    if conversation is None or (conversation.deleted_at is not None and not deleted):
        raise PilothouseError("not_found", "There is no such conversation.")
    return conversation


def owned_run(connection: sa.Connection, owner: str, run_id: str) -> Run:
    """Return the run if it is this owner's."""
    body = _RUN.first(connection, {"id": run_id, "owner": owner})
    if body is None:
        raise PilothouseError("not_found", "There is no such run.")
    return run_decoder.decode(body)


def run_body(run: Run) -> bytes:
    """Return the JSON that a row keeps of a run: what is as in most runs takes no bytes, and is read as that."""
    return encode(_told(run, _RUN_FIELDS) | {"options": _told(run.options, _OPTION_FIELDS)})


def _told(record: msgspec.Struct, fields: Sequence[tuple[str, str, object]]) -> dict[str, object]:
    values = ((key, getattr(record, name), usual) for name, key, usual in fields)
    return {key: value for key, value, usual in values if value is not usual and value != usual}


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
    _PUT_CONVERSATION.run(connection, _values(conversation))


def add_conversation(connection: sa.Connection, conversation: Conversation) -> None:
    """Insert a new conversation."""
    _ADD_CONVERSATION.run(connection, _values(conversation))


def _values(conversation: Conversation) -> dict[str, object]:
    return {
        "id": conversation.id,
        "owner": conversation.owner,
        "title": conversation.title,
        "title_source": conversation.title_source,
        "settings": encode_text(conversation.settings),
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "deleted_at": conversation.deleted_at,
        "branch": conversation.branch,
    }
