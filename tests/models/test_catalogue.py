"""Models are added, changed, deleted, made the default, opened and tested."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pilothouse.models.views import context_label, price_label
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.ports import OpenModel
from pilothouse.types.prices import Prices
from pilothouse.types.stream import TextDelta
from tests.models.catalogue import Parts, open_catalogue
from tests.support.scripted_endpoint import Endpoint

CANARY = "sk-canary-0123456789"
REQUEST = ModelRequest(messages=(Message("user", (TextBlock(text="Hello?"),)),))


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


@pytest.fixture
def parts(home: Path) -> Parts:
    return open_catalogue(home, {"MY_KEY": CANARY})


def form(name: str = "Test", **fields: Any) -> ModelInput:
    start: dict[str, Any] = {"provider": "anthropic-compatible", "base_url": "https://api.example.com", "model": "m"}
    return ModelInput(name=name, **(start | fields))


def read(home: Path) -> Any:
    return json.loads((home / "models.json").read_text())


async def ask(opened: OpenModel) -> str:
    async with aclosing(opened.model.stream(REQUEST)) as events:
        return "".join([event.text async for event in events if isinstance(event, TextDelta)])


@pytest.mark.case("MOD-01", "MOD-06", "MOD-08", "MOD-15")
async def test_an_added_model_is_in_the_list_and_in_the_file(home: Path, parts: Parts) -> None:
    view = await parts.models.add(form("My Claude", api_key_source="env:MY_KEY", context_window=128_000))
    assert (view.id, view.host, view.context_label) == ("my-claude", "api.example.com", "128K context")
    assert view.key.present
    assert read(home)["models"]["my-claude"] == {
        "name": "My Claude",
        "provider": "anthropic-compatible",
        "baseUrl": "https://api.example.com",
        "apiKeySource": "env:MY_KEY",
        "model": "m",
        "contextWindow": 128_000,
        "supportsThinking": None,
    }
    assert [model.id for model in (await parts.models.list()).models] == ["embedded", "my-claude"]


@pytest.mark.case("MOD-01", "AUT-28")
async def test_a_typed_key_becomes_a_secret_and_is_shown_nowhere(home: Path, parts: Parts) -> None:
    view = await parts.models.add(form(api_key=CANARY))
    assert view.api_key_source == "secret:model-test"
    assert (view.key.kind, view.key.present, view.key.problem) == ("secret", True, "")
    assert CANARY not in encode_text(await parts.models.list())
    assert CANARY not in (home / "models.json").read_text()
    opened = await parts.models.open("test")
    assert parts.models.key_for(opened.config) == CANARY
    assert parts.redactor.redact(f"x {CANARY}") == "x [redacted]"


@pytest.mark.case("MOD-02", "MOD-15")
async def test_an_update_changes_what_the_form_says_and_keeps_what_it_cannot_say(home: Path, parts: Parts) -> None:
    await parts.models.add(form(api_key=CANARY, context_window=1000))
    raw = read(home)
    raw["note"] = "mine"
    raw["models"]["test"] |= {"headers": {"x-team": "blue"}, "colour": "red"}
    (home / "models.json").write_text(json.dumps(raw))
    view = await parts.models.update("test", form("Renamed", supports_thinking=True, max_tokens=77))
    assert (view.name, view.supports_thinking, view.max_tokens, view.context_window) == ("Renamed", True, 77, 1000)
    assert view.key.present
    written = read(home)
    assert written["note"] == "mine"
    assert written["models"]["test"]["headers"] == {"x-team": "blue"}
    assert written["models"]["test"]["colour"] == "red"


@pytest.mark.case("MOD-03", "MOD-19", "MOD-15")
async def test_a_deleted_model_takes_its_secret_with_it_but_the_default_stays(home: Path, parts: Parts) -> None:
    await parts.models.add(form(api_key=CANARY))
    assert (home / "secrets" / "model-test.secret").exists()
    with pytest.raises(PilothouseError, match="is the default model and cannot be deleted") as caught:
        await parts.models.delete("test")
    assert caught.value.http_status == 409
    await parts.models.set_default("embedded")
    await parts.models.delete("test")
    assert [model.id for model in (await parts.models.list()).models] == ["embedded"]
    assert not (home / "secrets" / "model-test.secret").exists()
    with pytest.raises(PilothouseError, match="There is no model “test”"):
        await parts.models.delete("test")


@pytest.mark.case("MOD-01", "MOD-04")
async def test_the_first_model_that_is_added_becomes_the_default_and_the_second_does_not(parts: Parts) -> None:
    assert (await parts.models.list()).default_model_id == "embedded"
    assert (await parts.models.add(form("First"))).is_default
    assert not (await parts.models.add(form("Second"))).is_default
    # Who goes back to the built-in one has chosen it.
    await parts.models.set_default("embedded")
    assert not (await parts.models.add(form("Third"))).is_default
    await parts.models.update("third", form("Changed"))
    assert (await parts.models.list()).default_model_id == "embedded"


@pytest.mark.case("MOD-04", "MOD-05", "MOD-09", "MOD-15")
async def test_the_default_is_switched_and_survives_a_restart(home: Path, parts: Parts) -> None:
    await parts.models.add(form("Other"))
    await parts.models.add(form())
    models = await parts.models.set_default("test")
    assert models.default_model_id == "test"
    assert [model.is_default for model in models.models] == [False, False, True]
    again = open_catalogue(home, {}).models
    assert (await again.list()).default_model_id == "test"
    default = await again.default()
    assert default is not None
    assert default.name == "Test"


@pytest.mark.case("MOD-15")
async def test_a_cancelled_change_leaves_a_whole_file(home: Path, parts: Parts) -> None:
    change = asyncio.create_task(parts.models.add(form()))
    await asyncio.sleep(0)
    change.cancel()
    await asyncio.gather(change, return_exceptions=True)
    assert (await parts.models.list()).problem is None
    assert (await parts.models.add(form("Other"))).id == "other"


@pytest.mark.case("MOD-01", "MOD-02")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"provider": "skynet"}, "The provider “skynet” is not known"),
        ({"base_url": "example.com"}, "is not a web address"),
        ({"model": ""}, "which of the provider's models"),
        ({"name": "  "}, "needs a name"),
        ({"context_window": 0}, "at least 1"),
        ({"max_tokens": -1}, "at least 1"),
        ({"max_tokens": 10**21}, "more than 1,000,000,000 tokens"),
        ({"context_window": 10**21}, "more than 1,000,000,000 tokens"),
        ({"id": "no/slash"}, "cannot be a model's id"),
        ({"id": "embedded"}, "There is a model “embedded” already"),
    ],
)
async def test_a_form_that_does_not_fit_is_refused_in_one_sentence(
    home: Path, parts: Parts, fields: dict[str, Any], words: str
) -> None:
    before = (home / "models.json").read_bytes()
    with pytest.raises(PilothouseError, match=words) as caught:
        await parts.models.add(form(**fields))
    assert caught.value.http_status in (400, 409)
    assert (home / "models.json").read_bytes() == before


async def test_models_with_one_name_get_ids_of_their_own(parts: Parts) -> None:
    assert [(await parts.models.add(form())).id for _ in range(3)] == ["test", "test-2", "test-3"]
    with pytest.raises(PilothouseError, match="keeps its id"):
        await parts.models.update("test", form(id="other"))


async def test_a_form_without_address_gets_the_providers(parts: Parts) -> None:
    view = await parts.models.add(form(provider="ollama", base_url="", model="qwen3"))
    assert (view.base_url, view.host) == ("http://127.0.0.1:11434", "127.0.0.1:11434")


@pytest.mark.case("MOD-14")
async def test_without_models_the_error_says_that_none_is_configured(home: Path, parts: Parts) -> None:
    (home / "models.json").write_text('{"models": {}}')
    with pytest.raises(PilothouseError, match="No model configured") as caught:
        await parts.models.open(None)
    assert caught.value.code == "no_model"
    assert "pilothouse models add" in caught.value.fix
    assert await parts.models.default() is None
    assert (await parts.models.add(form())).is_default


async def test_an_unknown_model_is_named_with_those_that_there_are(parts: Parts) -> None:
    with pytest.raises(PilothouseError, match=r"There is no model “gpt-9”\. There are: embedded \(.+\)\.") as caught:
        await parts.models.open("gpt-9")
    assert caught.value.code == "unknown_model"


@pytest.mark.case("MOD-22", "CHT-10")
async def test_a_switched_or_changed_model_is_rebuilt_with_its_address_key_and_name(parts: Parts) -> None:
    async with Endpoint() as one, Endpoint() as two:
        await parts.models.add(form("One", base_url=one.url, model="first", api_key="key-number-one"))
        await parts.models.add(form("Two", base_url=two.url, model="second", api_key="key-number-two"))
        await parts.models.set_default("one")
        assert await ask(await parts.models.open(None)) == "Hello from first."
        await parts.models.set_default("two")
        assert await ask(await parts.models.open(None)) == "Hello from second."
        assert [request.headers["x-api-key"] for request in (*one.requests, *two.requests)] == [
            "key-number-one",
            "key-number-two",
        ]
        await parts.models.update("two", form("Two", base_url=two.url, model="third", api_key="key-number-three"))
        assert await ask(await parts.models.open(None)) == "Hello from third."
        assert two.requests[-1].headers["x-api-key"] == "key-number-three"


async def test_an_unchanged_model_is_made_only_once(parts: Parts) -> None:
    await parts.models.add(form(base_url="http://127.0.0.1:9"))
    assert await parts.models.open("test") is await parts.models.open("test")


@pytest.mark.case("MOD-23", "MOD-24")
async def test_an_opened_model_says_whether_it_thinks_and_how_much_it_can_read(parts: Parts) -> None:
    await parts.models.add(form(base_url="http://127.0.0.1:9", context_window=64_000, supports_thinking=True))
    config = (await parts.models.open("test")).config
    assert (config.context_window, config.supports_thinking) == (64_000, True)


@pytest.mark.case("MOD-05", "F-55")
async def test_a_hand_edit_is_taken_up_by_the_next_question(home: Path, parts: Parts) -> None:
    async with Endpoint() as endpoint:
        entry = {"name": "E", "provider": "openai-compatible", "baseUrl": endpoint.url, "model": "edited"}
        (home / "models.json").write_text(json.dumps({"defaultModelId": "e", "models": {"e": entry}}))
        assert await ask(await parts.models.open(None)) == "Hello from edited."


async def test_a_script_can_be_named_instead_of_a_model(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"turns": [{"steps": [{"text": "As written."}]}]}')
    opened = await parts.models.open(f"scripted:{tmp_path / 'script.json'}")
    assert opened.config.provider == "scripted"
    assert await ask(opened) == "As written."
    with pytest.raises(PilothouseError) as caught:
        await parts.models.open("scripted:/no/such/file.json")
    assert caught.value.code == "bad_script"


async def test_a_test_tells_the_latency(parts: Parts) -> None:
    async with Endpoint() as endpoint:
        await parts.models.add(form(base_url=endpoint.url, model="hi"))
        result = await parts.models.test("test")
        assert result.ok
        assert result.message.startswith("Answered in ")
        assert result.first_token_ms is not None
        assert endpoint.requests[0].json["max_tokens"] == 16


@pytest.mark.parametrize(
    ("status", "words"), [(401, "as the script says"), (404, "as the script says"), (429, "limits your requests")]
)
async def test_a_test_tells_the_providers_own_error_in_one_sentence(parts: Parts, status: int, words: str) -> None:
    async with Endpoint() as endpoint:
        result = await parts.models.test_draft(
            form(base_url=endpoint.url, model=f"status-{status}", api_key="sk-wrong-wrong")
        )
        assert not result.ok
        assert words in result.message
        assert "sk-wrong-wrong" not in result.message
        assert endpoint.requests[0].headers["x-api-key"] == "sk-wrong-wrong"
        assert len(endpoint.requests) == 1


async def test_a_test_of_an_unreachable_or_unready_model_is_one_sentence_too(parts: Parts) -> None:
    result = await parts.models.test_draft(form(base_url="http://127.0.0.1:9"))
    assert not result.ok
    assert "127.0.0.1:9" in result.message
    await parts.models.add(form(api_key_source="env:NOT_SET"))
    result = await parts.models.test("test")
    assert not result.ok
    assert "NOT_SET is not set" in result.message


SEEING = {
    "claude-3-5-sonnet-20241022": ("anthropic-compatible", True),
    "deepseek-reasoner": ("anthropic-compatible", False),
    "gpt-4o-mini": ("openai-compatible", True),
    "qwen2.5-coder": ("openai-compatible", False),
    "qwen2.5vl:7b": ("ollama", True),
    "llama3.2": ("ollama", False),
    "gemini-2.5-flash": ("gemini", True),
}


@pytest.mark.parametrize("model", SEEING)
async def test_whether_a_model_sees_images_is_guessed_until_it_is_said(parts: Parts, model: str) -> None:
    provider, sees = SEEING[model]
    assert (await parts.models.add(form(provider=provider, model=model))).supports_images is sees
    changed = await parts.models.update("test", form(provider=provider, model=model, supports_images=not sees))
    assert changed.supports_images is not sees


@pytest.mark.case("MOD-20")
@pytest.mark.parametrize(
    ("tokens", "label"),
    [
        (128_000, "128K context"),
        (200_000, "200K context"),
        (8192, "8K context"),
        (131_072, "128K context"),
        (1_000_000, "1M context"),
        (1_048_576, "1M context"),
        (500, "500 tokens of context"),
    ],
)
def test_a_context_window_is_told_in_round_words(tokens: int, label: str) -> None:
    assert context_label(tokens) == label


@pytest.mark.case("MOD-20")
@pytest.mark.parametrize(
    ("prices", "label"),
    [
        (Prices(input=3, output=15), "$3 in, $15 out per 1M tokens"),
        (Prices(input=0.075, output=1.25, cache_read=0.01), "$0.075 in, $1.25 out per 1M tokens"),
        (Prices(input=0, output=0), "free of charge"),
        (
            Prices(input=2.5, output=15, above=272_000, beyond=Prices(input=5, output=22.5)),
            "$2.5 in, $15 out per 1M tokens, more above 272K",
        ),
    ],
)
def test_prices_are_told_in_a_few_words(prices: Prices, label: str) -> None:
    assert price_label(prices) == label
