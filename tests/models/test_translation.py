"""What a provider's own tools did is told to models of other providers in words, and the person hears of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.factory import make_wire
from pilothouse.models.translation import translated
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import Message, ModelRequest, NativeBlock, TextBlock, ThinkingBlock
from pilothouse.types.models import Provider
from pilothouse.types.stream import Notice
from tests.models.asking import answer_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

PAGE: JsonObject = {
    "type": "web_search_result",
    "url": "https://e.example/",
    "title": "T [1]",
    "encrypted_content": "ENC",
}
SEARCHED = NativeBlock(raw={"wire": "anthropic", "block": {"type": "server_tool_use", "input": {"query": "boats"}}})
FOUND = NativeBlock(raw={"wire": "anthropic", "block": {"type": "web_search_tool_result", "content": [PAGE]}})
CITED = TextBlock(
    text="So it is.", opaque={"wire": "anthropic", "more": {"citations": [{"url": PAGE["url"], "title": "T"}]}}
)


def told(
    *blocks: Any, provider: Provider = "openai-compatible", **fields: Any
) -> tuple[tuple[Any, ...], Notice | None]:
    """Return an answer as another provider's model is told it."""
    request, notice = translated(ModelRequest(messages=(Message("assistant", blocks),), **fields), provider)
    return request.messages[0].content, notice


def test_a_search_is_told_by_what_was_asked_and_found() -> None:
    content, notice = told(SEARCHED, FOUND, CITED)
    assert [block.text.strip() for block in content] == [
        "Searched for: boats",
        "Found: [T (1)](https://e.example/)",
        "So it is. ([T](https://e.example/))",
    ]
    assert all(block.opaque is None for block in content)
    assert notice is not None
    assert "ENC" not in json.dumps([block.text for block in content])


@pytest.mark.parametrize(
    ("wire", "block", "words"),
    [
        ("gemini", {"executableCode": {"language": "PYTHON", "code": "print(1)"}}, "Ran:\n```\nprint(1)\n```"),
        ("gemini", {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}, "It gave:\n```\n1\n```"),
        ("openai-responses", {"type": "web_search_call", "action": {"query": "boats"}}, "Searched for: boats"),
        (
            "openai-responses",
            {"type": "code_interpreter_call", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
            "Ran:\n```\n1+1\n```\nIt gave:\n```\n2\n```",
        ),
    ],
)
def test_code_and_searches_of_every_provider_have_words(wire: str, block: JsonObject, words: str) -> None:
    content, _ = told(NativeBlock(raw={"wire": wire, "block": block}))
    assert [part.text.strip() for part in content] == [words]


def test_an_answer_without_any_words_is_no_empty_message() -> None:
    content, notice = told(ThinkingBlock(text="hm"), NativeBlock(raw={"wire": "gemini", "block": {"x": {"y": "z"}}}))
    assert content[-1] == TextBlock(text="(This answer is in a form that only its provider reads.)")
    assert notice is not None


def test_what_is_the_models_own_is_left_as_it_is() -> None:
    assert told(SEARCHED, FOUND, CITED, provider="anthropic-compatible") == ((SEARCHED, FOUND, CITED), None)


def test_calls_by_text_are_told_everything_in_words() -> None:
    content, _ = told(SEARCHED, provider="anthropic-compatible", call_style="text")
    assert [block.text.strip() for block in content] == ["Searched for: boats"]


def test_links_alone_are_nothing_to_tell_the_person() -> None:
    assert told(CITED)[1] is None


@pytest.mark.parametrize(
    "block",
    [None, [], {"url": "javascript:alert(1)", "title": "x"}, {"a": "x" * 100_000}],
    ids=["none", "list", "script", "other"],
)
def test_a_block_that_is_none_has_no_words(block: object) -> None:
    assert told(NativeBlock(raw={"wire": "gemini", "block": block}))[0][0].text.startswith("(This answer")


def test_a_long_or_deep_block_is_cut() -> None:
    deep: JsonObject = {"output": "x" * 100_000}
    for _ in range(2_000):
        deep = {"more": [deep], "code": "1"}
    content, _ = told(NativeBlock(raw={"wire": "gemini", "block": {"output": "x" * 100_000, "deep": deep}}))
    assert len(content[0].text) < limits.TRANSLATED_CHARS + 100


@pytest.mark.parametrize("wire", WIRES)
async def test_every_provider_takes_it_and_the_notice_comes_first(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["ok"]),))))
    answer = Message("assistant", (SEARCHED, FOUND, CITED))
    events = await answer_of(
        model_at(wire, endpoint.url), said("hi", answer, Message("user", (TextBlock(text="And?"),)))
    )
    assert text_of(events) == "ok"
    own = wire == "anthropic-compatible"
    assert bool(of(Notice, events)) is not own
    sent = json.dumps(endpoint.requests[-1].json)
    assert ("Searched for: boats" in sent, "ENC" in sent) == (not own, own)


@pytest.mark.parametrize("wire", WIRES)
def test_each_request_continues_the_one_before_in_other_words_too(wire: Wire) -> None:
    encoder = make_wire(config_at(wire, "http://127.0.0.1:1"))
    first = said("hi", Message("assistant", (CITED,)), Message("user", (TextBlock(text="And?"),)))
    more = said("hi", *first.messages[1:], Message("assistant", (TextBlock(text="x"),)))
    short, long = (encoder.body(translated(each, wire)[0]) for each in (first, more))
    assert long.replace(b',"cache_control":{"type":"ephemeral"}', b"").startswith(
        short.replace(b',"cache_control":{"type":"ephemeral"}', b"")[:-2]
    )


SIGNED = ThinkingBlock(text="hm", opaque={"wire": "anthropic", "thinking": "hm", "signature": "OLD"})
NO = Reply(status=400, body=b'{"error": {"type": "invalid_request_error", "message": "Invalid signature in thinking"}}')
OK = Reply(Say((Text(["ok"]),)))


async def test_what_a_provider_does_not_take_back_any_more_is_told_in_words(endpoint: Endpoint) -> None:
    endpoint.answer(NO, OK)
    asked = said("hi", Message("assistant", (SIGNED, FOUND, CITED)), Message("user", (TextBlock(text="And?"),)))
    events = await answer_of(model_at("anthropic-compatible", endpoint.url), asked)
    assert text_of(events) == "ok"
    assert [notice.code for notice in of(Notice, events)] == ["not_taken_back"]
    first, second = (json.dumps(one.json) for one in endpoint.requests)
    assert ("OLD" in first, "ENC" in first) == (True, True)
    assert ("OLD" in second, "ENC" in second, "https://e.example/" in second) == (False, False, True)


async def test_what_was_not_taken_back_once_is_not_tried_again_and_what_came_since_is_kept(endpoint: Endpoint) -> None:
    asked = said("hi", Message("assistant", (SIGNED, FOUND, CITED)), Message("user", (TextBlock(text="And?"),)))
    fresh = ThinkingBlock(text="hm", opaque={"wire": "anthropic", "thinking": "hm", "signature": "NEW"})
    more = (Message("assistant", (fresh, TextBlock(text="ok"))), Message("user", (TextBlock(text="Again?"),)))
    endpoint.answer(NO, OK, OK)
    model = model_at("anthropic-compatible", endpoint.url)
    assert text_of(await answer_of(model, asked)) == "ok"
    events = await answer_of(model, said("hi", *asked.messages[1:], *more))
    assert (text_of(events), of(Notice, events)) == ("ok", [])
    assert len(endpoint.requests) == 3
    last = json.dumps(endpoint.requests[-1].json)
    assert ("OLD" in last, "ENC" in last, "NEW" in last) == (False, False, True)


async def test_a_refusal_that_words_do_not_change_is_told_as_it_was(endpoint: Endpoint) -> None:
    endpoint.answer(NO, Reply(status=400, body=b'{"error": {"message": "Another reason"}}'))
    asked = said("hi", Message("assistant", (SIGNED, TextBlock(text="a"))), Message("user", (TextBlock(text="And?"),)))
    events = await answer_of(model_at("anthropic-compatible", endpoint.url), asked)
    assert "Invalid signature" in failure_of(events).message
    assert len(endpoint.requests) == 2


async def test_a_conversation_without_any_of_it_is_refused_at_once(endpoint: Endpoint) -> None:
    endpoint.answer(NO)
    failure_of(await answer_of(model_at("anthropic-compatible", endpoint.url), said("hi")))
    assert len(endpoint.requests) == 1
