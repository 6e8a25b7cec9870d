"""Refusals in the place of an answer's first words, and thinking in the middle of an answer."""

from __future__ import annotations

import json

import msgspec
import pytest

from pilothouse.types.messages import CallBlock, Message, ModelRequest, ResultBlock, TextBlock, ThinkingBlock
from pilothouse.types.stream import Notice
from tests.models.asking import answer_of, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import Say, Text, Wire

HELLO = Reply(Say((Text(["Hello."]),)))


def hot() -> ModelRequest:
    return msgspec.structs.replace(said("hi"), temperature=0.3, max_tokens=9000)


# --- inside of a stream ----------------------------------------------------------------------------


def told_inside(message: str, kind: str = "invalid_request_error", after: int = 0) -> Reply:
    return Reply(Say((Text(["Hel", "lo."]),)), fault=Fault("error", after=after, error=(kind, message)))


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ("anthropic-compatible", "invalid_request_error"),
        ("openai-compatible", "invalid_request_error"),
        ("openai-responses", "unsupported_parameter"),
    ],
)
async def test_a_refusal_in_the_place_of_an_answer_is_adapted_to_and_remembered(
    wire: Wire, kind: str, endpoint: Endpoint
) -> None:
    endpoint.answer(told_inside("Unsupported parameter: 'temperature' is not supported with this model.", kind), HELLO)
    model = model_at(wire, endpoint.url)
    for _ in range(2):
        events = await answer_of(model, hot())
        assert text_of(events) == "Hello.", events
        assert [notice.code for notice in of(Notice, events)] == ["temperature"]
    assert ["temperature" in one.json for one in endpoint.requests] == [True, False, False]


async def test_one_refusal_after_another_inside_of_streams_is_adapted_to(endpoint: Endpoint) -> None:
    refusals = (
        told_inside("Unknown parameter: 'temperature'."),
        told_inside("Unknown parameter: 'stream_options'."),
        Reply(
            status=400,
            body=json.dumps({"error": {"message": "Unknown parameter: 'max_tokens'.", "param": "max_tokens"}}).encode(),
        ),
    )
    endpoint.answer(*refusals, HELLO)
    assert text_of(await answer_of(model_at("openai-compatible", endpoint.url), hot())) == "Hello."
    last = endpoint.requests[-1].json
    assert len(endpoint.requests) == 4
    assert last.keys().isdisjoint({"temperature", "stream_options", "max_tokens"})


async def test_what_is_refused_inside_of_streams_again_and_again_is_told_and_not_learned(endpoint: Endpoint) -> None:
    for _ in range(2):
        endpoint.answer(
            told_inside("Unknown parameter: 'temperature'."), told_inside("Unknown parameter: 'temperature'.")
        )
        model = model_at("openai-compatible", endpoint.url)
        assert failure_of(await answer_of(model, hot())).code == "model_refused"
    assert ["temperature" in one.json for one in endpoint.requests] == [True, False, True, False]


async def test_a_refusal_after_the_first_words_of_an_answer_ends_it(endpoint: Endpoint) -> None:
    endpoint.answer(told_inside("Unknown parameter: 'temperature'.", after=2))
    events = await answer_of(model_at("openai-compatible", endpoint.url), hot())
    assert text_of(events).startswith("Hel")
    assert failure_of(events).code == "model_refused"
    assert len(endpoint.requests) == 1


# --- thinking in the middle of an answer -----------------------------------------------------------

UNTHOUGHT = (
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block."
)
CALLED = (
    Message("assistant", (CallBlock(id="1", name="think", arguments={"thought": "x"}),)),
    Message("user", (ResultBlock(id="1", name="think", text="ok"),)),
)


def going_on(*more: Message) -> ModelRequest:
    return msgspec.structs.replace(said("Go.", *CALLED, *more), thinking=True)


async def test_claude_is_not_asked_to_think_in_the_middle_of_an_answer_that_began_without(endpoint: Endpoint) -> None:
    endpoint.answer(HELLO)
    model = model_at("anthropic-compatible", endpoint.url, model="claude-sonnet-4-5")
    events = await answer_of(model, going_on())
    assert [notice.code for notice in of(Notice, events)] == ["left_out"]
    await answer_of(model, going_on(Message("assistant", (TextBlock(text="Done."),)), *said("And now?").messages))
    assert ["thinking" in one.json for one in endpoint.requests] == [False, True]


async def test_claude_goes_on_thinking_in_an_answer_that_began_with_it(endpoint: Endpoint) -> None:
    thought = ThinkingBlock(text="hm", opaque={"wire": "anthropic", "signature": "S"})
    first, result = CALLED
    began = said("Go.", Message("assistant", (thought, *first.content)), result, *CALLED)
    endpoint.answer(HELLO)
    model = model_at("anthropic-compatible", endpoint.url, model="claude-sonnet-4-5")
    assert of(Notice, await answer_of(model, msgspec.structs.replace(began, thinking=True))) == []
    assert "thinking" in endpoint.requests[-1].json


async def test_where_thinking_cannot_begin_now_it_is_asked_once_without(endpoint: Endpoint) -> None:
    endpoint.answer(
        Reply(
            status=400,
            body=json.dumps(
                {"type": "error", "error": {"type": "invalid_request_error", "message": UNTHOUGHT}}
            ).encode(),
        ),
        HELLO,
    )
    model = model_at("anthropic-compatible", endpoint.url)
    assert text_of(await answer_of(model, going_on())) == "Hello."
    # It is about this answer, and nothing is learned of the model.
    await answer_of(model, msgspec.structs.replace(said("Hi."), thinking=True))
    assert ["thinking" in one.json for one in endpoint.requests] == [True, False, True]
