"""Conversations, messages and items as tests make them."""

from __future__ import annotations

from pilothouse.store.store import Store
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item, ItemKind, ItemStatus, new_item
from pilothouse.types.json import JsonObject
from pilothouse.types.records import Posting
from pilothouse.types.runs import Run, RunOptions

OWNER = "local"


def a_conversation(owner: str = OWNER) -> Conversation:
    return Conversation(
        id=new_id("c"),
        owner=owner,
        title="",
        title_source="none",
        settings=ConversationSettings(),
        created_at=0.0,
        updated_at=0.0,
        last_seq=0,
    )


def an_item(
    conversation_id: str,
    kind: ItemKind = "response",
    status: ItemStatus = "streaming",
    text: str = "",
    run_id: str | None = None,
    data: JsonObject | None = None,
) -> Item:
    return new_item(conversation_id, kind, run_id=run_id, status=status, text=text, data=data)


def a_posting(conversation_id: str, text: str = "Hello", key: str | None = None, owner: str = OWNER) -> Posting:
    run_id = new_id("r")
    item = an_item(conversation_id, "user_message", "completed", text, run_id)
    run = Run(
        id=run_id,
        conversation_id=conversation_id,
        owner=owner,
        status="queued",
        message_item_id=item.id,
        options=RunOptions(),
        created_at=0.0,
        updated_at=0.0,
    )
    return Posting(item=item, run=run, first_words=text, idempotency_key=key, digest=text)


async def add_run(store: Store, text: str = "Hello") -> tuple[str, str]:
    """Add a conversation with one message; return its id, and the id of the run that is to answer it."""
    conversation = await store.add_conversation(a_conversation())
    posting = a_posting(conversation.id, text)
    await store.post_message(posting)
    return conversation.id, posting.run.id
