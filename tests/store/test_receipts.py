"""An idempotency key belongs to one message: its conversation and its content."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types.api import MessageAccepted
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.records import Posting
from tests.support.records import OWNER, a_conversation, a_posting


async def refused_key(store: Store, posting: Posting) -> None:
    for asked in (store.receipt, store.post_message):
        with pytest.raises(PilothouseError) as refused:
            await asked(posting)
        assert refused.value.code == "conflict"
        assert "idempotency key" in refused.value.message


@pytest.mark.slow
async def test_a_key_with_other_words_or_in_another_conversation_is_refused_and_nothing_is_kept(store: Store) -> None:
    here, elsewhere = [await store.add_conversation(a_conversation()) for _ in range(2)]
    first = await store.post_message(a_posting(here.id, "Hello", key="k"))
    before = [len(await store.events(one.id, 0, 100)) for one in (here, elsewhere)]
    await refused_key(store, a_posting(here.id, "Goodbye", key="k"))
    await refused_key(store, a_posting(elsewhere.id, "Hello", key="k"))
    assert [len(await store.events(one.id, 0, 100)) for one in (here, elsewhere)] == before
    assert await store.post_message(a_posting(here.id, "Hello", key="k")) == first
    assert (await store.post_message(a_posting(elsewhere.id, "Hello", key="another"))).run_id != first.run_id


@pytest.mark.slow
async def test_one_key_used_in_two_conversations_at_once_is_taken_in_one_of_them(
    tmp_path: Path, postgres_url: str
) -> None:
    stores = [open_store(tmp_path, postgres_url, lambda *_: None) for _ in range(2)]
    try:
        for number in range(10):
            places = [await store.store.add_conversation(a_conversation()) for store in stores]
            posts = [
                store.store.post_message(a_posting(place.id, key=f"k{number}"))
                for store, place in zip(stores, places, strict=True)
            ]
            outcomes = await asyncio.gather(*posts, return_exceptions=True)
            codes = [outcome.code for outcome in outcomes if isinstance(outcome, PilothouseError)]
            assert codes == ["conflict"]
    finally:
        for store in stores:
            await store.close()


@pytest.mark.slow
async def test_a_receipt_of_an_earlier_version_is_still_one(store: Store, opened: OpenStore) -> None:
    conversation = await store.add_conversation(a_conversation())
    accepted = MessageAccepted(conversation_id=conversation.id, item_id="i_1", run_id="r_1")
    row = {"owner": OWNER, "key": "k", "body": encode(accepted), "created_at": 1.0}
    with opened.database.writing() as connection:
        connection.execute(sa.insert(schema.receipts).values(**row))
    assert await store.post_message(a_posting(conversation.id, key="k")) == accepted
