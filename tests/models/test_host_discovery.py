"""Model servers on a host that a person named: asked there and nowhere else, and what was found or not is said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from pilothouse.models.discovery import LOCAL_SERVERS
from pilothouse.models.host_discovery import find_at, servers_at
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig
from tests.support.tiny_http import TinyHttp, site
from tests.support.waiting import AT_ONCE

TAGS = (200, b'{"models": [{"name": "qwen3:8b"}]}')
LIST = (200, b'{"data": [{"id": "mistral-small"}, {"id": "mistral-large"}]}')
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def port(listener: TinyHttp) -> int:
    return urlsplit(listener.url).port or 0


def usual(listener: TinyHttp) -> tuple[ModelConfig, ...]:
    """One known server whose usual port is where someone listens, and one whose port nobody has."""
    return (
        ModelConfig(name="Ollama", provider="ollama", base_url="http://127.0.0.1:9"),
        ModelConfig(name="vLLM", provider="openai-compatible", base_url=f"http://127.0.0.1:{port(listener)}/v1"),
    )


@pytest.mark.case("MOD-27")
async def test_a_server_at_its_usual_port_is_found_by_the_hosts_name() -> None:
    async with site({"/v1/models": LIST}) as listener:
        result = await find_at(" localhost ", (), servers=usual(listener), timeout=AMPLE)
        (found,) = result.found
        assert (found.title, result.note) == ("vLLM on this machine", "")
        assert found.draft.base_url == f"http://localhost:{port(listener)}/v1"
        assert found.choices == ("mistral-large", "mistral-small")
        assert (found.draft.provider, found.draft.model) == ("openai-compatible", "mistral-large")


@pytest.mark.case("MOD-27")
async def test_at_a_given_port_each_way_of_speaking_is_tried_and_one_place_is_one_offer() -> None:
    async with site({"/api/tags": TAGS, "/v1/models": LIST}) as both:
        (found,) = (await find_at(f"127.0.0.1:{port(both)}", (), timeout=AMPLE)).found
        assert (found.title, found.draft.provider, found.choices) == ("Ollama on this machine", "ollama", ("qwen3:8b",))
    async with site({"/v1/models": LIST}) as other:
        (found,) = (await find_at(f"http://localhost:{port(other)}/v1/", (), timeout=AMPLE)).found
        assert (found.title, found.draft.provider) == ("Model server on this machine", "openai-compatible")
        assert found.draft.base_url == f"http://localhost:{port(other)}/v1"


async def test_every_known_kind_of_server_is_asked_for_where_it_usually_listens() -> None:
    assert {server.name: urlsplit(server.base_url).port for server in LOCAL_SERVERS} == {
        "Ollama": 11434,
        "LM Studio": 1234,
        "llama.cpp": 8080,
        "vLLM": 8000,
    }


async def test_what_is_configured_already_is_not_offered_again() -> None:
    async with site({"/v1/models": LIST}) as listener:
        where = f"127.0.0.1:{port(listener)}"
        known = [
            ModelConfig(id=name, name=name, provider="openai-compatible", base_url=f"http://{where}/v1", model=name)
            for name in ("mistral-small", "mistral-large")
        ]
        (found,) = (await find_at(where, known[:1], timeout=AMPLE)).found
        assert found.choices == ("mistral-large",)
        result = await find_at(where, known, timeout=AMPLE)
        assert result.found == ()
        assert result.note.startswith(f"Everything that {where} offers is added already")


@pytest.mark.case("F-57")
async def test_why_nothing_was_found_is_said_in_one_sentence_and_soon() -> None:
    assert (await find_at("127.0.0.1:9", ())).note == (
        "No model server answered at 127.0.0.1:9 (asked at 9). Is it running, and does it listen for other machines?"
    )
    assert "the name is not known. Is it typed correctly?" in (await find_at("nosuch.invalid", ())).note
    async with site({"/v1/models": (401, b"{}")}) as locked:
        assert "wants a key" in (await find_at(f"localhost:{port(locked)}", (), timeout=AMPLE)).note
    async with site({"/api/tags": None, "/v1/models": None}) as silent:
        # It never answers: without the limit this has no end.
        async with asyncio.timeout(AT_ONCE):
            assert "No model server answered" in (await find_at(f"localhost:{port(silent)}", (), timeout=0.3)).note


NO_HOSTS = (
    *("no host", "nas.local:port", "nas.local:99999", "ftp://nas", "me:secret@nas.local", "nas?x=1", "_ _", "a\nb"),
    *("[::1", "x" * 300, "nas/../#x", "http://", "nas..local"),
)


@pytest.mark.parametrize("host", NO_HOSTS)
async def test_what_is_no_host_is_refused_with_what_would_be_one(host: str) -> None:
    with pytest.raises(PilothouseError) as refused:
        await find_at(host, (), servers=())
    assert refused.value.code == "bad_request"
    assert "is no host" in refused.value.message
    assert "nas.local" in refused.value.fix


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ("nas.local", "http://nas.local:11434"),
        ("NAS", "http://nas:11434"),
        ("192.168.1.5", "http://192.168.1.5:11434"),
        ("fd00::5", "http://[fd00::5]:11434"),
        ("[fd00::5]:8080", "http://[fd00::5]:8080"),
        ("https://nas.local:443", "https://nas.local:443"),
    ],
)
async def test_names_and_addresses_of_both_kinds_are_understood(host: str, asked: str) -> None:
    assert servers_at(host, LOCAL_SERVERS)[0].base_url == asked
