"""A memory is kept once; what it repeats and what it may contradict is noticed."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse.store.store import Store
from pilothouse.types.memories import MemoryPatch
from tests.memory.services import MemoryServices, a_caller
from tests.support.records import OWNER


@pytest.mark.case("MEM-02")
async def test_the_agent_stores_a_memory_with_where_it_came_from(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered, folder="/srv/garden")
    output = await caller.call(
        "store_memory", content="Deploys happen on Fridays.", title="Deploys", tags=["work"], scope="folder"
    )
    shown = output.data["memory"]
    [memory] = (await remembered.service.list(OWNER)).memories
    assert (memory.key, memory.title, memory.tags, memory.says) == (shown["key"], "Deploys", ("work",), "agent")
    assert (memory.origin.conversation_id, memory.origin.item_id) == (caller.conversation.id, "i_1")
    assert (memory.scope.kind, memory.scope.id) == ("folder", "/srv/garden")
    assert not memory.tainted
    assert f"[{memory.short}]" in output.text


@pytest.mark.case("MEM-06")
async def test_the_same_is_kept_once_also_by_two_at_a_time(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    said = ("The gate code is 4711.", "the  gate CODE is 4711.", "The gate code is 4711.\n")
    outputs = await asyncio.gather(*(caller.call("store_memory", content=text) for text in said))
    assert len(await remembered.texts()) == 1
    assert sorted("Nothing was stored" in output.text for output in outputs) == [False, True, True]
    assert {output.data["memory"]["key"] for output in outputs} == {outputs[0].data["memory"]["key"]}
    # In another place it is another memory.
    await caller.stored("The gate code is 4711.", scope="everywhere")
    assert len(await remembered.texts()) == 2


@pytest.mark.case("MEM-06")
async def test_the_same_in_other_words_is_told_as_known(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    first = await caller.stored("Anna prefers the black tea", title="Tea")
    again = await caller.call("store_memory", content="anna PREFERS the black  tea", title="Black tea")
    assert again.data["memory"]["outcome"] == "known"
    alike = await caller.call("store_memory", content="Anna prefers black tea", title="Tea")
    assert (alike.data["memory"]["outcome"], alike.data["memory"]["key"]) == ("alike", first.key)
    assert "in other words" in alike.text
    assert len(await remembered.texts()) == 1


async def test_what_says_something_else_about_the_same_is_kept_and_told(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    old = await caller.stored("The staging server listens on port 8080.", title="Staging port")
    output = await caller.call("store_memory", content="The staging server listens on port 8081.", title="Staging port")
    assert "may contradict" in output.text
    assert old.short in output.text
    assert output.data["memory"]["doubts"] == 1
    new = await remembered.store.memory(OWNER, output.data["memory"]["key"])
    assert new.doubts == (old.key,)
    # Someone who looked says that both stand.
    assert (await remembered.service.update(OWNER, new.key, MemoryPatch(settled=True))).doubts == ()


async def test_the_opposite_is_no_repetition(remembered: MemoryServices) -> None:
    await remembered.say("The build runs on every machine in the office.")
    kept = await remembered.say("The build runs not on every machine in the office.")
    assert kept.outcome == "kept"
    assert len(kept.contradicts) == 1


async def test_contradictions_are_noticed_by_words_alone(store: Store) -> None:
    remembered = MemoryServices(store)
    await remembered.say("The team meets at nine.", title="Daily meeting")
    kept = await remembered.say("The team meets at ten.", title="Daily meeting")
    assert [memory.text for memory in kept.contradicts] == ["The team meets at nine."]
    assert (await remembered.say("Bananas are yellow.")).contradicts == ()


async def test_a_memory_that_replaces_another_takes_its_place(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    old = await caller.stored("The team meets at nine.")
    new = await caller.stored("The team meets at ten.", replaces=old.short)
    assert await remembered.texts() == ["The team meets at ten."]
    changed = await caller.call("update_memory", id=new.short, content="The team meets at eleven.")
    assert changed.data["memory"]["replaced"] == new.key
    assert await remembered.texts() == ["The team meets at eleven."]
    gone = await caller.call("forget_memory", id=changed.data["memory"]["key"])
    assert "can bring it back" in gone.text
    assert await remembered.texts() == []


async def test_a_title_that_was_made_from_a_text_follows_the_text(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    made = (await remembered.say("Lunch is at noon.")).memory
    patch = MemoryPatch(text="Lunch is at one.")
    assert (await remembered.service.update(OWNER, made.key, patch)).title == "Lunch is at one."
    # A form sends the title along, although nobody changed it.
    patch = MemoryPatch(text="Lunch is at two.", title="Lunch is at one.")
    assert (await remembered.service.update(OWNER, made.key, patch)).title == "Lunch is at two."
    await caller.call("update_memory", id=made.key, content="Lunch is at three.")
    [after] = (await remembered.service.list(OWNER)).memories
    assert (after.title, after.text) == ("Lunch is at three.", "Lunch is at three.")
    # One that someone gave stays.
    await remembered.service.update(OWNER, after.key, MemoryPatch(title="Meals"))
    assert (await remembered.service.update(OWNER, after.key, MemoryPatch(text="Lunch is late."))).title == "Meals"
    await caller.call("update_memory", id=after.key, content="Lunch is never.")
    assert [memory.title for memory in (await remembered.service.list(OWNER)).memories] == ["Meals"]


async def test_other_words_are_looked_through_for_contradictions_again(remembered: MemoryServices) -> None:
    port = "The staging server listens on port {}.".format
    one = (await remembered.say(port(8080))).memory
    two = (await remembered.say("Bananas are yellow.")).memory
    after = await remembered.service.update(OWNER, two.key, MemoryPatch(text=port(8081)))
    assert after.doubts == (one.key,)
    # The same text again changes nothing about that; what contradicts nothing ends it.
    assert (await remembered.service.update(OWNER, two.key, MemoryPatch(text=port(8081)))).doubts == (one.key,)
    assert (await remembered.service.update(OWNER, two.key, MemoryPatch(text="Bananas are blue."))).doubts == ()
    caller = await a_caller(remembered)
    changed = await caller.call("update_memory", id=two.key, content=port(8082))
    assert "may contradict" in changed.text
    assert one.short in changed.text
    assert changed.data["memory"]["doubts"] == 1


async def test_a_doubt_follows_a_memory_that_takes_the_place_of_another(remembered: MemoryServices) -> None:
    port = "The staging server listens on port {}.".format
    caller = await a_caller(remembered)
    one, two = (await remembered.say(port(8080))).memory, (await remembered.say(port(8081))).memory
    assert two.doubts == (one.key,)
    changed = await caller.call("update_memory", id=one.key, content="Staging: see the other page.")
    instead = changed.data["memory"]["key"]
    assert (await remembered.service.get(OWNER, two.key)).doubts == (instead,)
    # Where the new one is found to contradict the other, it is said once.
    changed = await caller.call("update_memory", id=instead, content=port(8082))
    last = await remembered.service.get(OWNER, changed.data["memory"]["key"])
    assert (last.doubts, (await remembered.service.get(OWNER, two.key)).doubts) == ((two.key,), ())


async def test_what_another_conversation_stored_cannot_be_touched_from_here(remembered: MemoryServices) -> None:
    mine, theirs = await a_caller(remembered), await a_caller(remembered)
    memory = await theirs.stored("Only theirs.")
    for operation, more in (("forget_memory", {}), ("update_memory", {"content": "Mine now."})):
        output = await mine.call(operation, id=memory.key, **more)
        assert output.error is not None
        assert "no such memory here" in output.text
    assert await remembered.texts() == ["Only theirs."]
