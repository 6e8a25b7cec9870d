"""Vectors of texts: which texts have none, whose they are, and that those of removed texts go; on both databases."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.store.vectors import VectorStore
from pilothouse.types import limits
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import ItemKind, ItemStatus
from pilothouse.types.meaning import MeaningKind
from pilothouse.types.scopes import EVERYWHERE, Scope
from pilothouse.types.vectors import Asked, Lacking
from tests.meaning.stored_texts import digest, execute, import_document, keep_memories, unit_vector
from tests.support.records import OWNER, a_conversation, an_item

MODEL = "test-model"


@pytest.fixture
def vectors(opened: OpenStore) -> VectorStore:
    return VectorStore(opened.database)


async def lacking(vectors: VectorStore, kind: MeaningKind, model: str = MODEL) -> list[Lacking]:
    """Return all texts without a vector, newest first."""
    found: list[Lacking] = []
    below: int | None = None
    while below != 0:
        look = await vectors.lacking(kind, model, below, 0, 2)
        found += look.texts
        below = look.below
    return found


async def keep(vectors: VectorStore, kind: MeaningKind, vector: bytes = unit_vector(1, 0), model: str = MODEL) -> None:
    texts = await lacking(vectors, kind, model)
    await vectors.keep(kind, model, texts, [vector for _ in texts])


def asked(kind: MeaningKind, query: bytes, most: int = 10, scopes: tuple[Scope, ...] | None = None) -> Asked:
    return Asked(MODEL, kind, OWNER, scopes, query, most)


async def kept(vectors: VectorStore, kind: MeaningKind, model: str = MODEL) -> list[int]:
    return [row.id for row in await vectors.after(kind, model, 0, 1_000)]


async def test_memories_without_a_vector_are_found_newest_first(opened: OpenStore, vectors: VectorStore) -> None:
    keys = await keep_memories(opened.database, "one", "two", "three", "four", "five")
    texts = await lacking(vectors, "memory")
    assert [text.key for text in texts] == keys[::-1]
    assert texts[0] == Lacking(keys[4], OWNER, "everywhere", "", digest("five"), "five")
    await vectors.keep("memory", MODEL, texts[:2], [unit_vector(1, 0), unit_vector(0, 1)])
    assert [text.key for text in await lacking(vectors, "memory")] == keys[2::-1]
    assert len(await lacking(vectors, "memory", "another-model")) == 5
    assert await vectors.counts(MODEL) == (2, 3)
    assert await vectors.dimension(MODEL) == 2


async def test_a_look_goes_through_a_bounded_number_of_rows(
    opened: OpenStore, vectors: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_LOOK_ROWS", 3)
    await keep_memories(opened.database, *map(str, range(10)))
    await keep(vectors, "memory")
    [late] = await keep_memories(opened.database, "late")
    look = await vectors.lacking("memory", MODEL, None, 0, 100)
    assert [text.key for text in look.texts] == [late]
    assert look.below == look.top - 2
    assert (await vectors.lacking("memory", MODEL, look.below, look.below - 1, 100)).below == 0


async def test_a_memory_whose_text_changed_lacks_a_vector_and_one_that_moved_keeps_its_own(
    opened: OpenStore, vectors: VectorStore
) -> None:
    edited, moved = await keep_memories(opened.database, "before", "stays")
    await keep(vectors, "memory", unit_vector(3, 4))
    before = await kept(vectors, "memory")
    await execute(
        opened.database, "UPDATE memories SET text = 'after', digest = :d WHERE key = :k", d=digest("after"), k=edited
    )
    await execute(opened.database, "UPDATE memories SET scope_kind = 'topic', scope = 't1' WHERE key = :k", k=moved)
    texts = {text.key: text for text in await lacking(vectors, "memory")}
    assert (texts[edited].text, texts[edited].vector) == ("after", b"")
    assert texts[moved].vector == unit_vector(3, 4)
    await vectors.keep("memory", MODEL, [texts[moved]], [texts[moved].vector])
    # Under a new number, so that whoever follows hears of it.
    assert max(await kept(vectors, "memory")) > max(before)
    near, _ = await vectors.exact(
        asked("memory", unit_vector(3, 4), scopes=(Scope(kind="topic", id="t1"),)), [*range(1, 20)]
    )
    assert [each.key for each in near] == [moved]


async def test_forgotten_memories_and_deleted_documents_lack_nothing_and_their_vectors_go(
    opened: OpenStore, vectors: VectorStore
) -> None:
    forgotten, stays = await keep_memories(opened.database, "forget me", "keep me")
    document, passages = await import_document(opened.database, ["a passage", "another"], section="Chapter 1")
    assert [text.text for text in await lacking(vectors, "passage")] == ["Chapter 1\nanother", "Chapter 1\na passage"]
    await keep(vectors, "memory")
    await keep(vectors, "passage")
    await execute(opened.database, "UPDATE memories SET forgotten_at = 1.0 WHERE key = :k", k=forgotten)
    await execute(opened.database, "UPDATE documents SET deleted_at = 1.0 WHERE id = :d", d=document)
    assert not await lacking(vectors, "memory")
    assert not await lacking(vectors, "passage")
    gone, upto = await vectors.remove_orphans(MODEL, 0)
    assert len(gone) == 1 + len(passages)
    assert await vectors.remove_orphans(MODEL, upto) == ((), 0)
    near, _ = await vectors.exact(asked("memory", unit_vector(1, 0)), [*range(1, 20)])
    assert [each.key for each in near] == [stays]


async def test_a_passage_with_the_number_of_one_that_went_lacks_a_vector(
    opened: OpenStore, vectors: VectorStore
) -> None:
    _, [key] = await import_document(opened.database, ["the old text"])
    await keep(vectors, "passage")
    await execute(opened.database, "UPDATE passages SET document_id = 'd_other', text = 'new'")
    await execute(opened.database, "UPDATE documents SET id = 'd_other'")
    near, gone = await vectors.exact(asked("passage", unit_vector(1, 0)), await kept(vectors, "passage"))
    assert not near
    assert gone
    assert [text.text for text in await lacking(vectors, "passage")] == ["new"]
    await keep(vectors, "passage")
    near, _ = await vectors.exact(asked("passage", unit_vector(1, 0)), await kept(vectors, "passage"))
    assert [each.key for each in near] == [key]


async def said(store: Store, conversation_id: str, kind: ItemKind, text: str, status: ItemStatus = "completed") -> str:
    item = an_item(conversation_id, kind, status, text)
    await store.append(conversation_id, [ItemCreated(item=item)], None)
    return item.id


async def test_messages_and_answers_that_have_ended_lack_a_vector_until_their_conversation_is_purged(
    opened: OpenStore, store: Store, vectors: VectorStore
) -> None:
    conversation = await store.add_conversation(a_conversation())
    question = await said(store, conversation.id, "user_message", "Where is the harbour? " * 200)
    answer = await said(store, conversation.id, "response", "By the sea.")
    await said(store, conversation.id, "tool_call", "a result")
    await said(store, conversation.id, "response", "half an ans", "failed")
    texts = await lacking(vectors, "message")
    assert [text.key for text in texts] == [answer, question]
    assert (texts[0].text, texts[0].scope_kind, texts[0].scope) == ("By the sea.", "conversation", conversation.id)
    assert len(texts[1].text) == limits.MEANING_TEXT_CHARS
    await keep(vectors, "message")
    assert not await lacking(vectors, "message")
    deleted = msgspec.structs.replace(conversation, deleted_at=5.0)
    await store.change_conversation(OWNER, conversation.id, lambda _: deleted)
    near, _ = await vectors.exact(asked("message", unit_vector(1, 0)), await kept(vectors, "message"))
    assert not near
    # It can be brought back for a while.
    assert (await vectors.remove_orphans(MODEL, 0))[0] == []
    await store.purge(10.0)
    assert len((await vectors.remove_orphans(MODEL, 0))[0]) == 2


async def test_vectors_of_another_model_go_and_all_of_one_can_be_forgotten(
    opened: OpenStore, vectors: VectorStore
) -> None:
    await keep_memories(opened.database, "one")
    await keep(vectors, "memory")
    await keep(vectors, "memory", unit_vector(1, 0, 0), "another-model")
    assert len((await vectors.remove_orphans("another-model", 0))[0]) == 1
    assert not await kept(vectors, "memory")
    await vectors.forget("another-model")
    assert await vectors.dimension("another-model") == 0


async def test_only_the_owners_texts_in_the_scopes_are_given_with_how_alike_they_are(
    opened: OpenStore, vectors: VectorStore
) -> None:
    topic = Scope(kind="topic", id="t1")
    [mine] = await keep_memories(opened.database, "mine")
    [there] = await keep_memories(opened.database, "in the topic", scope=topic)
    await keep_memories(opened.database, "of another", owner="bob")
    await keep_memories(opened.database, "elsewhere", scope=Scope(kind="topic", id="t2"))
    texts = await lacking(vectors, "memory")
    by_key = {mine: unit_vector(1, 0), there: unit_vector(3, 4)}
    await vectors.keep("memory", MODEL, texts, [by_key.get(text.key, unit_vector(1, 0)) for text in texts])
    ids = await kept(vectors, "memory")
    near, gone = await vectors.exact(asked("memory", unit_vector(1, 0), scopes=(topic, EVERYWHERE)), [*ids, 999])
    assert [each.key for each in near] == [mine, there]
    assert [each.likeness for each in near] == pytest.approx([1.0, 0.6], abs=1e-3)
    assert gone == [999]
    assert len((await vectors.exact(asked("memory", unit_vector(1, 0), most=1), ids))[0]) == 1


async def test_postgresql_compares_vectors_itself_where_it_has_the_extension(
    opened: OpenStore, vectors: VectorStore
) -> None:
    assert await vectors.searches() is not opened.database.is_sqlite


async def test_the_databases_own_search_gives_the_nearest_of_the_owner_in_the_scopes(
    opened: OpenStore, vectors: VectorStore
) -> None:
    if opened.database.is_sqlite:
        # SQLite has no such search: the file of vectors is asked.
        assert not await vectors.searches()
        return
    # Kept before anyone asked for the extension: they are taken over.
    keys = await keep_memories(opened.database, *map(str, range(300)))
    await keep_memories(opened.database, "of another", owner="bob")
    texts = (await vectors.lacking("memory", MODEL, None, 0, 1_000)).texts
    numbers = {key: number for number, key in enumerate(keys)}
    by_text = [unit_vector(1, numbers.get(text.key, 0) / 10) for text in texts]
    await vectors.keep("memory", MODEL, texts, by_text)
    near = await vectors.nearest(asked("memory", unit_vector(1, 0), most=3))
    assert [each.key for each in near] == keys[:3]
    assert near[0].likeness == pytest.approx(1.0, abs=1e-3)
    assert not await vectors.nearest(asked("memory", unit_vector(1, 0), scopes=(Scope(kind="topic", id="x"),)))
    plan = await opened.database.read(
        lambda c: c.exec_driver_sql(
            "SELECT count(*) FROM pg_indexes WHERE tablename = 'vectors' AND indexdef LIKE '%%hnsw%%'"
        ).scalar()
    )
    assert plan == 1


async def test_numbers_of_vectors_are_never_given_twice(opened: OpenStore, vectors: VectorStore) -> None:
    await keep_memories(opened.database, "one", "two")
    await keep(vectors, "memory")
    before = await kept(vectors, "memory")
    await vectors.forget(MODEL)
    await keep(vectors, "memory")
    assert min(await kept(vectors, "memory")) > max(before)
