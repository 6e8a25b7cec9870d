"""Embedding endpoints, asked over real connections: what they send in both forms, and all the ways they go wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pilothouse.meaning.admin import MeaningAdmin
from pilothouse.meaning.embedder import NoVectors
from pilothouse.meaning.endpoint import SECRET, Endpoint
from pilothouse.meaning.service import MeaningService
from pilothouse.store.database import Database
from pilothouse.store.vectors import unpacked
from pilothouse.types import limits
from pilothouse.types.embeddings import EmbeddingKey, Embeddings, EmbeddingTest, endpoint_problem
from pilothouse.types.errors import PilothouseError
from tests.meaning.conftest import Chosen, KeptSecrets
from tests.meaning.endpoints import about, openai, start_endpoint
from tests.meaning.stored_texts import keep_memories
from tests.support.records import OWNER


def ollama(body: dict[str, Any]) -> tuple[int, bytes]:
    return 200, json.dumps({"embeddings": [about(text) for text in body["input"]]}).encode()


def endpoint(url: str, model: str = "embed-1", key: str = "") -> Endpoint:
    return Endpoint(url, model, lambda: key)


async def test_openais_form_is_spoken_with_a_key_and_the_index_counts() -> None:
    async with start_endpoint(openai) as server:
        vectors = await endpoint(f"{server.url}/v1", key="k-123").embed(["a nut", "a bike", "  "], "passage")
    [request] = server.requests
    path, headers, body = request.path, request.headers, request.json
    assert (path, headers["authorization"]) == ("/v1/embeddings", "Bearer k-123")
    assert body == {"model": "embed-1", "input": ["a nut", "a bike", "."]}
    assert unpacked(vectors[0])[0] > 0.9
    assert unpacked(vectors[1])[2] > 0.9
    assert sum(number * number for number in unpacked(vectors[0])) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("path", ["/api/embed", "/api/embed/"])
async def test_ollamas_own_form_is_spoken_at_its_own_address(path: str) -> None:
    async with start_endpoint(ollama) as server:
        [vector] = await endpoint(server.url + path).embed(["a bicycle"], "query")
    assert unpacked(vector)[2] > 0.9
    assert server.requests[0].path == "/api/embed"
    assert "authorization" not in server.requests[0].headers


def test_where_vectors_are_asked_for_follows_from_the_address() -> None:
    assert Endpoint("http://localhost:11434", "m", str)._url == "http://localhost:11434/api/embed"
    assert Endpoint("http://localhost:11434/v1/", "m", str)._url == "http://localhost:11434/v1/embeddings"
    assert Endpoint("https://x.example/v1/embeddings", "m", str)._url == "https://x.example/v1/embeddings"


async def test_models_that_want_words_before_a_question_get_them() -> None:
    async with start_endpoint(openai) as server:
        nomic = endpoint(server.url, "nomic-embed-text:v1.5")
        await nomic.embed(["where?"], "query")
        await nomic.embed(["there"], "passage")
        await endpoint(server.url, "text-embedding-3-small").embed(["where?"], "query")
    asked = [body["input"] for body in (request.json for request in server.requests)]
    assert asked == [["search_query: where?"], ["search_document: there"], ["where?"]]


async def test_many_texts_are_asked_for_in_several_requests() -> None:
    texts = [f"text {number}" for number in range(limits.EMBEDDING_BATCH * 2 + 1)]
    async with start_endpoint(openai) as server:
        assert len(await endpoint(server.url).embed(texts, "passage")) == len(texts)
    assert [len(body["input"]) for body in (request.json for request in server.requests)] == [
        limits.EMBEDDING_BATCH
    ] * 2 + [1]


WRONG: dict[str, tuple[tuple[int, bytes], str]] = {
    "html": ((200, b"<html>hello</html>"), "something that is no list of vectors"),
    "another shape": ((200, b'{"data": [{"embedding": "AAAA"}]}'), "something that is no list of vectors"),
    "NaN": ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}'), "something that is no list of vectors"),
    "null": ((200, b'{"data": [{"index": 0, "embedding": [null, 1.0]}]}'), "something that is no list of vectors"),
    "infinite": ((200, b'{"data": [{"index": 0, "embedding": [1e999, 1.0]}]}'), "list of vectors|no direction"),
    "zero": ((200, b'{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}'), "no direction"),
    "empty": ((200, b'{"data": [{"index": 0, "embedding": []}]}'), "no sensible length"),
    "wrong count": ((200, b'{"data": []}'), "0 vectors for 1 texts"),
    "no key": ((401, b"{}"), "wants a key"),
    "unknown": ((404, b"{}"), "no model “embed-1”"),
    "too many": ((429, b"{}"), "too many requests"),
    "broken": ((500, b"<html>"), "status 500"),
    "refused": ((400, b"{}"), "status 400"),
    "elsewhere": ((302, b""), "sends elsewhere"),
    "large": ((200, b" " * (limits.EMBEDDING_ANSWER_BYTES + 1)), "could not be asked: it sent more than"),
    "deep": ((200, b"[" * 100_000), "something that is no list of vectors"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_answer_is_told_in_one_sentence(wrong: str) -> None:
    reply, said = WRONG[wrong]
    async with start_endpoint(lambda _: reply) as server:
        with pytest.raises(NoVectors, match=said) as told:
            await endpoint(server.url).embed(["text"], "passage")
    assert told.value.sentence.startswith("The embedding endpoint 127.0.0.1:")
    assert "\n" not in told.value.sentence
    assert told.value.refused is (wrong == "refused")


async def test_one_that_hangs_is_given_up_and_one_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMBEDDING_QUERY_TIMEOUT", 0.2)
    async with start_endpoint(lambda _: (0, b"")) as server:
        with pytest.raises(NoVectors, match="could not be asked: nothing came"):
            await endpoint(server.url).embed(["text"], "query")
    with pytest.raises(NoVectors, match="could not be asked: nothing listens there"):
        await endpoint(server.url).embed(["text"], "query")


# --- the service with an endpoint -------------------------------------------------------------------


@pytest.fixture
def database_url() -> None:
    """Which database it is makes no difference to an endpoint."""


def choose(chosen: Chosen, url: str, model: str = "embed-1") -> None:
    chosen.embeddings = Embeddings(source="endpoint", url=url, model=model)


async def found(service: MeaningService, query: str) -> list[str]:
    return [each.key for each in await service.near(query, "memory", OWNER, None, 1) or ()]


async def test_texts_are_found_with_an_endpoint_and_another_model_makes_all_vectors_anew(
    database: Database, service: MeaningService, chosen: Chosen
) -> None:
    _, nuts = await keep_memories(database, "We deploy on Friday", "Anna is allergic to nuts")
    assert await found(service, "peanut") == [nuts]
    async with start_endpoint(openai) as server:
        choose(chosen, server.url)
        assert await found(service, "peanut") == [nuts]
        assert (await service.view()).model == f"embed-1 at {server.url.removeprefix('http://')}"
        before = service.model
        choose(chosen, server.url, "embed-2")
        assert service.model != before
        assert (await service.view()).waiting == 2
        assert await found(service, "peanut") == [nuts]
        assert {body["model"] for body in (request.json for request in server.requests)} == {"embed-1", "embed-2"}
    await service._made_all(service._embedder(), everything=True)  # type: ignore[arg-type]
    # Those of models that are not asked any more went.
    kept = await database.read(lambda c: {row[0] for row in c.exec_driver_sql("SELECT model FROM vectors")})
    assert kept == {service.model}


@pytest.mark.parametrize("wrong", ["html", "wrong count", "no key", "too many", "broken"])
async def test_while_an_endpoint_fails_nothing_is_found_by_meaning_and_it_is_said_why(
    database: Database, service: MeaningService, chosen: Chosen, wrong: str
) -> None:
    reply, said = WRONG[wrong]
    await keep_memories(database, "Anna is allergic to nuts")
    async with start_endpoint(lambda _: reply) as server:
        choose(chosen, server.url)
        # Nothing was searched, which is not the same as nothing found.
        assert await service.near("peanut", "memory", OWNER, None, 1) is None
        view = await service.view()
        assert (view.state, view.waiting) == ("failed", 1)
        assert said.partition(" for ")[0] in view.message or said in view.message
        asked = len(server.requests)
        # It is left alone for a while.
        assert await service.near("peanut", "memory", OWNER, None, 1) is None
        assert await service.embed(["text"]) == ()
        assert len(server.requests) == asked
        server.reply = openai
        service.settings_changed()
        assert len(await found(service, "peanut")) == 1
        assert ((await service.view()).state, (await service.view()).message) == ("ready", "")


async def test_an_endpoint_that_hangs_holds_up_a_search_for_a_moment_only(
    database: Database, service: MeaningService, chosen: Chosen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_MOMENT", 0.1)
    monkeypatch.setattr(limits, "EMBEDDING_QUERY_TIMEOUT", 0.1)
    await keep_memories(database, "Anna is allergic to nuts")
    async with start_endpoint(lambda _: (0, b"")) as server:
        choose(chosen, server.url)
        async with asyncio.timeout(10):
            assert await found(service, "peanut") == []
        assert "nothing came" in (await service.view()).message
        await service.close()


async def test_an_endpoint_that_changes_its_dimension_is_told_and_all_can_be_made_anew(
    database: Database, service: MeaningService, chosen: Chosen
) -> None:
    def longer(body: dict[str, Any]) -> tuple[int, bytes]:
        data = [{"index": place, "embedding": about(text, 9)} for place, text in enumerate(body["input"])]
        return 200, json.dumps({"data": data}).encode()

    [nuts] = await keep_memories(database, "Anna is allergic to nuts")
    async with start_endpoint(openai) as server:
        choose(chosen, server.url)
        assert await found(service, "peanut") == [nuts]
        server.reply = longer
        assert await found(service, "who must not eat a nut") == []
        view = await service.view()
        assert view.state == "failed"
        assert "vectors of 9 numbers now, and those that are kept have 4" in view.message
        # Nothing is lost.
        assert view.done == 1
        await service.remake()
        assert await found(service, "who must not eat a nut") == [nuts]
        assert (await service.view()).state == "ready"


async def test_a_text_that_an_endpoint_refuses_does_not_keep_the_others_from_being_found(
    database: Database, service: MeaningService, chosen: Chosen
) -> None:
    def picky(body: dict[str, Any]) -> tuple[int, bytes]:
        return (400, b"{}") if any("verboten" in text for text in body["input"]) else openai(body)

    nuts, _, bike = await keep_memories(database, "Anna is allergic to nuts", "verboten", "a bicycle")
    async with start_endpoint(picky) as server:
        choose(chosen, server.url)
        assert await found(service, "peanut") == [nuts]
        assert await found(service, "bike") == [bike]
        assert (await service.view()).waiting == 1
        asked = len(server.requests)
        service.changed("memory")
        assert await found(service, "bike") == [bike]
        # The one that was refused is not sent again and again.
        assert len(server.requests) == asked


async def test_a_key_is_kept_for_the_address_it_was_given_for_and_sent_nowhere_else(
    database: Database, service: MeaningService, chosen: Chosen, secrets: KeptSecrets
) -> None:
    admin = MeaningAdmin(service, lambda: chosen.embeddings, secrets)
    with pytest.raises(PilothouseError, match="no embedding endpoint"):
        await admin.set_key(OWNER, EmbeddingKey(value="k-1"))
    async with start_endpoint(openai) as server, start_endpoint(openai) as other:
        choose(chosen, server.url)
        with pytest.raises(PilothouseError, match="cannot be a key"):
            await admin.set_key(OWNER, EmbeddingKey(value="two\nlines"))
        await admin.set_key(OWNER, EmbeddingKey(value=" k-1 "))
        await service.embed(["one"])
        choose(chosen, other.url)
        await service.embed(["one"])
        assert server.requests[0].headers["authorization"] == "Bearer k-1"
        assert "authorization" not in other.requests[0].headers
        await admin.set_key(OWNER, EmbeddingKey(value=None))
        assert SECRET not in secrets.kept


async def test_an_endpoint_can_be_tried_before_it_is_chosen(
    service: MeaningService, chosen: Chosen, secrets: KeptSecrets
) -> None:
    admin = MeaningAdmin(service, lambda: chosen.embeddings, secrets)
    async with start_endpoint(openai) as server:
        tried = await admin.test(OWNER, EmbeddingTest(url=server.url, model="embed-1", key="k-9"))
        assert (tried.ok, tried.dimension) == (True, 4)
        assert server.requests[0].headers["authorization"] == "Bearer k-9"
        server.reply = lambda _: (401, b"")
        tried = await admin.test(OWNER, EmbeddingTest(url=server.url, model="embed-1"))
        assert not tried.ok
        assert tried.message.endswith("wants a key.")
    tried = await admin.test(OWNER, EmbeddingTest(url="ftp://x", model="embed-1"))
    assert (tried.ok, tried.message[:22]) == (False, "This is no web address")


@pytest.mark.parametrize(
    ("url", "model", "said"),
    [
        ("http://localhost:11434", "", "Name the embedding model"),
        ("no address", "m", "no web address"),
        ("http://8.8.8.8/v1", "m", "without encryption"),
        ("https://me:secret@x.example/v1", "m", "no name, password"),
        ("https://x.example/v1?key=1", "m", "no name, password"),
        ("https://x.example/v1", "m", ""),
        ("http://192.168.1.4:8080", "m", ""),
    ],
)
def test_an_address_that_cannot_be_used_is_told(url: str, model: str, said: str) -> None:
    problem = endpoint_problem(url, model)
    assert said in problem
    assert bool(said) is bool(problem)
