"""Keys come from where the file says, and go only where they were given for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pilothouse.models.keys import read_source
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from tests.models.catalogue import Parts, open_catalogue
from tests.support.scripted_endpoint import Endpoint

CANARY = "sk-canary-0123456789"
ENVIRON = {"MY_KEY": CANARY, "ANTHROPIC_API_KEY": CANARY}
REQUEST = ModelRequest(messages=(Message("user", (TextBlock(text="Hello?"),)),))


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def write(home: Path, url: str, source: str, model_id: str = "a") -> None:
    home.mkdir(exist_ok=True)
    entry = {"name": "A", "provider": "anthropic-compatible", "baseUrl": url, "apiKeySource": source, "model": "m"}
    content = {"defaultModelId": model_id, "models": {model_id: entry}}
    (home / "models.json").write_text(json.dumps(content))


def given(home: Path, url: str, source: str) -> Parts:
    """A start of the product on a file that says this."""
    write(home, url, source)
    return open_catalogue(home, ENVIRON)


def form(url: str, **fields: Any) -> ModelInput:
    return ModelInput(name="A", provider="anthropic-compatible", base_url=url, model="m", **fields)


async def key(parts: Parts) -> str:
    config = await parts.models.default()
    assert config is not None
    return parts.models.key_for(config)


async def ask(parts: Parts) -> None:
    async with aclosing((await parts.models.open(None)).model.stream(REQUEST)) as events:
        async for _ in events:
            pass


async def refused(parts: Parts) -> str:
    """Return why the default model cannot be opened."""
    with pytest.raises(PilothouseError) as caught:
        await parts.models.open(None)
    assert caught.value.code == "key_moved"
    assert caught.value.http_status == 409
    assert CANARY not in str(caught.value)
    (view,) = (await parts.models.list()).models
    assert view.key.moved
    assert "given for" in view.key.problem or "not been confirmed" in view.key.problem
    return caught.value.message


@pytest.mark.case("MOD-11")
@pytest.mark.parametrize("source", ["env:MY_KEY", "ENV:MY_KEY", "Env: MY_KEY"])
async def test_a_key_is_taken_from_the_environment_whatever_the_case_of_the_prefix(home: Path, source: str) -> None:
    parts = given(home, "http://127.0.0.1:9", source)
    assert await key(parts) == CANARY
    (view,) = (await parts.models.list()).models
    assert (view.api_key_source, view.key.present, view.key.problem) == ("env:MY_KEY", True, "")


@pytest.mark.case("MOD-12", "AUT-28")
async def test_a_literal_key_is_used_flagged_and_never_shown(home: Path) -> None:
    parts = given(home, "https://api.example.com", CANARY)
    assert await key(parts) == CANARY
    (view,) = (await parts.models.list()).models
    assert (view.api_key_source, view.key.kind, view.key.present) == ("literal", "literal", True)
    assert "plain text" in view.key.problem
    assert CANARY not in encode_text(view)
    assert CANARY not in "".join(file.read_text() for file in (home / "secrets").iterdir())
    assert parts.redactor.redact(CANARY) == "[redacted]"
    # The form sends back the word it was shown, and the key stays.
    await parts.models.update("a", form("https://api.example.com", api_key_source="literal"))
    assert await key(parts) == CANARY


@pytest.mark.case("MOD-13")
async def test_an_unset_variable_is_an_empty_key_and_a_plain_sentence(home: Path) -> None:
    parts = given(home, "https://api.example.com", "env:NOT_SET")
    assert await key(parts) == ""
    (view,) = (await parts.models.list()).models
    assert view.key.problem == "The environment variable NOT_SET is not set."
    with pytest.raises(PilothouseError, match="NOT_SET is not set") as caught:
        await parts.models.open(None)
    assert caught.value.code == "no_key"


@pytest.mark.case("MOD-13")
async def test_a_server_on_this_machine_is_asked_without_the_unset_key(home: Path) -> None:
    async with Endpoint() as endpoint:
        await ask(given(home, endpoint.url, "env:NOT_SET"))
        assert "x-api-key" not in endpoint.requests[0].headers


SOURCES = {
    "": ("none", ""),
    " ": ("none", ""),
    "secret:x": ("secret", "x"),
    "sk:abc": ("literal", ""),
    "env": ("literal", ""),
}


@pytest.mark.parametrize("text", SOURCES)
def test_a_source_is_read_as_it_is_meant(text: str) -> None:
    source = read_source(text)
    assert (source.kind, source.name) == SOURCES[text]


@pytest.mark.case("SECRET-05")
@pytest.mark.parametrize("source", ["env:MY_KEY", "env:ANTHROPIC_API_KEY", CANARY, "secret:model-a"])
@pytest.mark.parametrize("restart", [False, True])
async def test_an_edited_address_gets_no_key_until_the_person_confirms_it(
    home: Path, source: str, restart: bool
) -> None:
    async with Endpoint() as honest, Endpoint() as evil:
        parts = given(home, honest.url, source)
        if source.startswith("secret:"):
            parts.secrets.put("model-a", CANARY, honest.url)
        await ask(parts)
        assert honest.requests[0].headers["x-api-key"] == CANARY

        write(home, evil.url, source)
        parts = open_catalogue(home, ENVIRON) if restart else parts
        assert honest.url in await refused(parts)
        assert not (await parts.models.test("a")).ok
        assert evil.requests == []

        # The honest twins: going back works, and so does a confirmed move.
        write(home, honest.url, source)
        await ask(parts)
        write(home, evil.url, source)
        await refused(parts)
        assert not (await parts.models.confirm_key("a")).key.moved
        await ask(parts)
        assert evil.requests[0].headers["x-api-key"] == CANARY


@pytest.mark.case("SECRET-05")
async def test_an_address_is_bound_when_it_is_first_seen_even_if_nothing_was_asked(home: Path) -> None:
    parts = given(home, "http://127.0.0.1:9", "env:MY_KEY")
    write(home, "http://127.0.0.1:10", "env:MY_KEY")
    await refused(parts)


@pytest.mark.case("SECRET-05")
async def test_another_path_at_the_same_origin_is_no_move(home: Path) -> None:
    parts = given(home, "https://api.example.com/v1", "env:MY_KEY")
    write(home, "https://API.example.com:443/other", "env:MY_KEY")
    assert await key(parts) == CANARY


@pytest.mark.case("SECRET-05")
async def test_a_well_known_key_in_a_file_goes_to_its_provider_and_nowhere_else(home: Path) -> None:
    assert await key(given(home, "https://api.anthropic.com", "env:ANTHROPIC_API_KEY")) == CANARY
    write(home, "https://evil.example.com", "env:ANTHROPIC_API_KEY", model_id="new")
    parts = open_catalogue(home, ENVIRON)
    assert "has not been confirmed for https://evil.example.com:443" in await refused(parts)
    await parts.models.confirm_key("new")
    assert await key(parts) == CANARY


@pytest.mark.case("SECRET-05")
async def test_a_new_entry_cannot_take_a_known_key_to_a_new_place(home: Path) -> None:
    parts = given(home, "https://api.example.com", "env:MY_KEY")
    write(home, "https://evil.example.com", "env:MY_KEY", model_id="new")
    await refused(parts)
    write(home, "https://api.example.com", "env:MY_KEY", model_id="second")
    assert await key(parts) == CANARY


@pytest.mark.case("SECRET-05")
@pytest.mark.parametrize("how", ["typed", "env"])
async def test_the_form_moves_a_key_only_when_it_is_given_again(home: Path, how: str) -> None:
    parts = open_catalogue(home, ENVIRON)
    fields: dict[str, Any] = {"api_key": CANARY} if how == "typed" else {"api_key_source": "env:MY_KEY"}
    await parts.models.add(form("https://one.example.com", **fields))
    view = await parts.models.update("a", form("https://two.example.com"))
    assert view.key.moved
    draft = await parts.models.test_draft(form("https://three.example.com", id="a"))
    assert not draft.ok
    assert "one.example.com" in draft.message
    with pytest.raises(PilothouseError, match=r"one\.example\.com"):
        await parts.models.open("a")
    if how == "typed":
        view = await parts.models.update("a", form("https://two.example.com", api_key="sk-another-key"))
    else:
        view = await parts.models.confirm_key("a")
    assert not view.key.moved
    assert (await parts.models.open("a")).config.base_url == "https://two.example.com"


@pytest.mark.case("SECRET-05")
async def test_what_the_person_puts_together_in_the_form_is_bound_as_given(home: Path) -> None:
    parts = open_catalogue(home, ENVIRON)
    view = await parts.models.add(form("https://gateway.example.com", api_key_source="env:ANTHROPIC_API_KEY"))
    assert (view.key.present, view.key.problem) == (True, "")


@pytest.mark.case("SECRET-05")
async def test_a_broken_list_of_bindings_binds_nothing_by_itself(home: Path) -> None:
    given(home, "https://api.example.com", "env:MY_KEY")
    (home / "secrets" / "bindings.json").write_text("{ broken")
    parts = open_catalogue(home, ENVIRON)
    await refused(parts)
    await parts.models.confirm_key("a")
    assert await key(parts) == CANARY


async def test_a_model_that_changes_from_a_stored_key_to_another_source_forgets_the_secret(home: Path) -> None:
    parts = open_catalogue(home, ENVIRON)
    await parts.models.add(form("https://one.example.com", api_key=CANARY))
    await parts.models.update("a", form("https://one.example.com", api_key_source="env:MY_KEY"))
    assert parts.secrets.origin_of("model-a") is None
    assert (await parts.models.update("a", form("https://one.example.com", api_key_source=""))).key.kind == "none"


@pytest.mark.case("SECRET-05")
async def test_bindings_that_cannot_be_written_leave_the_models_listed_and_the_key_unsent(home: Path) -> None:
    write(home, "https://api.example.com", "env:MY_KEY")
    parts = open_catalogue(home, {})
    assert len((await parts.models.list()).models) == 1
    (home / "secrets" / "bindings.json").unlink()
    (home / "secrets" / "bindings.json").mkdir()
    await refused(open_catalogue(home, ENVIRON))
