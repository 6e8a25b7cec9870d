"""A conversation through a gateway: what it proved comes back to it turn after turn, and goes to nobody else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pilothouse.types.api import ConversationPatch, ModelInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import sse

Json = dict[str, Any]
DETAIL: Json = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
SEALED: Json = {"type": "reasoning.encrypted", "index": 1, "data": "SEALED", "format": "anthropic-claude-v1"}
SIGNED: Json = {"google": {"thought_signature": "SIGNED"}}
WORDS: Json = {"google": {"thought_signature": "WORDS"}}
SOURCE: Json = {"type": "url_citation", "url_citation": {"url": "https://e.x/", "title": "T", "content": "so"}}


def streamed(*deltas: Json, finish: str = "stop") -> Reply:
    chunks = [sse({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    chunks.append(sse({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}))
    return Reply(headers=(("content-type", "text/event-stream"),), body=b"".join(chunks) + b"data: [DONE]\n\n")


def called(id: str, **more: object) -> Json:
    function = {"name": "think", "arguments": '{"thoughts": "x"}'}
    return {"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function, **more}]}


@asynccontextmanager
async def through(home: Path) -> AsyncIterator[tuple[Chat, Endpoint]]:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        about: Any = {"provider": "openai-compatible", "model": "claude-x", "base_url": endpoint.url}
        await chat.use(ModelInput(name="Gateway", id="m", **about))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        yield chat, endpoint


async def test_what_a_gateway_proved_comes_back_in_every_later_request(home: Path) -> None:
    async with through(home) as (chat, endpoint):
        endpoint.answer(
            streamed(
                {"reasoning": "Let ", "reasoning_details": [{**DETAIL, "text": "Let "}]},
                {"reasoning": "me", "reasoning_details": [{**DETAIL, "text": "me", "signature": "S"}]},
                {"content": "Looking."},
                called("call_1", extra_content=SIGNED),
                {"reasoning_details": [SEALED]},
                finish="tool_calls",
            ),
            streamed({"content": "Done.", "annotations": [SOURCE]}, {"content": "", "extra_content": WORDS}),
            streamed({"content": "Second."}),
        )
        for _ in range(2):
            assert (await chat.say()).status == "completed"
        first, second, third = (request.json["messages"] for request in endpoint.requests)
        assert second[: len(first)] == first
        assert third[: len(second)] == second
        answer = second[len(first)]
        assert answer["content"] == "Looking."
        assert answer["reasoning_details"] == [{**DETAIL, "text": "Let me", "signature": "S"}, SEALED]
        assert answer["tool_calls"][0]["extra_content"] == SIGNED
        assert third[len(second)] == {"role": "assistant", "content": "Done.", "extra_content": WORDS}
        items = (await chat.snapshot()).items
        assert [item.text for item in items if item.kind == "thinking"] == ["Let me"]
        sources = [source for item in items for source in item.raw.get("sources", ())]
        assert [(source["url"], source["title"]) for source in sources] == [("https://e.x/", "T")]
        # Another provider is shown what was said, and none of the proofs.
        async with Endpoint() as elsewhere:
            elsewhere.answer(streamed({"content": "Hello."}))
            about: Any = {"provider": "openai-compatible", "model": "claude-x", "base_url": elsewhere.url}
            await chat.use(ModelInput(name="Other", id="other", **about))
            assert (await chat.say()).status == "completed"
            sent = json.dumps(elsewhere.requests[0].json["messages"])
            assert not any(proof in sent for proof in ("SEALED", "SIGNED", "WORDS", "Let me", "home"))
            assert "Looking." in sent


async def test_a_call_in_the_form_of_old_is_carried_out_and_answered_in_it(home: Path) -> None:
    async with through(home) as (chat, endpoint):
        call = {"function_call": {"name": "think", "arguments": '{"thoughts": "x"}'}}
        endpoint.answer(streamed(call, finish="function_call"), streamed({"content": "Done."}))
        assert (await chat.say()).status == "completed"
        made, result = endpoint.requests[1].json["messages"][-2:]
        assert made["function_call"]["name"] == result["name"] == "think"
        assert (result["role"], "tool_calls" in made) == ("function", False)
