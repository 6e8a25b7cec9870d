"""Memories are found by words and by meaning, in the places that a conversation sees."""

from __future__ import annotations

import time

import msgspec
import pytest

from pilothouse.store.store import Store
from pilothouse.types.errors import PilothouseError
from pilothouse.types.memories import MemoryFilter, MemoryMerge, MemoryPatch, NewMemory
from pilothouse.types.paging import Page
from pilothouse.types.scopes import Scope
from pilothouse.types.settings import Settings
from tests.memory.services import MemoryServices, a_caller, a_topic
from tests.memory.synonym_meaning import SynonymMeaning, memories_of
from tests.support.records import OWNER


@pytest.mark.case("MEM-01")
async def test_a_memory_is_found_by_what_it_means(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    await caller.stored("The hound is called Rex.", scope="everywhere")
    await caller.stored("Invoices go out on Mondays.", scope="everywhere")
    told = await caller.recalled("my dog")
    assert "The hound is called Rex." in told
    assert "Invoices" not in told
    # Without a model words are all there is.
    words = MemoryServices(remembered.store)
    other = await a_caller(words)
    assert "Nothing is remembered" in await other.recalled("puppy")
    assert "Rex" in await other.recalled("hound")


@pytest.mark.case("MEM-01")
async def test_each_hit_says_its_id_its_age_and_where_it_came_from(remembered: MemoryServices, store: Store) -> None:
    caller = await a_caller(remembered)
    memory = await caller.stored("The staging port is 5433.", title="Staging port")
    long_ago = time.time() - 3 * 86_400
    await store.change_memory(OWNER, memory.key, lambda one: msgspec.structs.replace(one, updated_at=long_ago))
    told = await caller.recalled("staging port")
    assert f'id="{memory.short}"' in told
    assert "3 days old" in told
    assert f"from conversation {caller.conversation.id}" in told
    assert "an agent's note" in told
    assert "likeness 0." in told or "likeness 1." in told
    assert (await store.memory(OWNER, memory.key)).uses == 1


@pytest.mark.case("MEM-04")
async def test_how_alike_a_memory_must_be_has_a_default_and_can_be_set(remembered: MemoryServices) -> None:
    caller = await a_caller(remembered)
    # One meaning of nine in common with what is asked for: alike by about 0.2.
    await caller.stored("A hound slept on that old red sofa yesterday evening.")
    assert "Nothing is remembered" in await caller.recalled("puppy names")
    assert "hound" in await caller.recalled("puppy names", similarity_threshold="0.2")
    assert "hound" in await caller.recalled("puppy names", similarity_threshold=0.1)
    refused = await caller.call("search_memory", query="puppy", similarity_threshold=2)
    assert refused.error is not None
    assert "from 0 to 1" in refused.text
    remembered.settings = Settings(memory_likeness=0.1)
    assert "hound" in await caller.recalled("puppy names")


@pytest.mark.case("MEM-05")
async def test_a_memory_belongs_to_its_topic_else_to_its_conversation(remembered: MemoryServices, store: Store) -> None:
    topic = await a_topic(store, "t_1")
    alone, first, second = (
        await a_caller(remembered),
        await a_caller(remembered, topic=topic),
        await a_caller(remembered, topic=topic),
    )
    assert (await alone.stored("The fence is green.")).scope == Scope(kind="conversation", id=alone.conversation.id)
    assert (await first.stored("The gate is blue.")).scope == Scope(kind="topic", id=topic)
    assert "blue" in await second.recalled("gate")
    assert "Nothing" in await second.recalled("fence")
    assert "Nothing" in await alone.recalled("gate")
    refused = await alone.call("store_memory", content="x y", scope="topic")
    assert "has no topic" in refused.text


@pytest.mark.case("MEM-03")
async def test_collections_are_listed_with_their_sizes(remembered: MemoryServices) -> None:
    caller, other = await a_caller(remembered, folder="/srv/garden"), await a_caller(remembered)
    await caller.stored("The gate is blue.")
    await caller.stored("The fence is green.", scope="folder")
    await caller.stored("The roof is red.", scope="folder")
    await other.stored("Somewhere else entirely.")
    output = await caller.call("list_collections")
    assert "this folder: 2 memories" in output.text
    assert "this conversation: 1 memories" in output.text
    assert "In all 3 memories" in output.text
    sizes = {each["scope"]["kind"]: each["memories"] for each in output.data["statistics"]["collections"]}
    assert sizes == {"folder": 2, "conversation": 1}
    everything = await remembered.service.collections(OWNER)
    assert (everything.memories, everything.by_meaning) == (4, True)
    assert everything.bytes > 4 * 100


async def test_words_are_found_in_any_case_and_by_their_beginning(remembered: MemoryServices) -> None:
    await remembered.say("Die Straße heißt ÄPFELWEG, Grüße an Anna.")
    for query in ("grüße", "GRÜSSE an Anna", "äpfelweg", "straß", "Anna Grüße"):
        assert len(await remembered.found(query)) == 1, query
    assert await remembered.found("birnenweg") == []


async def test_a_list_is_read_page_by_page_and_by_place(remembered: MemoryServices) -> None:
    for number in range(5):
        await remembered.say(f"Fact number {number} about {'abcde'[number] * 5}.")
    await remembered.say("Only here.", Scope(kind="folder", id="/srv"))
    first = await remembered.service.list(OWNER, MemoryFilter(kind="everywhere"), Page(2))
    rest = await remembered.service.list(OWNER, MemoryFilter(kind="everywhere"), Page(10, first.next))
    numbers = [memory.text.split()[2] for memory in (*first.memories, *rest.memories)]
    assert numbers == ["4", "3", "2", "1", "0"]
    here = await remembered.service.list(OWNER, MemoryFilter(kind="folder", scope="/srv"))
    assert [memory.text for memory in here.memories] == ["Only here."]
    assert (await remembered.service.search(OWNER, "only", MemoryFilter(kind="everywhere"))).matches == ()
    assert len((await remembered.service.search(OWNER, "only", MemoryFilter(kind="folder"))).matches) == 1


async def test_whatever_finds_by_meaning_the_database_says_who_sees_it(store: Store) -> None:
    meaning = SynonymMeaning((), memories_of(store, OWNER, "other"))
    meaning.ignores_scopes = True
    remembered = MemoryServices(store, meaning)
    await remembered.say("The canary sings at dawn.", owner="other")
    mine = await remembered.say("The canary is yellow.")
    assert await remembered.found("canary") == ["The canary is yellow."]
    await remembered.service.forget(OWNER, mine.memory.key)
    assert await remembered.found("canary") == []


async def test_a_search_says_by_meaning_only_where_meaning_was_searched(remembered: MemoryServices) -> None:
    assert isinstance(remembered.meaning, SynonymMeaning)
    caller = await a_caller(remembered)
    await remembered.say("The hound is called Rex.")
    assert (await remembered.service.search(OWNER, "puppy")).by_meaning
    assert (await remembered.service.search(OWNER, "canary")).by_meaning
    # A model that is there and fails finds by words only, and so it is said.
    remembered.meaning.trouble = "It is broken."
    found = await remembered.service.search(OWNER, "hound")
    assert ([match.found_by for match in found.matches], found.by_meaning) == (["words"], False)
    assert "they are found by words." in (await caller.call("list_collections")).text
    assert not (await remembered.service.collections(OWNER)).by_meaning


async def test_a_memory_is_changed_merged_forgotten_and_brought_back(remembered: MemoryServices) -> None:
    one = (await remembered.say("Lunch is at noon.", tags=("food",))).memory
    two = (await remembered.say("Dinner is at seven.", tags=("food", "evening"))).memory
    changed = await remembered.service.update(OWNER, one.short, MemoryPatch(text="Lunch is at one.", title="Lunch"))
    assert (changed.title, changed.key) == ("Lunch", one.key)
    assert await remembered.found("noon") == []
    merged = await remembered.service.merge(OWNER, MemoryMerge(keys=(one.key, two.key), title="Meals"))
    assert merged.text == "Lunch is at one.\nDinner is at seven."
    assert merged.tags == ("food", "evening")
    assert len(await remembered.texts()) == 1
    await remembered.service.forget(OWNER, merged.key)
    assert await remembered.texts() == []
    with pytest.raises(PilothouseError) as gone:
        await remembered.service.update(OWNER, merged.key, MemoryPatch(title="x"))
    assert gone.value.code == "not_found"
    forgotten = await remembered.service.list(OWNER, MemoryFilter(forgotten=True))
    assert {memory.key for memory in forgotten.memories} == {one.key, two.key, merged.key}
    await remembered.service.restore(OWNER, two.key)
    assert await remembered.texts() == ["Dinner is at seven."]
    assert isinstance(remembered.meaning, SynonymMeaning)
    assert set(remembered.meaning.told) == {"memory"}


async def test_what_was_forgotten_goes_for_good_after_a_month(remembered: MemoryServices, store: Store) -> None:
    kept = (await remembered.say("Gone soon.")).memory
    await remembered.service.forget(OWNER, kept.key)
    await store.tidy()
    assert len((await remembered.service.list(OWNER, MemoryFilter(forgotten=True))).memories) == 1
    long_ago = time.time() - 31 * 86_400
    older = lambda one: msgspec.structs.replace(one, forgotten_at=long_ago)  # noqa: E731
    await store.change_memory(OWNER, kept.key, older, forgotten=True)
    await store.tidy()
    assert (await remembered.service.list(OWNER, MemoryFilter(forgotten=True))).memories == ()


async def test_a_conversation_takes_its_own_memories_along_for_good(remembered: MemoryServices, store: Store) -> None:
    caller = await a_caller(remembered)
    await caller.stored("Only for this conversation.")
    await caller.stored("For everyone of mine.", scope="everywhere")

    async def deleted(at: float | None) -> None:
        change = lambda one: msgspec.structs.replace(one, deleted_at=at)  # noqa: E731
        await store.change_conversation(OWNER, caller.conversation.id, change, deleted=True)

    await deleted(time.time())
    await store.tidy()
    assert len(await remembered.texts()) == 2
    await deleted(1.0)
    await store.tidy()
    assert await remembered.texts() == ["For everyone of mine."]


async def test_what_is_in_a_deleted_topic_is_hidden_until_the_topic_is_back(
    remembered: MemoryServices, store: Store
) -> None:
    topic = await store.add_topic(OWNER, "Garden", "")
    place = Scope(kind="topic", id=topic.id)
    caller = await a_caller(remembered, topic=topic.id)
    stored = await caller.stored("The hound sleeps in the shed.", scope="topic")
    other = await remembered.say("Roses are cut in March.", place)
    await remembered.service.forget(OWNER, other.memory.key)

    async def seen() -> list[bool]:
        """Return whether anything shows it, each way to read it for itself."""
        service = remembered.service
        files = [await service.export(OWNER, kind) for kind in ("json", "markdown")]
        return [
            bool(await remembered.texts()),
            bool((await service.list(OWNER, MemoryFilter(kind="topic", scope=topic.id))).memories),
            bool((await service.list(OWNER, MemoryFilter(forgotten=True))).memories),
            bool(await remembered.found("hound")),
            bool((await service.search(OWNER, "puppy", MemoryFilter(kind="topic", scope=topic.id))).matches),
            bool((await service.collections(OWNER)).memories),
            bool(await store.memories_by_key(OWNER, [stored.key], None)),
            bool(await remembered.stored.current(caller.conversation.id)),
            await store.has_memories(OWNER),
            *[b"hound" in b"".join([chunk async for chunk in file.chunks]) for file in files],
        ]

    everything = await seen()
    assert all(everything)
    await store.delete_topic(OWNER, topic.id)
    assert not any(await seen())
    for doing in (remembered.service.get, remembered.service.forget, remembered.service.restore):
        for key in (stored.short, other.memory.key):
            with pytest.raises(PilothouseError, match="There is no such memory"):
                await doing(OWNER, key)
    with pytest.raises(PilothouseError, match="no such topic"):
        await remembered.say("The hound sleeps in the shed.", place)
    await store.restore_topic(OWNER, topic.id)
    assert await seen() == everything


async def test_memories_leave_as_json_and_as_markdown(remembered: MemoryServices) -> None:
    await remembered.say("Tea, not coffee.", title="Drink", tags=("taste",))
    await remembered.say("The canary of another.", owner="other")
    files = {}
    for kind in ("json", "markdown"):
        download = await remembered.service.export(OWNER, kind)
        files[download.name.rpartition(".")[2]] = b"".join([chunk async for chunk in download.chunks])
    assert msgspec.json.decode(files["json"])["memories"][0]["text"] == "Tea, not coffee."
    assert "## Drink\n\nTea, not coffee.\n" in files["md"].decode()
    assert "by you" in files["md"].decode()
    assert all(b"canary" not in file for file in files.values())


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (NewMemory(text="  \u200b "), "empty text"),
        (NewMemory(text="x" * 8_001), "at most 8,000 characters; this one has 8,001"),
        (NewMemory(text="x", tags=("a",) * 3 + tuple("bcdefghijkl")), "at most 10 tags"),
        (NewMemory(text="x", scope=Scope(kind="folder")), "A scope is"),
        (NewMemory(text="x", scope=Scope(kind="conversation", id="c_none")), "no such conversation"),
        (NewMemory(text="x", scope=Scope(kind="topic", id="t_none")), "no such topic"),
    ],
)
async def test_what_cannot_be_kept_is_refused_in_a_sentence(
    remembered: MemoryServices, body: NewMemory, sentence: str
) -> None:
    with pytest.raises(PilothouseError, match=sentence):
        await remembered.service.create(OWNER, body)
    assert await remembered.texts() == []
