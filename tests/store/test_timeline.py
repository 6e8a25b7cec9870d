"""The timeline keeps everything once, in order, without gaps, whoever writes at once."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from pilothouse.store.store import Store
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, ItemUpdated, event_decoder
from pilothouse.types.feed import Guard
from tests.store.conftest import Published
from tests.support.records import OWNER, a_conversation, a_posting, an_item


@pytest.mark.slow
async def test_appends_from_many_tasks_get_gap_free_numbers_and_are_published_in_order(
    store: Store, published: Published
) -> None:
    conversations = [await store.add_conversation(a_conversation()) for _ in range(3)]
    items = {c.id: an_item(c.id) for c in conversations}
    for c in conversations:
        await store.append(c.id, [ItemCreated(item=items[c.id])], None)
    await asyncio.gather(
        *(
            store.append(c.id, [ItemDelta(item_id=items[c.id].id, offset=n, text="x")], None)
            for n in range(40)
            for c in conversations
        )
    )
    for c in conversations:
        kept = await store.events(c.id, 0, 1000)
        assert [event.seq for event in kept] == list(range(1, 43))
        assert [event for owner, event in published if owner == c.id] == kept


async def test_a_streaming_item_reads_as_the_text_so_far_and_then_as_the_whole(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id)
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    await store.append(conversation.id, [ItemDelta(item_id=item.id, offset=0, text="Hel\x00")], None)
    snapshot = await store.snapshot(OWNER, conversation.id, 10)
    assert (snapshot.items[0].text, snapshot.items[0].status) == ("Hel\x00", "streaming")
    done = ItemCompleted(item_id=item.id, status="completed", data={"usage": {"output": 2}})
    await store.append(conversation.id, [ItemDelta(item_id=item.id, offset=4, text="lo 🚀"), done], None)
    whole = await store.item(OWNER, item.id)
    assert (whole.text, whole.status, whole.raw) == ("Hel\x00lo 🚀", "completed", {"usage": {"output": 2}})


async def test_completing_an_item_keeps_the_data_it_had(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id, "tool_call", data={"arguments": {"path": "a"}})
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    await store.append(conversation.id, [ItemUpdated(item_id=item.id, data={"phase": "executing"})], None)
    await store.append(conversation.id, [ItemCompleted(item_id=item.id, status="failed", data={"isError": True})], None)
    kept = await store.item(OWNER, item.id)
    assert kept.raw == {"arguments": {"path": "a"}, "phase": "executing", "isError": True}


async def test_an_item_ends_once(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id)
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    ends = [
        store.append(conversation.id, [ItemCompleted(item_id=item.id, status=s)], None)
        for s in ("completed", "cancelled")
    ]
    outcomes = await asyncio.gather(*ends, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, PilothouseError)]
    assert [error.code for error in refused] == ["conflict"]
    assert (await store.events(conversation.id, 0, 100))[-1].seq == 3


async def test_a_writer_that_was_taken_over_cannot_write(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "p_one")
    assert run is not None
    await store.append(conversation.id, [ItemCreated(item=an_item(conversation.id))], Guard(run.id, run.epoch))
    await store.change_run(run.id, lambda r: msgspec.structs.replace(r, status="queued", process=None))
    assert await store.claim_next(conversation.id, "p_two") is not None
    with pytest.raises(PilothouseError) as refused:
        await store.append(conversation.id, [ItemCreated(item=an_item(conversation.id))], Guard(run.id, run.epoch))
    assert refused.value.code == "stale_run"


async def test_a_conversation_has_one_run_at_work(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    first = await store.post_message(a_posting(conversation.id, "one"))
    await store.post_message(a_posting(conversation.id, "two"))
    claims = await asyncio.gather(*(store.claim_next(conversation.id, process) for process in ("p", "q")))
    assert [run.id for run in claims if run is not None] == [first.run_id]


async def test_the_same_key_gives_the_first_acceptance_again(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    outcomes = await asyncio.gather(*(store.post_message(a_posting(conversation.id, key="k")) for _ in range(5)))
    assert len({outcome.run_id for outcome in outcomes}) == 1
    page = await store.items(OWNER, conversation.id, None, 10)
    assert len(page.items) == 1


async def test_items_before_a_position_beyond_every_column_are_the_newest(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    newest = await store.items(OWNER, conversation.id, None, 10)
    assert newest.items
    assert await store.items(OWNER, conversation.id, 10**20, 10) == newest


async def test_another_owner_finds_nothing(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    accepted = await store.post_message(a_posting(conversation.id))
    for ask in (
        store.conversation("other", conversation.id),
        store.snapshot("other", conversation.id, 5),
        store.items("other", conversation.id, None, 5),
        store.item("other", accepted.item_id),
        store.run("other", accepted.run_id),
    ):
        with pytest.raises(PilothouseError) as refused:
            await ask
        assert refused.value.code == "not_found"
    assert (await store.search("other", "Hello", 5)).hits == ()


@pytest.mark.case("CHT-03")
async def test_words_parts_of_words_and_titles_are_found_with_their_places(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id, "How tall is the Fernsehturm in Berlin?"))
    hits = (await store.search(OWNER, "berl", 10)).hits
    assert {hit.item_id is None for hit in hits} == {True, False}
    assert all(hit.snippet[r.start : r.end] == "Berl" for hit in hits for r in hit.ranges)
    inside = (await store.search(OWNER, "sehtur", 10)).hits
    assert {hit.item_id is None for hit in inside} == {True, False}
    assert (await store.search(OWNER, '"); DROP', 10)).hits == ()


@pytest.mark.case("CHT-03")
@pytest.mark.parametrize(
    "query", ["har\x00bour", "\x00harbour", "harbour\x00", "\x00", "\x00\x00\x00\x00", 'ha"\x00"r']
)
async def test_a_search_with_a_nul_in_it_is_a_search_like_any_other(store: Store, query: str) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id, "The harbour of the bour family"))
    found = await store.search(OWNER, query, 10)
    assert bool(found.hits) == ("har" in query)


async def test_places_of_hits_are_counted_in_characters(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id, "🚢🚢 harbour"))
    hits = (await store.search(OWNER, "harbour", 10)).hits
    assert {(place.start, place.end) for hit in hits for place in hit.ranges} == {(3, 10)}


async def test_every_kept_event_decodes_to_what_was_appended(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    events = [event_decoder.decode(event.json) for event in await store.events(conversation.id, 0, 100)]
    assert [event.seq for event in events] == [1, 2, 3, 4]


async def test_an_attempt_that_broke_off_is_not_found(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    for cut_off in (True, False):
        item = an_item(conversation.id, text="A passage said twice")
        await store.append(conversation.id, [ItemCreated(item=item)], None)
        done = ItemCompleted(item_id=item.id, status="completed", data={"cutOff": cut_off})
        await store.append(conversation.id, [done], None)
    assert len((await store.search(OWNER, "passage", 10)).hits) == 1
