"""Whole results of tool calls, on each database."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.store import schema
from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.api import PartData
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.item_data import ResultPart
from pilothouse.types.items import Item
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult
from tests.support.lag import MOST, least_turn
from tests.support.records import OWNER, a_conversation, an_item

PARTS = (
    Part(kind="text", text="ünï" * 100_000),
    Part(kind="image", data=bytes(range(256)) * 10, media_type="image/png", name="a picture"),
    Part(kind="link", uri="https://example.com/"),
)


async def a_call(store: Store) -> Item:
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id, "tool_call")
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    return item


@pytest.mark.case("RES-16")
async def test_a_result_is_read_back_as_it_was_kept(store: Store) -> None:
    call = await a_call(store)
    assert await store.result(OWNER, call.id) is None
    await store.keep_result(KeptResult(call.id, call.conversation_id, PARTS, cut=True))
    full = await store.result(OWNER, call.id)
    assert full is not None
    assert full.cut
    assert full.parts == (
        ResultPart(index=0, kind="text", text="ünï" * 100_000, bytes=500_000),
        ResultPart(index=1, kind="image", media_type="image/png", name="a picture", bytes=2_560),
        ResultPart(index=2, kind="link", uri="https://example.com/"),
    )
    picture = await store.part(OWNER, call.id, 1)
    assert picture == PartData("image/png", "a picture", bytes(range(256)) * 10)
    text = await store.part(OWNER, call.id, 0)
    assert text == PartData("text/plain; charset=utf-8", "", ("ünï" * 100_000).encode())
    assert await store.part(OWNER, call.id, 3) is None


async def test_a_name_that_a_database_does_not_take_is_kept_without_what_it_does_not_take(store: Store) -> None:
    call = await a_call(store)
    named = Part(kind="image", data=b"x", media_type="image/\x00png", name="a\x00b", uri="file:\x00")
    await store.keep_result(KeptResult(call.id, call.conversation_id, (named,)))
    full = await store.result(OWNER, call.id)
    assert full is not None
    assert [(part.name, part.uri, part.media_type) for part in full.parts] == [("a b", "file: ", "image/ png")]


async def test_what_nobody_can_be_called_is_not_found(store: Store) -> None:
    for look in (store.result(OWNER, "i\x00"), store.run(OWNER, "r\x00"), store.conversation(OWNER, "c\x00")):
        with pytest.raises(PilothouseError) as refused:
            await look
        assert refused.value.code in ("not_found", "bad_request")


@pytest.mark.slow
async def test_a_result_that_is_kept_again_replaces_the_first(store: Store) -> None:
    call = await a_call(store)
    await store.keep_result(KeptResult(call.id, call.conversation_id, PARTS))
    await store.keep_result(KeptResult(call.id, call.conversation_id, (Part(kind="text", text="second"),)))
    full = await store.result(OWNER, call.id)
    assert full is not None
    assert [part.text for part in full.parts] == ["second"]


async def test_a_result_of_someone_else_does_not_exist(store: Store) -> None:
    call = await a_call(store)
    await store.keep_result(KeptResult(call.id, call.conversation_id, PARTS))
    for asked in (store.result("stranger", call.id), store.part("stranger", call.id, 1)):
        with pytest.raises(PilothouseError) as refused:
            await asked
        assert refused.value.code == "not_found"


async def test_a_run_gets_the_bytes_of_its_own_conversation_only(store: Store) -> None:
    call = await a_call(store)
    await store.keep_result(KeptResult(call.id, call.conversation_id, PARTS))
    for index, part in enumerate(PARTS):
        kept = await store.part_bytes(call.conversation_id, call.id, index)
        assert kept == (part.data or part.text.encode(errors="replace"))
    other = await a_call(store)
    assert await store.part_bytes(other.conversation_id, call.id, 0) is None
    assert await store.part_bytes(call.conversation_id, call.id, len(PARTS)) is None


async def test_results_go_with_their_conversation(opened: OpenStore) -> None:
    store = opened.store
    gone, stays = await a_call(store), await a_call(store)
    for call in (gone, stays):
        await store.keep_result(KeptResult(call.id, call.conversation_id, PARTS))
    await store.change_conversation(
        OWNER, gone.conversation_id, lambda now: msgspec.structs.replace(now, deleted_at=1.0)
    )
    assert await store.purge(2.0) == 1
    left = await opened.database.read(lambda c: {row.item_id for row in c.execute(schema.parts.select())})
    assert left == {stays.id}


@pytest.mark.case("RES-18")
@pytest.mark.slow
async def test_keeping_and_reading_the_largest_result_holds_nobody_up(store: Store) -> None:
    call = await a_call(store)
    whole = KeptResult(call.id, call.conversation_id, (Part(kind="text", text="lorem " * (limits.RESULT_KEPT // 6)),))

    async def there_and_back() -> None:
        await store.keep_result(whole)
        assert await store.result(OWNER, call.id) is not None

    assert await least_turn(there_and_back) < MOST
