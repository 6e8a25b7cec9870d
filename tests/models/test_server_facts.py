"""A model's own server is asked first: it knows the window that it was really started with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pilothouse.models import server_facts as told_module
from pilothouse.models.facts import is_asked
from pilothouse.models.server_facts import _read, _understood, told
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.api import ModelInput
from pilothouse.types.models import Known, ModelConfig
from tests.models.catalogue import open_catalogue
from tests.support.tiny_http import site

SHOW = {
    "capabilities": ["completion", "tools", "thinking"],
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
    "parameters": 'temperature 0.6\nstop "<|im_end|>"',
}


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def said(document: object) -> tuple[int, bytes]:
    return 200, json.dumps(document).encode()


def config(url: str, model: str = "m", **fields: Any) -> ModelConfig:
    start: dict[str, Any] = {"id": "m", "name": "M", "provider": "openai-compatible", "base_url": url, "model": model}
    return ModelConfig(**(start | fields))


async def facts(answers: dict[str, tuple[int, bytes] | None], path: str = "/v1", **fields: Any) -> Known | None:
    async with site(answers) as listener:
        # Only silence is waited for to the end.
        silent = None in answers.values()
        return await told(config(listener.url + path, **fields), "", timeout=0.3 if silent else 30)


async def test_ollama_tells_abilities_and_no_more_window_than_most_machines_take() -> None:
    found = await facts({"/api/show": said(SHOW)}, "", provider="ollama")
    assert found is not None
    assert (found.context_window, found.images, found.thinking, found.tools) == (32_000, False, True, True)
    small = SHOW | {"model_info": {"llama.context_length": 8192}, "capabilities": ["completion", "vision"]}
    found = await facts({"/api/show": said(small)}, "", provider="ollama")
    assert found is not None
    assert (found.context_window, found.images, found.thinking) == (8192, True, False)


async def test_ollama_is_believed_about_the_window_in_a_models_own_file() -> None:
    shown = SHOW | {"parameters": "num_ctx                        65536\ntemperature 1"}
    async with site({"/api/show": said(shown)}) as listener:
        found = await told(config(listener.url, "qwen3:8b", provider="ollama"), "")
        assert found is not None
        assert found.context_window == 65536
        assert found.source.startswith(listener.url.removeprefix("http://") + " on 20")
        assert json.loads(listener.requests[0].body) == {"model": "qwen3:8b"}


async def test_llama_cpp_tells_the_window_it_was_started_with() -> None:
    props = {"default_generation_settings": {"n_ctx": 16384, "params": {}}, "modalities": {"vision": True}}
    trained = {"data": [{"id": "m", "meta": {"n_ctx_train": 131072}}]}
    found = await facts({"/props": said(props), "/v1/models": said(trained)})
    assert found is not None
    assert (found.context_window, found.images) == (16384, True)


async def test_lm_studio_tells_what_a_model_was_loaded_with() -> None:
    one: dict[str, Any] = {"id": "m", "type": "vlm", "max_context_length": 131072, "capabilities": ["tool_use"]}
    plain = said({"data": [{"id": "m"}]})
    loaded = {"data": [one | {"state": "loaded", "loaded_context_length": 4096}]}
    found = await facts({"/api/v0/models": said(loaded), "/v1/models": plain})
    assert found is not None
    assert (found.context_window, found.images, found.tools) == (4096, True, True)
    found = await facts({"/api/v0/models": said({"data": [one | {"state": "not-loaded"}]}), "/v1/models": plain})
    assert found is not None
    assert found.context_window == 32_000


async def test_vllm_tells_its_longest_request_and_is_asked_with_the_models_key() -> None:
    async with site({"/v1/models": said({"data": [{"id": "m", "max_model_len": 24576}]})}) as listener:
        found = await told(config(f"{listener.url}/v1"), "sk-mine")
        assert found is not None
        assert found.context_window == 24576
        assert {asked.headers["authorization"] for asked in listener.requests} == {"Bearer sk-mine"}


def test_openrouter_tells_window_limit_abilities_and_prices() -> None:
    entry = {
        "id": "x/y",
        "context_length": 163840,
        "architecture": {"input_modalities": ["text", "image"]},
        "top_provider": {"context_length": 163840, "max_completion_tokens": 65536},
        "supported_parameters": ["max_tokens", "reasoning", "tools"],
        "pricing": {"prompt": "0.0000003", "completion": "0.0000012", "input_cache_read": "0.00000003", "image": "0"},
    }
    found = _read(_understood(entry))
    assert (found.context_window, found.max_output) == (163840, 65536)
    assert (found.images, found.thinking, found.tools) == (True, True, True)
    assert found.prices is not None
    assert (found.prices.input, found.prices.output, found.prices.cache_read) == (0.3, 1.2, 0.03)
    routed = entry | {"pricing": {"prompt": "-1", "completion": "-1"}}
    assert _read(_understood(routed)).prices is None


@pytest.mark.parametrize(
    "listed",
    [
        [{"id": 5}, {"id": "x", "max_model_len": "16k"}, None, {"id": "m", "max_model_len": 16384}],
        [{"id": "m", "max_model_len": 16384, "type": None, "pricing": "free", "meta": 3, "capabilities": True}],
        [{"id": "m", "max_model_len": "unknown", "context_length": "16384"}],
        [{"id": "m", "context_window": 16384.0}],
    ],
)
async def test_what_is_odd_in_a_list_hides_nothing_that_is_not(listed: list[object]) -> None:
    found = await facts({"/v1/models": said({"data": listed})})
    assert found is not None
    assert found.context_window == 16384


async def test_a_way_to_choose_who_answers_is_no_other_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_module, "has_open_list", lambda config: True)
    entry = {"id": "x/y", "context_length": 163840, "pricing": {"prompt": "0.000001", "completion": "0.000002"}}
    listed: dict[str, tuple[int, bytes] | None]
    listed = {"/v1/models": said({"data": [entry, entry | {"id": "x/y:free", "context_length": 8192}]})}
    for model, window, priced in (("x/y", 163840, True), ("x/y:nitro", 163840, False), ("x/y:free", 8192, True)):
        found = await facts(listed, model=model)
        assert found is not None
        assert (found.context_window, found.prices is not None) == (window, priced)


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/props": None, "/api/show": None, "/v1/models": None, "/api/v0/models": None},
        {"/props": (200, b"<html>"), "/v1/models": (200, b"[1]"), "/api/show": (200, b'{"capabilities": 3}')},
        {"/props": (200, b'{"default_generation_settings": {"n_ctx": 0}}'), "/v1/models": (500, b"{}")},
        {"/v1/models": said({"data": [{"id": "another", "max_model_len": 5}]})},
    ],
)
async def test_a_server_that_is_silent_or_talks_nonsense_tells_nothing(
    answers: dict[str, tuple[int, bytes] | None],
) -> None:
    assert await facts(answers) is None


@pytest.mark.parametrize(
    ("url", "provider", "asked"),
    [
        ("http://127.0.0.1:8080/v1", "openai-compatible", True),
        ("http://192.168.1.5:11434", "ollama", True),
        ("http://[fd00::5]:8000/v1", "openai-compatible", True),
        ("http://nas.local:1234", "anthropic-compatible", True),
        ("http://gpu:8000/v1", "openai-compatible", True),
        ("https://openrouter.ai/api/v1", "openai-compatible", True),
        ("https://api.anthropic.com", "anthropic-compatible", False),
        ("https://models.example.com/v1", "openai-compatible", False),
        ("", "scripted", False),
        ("", "openai-responses", False),
    ],
)
def test_only_servers_that_are_near_or_tell_everyone_are_asked(url: str, provider: str, asked: bool) -> None:
    assert is_asked(config(url, provider=provider)) is asked


async def test_an_added_model_has_what_its_server_told_until_it_becomes_another(home: Path) -> None:
    lists = {"data": [{"id": "small", "max_model_len": 9000}, {"id": "large", "max_model_len": 90_000}]}
    async with site({"/v1/models": said(lists)}) as listener:
        models = open_catalogue(home, {}).models
        form: dict[str, Any] = {"name": "Local", "provider": "openai-compatible", "base_url": f"{listener.url}/v1"}
        view = await models.add(ModelInput(**form, model="small"))
        assert (view.context_window, view.said.context_window) == (9000, None)
        assert view.facts_from.startswith("127.0.0.1:")
        assert (await models.open("local")).config.context_window == 9000
        # The server need not run for it any more.
        kept = json.loads((home / "models.json").read_text())["models"]["local"]
        assert kept["contextWindow"] is None
        assert kept["known"]["contextWindow"] == 9000
        times = len(listener.requests)
        assert (await models.update("local", ModelInput(**form, model="small"))).context_window == 9000
        assert len(listener.requests) == times
        assert (await models.update("local", ModelInput(**form, model="large"))).context_window == 90_000
        mine = await models.update("local", ModelInput(**form, model="large", context_window=1234))
        assert (mine.context_window, mine.facts_from) == (1234, "")
        kept_mine = await models.update("local", ModelInput(**form, model="large"))
        assert kept_mine.context_window == 1234
        again = await models.update("local", ModelInput(**form, model="large", context_window="known"))
        assert again.context_window == 90_000


async def test_what_is_known_of_a_model_is_told_before_it_is_saved(home: Path) -> None:
    async with site({"/v1/models": said({"data": [{"id": "m", "max_model_len": 9000}]})}) as listener:
        models = open_catalogue(home, {}).models
        form = ModelInput(name="X", provider="openai-compatible", base_url=f"{listener.url}/v1", model="m")
        assert (await models.about(form)).context_label == "9K context"
        assert [one.id for one in (await models.list()).models] == ["embedded"]
    claude = await models.about(ModelInput(name="X", provider="anthropic-compatible", model="claude-sonnet-4-5"))
    assert (claude.context_label, claude.supports_thinking, claude.supports_images) == ("200K context", True, True)
    assert claude.facts_from.startswith("litellm ")
