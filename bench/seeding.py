"""Conversations that are long from the start, written by the store itself."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pilothouse.store.opening import OpenStore, open_store
from pilothouse.types.events import Event, ItemCreated
from pilothouse.types.items import Item
from tests.support.records import a_conversation, an_item

# Items written in one transaction.
GROUP = 500
QUESTION = "Question {number}: how does part {number} of the machine work, and why?"
ANSWER = (
    "Part {number} works like this. **First** it takes what it is given, then it does what it must; `step({number})` "
    "is where that happens.\n\n- it is small\n- it is tested\n\n"
    "```python\ndef step(n: int) -> int:\n    return n + 1\n```\n"
)


def open_folder(folder: Path) -> OpenStore:
    """Open the database in a data folder that is there or not."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return open_store(folder, None, lambda conversation_id, events: None)


async def seed(opened: OpenStore, items: int) -> str:
    """Write a conversation of questions and answers in turn; return its id."""
    made = msgspec.structs.replace(a_conversation(), title=f"{items:,} messages", title_source="person")
    conversation = await opened.store.add_conversation(made)
    events: list[Event] = [ItemCreated(item=_item(conversation.id, number)) for number in range(items)]
    for at in range(0, items, GROUP):
        await opened.store.append(conversation.id, events[at : at + GROUP], None)
    return conversation.id


def _item(conversation_id: str, number: int) -> Item:
    if number % 2:
        return an_item(conversation_id, "response", "completed", ANSWER.format(number=number // 2))
    return an_item(conversation_id, "user_message", "completed", QUESTION.format(number=number // 2))
