"""Ollama's own ways: when it ends without an answer, and where it puts calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.factory import make_wire
from pilothouse.types.messages import CallBlock, Message, ResultBlock, TextBlock, ThinkingBlock
from pilothouse.types.stream import CallEnd, Stopped, TextDelta
from tests.models.asking import KEY, answer_of, calls_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply

LINES = (("content-type", "application/x-ndjson"),)


def lines(*messages: dict[str, Any], end: str = "stop") -> Reply:
    """Return an answer in these messages and the reason for its end."""
    told = [{"message": {"role": "assistant", "content": "", **message}, "done": False} for message in messages]
    told.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": end, "eval_count": 5})
    return Reply(headers=LINES, body=b"".join(json.dumps({"model": "m", **line}).encode() + b"\n" for line in told))


@pytest.mark.parametrize(("end", "words"), [("load", ""), ("unload", "Said.")])
async def test_a_model_that_comes_or_goes_has_said_what_it_said_and_is_not_asked_again(
    end: str, words: str, endpoint: Endpoint
) -> None:
    endpoint.answer(lines({"content": words}, end=end))
    events = await answer_of(model_at("ollama", endpoint.url), said("hi"))
    assert text_of(events) == words
    assert of(Stopped, events) == [Stopped("end", end)]
    assert len(endpoint.requests) == 1


async def test_an_answer_that_a_limit_cut_says_so(endpoint: Endpoint) -> None:
    endpoint.answer(lines({"content": "half"}, end="length"))
    assert of(Stopped, await answer_of(model_at("ollama", endpoint.url), said("hi")))[0].reason == "length"


async def test_calls_beside_text_come_with_it_in_order_and_go_back_with_it(endpoint: Endpoint) -> None:
    calls = [{"function": {"name": "think", "index": index, "arguments": {"thought": str(index)}}} for index in (0, 1)]
    endpoint.answer(lines({"thinking": "hm"}, {"content": "look"}, {"tool_calls": calls}, {"content": " more"}))
    events = await answer_of(model_at("ollama", endpoint.url), said("hi"))
    told = [event for event in events if isinstance(event, TextDelta | CallEnd)]
    assert [type(event) for event in told] == [TextDelta, CallEnd, CallEnd, TextDelta]
    assert calls_of(events) == [("think", {"thought": "0"}), ("think", {"thought": "1"})]
    assert of(Stopped, events)[0].reason == "tool"
    ends = of(CallEnd, events)
    assert len({end.id for end in ends}) == 2
    made = [CallBlock(id=end.id, name=end.name, arguments=end.arguments or {}) for end in ends]
    results = [ResultBlock(id=end.id, name=end.name, text="ok") for end in ends]
    text = TextBlock(text=text_of(events))
    answer = Message("assistant", (ThinkingBlock(text="hm"), text, *made))
    wire = make_wire(config_at("ollama", endpoint.url), KEY)
    sent = json.loads(wire.body(said("hi", answer, Message("user", tuple(results)))))["messages"]
    assert sent[2] == {
        "role": "assistant",
        "content": "look more",
        "thinking": "hm",
        "tool_calls": [
            {"id": end.id, "function": {"name": "think", "arguments": {"thought": str(index)}}}
            for index, end in enumerate(ends)
        ],
    }
    assert [(one["role"], one["tool_name"]) for one in sent[3:]] == [("tool", "think")] * 2


async def test_an_error_in_the_middle_of_an_answer_is_told(endpoint: Endpoint) -> None:
    body = b'{"message": {"content": "beg"}, "done": false}\n{"error": "an error was encountered: CUDA"}\n'
    endpoint.answer(Reply(headers=LINES, body=body))
    events = await answer_of(model_at("ollama", endpoint.url), said("hi"))
    assert text_of(events) == "beg"
    assert "CUDA" in failure_of(events).message
