"""A NUL in a text is treated the same on both databases: kept in what is said, a space in names, keys and ids."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from pilothouse.store.store import Store
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, event_decoder
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult
from pilothouse.types.todos import TodoList
from tests.support.records import OWNER, a_conversation, a_posting, an_item

TEXT = "one\x00two"
CLEAN = "one two"


async def test_what_people_models_and_tools_say_is_kept_as_it_is(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id, TEXT))
    answer = an_item(conversation.id, "response")
    call = an_item(conversation.id, "tool_call", data={"tool": "t", "arguments": {TEXT: TEXT}})
    for item in (answer, call):
        await store.append(conversation.id, [ItemCreated(item=item)], None)
        pieces = ItemDelta(item_id=item.id, offset=0, text=TEXT)
        await store.append(conversation.id, [pieces, ItemCompleted(item_id=item.id, status="completed")], None)
    items = (await store.snapshot(OWNER, conversation.id, 9)).items
    assert [item.text for item in items] == [TEXT, TEXT, TEXT]
    assert items[2].raw["arguments"] == {TEXT: TEXT}
    hits = (await store.search(OWNER, TEXT, 9)).hits
    assert hits == (await store.search(OWNER, CLEAN, 9)).hits
    assert hits[0].found_here == 4, "its title is one of them"
    assert (await store.audit(OWNER, conversation.id))[1].sound


async def test_a_title_has_a_space_in_its_place_in_the_list_and_in_the_event(store: Store) -> None:
    named = msgspec.structs.replace(a_conversation(), title=TEXT, title_source="person")
    conversation = await store.add_conversation(named)
    assert conversation.title == CLEAN
    other = await store.change_conversation(
        OWNER, conversation.id, lambda c: msgspec.structs.replace(c, title=f"{TEXT} again")
    )
    assert other.title == f"{CLEAN} again"
    [listed] = (await store.conversations(OWNER, 9, None)).conversations
    assert listed.title == f"{CLEAN} again"
    events = [event_decoder.decode(event.json) for event in await store.events(conversation.id, 0, 9)]
    assert [event.conversation.title for event in events] == [CLEAN, f"{CLEAN} again"]
    untitled = await store.add_conversation(a_conversation())
    posting = msgspec.structs.replace(a_posting(untitled.id, TEXT), first_words=TEXT)
    await store.post_message(posting)
    assert (await store.conversation(OWNER, untitled.id)).title == CLEAN


LOOKS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "conversation": lambda store: store.conversation(OWNER, TEXT),
    "owner": lambda store: store.conversation(TEXT, "c"),
    "snapshot": lambda store: store.snapshot(OWNER, TEXT, 9),
    "items": lambda store: store.items(OWNER, TEXT, None, 9),
    "item": lambda store: store.item(OWNER, TEXT),
    "run": lambda store: store.run(OWNER, TEXT),
    "result": lambda store: store.result(OWNER, TEXT),
    "grant": lambda store: store.revoke_grant(OWNER, TEXT),
    "message": lambda store: store.post_message(a_posting(TEXT)),
    "audit": lambda store: store.audit(OWNER, TEXT),
}


@pytest.mark.parametrize("look", LOOKS)
async def test_an_id_with_one_is_nobodys(store: Store, look: str) -> None:
    with pytest.raises(PilothouseError) as refused:
        await LOOKS[look](store)
    assert refused.value.code == "not_found"


async def test_keys_names_lists_and_permissions_with_one_can_be_kept(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    posting = a_posting(conversation.id, key=TEXT)
    accepted = await store.post_message(posting)
    assert await store.post_message(posting) == accepted == await store.receipt(posting)
    assert await store.session_owner(TEXT) is None
    assert (await store.conversations(OWNER, 9, f"1.0~{TEXT}")).conversations == ()
    todos = TodoList(updated_at=5.0)
    assert await store.keep_todos(conversation.id, todos, instead_of=0.0)
    pattern = Pattern(tool=TEXT)
    await store.add_grant(
        Grant(
            id="g_1",
            owner=OWNER,
            conversation_id=conversation.id,
            pattern=pattern,
            created_at=1.0,
            expires_at=time.time() + 60,
            question_id=TEXT,
        )
    )
    [grant] = await store.grants(OWNER, conversation.id)
    assert (grant.pattern, grant.question_id) == (pattern, CLEAN)
    call = an_item(conversation.id, "tool_call")
    await store.append(conversation.id, [ItemCreated(item=call)], None)
    part = Part(kind="image", data=b"x", media_type=TEXT, name=TEXT, uri=TEXT)
    await store.keep_result(KeptResult(item_id=call.id, conversation_id=conversation.id, parts=(part,), cut=False))
    kept = await store.part(OWNER, call.id, 0)
    assert kept is not None
    assert (kept.name, kept.media_type) == (CLEAN, CLEAN)
