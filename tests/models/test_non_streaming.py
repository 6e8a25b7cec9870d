"""An answer that comes as one whole document, on every wire: it is read as the answer that it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.non_streaming import Documents
from pilothouse.types.stream import CallEnd, Cited, Failed, NativeDelta, Retrying, Stopped, ThinkingDelta, Usage
from tests.models.asking import answer_of, calls_of, failure_of, model_at, of, said, text_of, thinking_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Wire, sse

Json = dict[str, Any]
every_wire = pytest.mark.parametrize("wire", WIRES)
ARGUMENTS = {"thought": "x"}
CALL = {"name": "think", "arguments": json.dumps(ARGUMENTS)}
GEMINI_PARTS = [
    {"text": "Let me", "thought": True},
    {"text": "I will."},
    {"functionCall": {"id": "call_a", "name": "think", "args": ARGUMENTS}, "thoughtSignature": "c2ln"},
]
WHOLE: dict[Wire, Json] = {
    "anthropic-compatible": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me", "signature": "c2ln"},
            {"type": "text", "text": "I will.", "citations": None},
            {"type": "tool_use", "id": "call_a", "name": "think", "input": ARGUMENTS},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    },
    "openai-compatible": {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "reasoning_content": "Let me",
                    "content": "I will.",
                    "tool_calls": [{"id": "call_a", "type": "function", "function": CALL}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    },
    "openai-responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Let me"}],
                "encrypted_content": "c2ln",
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "I will.", "annotations": []}],
            },
            {"type": "function_call", "id": "fc_1", "call_id": "call_a", **CALL},
        ],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    },
    "ollama": {
        "model": "m",
        "message": {
            "role": "assistant",
            "thinking": "Let me",
            "content": "I will.",
            "tool_calls": [{"id": "call_a", "function": {"name": "think", "arguments": ARGUMENTS}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 10,
        "eval_count": 5,
    },
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": GEMINI_PARTS}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5},
    },
}


def whole(document: object, kind: str = "application/json", *, pretty: bool = False) -> Reply:
    body = json.dumps(document, indent=2 if pretty else None).encode()
    return Reply(headers=(("content-type", kind),), body=body)


@every_wire
@pytest.mark.parametrize("pretty", [False, True])
@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/plain", "text/event-stream"])
async def test_a_whole_document_is_the_answer(wire: Wire, pretty: bool, kind: str, endpoint: Endpoint) -> None:
    endpoint.answer(whole(WHOLE[wire], kind, pretty=pretty))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert (thinking_of(events), text_of(events)) == ("Let me", "I will.")
    assert calls_of(events) == [("think", ARGUMENTS)]
    assert [end.id for end in of(CallEnd, events)] == ["call_a"]
    assert (of(Usage, events)[0].input, of(Usage, events)[0].output) == (10, 5)
    assert of(Stopped, events)[0].reason == "tool"
    assert not of(Retrying, events)


async def test_the_proofs_of_a_whole_answer_are_kept(endpoint: Endpoint) -> None:
    wires: tuple[Wire, ...] = ("anthropic-compatible", "openai-responses")
    for wire in wires:
        endpoint.answer(whole(WHOLE[wire]))
        events = await answer_of(model_at(wire, endpoint.url), said("hi"))
        assert "c2ln" in repr([event.opaque for event in of(ThinkingDelta, events)])


SOURCE = {"url": "https://e.x/", "title": "T"}
SEARCHED: dict[Wire, Json] = {
    "anthropic-compatible": {
        "type": "message",
        "content": [
            {"type": "server_tool_use", "id": "s_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": []},
            {
                "type": "text",
                "text": "Noon.",
                "citations": [
                    {"type": "web_search_result_location", **SOURCE, "cited_text": "", "encrypted_index": "E"}
                ],
            },
        ],
        "stop_reason": "end_turn",
    },
    "openai-responses": {
        "object": "response",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "x"},
            },
            {
                "type": "message",
                "id": "msg_1",
                "content": [
                    {"type": "output_text", "text": "Noon.", "annotations": [{"type": "url_citation", **SOURCE}]}
                ],
            },
        ],
    },
}


@pytest.mark.parametrize("wire", SEARCHED)
async def test_blocks_of_a_providers_own_and_sources_are_read_from_a_whole_answer(
    wire: Wire, endpoint: Endpoint
) -> None:
    endpoint.answer(whole(SEARCHED[wire]))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert text_of(events) == "Noon."
    assert of(Cited, events) == [Cited(SOURCE["url"], SOURCE["title"])]
    natives = [event.raw["block"] for event in of(NativeDelta, events)]
    given = SEARCHED[wire].get("content") or SEARCHED[wire]["output"]
    assert natives == given[:-1]
    assert of(Stopped, events)[0].reason == ("length" if wire == "openai-responses" else "end")


async def test_chunks_in_an_array_are_the_answer(endpoint: Endpoint) -> None:
    chunks: list[Json] = [{"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in ("Hel", "lo.")]
    chunks.append({"candidates": [{"content": {}, "finishReason": "STOP"}]})
    endpoint.answer(whole(chunks, pretty=True))
    events = await answer_of(model_at("gemini", endpoint.url), said("hi"))
    assert text_of(events) == "Hello."
    assert of(Stopped, events)[0].reason == "end"


async def test_a_whole_answer_that_does_not_say_why_it_ended_has_ended(endpoint: Endpoint) -> None:
    endpoint.answer(whole({"choices": [{"message": {"content": "Hello."}}]}))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert text_of(events) == "Hello."
    assert of(Stopped, events)[0].reason == "end"


async def test_a_stream_that_calls_itself_a_document_is_read_as_a_stream(endpoint: Endpoint) -> None:
    body = sse({"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"
    endpoint.answer(Reply(headers=(("content-type", "application/json"),), body=body))
    assert text_of(await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))) == "Hello."


@every_wire
@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"error": "Unexpected endpoint or method."}, "“Unexpected endpoint or method.”"),
        ({"status": "ok"}, "a whole document"),
        ([], "a whole document"),
    ],
)
async def test_a_document_that_is_no_answer_is_told_and_not_asked_for_again(
    wire: Wire, document: object, words: str, endpoint: Endpoint
) -> None:
    endpoint.answer(whole(document, pretty=True))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert isinstance(events[0], Failed)
    assert f"answered with {words}, not with a model's stream" in failure_of(events).message
    assert len(endpoint.requests) == 1


async def test_an_error_with_a_code_inside_a_document_is_that_error(endpoint: Endpoint) -> None:
    endpoint.answer(
        whole({"error": {"message": "Provider returned error", "code": 502}}), whole(WHOLE["openai-compatible"])
    )
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert isinstance(events[0], Retrying)
    assert text_of(events) == "I will."


@pytest.mark.parametrize(
    "document",
    [
        {
            "type": "message",
            "content": [1, {"type": "text", "text": 1, "citations": 1}, {"type": "thinking", "thinking": {}}],
        },
        {
            "status": "x",
            "output": [1, {"type": "message", "content": ["x", {"text": 1}]}, {"type": "reasoning", "summary": 1}],
        },
        {"choices": [{"message": {"content": 1}}]},
        {"choices": [1]},
        {"candidates": [{"content": 1}]},
        {"message": {"tool_calls": [1]}, "done": 1},
        [[[]]],
        [{"error": {"code": 1}}],
        {"error": {"code": 10**30, "message": {}}},
    ],
)
@every_wire
async def test_an_odd_document_is_a_failure_and_never_raises(wire: Wire, document: object, endpoint: Endpoint) -> None:
    endpoint.answer(whole(document, pretty=True))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert isinstance(events[-1], Failed | Stopped)


def cut(body: bytes, size: int, *, is_sse: bool) -> list[bytes]:
    documents = Documents(is_sse=is_sse)
    fed = [each for at in range(0, len(body), size) for each in documents.feed(body[at : at + size])]
    return fed + list(documents.rest())


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_it_does_not_matter_where_a_body_is_cut(size: int) -> None:
    document = WHOLE["ollama"]
    for is_sse in (True, False):
        pretty = cut(b"\r\n " + json.dumps(document, indent=1).encode(), size, is_sse=is_sse)
        assert [json.loads(each) for each in pretty] == [document]
    lines = b'{"a": 1}\n { "b": 2 }\n{}'
    assert cut(lines, size, is_sse=False) == [b'{"a": 1}', b' { "b": 2 }', b"{}"]
    assert cut(b": hello\n\ndata: {}\n\ndata:1", size, is_sse=True) == [b" {}", b"1"]
    for is_sse in (True, False):
        assert cut(b" \n", size, is_sse=is_sse) == []
