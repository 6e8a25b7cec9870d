"""Searching the web: each service is asked in its own way, and whatever it does wrong is one sentence."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.secrets.store import SecretStore
from pilothouse.tools.web.chosen import Choice, ChosenService, ServiceTrouble
from pilothouse.tools.web.searching import Hit, search
from pilothouse.tools.web.services import SEARCHES
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from tests.support.tiny_http import Answer, Request, TinyHttp

JSON = {"content-type": "application/json"}
FOUND = {"title": "Boats <strong>&amp;</strong> more", "url": "https://boats.example/a"}
HIT = Hit("Boats & more", "https://boats.example/a", "All about them.")
# As the services answer, as far as it matters, and what else may stand there.
ANSWERS: dict[str, Any] = {
    "brave": {"type": "search", "web": {"results": [FOUND | {"description": "All about <strong>them</strong>."}]}},
    "tavily": {"query": "boats", "results": [FOUND | {"content": "All about them.", "score": 0.9}], "answer": None},
    "exa": {"requestId": "1", "results": [FOUND | {"id": "x", "text": "All about them.", "publishedDate": None}]},
    "searxng": {"results": [FOUND | {"content": "All about them.", "engine": "x"}], "unresponsive_engines": []},
}
KEY = "very-secret-key"


def a_service(home: Path, kind: str, address: str) -> ChosenService:
    secrets = SecretStore(home / "secrets", learn=lambda _value: None)
    return ChosenService("search", SEARCHES, lambda: Choice(kind, address), secrets)


def given(answer: Any, status: int = 200) -> TinyHttp:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return TinyHttp(lambda _request: Answer(status, body, JSON))


def _asked(request: Request) -> tuple[str, str, Any]:
    return request.method, request.target, json.loads(request.body) if request.body else None


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize(
    ("kind", "header", "asked"),
    [
        ("brave", "x-subscription-token", ("GET", "/res/v1/web/search?q=fast+boats&count=3", None)),
        ("tavily", "authorization", ("POST", "/search", {"query": "fast boats", "max_results": 3})),
        (
            "exa",
            "x-api-key",
            (
                "POST",
                "/search",
                {"query": "fast boats", "numResults": 3, "contents": {"text": {"maxCharacters": 500}}},
            ),
        ),
        ("searxng", "authorization", ("GET", "/search?q=fast+boats&format=json", None)),
    ],
)
async def test_each_service_is_asked_in_its_own_way(
    home: Path, kind: str, header: str, asked: tuple[str, str, Any]
) -> None:
    async with given(ANSWERS[kind]) as server:
        service = a_service(home, kind, f"{server.url}/")
        await service.set_key(KEY)
        assert await search(service, "fast boats", 3) == [HIT]
        [request] = server.requests
        assert _asked(request) == asked
        assert request.headers[header].removeprefix("Bearer ") == KEY


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize("kind", ["brave", "searxng"])
async def test_what_cannot_be_a_hit_is_left_out(home: Path, kind: str) -> None:
    odd = [None, 7, {"title": "no address"}, {"url": "javascript:alert(1)"}, {"url": f"https://e.example/{'x' * 2000}"}]
    many = [{"url": f"https://e.example/{number}", "title": 7, "description": ["x"]} for number in range(30)]
    answer = {"web": {"results": [*odd, *many]}, "results": [*odd, *many]}
    async with given(answer) as server:
        hits = await search(a_service(home, kind, server.url), "boats", 5)
        assert [hit.title for hit in hits] == [f"https://e.example/{number}" for number in range(5)]


@pytest.mark.case("UTL-15")
async def test_nothing_found_is_no_failure(home: Path) -> None:
    async with given({"type": "search", "query": {}}) as server:
        assert await search(a_service(home, "brave", server.url), "boats", 5) == []


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize(
    ("status", "body", "said", "lasting"),
    [
        (401, b"{}", "wants a key, or refuses programs (status 401).", True),
        (403, b"Forbidden", "wants a key, or refuses programs (status 403).", True),
        (429, b"{}", "asks for a pause: too many requests, or the plan is used up (status 429).", False),
        (500, b"<html>oops", "is not well (status 500). Try again later.", False),
        (404, b"", "has nothing at that address (status 404). Look whether the address is right.", True),
        (302, b"", "has nothing at that address (status 302). Look whether the address is right.", True),
        (422, b'{"detail": {"error": "too long"}}', "refused it (status 422): too long", False),
        (200, b"<html>Welcome", "answered with something that is not its JSON.", True),
        (200, b"[" * 100_000, "answered with something that is not its JSON.", True),
        (200, b'{"results": 7}', "answered with something that is no list of hits.", False),
        (200, b" " * (limits.WEB_SEARCH_BYTES + 1), "cannot be reached: it sent more than", False),
    ],
)
async def test_what_a_service_does_wrong_is_one_sentence(
    home: Path, status: int, body: bytes, said: str, lasting: bool
) -> None:
    async with given(body, status) as server:
        service = a_service(home, "searxng", server.url)
        with pytest.raises(ServiceTrouble) as caught:
            await search(service, "boats", 5)
        assert caught.value.sentence.startswith(f"SearXNG at 127.0.0.1:{server.port} {said}")
        # What stays wrong until a person looks is not offered any more; what passes is.
        assert bool(service.problem) is lasting


@pytest.mark.case("UTL-15")
async def test_a_service_that_is_slow_or_away_is_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WEB_SEARCH_TIME", 0.2)
    async with TinyHttp(lambda _request: Answer(200, b"{}", JSON, stall_after=1)) as server:
        service = a_service(home, "searxng", server.url)
        with pytest.raises(ServiceTrouble, match=r"cannot be reached: nothing came for 0\.2 s\."):
            await search(service, "boats", 5)
        address = server.url
    gone = a_service(home, "searxng", address)
    with pytest.raises(ServiceTrouble, match="cannot be reached: nothing listens there"):
        await search(gone, "boats", 5)


@pytest.mark.case("UTL-15")
async def test_a_key_is_bound_to_its_address_and_asked_for_where_it_is_missing(home: Path) -> None:
    async with given(ANSWERS["brave"]) as server:
        service = a_service(home, "brave", server.url)
        await service.set_key(KEY)
        assert (service.has_key, service.problem) == (True, "")
        # The same service at another address does not get it.
        moved = a_service(home, "brave", "https://search.example")
        assert (moved.has_key, await moved.key(), moved.problem) == (False, "", "Brave Search wants a key.")
        other = a_service(home, "tavily", "")
        assert (other.address, other.problem) == ("https://api.tavily.com", "Tavily wants a key.")
        await service.set_key(None)
        assert not service.has_key
    assert a_service(home, "searxng", "").problem == "The address of your SearXNG is missing."
    assert a_service(home, "none", "").problem == "No service is chosen."


@pytest.mark.parametrize(
    ("kind", "address", "value", "said"),
    [
        ("brave", "", "  ", "This cannot be a key."),
        ("brave", "", "x" * 2_000, "This cannot be a key."),
        ("brave", "", "kéy", "This cannot be a key."),
        ("brave", "http://search.example.org", KEY, "Brave Search has an address without encryption"),
        ("searxng", "", KEY, "The address of your SearXNG is missing."),
        ("none", "", KEY, "No service is chosen that a key could be for."),
    ],
)
async def test_what_cannot_be_a_key_is_refused_in_one_sentence(
    home: Path, kind: str, address: str, value: str, said: str
) -> None:
    with pytest.raises(PilothouseError, match=said):
        await a_service(home, kind, address).set_key(value)


async def test_a_test_that_goes_well_brings_a_service_back(home: Path) -> None:
    answers = [Answer(401), Answer(200, json.dumps(ANSWERS["searxng"]).encode(), JSON)]
    asking: Callable[[Request], Answer | Awaitable[Answer]] = lambda _request: answers.pop(0)  # noqa: E731
    async with TinyHttp(asking) as server:
        service = a_service(home, "searxng", server.url)
        with pytest.raises(ServiceTrouble):
            await search(service, "boats", 1)
        assert "wants a key" in service.problem
        assert await search(service, "boats", 1) == [HIT]
        assert service.problem == ""


def test_a_service_whose_address_is_without_encryption_is_not_offered(home: Path) -> None:
    service = a_service(home, "searxng", "http://search.example.org")
    assert service.problem.startswith("SearXNG has an address without encryption")
    assert not service.view().offered
    assert a_service(home, "searxng", "http://127.0.0.1:8080").view().offered
