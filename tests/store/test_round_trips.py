"""Over a network each statement waits for its answer: what a message costs is counted in round trips."""

from __future__ import annotations

from pathlib import Path

from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from tests.support.records import a_conversation, a_posting
from tests.support.stalling_line import open_stalling_line

MESSAGES = 10
# It was 22 when every look had a transaction of its own, every connection was tried before each use, and each statement
# of an append was waited for; and 12 when beginning, committing and each look before an append were waited for, too.
MOST = 9


async def accept(store: Store, conversation_id: str) -> None:
    """Ask the store what accepting a message asks of it."""
    posting = a_posting(conversation_id)
    await store.admit(posting)
    await store.post_message(posting)


async def test_accepting_a_message_takes_few_round_trips(tmp_path: Path, postgres_url: str) -> None:
    with open_stalling_line(postgres_url) as (line, url):
        opened = open_store(tmp_path, url, lambda _id, _events: None)
        try:
            conversation = await opened.store.add_conversation(a_conversation())
            for _ in range(12):
                # Every thread has its connection then.
                await accept(opened.store, conversation.id)
            before = line.said
            for _ in range(MESSAGES):
                await accept(opened.store, conversation.id)
            assert (line.said - before) / MESSAGES <= MOST
        finally:
            await opened.close()
