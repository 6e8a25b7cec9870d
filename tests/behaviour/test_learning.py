"""What a provider refuses is asked for once: remembered over restarts, shown, and forgotten on request."""

from __future__ import annotations

import json
from pathlib import Path

from pilothouse.types.api import ModelInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text

HELLO = Reply(Say((Text(["Hello."]),)))
NO_TEMPERATURE = Reply(
    status=400,
    body=json.dumps(
        {"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}
    ).encode(),
)
NO_TOOLS = Reply(status=400, body=b'{"error": {"message": "m does not support tools"}}')


async def add(chat: Chat, endpoint: Endpoint) -> None:
    await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1"))


async def learned(chat: Chat) -> list[str]:
    return [one.text for model in (await chat.api.models.list(ME)).models for one in model.learned]


async def test_a_refused_field_is_left_out_after_a_restart_and_asked_for_again_when_forgotten(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(NO_TEMPERATURE, HELLO)
        async with open_chat(home, settings={"temperature": 0.3}) as chat:
            await add(chat, endpoint)
            assert (await chat.say()).status == "completed"
            assert await learned(chat) == ["Does not take temperature"]
        before = len(endpoint.requests)
        async with open_chat(home, settings={"temperature": 0.3, "model_id": "m"}) as chat:
            assert await learned(chat) == ["Does not take temperature"]
            assert (await chat.say()).status == "completed"
            assert not any("temperature" in one.json for one in endpoint.requests[before:])
            assert (await chat.api.models.forget(ME, "m")).learned == ()
            before = len(endpoint.requests)
            await chat.say("Again")
            assert any("temperature" in one.json for one in endpoint.requests[before:])
            assert await learned(chat) == []


async def test_a_model_that_takes_no_tools_gets_none_after_a_restart(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(NO_TOOLS, HELLO)
        async with open_chat(home) as chat:
            await add(chat, endpoint)
            assert (await chat.say()).status == "completed"
            assert await learned(chat) == ["Does not take tools; calls are written as text"]
        before = len(endpoint.requests)
        async with open_chat(home, settings={"model_id": "m"}) as chat:
            assert (await chat.say()).status == "completed"
        assert not any("tools" in one.json for one in endpoint.requests[before:])
