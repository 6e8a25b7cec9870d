"""What was said, asked of tools and given by them is found by its words, on both databases."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import search_backlog
from pilothouse.store.excerpts import SNIPPET_CHARS, excerpt, plain
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.api import SearchHit
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta
from pilothouse.types.items import ItemKind
from tests.store.conftest import Published
from tests.store.older import BEFORE_PACKED_TEXTS, BEFORE_PACKING
from tests.support.records import OWNER, a_conversation, an_item


async def said(store: Store, conversation: Conversation, *texts: str, kind: ItemKind = "response") -> str:
    """Texts as they are kept; returns the id of the last."""
    for text in texts:
        item = an_item(conversation.id, kind, "completed", text)
        await store.append(conversation.id, [ItemCreated(item=item)], None)
    return item.id


async def called(store: Store, conversation: Conversation, arguments: dict[str, object], result: str) -> str:
    """A call as a run writes it: asked first, with its result as it comes; returns its id."""
    item = an_item(conversation.id, "tool_call", data={"name": "harbour__tides", "arguments": arguments})
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    text = ItemDelta(item_id=item.id, offset=0, text=result)
    await store.append(conversation.id, [text, ItemCompleted(item_id=item.id, status="completed")], None)
    return item.id


async def found(store: Store, query: str, limit: int = 50) -> tuple[SearchHit, ...]:
    return (await store.search(OWNER, query, limit)).hits


def marked(hit: SearchHit) -> list[str]:
    return [hit.snippet[place.start : place.end] for place in hit.ranges]


@pytest.mark.slow
async def test_what_tools_were_asked_and_what_they_gave_is_found(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    item_id = await called(store, conversation, {"port": "Stavanger", "days": [{"n": 3}]}, "High water at 04:12")
    for query in ("stavang", "high water"):
        [hit] = await found(store, query)
        assert (hit.item_id, hit.kind) == (item_id, "tool_call")
    assert marked(hit) == ["High", "water"]


async def test_a_conversation_is_named_once_with_its_best_hits(store: Store) -> None:
    first, second = [await store.add_conversation(a_conversation()) for _ in range(2)]
    await said(store, first, *(f"The harbour, seen {number} times" for number in range(8)))
    await called(store, second, {"place": "harbour"}, "nothing else")
    await said(store, second, "A harbour it is")
    hits = await found(store, "harbour")
    assert [hit.conversation_id for hit in hits] in (
        [first.id] * 3 + [second.id] * 2,
        [second.id] * 2 + [first.id] * 3,
    )
    assert {hit.conversation_id: hit.found_here for hit in hits} == {first.id: 8, second.id: 2}
    assert [hit.kind for hit in hits if hit.conversation_id == second.id] == ["response", "tool_call"]


@pytest.mark.slow
async def test_one_conversation_full_of_hits_leaves_room_for_the_others(store: Store) -> None:
    crowded = await store.add_conversation(a_conversation())
    await said(store, crowded, *(f"harbour {number}" for number in range(60)))
    quiet = await store.add_conversation(a_conversation())
    await said(store, quiet, "One long sentence about many things, in which there is a harbour, too, among the rest.")
    assert {hit.conversation_id for hit in await found(store, "harbour")} == {crowded.id, quiet.id}


async def test_a_hit_inside_a_word_comes_after_the_whole_words(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await said(store, conversation, "der Binnenhafen", "der Hafen")
    assert [hit.snippet for hit in await found(store, "hafen")] == ["der Hafen", "der Binnenhafen"]


async def test_an_answer_is_shown_as_it_is_read_and_not_as_it_is_written(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await said(store, conversation, "## The **harbour** is `open`\n\n- for [ships](https://example.com/quay)")
    [hit] = await found(store, "harbour")
    assert (hit.snippet, marked(hit)) == ("The harbour is open for ships", ["harbour"])
    [hit] = await found(store, "quay")
    assert marked(hit) == ["quay"], "what stands only in an address is shown, too"


async def test_items_that_are_alike_are_hits_in_the_order_of_their_likeness(store: Store) -> None:
    mine, gone = [await store.add_conversation(a_conversation()) for _ in range(2)]
    theirs = await store.add_conversation(a_conversation("someone else"))
    first = await said(store, mine, "The **vessel** is moored at the quay")
    second = await called(store, mine, {"place": "dock"}, "three boats")
    other = await said(store, theirs, "A ship of theirs")
    deleted = await said(store, gone, "A ship that sank")
    await store.change_conversation(OWNER, gone.id, lambda each: msgspec.structs.replace(each, deleted_at=1.0))
    hits = await store.similar(OWNER, [second, "unknown", other, deleted, first], "is a ship at the quay?")
    assert [(hit.item_id, hit.kind, hit.similar) for hit in hits] == [
        (second, "tool_call", True),
        (first, "response", True),
    ]
    # What it has of the words is marked, but for those that every text has.
    assert (hits[1].snippet, marked(hits[1])) == ("The vessel is moored at the quay", ["quay"])
    assert [hit.ranges for hit in await store.similar(OWNER, [first], "a b c")] == [()]


async def test_a_query_with_signs_of_every_kind_is_only_words(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await said(store, conversation, "a harbour")
    for query in ("harbour\x00", '"harbour', "harbour & | !", "harbour'; --", "\x00", "***"):
        hits = await found(store, query)
        assert len(hits) == (1 if "harbour" in query else 0), query


@pytest.mark.slow
async def test_calls_of_before_an_upgrade_are_found_after_it_and_the_start_does_not_wait(
    tmp_path: Path, database_url: str | None, opened: OpenStore, published: Published
) -> None:
    store = opened.store
    old = [await store.add_conversation(a_conversation()) for _ in range(2)]
    for number in range(limits.CATCH_UP_ITEMS + 5):
        await called(store, old[0], {"n": number}, "lowtide")
    await called(store, old[1], {}, "lowtide")
    with opened.database.writing() as connection:
        for statement in (
            "DELETE FROM search_texts",
            *BEFORE_PACKING,
            "DROP TABLE search_backlog",
            "UPDATE alembic_version SET version_num = '0003'",
        ):
            connection.execute(sa.text(statement))
    await opened.close()
    again = open_store(tmp_path, database_url, published.take)
    try:
        # The start itself went through nothing.
        assert await found(again.store, "lowtide") == ()
        steps = 0
        while await again.store.catch_up():
            steps += 1
        # Before them two, one for what was used in each conversation.
        assert steps == 2 + 3, "each step has a bound"
        hits = await found(again.store, "lowtide")
        assert {hit.conversation_id: hit.found_here for hit in hits} == {old[0].id: 105, old[1].id: 1}
        assert not await again.store.catch_up()
    finally:
        await again.close()


async def test_texts_of_before_an_upgrade_are_packed_after_it_and_found_as_before(
    tmp_path: Path, published: Published
) -> None:
    opened = open_store(tmp_path, None, published.take)
    old = [await opened.store.add_conversation(a_conversation()) for _ in range(3)]
    for number in range(limits.CATCH_UP_ITEMS):
        await said(opened.store, old[number % 3], f"The lighthouse {number} " + "and its keeper " * 20)
    with opened.database.writing() as connection:
        for statement in (*BEFORE_PACKED_TEXTS, *BEFORE_PACKING):
            connection.execute(sa.text(statement))
    await opened.close()
    again = open_store(tmp_path, None, published.take)
    store = again.store
    try:
        assert await counted(store, "lighthouse") == limits.CATCH_UP_ITEMS, "whole words are found from the start on"
        await said(store, old[0], "A lighthouse of today.")
        await delete(store, old[1])
        while await store.catch_up():
            await delete(store, old[2])
        wanted = {"lighthouse": 35, "ghthou": 35, "GHTHOU": 35, "house 3": 5, "keeper and its": 34, "eeper its": 0}
        assert {query: await counted(store, query) for query in wanted} == wanted
        kept = await again.database.read(lambda c: c.execute(sa.text("SELECT body FROM search_texts")).scalars().all())
        assert {type(body) for body in kept} == {bytes}
        await delete(store, old[0])
        assert await counted(store, "ghthou") == await counted(store, "lighthouse") == 0
        for table in ("search_words", "search_parts"):
            check = sa.text(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            await again.database.write(lambda c, check=check: c.execute(check) and None)  # type: ignore[misc]
    finally:
        await again.close()


async def counted(store: Store, query: str) -> int:
    """Return in how many texts the words are found."""
    return sum({hit.conversation_id: hit.found_here for hit in await found(store, query)}.values())


async def delete(store: Store, conversation: Conversation) -> None:
    """Delete a conversation for good, if it is there."""
    with suppress(PilothouseError):
        await store.change_conversation(OWNER, conversation.id, lambda c: msgspec.structs.replace(c, deleted_at=1.0))
    await store.purge(2.0)


async def test_what_is_found_already_is_not_found_twice_after_catching_up(opened: OpenStore) -> None:
    conversation = await opened.store.add_conversation(a_conversation())
    await called(opened.store, conversation, {}, "lowtide")
    with opened.database.writing() as connection:
        values = {"id": conversation.id}
        connection.execute(sa.text("INSERT INTO search_backlog (conversation_id, position) VALUES (:id, -1)"), values)
        assert search_backlog.catch_up(connection)
    [hit] = await found(opened.store, "lowtide")
    assert hit.found_here == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("**bold** and _slanted_, ~~gone~~ and ***both***", "bold and slanted, gone and both"),
        ("# Heading", "Heading"),
        ("> said\n>> again", "said\nagain"),
        ("- [x] done\n* item", "done\nitem"),
        ("![a ship](ship.png) and <https://example.com>", "a ship and https://example.com"),
        ("| port | depth |\n|---|---:|\n| Bergen | 12 |", "port  ·  depth\nBergen  ·  12"),
        ("```py\nx = a * b * c\n_y_ = 1\n```", "x = a * b * c\n_y_ = 1"),
        ("snake_case_name and __init__ in `a*b*c`", "snake_case_name and init in a*b*c"),
        (r"2 \* 3 and \( \alpha \)", r"2 * 3 and \( \alpha \)"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("before\n\n---\n\nafter", "before\n\n\nafter"),
    ],
)
def test_markdown_becomes_the_text_that_is_read(written: str, read: str) -> None:
    assert plain(written).replace("  ", " ").strip() == read.replace("  ", " ").strip()


def test_the_hit_is_marked_also_without_its_accents() -> None:
    snippet, [place] = excerpt("Ein Café an der Küste", ["kuste"])
    assert snippet[place.start : place.end] == "Küste"


def test_an_excerpt_begins_at_a_word_near_the_hit_and_is_short() -> None:
    snippet, [place] = excerpt("word " * 500 + "harbour " + "word " * 500, ["harbour"])
    assert snippet.startswith("…word")
    assert snippet.endswith("word…")
    assert len(snippet) <= SNIPPET_CHARS + 2
    assert snippet[place.start : place.end] == "harbour"


@pytest.mark.parametrize("piece", ["`", "*", "_", "[", "[](", "![a](", "~~", "> ", "-", "|", "<https:", "\\", "**a"])
def test_no_text_holds_the_search_up(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    excerpt(text + " harbour", ["harbour"], markdown=True)
    assert time.process_time() - began < 2.0
