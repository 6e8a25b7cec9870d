"""What servers do that speak another's format nearly: odd counts, words of others, thinking nobody signed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.factory import make_wire
from pilothouse.types.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from pilothouse.types.stream import Retrying, Stopped, StopReason, ThinkingDelta, Usage
from tests.models.asking import KEY, answer_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire, frames, sse

STREAM = (("content-type", "text/event-stream"),)
CALL = CallBlock(id="t1", name="think", arguments={})
RESULT = ResultBlock(id="t1", name="think", text="ok")


def stream(*events: dict[str, Any], end: bytes = b"") -> Reply:
    """Return an answer in these events."""
    return Reply(headers=STREAM, body=b"".join(map(sse, events)) + end)


def chat(words: str, stop: str, **more: object) -> Reply:
    """Return an answer in chat completions."""
    choice = {"index": 0, "delta": {"content": words}, "finish_reason": None}
    return stream({"choices": [choice]}, {"choices": [{**choice, "delta": {}, "finish_reason": stop}], **more})


def anthropic(block: dict[str, Any], *deltas: dict[str, Any], usage: object = None) -> list[dict[str, Any]]:
    """Return an answer of one block in the Messages format."""
    return [
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


ODD: list[object] = ["12", 3.5, -3, 10**40, [], {}, "many", True]


@pytest.mark.parametrize("odd", ODD, ids=map(repr, ODD))
@pytest.mark.parametrize("wire", WIRES)
async def test_an_odd_count_costs_no_answer(wire: Wire, odd: object, endpoint: Endpoint) -> None:
    hi = {"type": "text", "text": "hi"}
    replies = {
        "openai-compatible": chat("hi", "stop", usage={"prompt_tokens": odd, "prompt_tokens_details": odd}),
        "anthropic-compatible": stream(*anthropic(hi, usage={"input_tokens": odd, "output_tokens": odd})),
        "openai-responses": stream(
            {"type": "response.output_text.delta", "delta": "hi"},
            {"type": "response.completed", "response": {"usage": {"input_tokens": odd, "input_tokens_details": odd}}},
        ),
        "gemini": stream(
            {
                "candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": odd, "thoughtsTokenCount": odd},
            }
        ),
        "ollama": Reply(
            body=json.dumps({"message": {"content": "hi"}, "done": True, "eval_count": odd}).encode() + b"\n"
        ),
    }
    endpoint.answer(replies[wire])
    events = await answer_of(model_at(wire, endpoint.url), said("hello"))
    assert text_of(events) == "hi"
    assert of(Stopped, events)[0].reason == "end"
    assert all(0 <= usage.input < 100 and 0 <= usage.output < 100 for usage in of(Usage, events))


@pytest.mark.parametrize("wire", ["anthropic-compatible", "gemini", "openai-responses"])
async def test_the_word_that_ends_streams_of_openai_may_end_others(wire: Wire, endpoint: Endpoint) -> None:
    whole = b"".join(frames(wire, Say((Text(["hi"]),))))
    endpoint.answer(Reply(headers=STREAM, body=whole + b"data: [DONE]\n\n"))
    events = await answer_of(model_at(wire, endpoint.url), said("hello"))
    assert (text_of(events), of(Stopped, events)[0].reason) == ("hi", "end")


async def test_events_of_unknown_kinds_may_have_any_form(endpoint: Endpoint) -> None:
    odd: list[dict[str, Any]] = [{"type": "vendor", "delta": "x"}, {"type": "more", "message": [], "index": "a"}]
    endpoint.answer(stream(*odd, *anthropic({"type": "text", "text": "hi"})))
    assert text_of(await answer_of(model_at("anthropic-compatible", endpoint.url), said("hello"))) == "hi"


async def test_an_event_that_we_know_has_its_own_form(endpoint: Endpoint) -> None:
    endpoint.answer(stream({"type": "content_block_delta", "delta": "x"}))
    assert (
        failure_of(await answer_of(model_at("anthropic-compatible", endpoint.url), said("hi"))).code == "model_refused"
    )


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("max_tokens", "length"),
        ("model_length", "context"),
        ("model_context_window_exceeded", "context"),
        ("sensitive", "refusal"),
        ("end_turn", "end"),
    ],
)
async def test_words_of_others_for_the_end_are_understood(word: str, reason: StopReason, endpoint: Endpoint) -> None:
    endpoint.answer(chat("half", word))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert of(Stopped, events) == [Stopped(reason, word)]


@pytest.mark.parametrize("word", ["error", "abort", "insufficient_system_resource", "network_error"])
async def test_an_answer_that_its_server_broke_off_does_not_look_finished(word: str, endpoint: Endpoint) -> None:
    endpoint.answer(chat("half", word))
    failure = failure_of(await answer_of(model_at("openai-compatible", endpoint.url), said("hi")))
    assert (failure.retryable, word in failure.message) == (True, True)


async def test_one_that_broke_off_before_it_said_anything_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.answer(chat("", "abort"), chat("whole", "stop"))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert (text_of(events), len(of(Retrying, events))) == ("whole", 1)


async def test_of_several_answers_at_once_one_is_read(endpoint: Endpoint) -> None:
    choices = [{"index": index, "delta": {"content": words}} for index, words in enumerate(("One.", "Two."))]
    ends: list[dict[str, Any]] = [{"index": index, "delta": {}, "finish_reason": "stop"} for index in (1, 0)]
    endpoint.answer(stream({"choices": choices}, {"choices": ends}))
    assert text_of(await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))) == "One."


async def test_a_providers_words_for_the_end_have_no_secrets_and_no_controls(endpoint: Endpoint) -> None:
    told = f"Malformed: {KEY} \x1b[31m" + "z" * 10_000
    endpoint.answer(stream({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": told}]}))
    stopped = of(Stopped, await answer_of(model_at("gemini", endpoint.url), said("hi")))[0]
    assert stopped.reason == "malformed"
    assert stopped.raw is not None
    assert KEY not in stopped.raw
    assert "\x1b" not in stopped.raw
    assert len(stopped.raw) < 1_000


@pytest.mark.parametrize("block", [{"signature": ""}, {}], ids=["empty", "none"])
async def test_thinking_that_nobody_signed_goes_back_as_it_came(block: dict[str, Any], endpoint: Endpoint) -> None:
    thought = anthropic({"type": "thinking", "thinking": "", **block}, {"type": "thinking_delta", "thinking": "hm"})
    endpoint.answer(stream(*thought))
    model = model_at("anthropic-compatible", endpoint.url)
    (opaque,) = [event.opaque for event in of(ThinkingDelta, await answer_of(model, said("hi"))) if event.opaque]
    answer = Message("assistant", (ThinkingBlock(text="hm", opaque=opaque), CALL))
    await answer_of(model, said("hi", answer, Message("user", (RESULT,))))
    assert endpoint.requests[-1].json["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", **block}


@pytest.mark.parametrize(("base", "name"), [("", "claude-next"), ("/gateway", "us.anthropic.claude-x")])
async def test_claude_is_not_sent_what_it_did_not_sign(base: str, name: str, endpoint: Endpoint) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    endpoint.answer(stream(*anthropic(thought, {"type": "thinking_delta", "thinking": "hm"})))
    model = model_at("anthropic-compatible", endpoint.url + base, model=name)
    assert not [event for event in of(ThinkingDelta, await answer_of(model, said("hi"))) if event.opaque]


async def test_a_server_that_wants_thinking_before_every_call_gets_some(endpoint: Endpoint) -> None:
    said_no = {"error": {"message": "The `content[].thinking` in the thinking mode must be passed back to the API."}}
    endpoint.answer(Reply(status=400, body=json.dumps(said_no).encode()), Reply(Say((Text(["ok"]),))))
    asked = said("hi", Message("assistant", (CALL,)), Message("user", (RESULT,)))
    assert text_of(await answer_of(model_at("anthropic-compatible", endpoint.url), asked)) == "ok"
    first = endpoint.requests[-1].json["messages"][1]["content"][0]
    assert first == {"type": "thinking", "thinking": " ", "signature": ""}


async def test_vertex_gets_calls_without_ids(endpoint: Endpoint) -> None:
    unknown = (
        "Invalid JSON payload received. Unknown name \"id\" at 'contents[{}].parts[0].function_{}': Cannot find field."
    )
    words = "\n".join(unknown.format(*where) for where in ((1, "call"), (2, "response")))
    fields = [{"field": "contents[1].parts[0].function_call", "description": words}]
    body = [{"error": {"code": 400, "message": words, "details": [{"fieldViolations": fields}]}}]
    endpoint.answer(Reply(status=400, body=json.dumps(body).encode()), Reply(Say((Text(["ok"]),))))
    asked = said("hi", Message("assistant", (CALL,)), Message("user", (RESULT,)))
    assert text_of(await answer_of(model_at("gemini", endpoint.url), asked)) == "ok"
    contents = endpoint.requests[-1].json["contents"]
    assert contents[1]["parts"] == [{"functionCall": {"name": "think", "args": {}}}]
    assert contents[2]["parts"] == [{"functionResponse": {"name": "think", "response": {"result": "ok"}}}]
    assert len(endpoint.requests) == 2


def test_others_get_calls_with_their_ids() -> None:
    wire = make_wire(config_at("gemini", "http://127.0.0.1:1"), KEY)
    asked = said("hi", Message("assistant", (CALL,)), Message("user", (RESULT,)))
    contents = json.loads(wire.body(asked))["contents"]
    assert contents[1]["parts"][0]["functionCall"]["id"] == "t1"
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "t1"
