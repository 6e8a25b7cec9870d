"""What comes with a message is kept once, beside the timeline, together with the message or not at all."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.types.api import PartData
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.parts import content
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult, Posting
from tests.store.conftest import Published
from tests.support.pictures import a_png
from tests.support.records import OWNER, a_conversation, a_posting, an_item

PICTURES = [a_png(1_000_000, number=number) for number in range(3)]


def with_pictures(conversation_id: str, pictures: Sequence[bytes], key: str | None = None) -> Posting:
    parts = tuple(Part(kind="image", data=data, media_type="image/png", name="a.png") for data in pictures)
    posting = a_posting(conversation_id, key=key)
    item = msgspec.structs.replace(posting.item, raw={"content": content(parts, are_apart=True)})
    return msgspec.structs.replace(posting, item=item, parts=parts)


async def posted(store: Store, *pictures: bytes) -> str:
    """Send a message with pictures in a conversation of its own, and return its item's id."""
    conversation = await store.add_conversation(a_conversation())
    return (await store.post_message(with_pictures(conversation.id, pictures))).item_id


async def rows_kept(opened: OpenStore) -> int:
    query = sa.select(sa.func.count()).select_from(schema.parts)
    return int(await opened.database.read(lambda c: c.execute(query).scalar() or 0))


async def change(opened: OpenStore, statement: str, **values: object) -> None:
    """Change the database as someone who has the file could."""
    await opened.database.write(lambda c: c.execute(sa.text(statement), values) and None)


async def test_a_messages_pictures_are_no_part_of_its_rows_and_are_fetched_one_by_one(
    store: Store, published: Published
) -> None:
    item_id = await posted(store, *PICTURES)
    item = await store.item(OWNER, item_id)
    snapshot = await store.snapshot(OWNER, item.conversation_id, 200)
    events = await store.events(item.conversation_id, 0, 100)
    sent = [encode(snapshot), *(event.json for event in events), *(event.json for _, event in published)]
    assert sum(map(len, sent)) < 20_000
    told = item.raw["content"]
    assert [(part["index"], part["mediaType"], part["bytes"], part["name"]) for part in told] == [
        (index, "image/png", len(data), "a.png") for index, data in enumerate(PICTURES)
    ]
    assert {(part["width"], part["height"]) for part in told} == {(64, 48)}
    for index, data in enumerate(PICTURES):
        assert await store.part(OWNER, item_id, index) == PartData("image/png", "a.png", data)
        assert await store.part_bytes(item.conversation_id, item_id, index) == data
    assert await store.part(OWNER, item_id, len(PICTURES)) is None


async def test_pictures_are_kept_once(opened: OpenStore) -> None:
    def in_rows(connection: sa.Connection) -> int:
        tables = ("events", "items", "parts", "search_texts", "receipts", "runs")
        sums = (connection.execute(sa.text(f"SELECT sum(length(body)) FROM {table}")).scalar() for table in tables)
        return sum(int(found or 0) for found in sums)

    await posted(opened.store, *PICTURES)
    all_bytes = sum(map(len, PICTURES))
    assert all_bytes <= await opened.database.read(in_rows) < all_bytes + 20_000


async def test_a_message_that_is_refused_or_sent_again_leaves_no_picture_behind(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    with pytest.raises(PilothouseError):
        await store.post_message(with_pictures("c_none", PICTURES))
    assert await rows_kept(opened) == 0
    first = await store.post_message(with_pictures(conversation.id, PICTURES[:1], "key"))
    again = await store.post_message(with_pictures(conversation.id, PICTURES[:1], "key"))
    assert again == first
    assert await rows_kept(opened) == 1


async def test_a_picture_of_someone_elses_message_does_not_exist(store: Store) -> None:
    item_id = await posted(store, PICTURES[0])
    with pytest.raises(PilothouseError) as refused:
        await store.part("stranger", item_id, 0)
    assert refused.value.code == "not_found"
    elsewhere = await store.item(OWNER, await posted(store, PICTURES[1]))
    assert await store.part_bytes(elsewhere.conversation_id, item_id, 0) is None


async def test_pictures_go_with_their_conversation(opened: OpenStore) -> None:
    gone, stays = [await opened.store.item(OWNER, await posted(opened.store, data)) for data in PICTURES[:2]]
    await opened.store.change_conversation(
        OWNER, gone.conversation_id, lambda now: msgspec.structs.replace(now, deleted_at=1.0)
    )
    assert await opened.store.purge(2.0) == 1
    assert await rows_kept(opened) == 1
    assert await opened.store.part(OWNER, stays.id, 0) is not None


CHANGED = {
    "another content": "UPDATE parts SET body = :other WHERE item_id = :id",
    "no content": "DELETE FROM parts WHERE item_id = :id",
    "another place": 'UPDATE parts SET "index" = 7 WHERE item_id = :id',
}


@pytest.mark.case("LOG-01")
@pytest.mark.parametrize("what", CHANGED)
@pytest.mark.parametrize("whose", ["message", "result"])
async def test_an_audit_finds_out_that_a_part_is_not_what_it_was(opened: OpenStore, whose: str, what: str) -> None:
    store = opened.store
    item_id = await posted(store, PICTURES[0])
    item = await store.item(OWNER, item_id)
    call = await a_call_with(store, item.conversation_id, Part(kind="text", text="x" * 5_000))
    _, check = await store.audit(OWNER, item.conversation_id)
    assert check.sound
    changed, event = (item, item.position) if whose == "message" else (call, check.events)
    values = {"other": PICTURES[1]} if ":other" in CHANGED[what] else {}
    await change(opened, CHANGED[what], id=changed.id, **values)
    _, check = await store.audit(OWNER, item.conversation_id)
    assert (check.sound, check.first_bad) == (False, event)
    # What was noted before that still holds for what was there then.
    _, earlier = await store.audit(OWNER, item.conversation_id, event - 1)
    assert earlier.sound


async def a_call_with(store: Store, conversation_id: str, part: Part) -> Item:
    item = an_item(conversation_id, "tool_call", data={"tool": "look"})
    await store.append(conversation_id, [ItemCreated(item=item)], None)
    await store.keep_result(KeptResult(item.id, conversation_id, (part,)))
    told: JsonObject = {"content": content((part,), are_apart=True)}
    await store.append(conversation_id, [ItemCompleted(item_id=item.id, status="completed", data=told)], None)
    return item


# --- messages of before, which have their pictures in their rows ---


async def of_before(store: Store, *pictures: bytes) -> Item:
    """Send a message as it was kept before pictures had a table."""
    conversation = await store.add_conversation(a_conversation())
    images = [{"mediaType": "image/png", "data": base64.b64encode(data).decode()} for data in pictures]
    posting = a_posting(conversation.id)
    old = msgspec.structs.replace(posting.item, raw={"images": images, "more": 1})
    accepted = await store.post_message(msgspec.structs.replace(posting, item=old))
    return await store.item(OWNER, accepted.item_id)


async def test_a_message_of_before_is_opened_without_its_pictures_which_are_fetched_when_they_are_seen(
    store: Store,
) -> None:
    item = await of_before(store, *PICTURES)
    page = await store.items(OWNER, item.conversation_id, None, 10)
    events = await store.events(item.conversation_id, 0, 100)
    history = await store.history(item.conversation_id)
    snapshot = await store.snapshot(OWNER, item.conversation_id, 200)
    assert sum(map(len, (encode(page), *(event.json for event in events), encode(history), encode(snapshot)))) < 20_000
    assert page.items == tuple(history) == snapshot.items == (item,)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert item.raw["more"] == 1
    assert [(part["kind"], part["mediaType"], part["bytes"], part["width"]) for part in item.raw["content"]] == [
        ("image", "image/png", len(data), 64) for data in PICTURES
    ]
    for index, data in enumerate(PICTURES):
        assert await store.part(OWNER, item.id, index) == PartData("image/png", "", data)
        assert await store.part_bytes(item.conversation_id, item.id, index) == data
    assert await store.part(OWNER, item.id, len(PICTURES)) is None
    with pytest.raises(PilothouseError):
        await store.part("stranger", item.id, 0)
    _, check = await store.audit(OWNER, item.conversation_id)
    assert check.sound


async def test_what_a_row_of_before_calls_a_picture_is_looked_at_first(store: Store) -> None:
    item = await of_before(store, b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert item.raw["content"][0]["mediaType"] == "application/octet-stream"
    part = await store.part(OWNER, item.id, 0)
    assert part is not None
    assert part.media_type == "application/octet-stream"


async def test_words_that_look_like_pictures_are_left_alone(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    text = '{"images":[{"mediaType":"image/png","data":"AAAA"}]}'
    accepted = await store.post_message(a_posting(conversation.id, text=text))
    call = an_item(conversation.id, "tool_call", data={"arguments": {"images": [{"data": "AAAA"}]}})
    await store.append(conversation.id, [ItemCreated(item=call)], None)
    assert (await store.item(OWNER, accepted.item_id)).text == text
    sent = [event.json for event in await store.events(conversation.id, 0, 100)]
    assert any(b'"images":[{"data":"AAAA"}]' in each for each in sent)
