"""Local servers and keys are found at once, and nothing that hangs or is down is waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.models.discovery import find_models
from pilothouse.models.refresh import Offers, no_offers, parse_offers
from pilothouse.net.loop_clients import close_clients
from pilothouse.settings.json_file import JsonFile
from pilothouse.types.api import Catalogue, ModelInput
from pilothouse.types.models import ModelConfig
from tests.models.catalogue import open_catalogue
from tests.support.tiny_http import Page, TinyHttp, site
from tests.support.waiting import AT_ONCE

TAGS = (200, b'{"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "nomic-embed-text"}]}')
LIST = (200, b'{"data": [{"id": "mistral-small"}, {"id": "evil\\u001b[31m"}, {"id": "text-embedding-3"}]}')
GEMINI = (
    200,
    b'{"models": [{"name": "models/gemini-2.5-pro", "supportedGenerationMethods": ["generateContent"]},'
    b' {"name": "models/aqa", "supportedGenerationMethods": ["generateAnswer"]}]}',
)

# Nothing listens on the port that discards.
NOBODY = "http://127.0.0.1:9"
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def local(listener: TinyHttp) -> tuple[ModelConfig, ...]:
    return (
        ModelConfig(name="Ollama", provider="ollama", base_url=listener.url),
        ModelConfig(name="LM Studio", provider="openai-compatible", base_url=f"{listener.url}/v1"),
    )


async def test_servers_on_this_machine_are_found_with_what_they_offer() -> None:
    async with site({"/api/tags": TAGS, "/v1/models": LIST}) as listener:
        ollama, studio = await find_models((), environ={}, servers=local(listener), timeout=AMPLE)
        assert ollama.title == "Ollama on this machine"
        assert ollama.choices == ("qwen3:8b",)
        assert (ollama.draft.provider, ollama.draft.model) == ("ollama", "qwen3:8b")
        assert ollama.draft.base_url == listener.url
        assert studio.choices == ("mistral-small",)
        configured = ModelConfig(id="q", name="Q", provider="ollama", base_url=listener.url, model="qwen3:8b")
        (left,) = await find_models((configured,), environ={}, servers=local(listener), timeout=AMPLE)
        assert left.title == "LM Studio on this machine"


KEYS = {
    "ANTHROPIC_API_KEY": ("anthropic-compatible", "api.anthropic.com"),
    "OPENAI_API_KEY": ("openai-responses", "api.openai.com"),
    "DeepseekKey": ("anthropic-compatible", "api.deepseek.com"),
    "GEMINI_API_KEY": ("gemini", "generativelanguage.googleapis.com"),
    "OPENROUTER_API_KEY": ("openai-compatible", "openrouter.ai"),
}


@pytest.mark.parametrize("variable", KEYS)
async def test_a_key_in_the_environment_becomes_a_draft_that_can_be_added(home: Path, variable: str) -> None:
    provider, host = KEYS[variable]
    environ = {variable: "sk-found-in-environment"}
    (found,) = await find_models((), environ=environ, servers=())
    assert variable in found.title
    assert "sk-found" not in repr(found)
    draft = found.draft
    assert (draft.provider, draft.api_key_source) == (provider, f"env:{variable}")
    models = open_catalogue(home, environ).models
    view = await models.add(
        ModelInput(
            name=draft.name,
            provider=draft.provider,
            base_url=draft.base_url,
            api_key_source=draft.api_key_source,
            model=draft.model,
        )
    )
    assert (view.host, view.key.present, view.key.problem) == (host, True, "")
    assert await find_models(await models.configs(), environ=environ, servers=()) == ()


@pytest.mark.case("F-57")
async def test_what_is_down_hangs_or_talks_nonsense_costs_no_more_than_the_limit() -> None:
    async with AsyncExitStack() as stack:
        silent = await stack.enter_async_context(site({"/api/tags": None, "/v1/models": None}))
        strange = await stack.enter_async_context(
            site({"/api/tags": (200, b"<html>"), "/v1/models": (200, b'{"data": 3}')})
        )
        down = site({})
        down.url = NOBODY
        await find_models((), environ={}, servers=local(down))  # the first one pays for imports
        servers = (*local(silent), *local(strange), *local(down))
        # The silent one never answers: without the limit this has no end.
        async with asyncio.timeout(AT_ONCE):
            assert await find_models((), environ={}, servers=servers, timeout=0.3) == ()


@pytest.mark.case("F-57")
async def test_a_search_can_be_cancelled_at_any_time() -> None:
    async with site({"/api/tags": None}) as silent:
        search = asyncio.create_task(find_models((), environ={}, servers=local(silent), timeout=60))
        await asyncio.wait_for(silent.asked.wait(), 10)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search


def offers(home: Path, environ: dict[str, str]) -> Offers:
    models = open_catalogue(home, environ).models
    file: JsonFile[Catalogue] = JsonFile(home / "cache" / "models.json", parse_offers, no_offers)
    return Offers(file, models, timeout=AMPLE, clock=lambda: 1234.5)


def write(home: Path, **models: tuple[str, str]) -> None:
    home.mkdir(exist_ok=True)
    entries = {
        name: {"name": name, "provider": provider, "baseUrl": url, "apiKeySource": "env:MY_KEY", "model": "m"}
        for name, (provider, url) in models.items()
    }
    entries["embedded"] = {"name": "E", "provider": "embedded"}
    (home / "models.json").write_text(json.dumps({"defaultModelId": "embedded", "models": entries}))


@pytest.mark.case("MOD-27", "SRV-11")
async def test_refreshing_asks_each_provider_its_own_way_and_keeps_the_lists(home: Path) -> None:
    answers = {"/v1/models": LIST, "/chat/models": LIST, "/api/tags": TAGS, "/v1beta/models": GEMINI}
    async with site(answers) as listener:
        url = listener.url
        write(
            home,
            anthropic=("anthropic-compatible", url),
            chat=("openai-compatible", f"{url}/chat"),
            again=("openai-compatible", f"{url}/chat"),
            ollama=("ollama", url),
            gemini=("gemini", url),
        )
        before = await offers(home, {}).kept()
        assert (before.refreshed_at, before.entries) == (None, ())
        told = await offers(home, {"MY_KEY": "sk-my-own-key"}).refresh()
        assert told.refreshed_at == 1234.5
        assert told.problems == ()
        assert {(entry.provider, entry.model) for entry in told.entries} == {
            ("anthropic-compatible", "mistral-small"),
            ("openai-compatible", "mistral-small"),
            ("ollama", "qwen3:8b"),
            ("gemini", "gemini-2.5-pro"),
        }
        assert len(listener.requests) == 4
        by_path = {asked.path.partition("?")[0]: asked.headers for asked in listener.requests}
        assert by_path["/v1/models"]["x-api-key"] == "sk-my-own-key"
        assert by_path["/chat/models"]["authorization"] == "Bearer sk-my-own-key"
        assert by_path["/v1beta/models"]["x-goog-api-key"] == "sk-my-own-key"
    assert await offers(home, {}).kept() == told
    assert "sk-my-own-key" not in (home / "cache" / "models.json").read_text()


@pytest.mark.case("MOD-27", "F-57")
async def test_a_provider_that_does_not_answer_is_named_and_its_old_list_stays(home: Path) -> None:
    pages: dict[str, Page] = {"/v1/models": LIST, "/api/tags": TAGS}
    async with site(pages) as listener:
        write(home, a=("anthropic-compatible", listener.url), o=("ollama", listener.url))
        refresher = offers(home, {"MY_KEY": "sk-my-own-key"})
        first = await refresher.refresh()
        pages["/v1/models"] = (401, b"{}")
        pages["/api/tags"] = (200, b"nonsense")
        second = await refresher.refresh()
        assert second.entries == first.entries
        assert second.problems == (
            "127.0.0.1 did not list its models: it does not accept the key.",
            "127.0.0.1 sent something else than a list of models.",
        )


@pytest.mark.case("MOD-27", "SECRET-05")
async def test_refreshing_does_not_take_a_key_to_another_origin(home: Path) -> None:
    async with site({"/v1/models": LIST}) as evil:
        write(home, a=("anthropic-compatible", "https://api.example.com"))
        refresher = offers(home, {"MY_KEY": "sk-my-own-key"})
        write(home, a=("anthropic-compatible", evil.url))
        told = await refresher.refresh()
        assert evil.requests == []
        assert "was given for https://api.example.com:443" in told.problems[0]
