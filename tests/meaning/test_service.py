"""Texts are found by what they mean, on both databases, with the model that comes along."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from pilothouse.meaning import weights
from pilothouse.meaning.service import MeaningService, batches
from pilothouse.store import pgvector
from pilothouse.store.database import Database
from pilothouse.store.vectors import unpacked
from pilothouse.types import limits
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.scopes import EVERYWHERE, Scope
from tests.meaning.conftest import Chosen, Make
from tests.meaning.stored_texts import digest, execute, import_document, keep_memories
from tests.support.records import OWNER
from tests.support.waiting import eventually

# Each computes vectors.
pytestmark = pytest.mark.slow

MEMORIES = (
    "The customer wants invoices as PDF files",
    "Anna is allergic to peanuts",
    "The deployment runs every Friday at noon",
    "We keep our bicycles in the cellar",
    "Unit tests are run with pytest -n 2",
)
# What is above the store, or beside it: the same on both.
SQLITE_ONLY = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


async def nearest(service: MeaningService, query: str, scopes: tuple[Scope, ...] | None = None) -> list[str]:
    return [each.key for each in await service.near(query, "memory", OWNER, scopes, 3) or ()]


async def test_a_memory_is_found_by_other_words_than_its_own(database: Database, service: MeaningService) -> None:
    keys = await keep_memories(database, *MEMORIES)
    questions = (
        "billing documents format",
        "which food makes someone ill?",
        "when do we ship to production",
        "where are the bikes stored?",
        "how do I check the code automatically?",
    )
    found = [await nearest(service, question) for question in questions]
    assert [each[0] for each in found] == keys
    near = await service.near(questions[1], "memory", OWNER, None, 5)
    assert near is not None
    assert [each.likeness for each in near] == sorted((each.likeness for each in near), reverse=True)
    assert near[0].likeness > 0.3


async def test_what_was_written_edited_moved_or_forgotten_just_now_is_found_as_it_is(
    database: Database, service: MeaningService
) -> None:
    keys = await keep_memories(database, *MEMORIES)
    assert (await nearest(service, "peanut allergy"))[0] == keys[1]
    new = "Bob cannot eat seafood"
    await execute(
        database, "UPDATE memories SET text = :t, digest = :d WHERE key = :k", t=new, d=digest(new), k=keys[0]
    )
    service.changed("memory")
    assert (await nearest(service, "someone who avoids fish and prawns"))[0] == keys[0]
    topic = Scope(kind="topic", id="t1")
    await execute(database, "UPDATE memories SET scope_kind = 'topic', scope = 't1' WHERE key = :k", k=keys[0])
    service.changed("memory")
    assert await nearest(service, "someone who avoids fish and prawns", (topic,)) == [keys[0]]
    assert keys[0] not in await nearest(service, "someone who avoids fish and prawns", (EVERYWHERE,))
    await execute(database, "UPDATE memories SET forgotten_at = 1.0 WHERE key = :k", k=keys[0])
    service.changed("memory")
    assert await nearest(service, "someone who avoids fish and prawns", (topic,)) == []


async def test_nobody_finds_what_belongs_to_another(database: Database, service: MeaningService) -> None:
    await keep_memories(database, *MEMORIES, owner="bob")
    assert await nearest(service, "peanut allergy") == []
    assert await service.near("peanut allergy", "memory", "bob", None, 1)
    assert await service.near("peanut allergy", "memory", "bob", (), 1) == ()
    assert await service.near("   ", "memory", "bob", None, 1) == ()


async def test_passages_are_found_with_their_headings(database: Database, service: MeaningService) -> None:
    _, keys = await import_document(
        database,
        ["It must be renewed every year at the town hall.", "The pump is oiled monthly."],
        section="Parking permit",
    )
    near = await service.near("a licence to leave the car in the street", "passage", OWNER, None, 1)
    assert near is not None
    assert [each.key for each in near] == keys[:1]


@SQLITE_ONLY
async def test_a_text_has_the_same_vector_alone_and_among_others(service: MeaningService) -> None:
    texts = [*MEMORIES, "", "word " * 500, "größer 数学 🚢"]
    together = await service.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        [alone] = await service.embed([text])
        assert unpacked(alone) == pytest.approx(unpacked(vector), abs=1e-3)
        assert sum(number * number for number in unpacked(vector)) == pytest.approx(1.0, abs=1e-2)
    assert await service.embed([]) == ()


async def test_how_it_stands_is_said(database: Database, service: MeaningService) -> None:
    await keep_memories(database, *MEMORIES)
    view = await service.view()
    assert (view.state, view.done, view.waiting) == ("ready", 0, 5)
    assert view.model == "all-MiniLM-L6-v2, built in"
    await nearest(service, "anything")
    assert ((await service.view()).done, (await service.view()).waiting) == (5, 0)


@SQLITE_ONLY
async def test_switched_off_it_finds_nothing_and_says_so(
    database: Database, service: MeaningService, chosen: Chosen
) -> None:
    await keep_memories(database, *MEMORIES)
    chosen.embeddings = Embeddings(source="off")
    assert not service.is_there
    assert await nearest(service, "peanut allergy") == []
    assert await service.embed(["text"]) == ()
    assert "switched off" in (await service.view()).message


@SQLITE_ONLY
async def test_without_the_extra_it_says_that_words_are_searched(
    service: MeaningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tokenizers" else find(name))
    weights.folder.cache_clear()
    try:
        view = await service.view()
        assert (view.state, view.model, service.is_there, service.model) == ("words", "", False, "")
        assert "not installed" in view.message
    finally:
        weights.folder.cache_clear()


async def test_in_the_background_vectors_are_made_and_those_of_removed_texts_go(
    database: Database, service: MeaningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_QUIET", 0.01)
    keys = await keep_memories(database, *MEMORIES)
    service.begin()

    async def is_done() -> bool:
        view = await service.view()
        return (view.done, view.waiting) == (5, 0)

    await eventually(is_done, "the first vectors", 60)
    await execute(database, "UPDATE memories SET forgotten_at = 1.0 WHERE key = :k", k=keys[0])
    await keep_memories(database, "The harbour closes at six")
    service.changed("memory")
    await eventually(is_done, "a new vector, and the old one gone", 60)
    assert keys[0] not in await nearest(service, "invoices as PDF")


@SQLITE_ONLY
async def test_the_process_that_computes_ends_when_nobody_asks(
    service: MeaningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_IDLE", 0.05)
    await service.embed(["text"])
    helper = service._computing._helper

    async def ended() -> bool:
        return helper._process is None

    await eventually(ended, "the end of the process")
    assert await service.embed(["text"])


async def test_a_damaged_file_of_vectors_is_made_anew(database: Database, make: Make, tmp_path: Path) -> None:
    if not database.is_sqlite:
        # PostgreSQL compares the vectors itself.
        assert await make()._vectors.searches()
        return
    keys = await keep_memories(database, *MEMORIES)
    assert (await nearest(make(), "peanut allergy"))[0] == keys[1]
    file = tmp_path / "vectors" / "memory.vectors"
    whole = file.read_bytes()
    for broken in (b"", b"something else", whole[:200], whole[:100] + bytes(len(whole) - 100), whole + whole[64:]):
        file.write_bytes(broken)
        assert (await nearest(make(), "peanut allergy"))[0] == keys[1]
        assert file.read_bytes() == whole


@SQLITE_ONLY
async def test_a_file_from_another_database_is_made_anew(database: Database, make: Make, tmp_path: Path) -> None:
    keys = await keep_memories(database, *MEMORIES)
    await nearest(make(), "anything")
    await execute(database, "DELETE FROM vectors")
    await execute(database, "DELETE FROM sqlite_sequence WHERE name = 'vectors'")
    await execute(database, "DELETE FROM memories WHERE key = :k", k=keys[0])
    assert (await nearest(make(), "peanut allergy"))[0] == keys[1]


async def test_a_postgresql_that_may_not_have_the_extension_is_searched_with_the_file(
    database: Database, service: MeaningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgvector, "_MAKE", ("CREATE EXTENSION there_is_none_of_this_name",))
    keys = await keep_memories(database, *MEMORIES)
    assert (await nearest(service, "peanut allergy"))[0] == keys[1]
    assert (tmp_path / "vectors" / "memory.vectors").stat().st_size > 5 * 384
    await execute(database, "UPDATE memories SET forgotten_at = 1.0 WHERE key = :k", k=keys[1])
    service.changed("memory")
    assert keys[1] not in await nearest(service, "peanut allergy")


def test_batches_hold_a_moments_work() -> None:
    texts = ["a" * 1_500] * 5 + ["b"] * 200
    made = batches(texts)
    assert [text for batch in made for text in batch] == texts
    assert max(sum(map(len, batch)) for batch in made) <= limits.MEANING_BATCH_CHARS
    assert max(map(len, made)) <= limits.MEANING_BATCH_TEXTS
