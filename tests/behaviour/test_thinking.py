"""Thinking can be asked for with one message; it is kept with it, and said in one sentence where it cannot be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.library import Host
from pilothouse.types.api import ConversationPatch, ModelInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

DONE = Reply(Say((Text(["Done."]),)))


@asynccontextmanager
async def thinker(home: Path, wire: Wire, **fields: Any) -> AsyncIterator[tuple[Chat, Endpoint]]:
    """Open a chat with a model that can be asked to think, unless it is said otherwise."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        about: Any = {"model": "m", "supports_thinking": True, "base_url": endpoint.url, **fields}
        await chat.use(ModelInput(name="Thinker", id="m", provider=wire, **about))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        endpoint.answer(DONE)
        yield chat, endpoint


def asked(wire: Wire, request: Received) -> bool | None:
    """Return whether a request asks for thinking, asks for none, or says nothing about it."""
    sent = request.json
    match wire:
        case "anthropic-compatible":
            found = sent.get("thinking")
            return found and found["type"] != "disabled"  # type: ignore[no-any-return]
        case "openai-compatible":
            found = sent.get("chat_template_kwargs")
            return found and found["enable_thinking"]  # type: ignore[no-any-return]
        case "openai-responses":
            found = sent.get("reasoning")
            return found and found["effort"] != "none"  # type: ignore[no-any-return]
        case "ollama":
            return sent.get("think")  # type: ignore[no-any-return]
        case "gemini":
            found = sent.get("generationConfig", {}).get("thinkingConfig")
            return found and found["includeThoughts"]  # type: ignore[no-any-return]


@pytest.mark.case("MOD-23", "CHT-07")
@pytest.mark.parametrize("wire", WIRES)
async def test_each_message_says_whether_to_think_and_the_next_one_is_as_usual(home: Path, wire: Wire) -> None:
    async with thinker(home, wire) as (chat, endpoint):
        for wish in (True, None, False):
            assert (await chat.say(thinking=wish)).status == "completed"
        assert [asked(wire, request) for request in endpoint.requests] == [True, None, False]


@pytest.mark.case("CHT-07")
async def test_what_a_message_says_wins_over_the_conversation(home: Path) -> None:
    async with thinker(home, "ollama") as (chat, endpoint):
        now = (await chat.snapshot()).conversation.settings
        thinking = ConversationPatch(settings=type(now)(model_id=now.model_id, thinking=True))
        await chat.api.conversations.update(ME, chat.id, thinking)
        for wish in (None, False, True):
            await chat.say(thinking=wish)
        assert [asked("ollama", request) for request in endpoint.requests] == [True, False, True]


async def test_an_answer_that_is_asked_for_again_is_asked_for_in_the_same_way(home: Path) -> None:
    async with thinker(home, "ollama") as (chat, endpoint):
        endpoint.answer(Reply(status=400), DONE)
        failed = await chat.say(thinking=True)
        assert failed.status == "failed"
        assert failed.options.thinking is True
        await chat.api.runs.resume(ME, failed.id)
        assert (await chat.settled(failed.id)).status == "completed"
        assert [asked("ollama", request) for request in endpoint.requests] == [True, True]


@pytest.mark.case("MOD-23", "CHT-07")
async def test_a_model_that_cannot_be_asked_says_so_in_one_sentence_and_answers(home: Path) -> None:
    async with thinker(home, "ollama", supports_thinking=False) as (chat, endpoint):
        assert (await chat.say(thinking=True)).status == "completed"
        assert (await chat.say(thinking=False)).status == "completed"
        sentence = "“Thinker” cannot be asked to think first. If it can, say so in Settings, Models."
        assert await chat.texts("notice") == [sentence]
        assert [asked("ollama", request) for request in endpoint.requests] == [None, None]


async def test_a_program_asks_for_thinking_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(DONE)
        async with Host(home) as host:
            fields: Any = {"base_url": endpoint.url, "supports_thinking": True}
            await host.api.models.add(ME, ModelInput(name="m", id="m", provider="ollama", model="m", **fields))
            chat = await host.start(model="m", title="Named")
            assert await (await chat.send("Hello", thinking=True)).text() == "Done."
        assert endpoint.requests[0].json["think"] is True
