"""The judges themselves: what a provider would refuse, they do not let pass."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.wires.judging import Judge
from tests.wires.replays import not_continued
from tests.wires.replies import Json, Reply, Wire
from tests.wires.rules import broken_rules
from tests.wires.streams import anthropic, chat, gemini, ollama, responses

HEADERS = {"x-api-key": "k", "anthropic-version": "v", "authorization": "k", "x-goog-api-key": "k"}
_USE: Json = {"type": "tool_use", "id": "t1", "name": "think", "input": {}}
_CALL: Json = {"id": "c1", "type": "function", "function": {"name": "think", "arguments": "{}"}}
GOOD: dict[Wire, Json] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"}, _USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        ],
    },
    "chat": {
        "model": "m",
        "stream": True,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ],
    },
    "responses": {
        "model": "m",
        "stream": True,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "sealed"},
            {"type": "function_call", "call_id": "c1", "name": "think", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "f1", "name": "t", "args": {}}, "thoughtSignature": "cw=="}],
            },
            {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "t", "response": {"result": "ok"}}}]},
        ],
    },
    "ollama": {
        "model": "m",
        "stream": True,
        "options": {"num_ctx": 100},
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "think", "arguments": {}}}]},
            {"role": "tool", "tool_name": "think", "content": "ok"},
        ],
    },
}
Spoil = Callable[[Any], object]
# What is done to a good request, and what is said of it then.
SPOILT: tuple[tuple[Wire, Spoil, str], ...] = (
    ("anthropic", lambda body: body["messages"].pop(), "are answered by"),
    ("anthropic", lambda body: body["messages"].insert(0, body["messages"][0]), "in a row"),
    ("anthropic", lambda body: body["messages"][1]["content"].reverse(), "does not begin with thinking"),
    ("anthropic", lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "x"}), "stand first"),
    ("anthropic", lambda body: body["messages"][0]["content"][0].update(text=""), "a text is empty"),
    ("anthropic", lambda body: body.update(max_tokens=5), "budget"),
    ("chat", lambda body: body["messages"].pop(), "has no result"),
    ("chat", lambda body: body["messages"].pop(1), "the result of no call"),
    ("chat", lambda body: body["messages"][1]["tool_calls"][0]["function"].update(arguments="{"), "no object"),
    ("chat", lambda body: body["messages"][1].pop("tool_calls"), "it is empty"),
    ("responses", lambda body: body["input"].pop(), "has no result"),
    ("responses", lambda body: body["input"].pop(2), "is not followed by what it led to"),
    ("responses", lambda body: body["input"][1].pop("encrypted_content"), "without its seal"),
    ("gemini", lambda body: body["contents"].pop(), "are answered by"),
    ("gemini", lambda body: body["contents"][1]["parts"][0].pop("thoughtSignature"), "is not signed"),
    ("gemini", lambda body: body["contents"][2]["parts"].append({"text": "x"}), "beside other parts"),
    ("ollama", lambda body: body["messages"].pop(), "has no result"),
    ("ollama", lambda body: body["messages"].pop(1), "the result of no call"),
    ("ollama", lambda body: body["options"].clear(), "no window"),
)
MISTYPED: tuple[tuple[Wire, Spoil, str], ...] = (
    ("anthropic", lambda body: body.update(colour="blue"), ".colour is unknown"),
    ("anthropic", lambda body: body["messages"][0]["content"][0].pop("text"), "Field required"),
    ("chat", lambda body: body.update(colour="blue"), ".colour is unknown"),
    ("chat", lambda body: body["messages"][2].pop("tool_call_id"), "tool_call_id"),
    ("responses", lambda body: body.update(colour="blue"), ".colour is unknown"),
    ("responses", lambda body: body["input"][3].pop("output"), "none of the SDK's items"),
    ("gemini", lambda body: body.update(colour="blue"), ".colour is unknown"),
    ("gemini", lambda body: body["contents"][0]["parts"][0].update(colour="blue"), "Extra inputs"),
    ("ollama", lambda body: body.update(colour="blue"), ".colour is unknown"),
    ("ollama", lambda body: body["messages"][0].update(content=5), "content"),
)


def spoilt(wire: Wire, spoil: Spoil) -> Json:
    body = copy.deepcopy(GOOD[wire])
    spoil(body)
    return body


@pytest.mark.parametrize("wire", GOOD)
def test_a_good_request_passes(wire: Wire, judge: Judge) -> None:
    assert judge.requests(wire, [GOOD[wire]]) == []
    assert broken_rules(wire, HEADERS, GOOD[wire]) == []


@pytest.mark.parametrize(("wire", "spoil", "words"), SPOILT, ids=[f"{wire}: {words}" for wire, _, words in SPOILT])
def test_what_stands_out_of_order_is_told(wire: Wire, spoil: Spoil, words: str) -> None:
    assert words in " ".join(broken_rules(wire, HEADERS, spoilt(wire, spoil)))


@pytest.mark.parametrize(("wire", "spoil", "words"), MISTYPED, ids=[f"{wire}: {words}" for wire, _, words in MISTYPED])
def test_what_the_makers_types_do_not_know_is_told(wire: Wire, spoil: Spoil, words: str, judge: Judge) -> None:
    assert words in " ".join(judge.requests(wire, [spoilt(wire, spoil)]))


def test_an_event_that_its_maker_would_not_send_is_told(judge: Judge) -> None:
    told = judge.replies([Reply("anthropic", b"", events=({"type": "content_block_start", "index": "first"},))])
    assert "content_block" in " ".join(told)


SAID: dict[Wire, Reply] = {
    "anthropic": anthropic.answer(anthropic.text("Hello.", anthropic.citation())),
    "chat": chat.answer(chat.text("Hello.")),
    "responses": responses.answer(responses.message("msg_1", "Hello.")),
    "gemini": gemini.answer([gemini.text("Hello.", gemini.SIGNATURE)]),
    "ollama": ollama.answer(ollama.text("Hello.")),
}
BACK: dict[Wire, tuple[str, Json]] = {
    "anthropic": ("messages", {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}),
    "chat": ("messages", {"role": "assistant", "content": "Hello!"}),
    "responses": ("input", {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}),
    "gemini": ("contents", {"role": "model", "parts": [{"text": "Hello."}]}),
    "ollama": ("messages", {"role": "assistant", "content": "Hello!"}),
}


@pytest.mark.parametrize("wire", GOOD)
def test_an_answer_that_comes_back_as_something_else_is_told(wire: Wire) -> None:
    key, message = BACK[wire]
    after = {**GOOD[wire], key: [*GOOD[wire][key], message]}
    assert "came back as" in " ".join(not_continued(wire, GOOD[wire], SAID[wire], after))
    assert "left out" in " ".join(not_continued(wire, GOOD[wire], SAID[wire], {key: GOOD[wire][key][:2]}))
