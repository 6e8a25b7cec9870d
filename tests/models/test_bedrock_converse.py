"""Bedrock's Converse stream: requests as its documentation has them, and everything its stream may bring."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from pilothouse.models.factory import make_model, make_wire
from pilothouse.models.signature_owners import home_of_model
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.messages import (
    CallBlock,
    Media,
    Message,
    ModelRequest,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Cited, Stopped, ThinkingDelta, Usage
from tests.models.asking import KEY, THINK, answer_of, calls_of, failure_of, of, said, text_of, thinking_of
from tests.models.aws_frames import event, exception
from tests.models.strict_provider import EVENT_STREAM, ExpectedRequest, strict_provider

PATH = "/model/us.amazon.nova-pro-v1%3A0/converse-stream"


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def nova(url: str = "http://127.0.0.1:9", model: str = "us.amazon.nova-pro-v1:0") -> ModelConfig:
    return ModelConfig(name="N", provider="bedrock-converse", base_url=url, model=model)


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"contentBlockIndex": index, "p": "abcdef", **fields}


def delta(index: int, **fields: Any) -> bytes:
    return event("contentBlockDelta", block(index, delta=fields))


def stop(index: int) -> bytes:
    return event("contentBlockStop", block(index))


def ended(reason: str) -> bytes:
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 35, "cacheReadInputTokens": 20}
    return event("messageStop", {"stopReason": reason}) + event(
        "metadata", {"usage": usage, "metrics": {"latencyMs": 5}}
    )


STREAM = b"".join(
    (
        event("messageStart", {"role": "assistant", "p": "ab"}),
        delta(0, reasoningContent={"text": "Let me"}),
        delta(0, reasoningContent={"text": " see."}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        stop(0),
        delta(1, text="I will"),
        delta(1, text=" call."),
        delta(1, citation={"title": "A page", "location": {"web": {"url": "https://a.example"}}}),
        stop(1),
        event("contentBlockStart", block(2, start={"toolUse": {"toolUseId": "tooluse_1", "name": "think"}})),
        delta(2, toolUse={"input": '{"thought"'}),
        delta(2, toolUse={"input": ': "x"}'}),
        stop(2),
        ended("tool_use"),
    )
)


async def test_an_answer_with_thinking_text_and_a_call_is_read_as_it_streams() -> None:
    tools = {"tools": [{"toolSpec": {"name": "think", "description": "Think about something."}}]}
    tools["tools"][0]["toolSpec"]["inputSchema"] = {"json": THINK.input_schema}  # type: ignore[assignment]
    body = {
        "system": [{"text": "Be brief."}],
        "toolConfig": tools,
        "messages": [{"role": "user", "content": [{"text": "Hello?"}]}],
    }
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    insisted = ExpectedRequest(PATH, headers, body, without=("model", "stream"))
    async with strict_provider(insisted, STREAM, EVENT_STREAM["content-type"]) as server:
        events = await answer_of(make_model(nova(server.url), KEY), said("Hello?"))
    assert (text_of(events), thinking_of(events)) == ("I will call.", "Let me see.")
    assert calls_of(events) == [("think", {"thought": "x"})]
    proofs = [each.opaque for each in of(ThinkingDelta, events) if each.opaque]
    home = home_of_model(nova(server.url))
    assert proofs == [{"wire": "bedrock-converse", "thinking": "Let me see.", "signature": "c2ln", "home": home}]
    assert [each.url for each in of(Cited, events)] == ["https://a.example"]
    assert of(Usage, events)[-1] == Usage(input=30, output=5, cache_read=20)
    assert events[-1] == Stopped("tool", "tool_use")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "context"),
        ("malformed_tool_use", "malformed"),
        ("guardrail_intervened", "refusal"),
        ("something_new", "other"),
    ],
)
async def test_every_reason_for_an_end_is_told(word: str, reason: str) -> None:
    stream = delta(0, text="Hi") + stop(0) + ended(word)
    async with strict_provider(ExpectedRequest(PATH), stream, EVENT_STREAM["content-type"]) as server:
        events = await answer_of(make_model(nova(server.url), KEY), said("Hello?"))
    assert events[-1] == Stopped(reason, word)  # type: ignore[arg-type]


async def test_a_stream_that_ends_too_early_and_one_that_fails_are_told() -> None:
    for stream, code in ((delta(0, text="Hi"), "stream_broken"), (exception("throttlingException", "x"), "model_")):
        async with strict_provider(ExpectedRequest(PATH), stream, EVENT_STREAM["content-type"]) as server:
            model = make_model(nova(server.url), KEY, first_wait=0.001)
            assert failure_of(await answer_of(model, said("Hello?"))).code.startswith(code)


def sent(request: ModelRequest, model: str = "us.amazon.nova-pro-v1:0") -> dict[str, Any]:
    body: dict[str, Any] = json.loads(make_wire(nova(model=model)).body(request))
    return body


def test_history_goes_back_as_it_was_with_pictures_errors_and_proofs() -> None:
    proof = {"wire": "bedrock-converse", "thinking": "Hm.", "signature": "c2ln"}
    picture = Media(item_id="i", index=0, media_type="image/png", size=3, data="QUJD")
    request = ModelRequest(
        messages=(
            Message("user", (TextBlock(text="Look."),)),
            Message(
                "assistant",
                (
                    ThinkingBlock(text="masked", opaque=proof),
                    ThinkingBlock(text="another's", opaque={"wire": "anthropic", "signature": "x"}),
                    TextBlock(text=" "),
                    CallBlock(id="call|1", name="shot", arguments={"a": 1}),
                ),
            ),
            Message("user", (ResultBlock(id="call|1", name="shot", text="", media=(picture,)),)),
            Message("user", (ResultBlock(id="call|1", name="shot", text="broken", is_error=True),)),
        )
    )
    assert sent(request)["messages"] == [
        {"role": "user", "content": [{"text": "Look."}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"toolUse": {"toolUseId": "call_1", "name": "shot", "input": {"a": 1}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "call_1",
                        "content": [{"image": {"format": "png", "source": {"bytes": "QUJD"}}}],
                    }
                },
                {"toolResult": {"toolUseId": "call_1", "content": [{"text": "broken"}], "status": "error"}},
            ],
        },
    ]
    # Calls of the past need a declaration, and others than Nova and Claude are not told a status.
    assert sent(request)["toolConfig"]["tools"][0]["toolSpec"]["name"] == "shot"
    assert '"status"' not in json.dumps(sent(request, "meta.llama3-3-70b-instruct-v1:0"))


def test_what_is_not_said_is_not_sent_and_limits_are() -> None:
    plain = ModelRequest(messages=(Message("user", (TextBlock(text="Hi"),)),))
    assert set(sent(plain)) == {"messages"}
    capped = ModelRequest(messages=plain.messages, max_tokens=9, temperature=0.5, answer_schema={"type": "object"})
    body = sent(capped)
    assert body["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5}
    assert json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]) == {"type": "object"}
