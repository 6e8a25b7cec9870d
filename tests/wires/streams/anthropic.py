"""Answers in Anthropic's Messages format."""

from __future__ import annotations

import json
from typing import Any

from tests.wires.replies import Event, Json, Reply, refused, sse

Blocks = list[Json]


def answer(*blocks: Blocks, stop: str = "end_turn") -> Reply:
    """Return an answer of these blocks."""
    return _reply([*_begun(blocks), *_ended(stop)])


def broken(*blocks: Blocks, kind: str = "overloaded_error", message: str = "Overloaded") -> Reply:
    """Return an answer that an error ends after these blocks."""
    return _reply([*_begun(blocks), error(kind, message)], broken=True)


def error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def refusal(status: int, kind: str, message: str, **headers: str) -> Reply:
    """Return an error before the stream."""
    return refused(status, error(kind, message), **headers)


def text(words: str, *citations: Json) -> Blocks:
    cited = [{"type": "citations_delta", "citation": citation} for citation in citations]
    start: Json = {"type": "text", "text": "", "citations": [] if citations else None}
    return _block(start, *({"type": "text_delta", "text": piece} for piece in _halves(words)), *cited)


def thought(words: str, signature: str) -> Blocks:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _halves(words)]
    signed = {"type": "signature_delta", "signature": signature}
    return _block({"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def redacted(data: str) -> Blocks:
    return _block({"type": "redacted_thinking", "data": data})


def call(id: str, arguments: Json | str, name: str = "think") -> Blocks:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    pieces = ["", *_halves(written)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return _block({"type": "tool_use", "id": id, "name": name, "input": {}}, *deltas)


def used(id: str, name: str, arguments: Json) -> Blocks:
    """The provider's own tool, as the model asks for it."""
    start: Json = {"type": "server_tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}}
    return _block(start, {"type": "input_json_delta", "partial_json": json.dumps(arguments)})


def found(id: str) -> Blocks:
    """What the provider's search found."""
    hit = {
        "type": "web_search_result",
        "url": "https://harbour.example/tides",
        "title": "Tides",
        "encrypted_content": "sealed",
        "page_age": None,
    }
    return _block({"type": "web_search_tool_result", "tool_use_id": id, "caller": {"type": "direct"}, "content": [hit]})


def search(id: str = "srvtoolu_1") -> Blocks:
    return [*used(id, "web_search", {"query": "tides"}), *found(id)]


def fetched(id: str = "srvtoolu_2") -> Blocks:
    """A page that the provider read itself."""
    page: Json = {
        "type": "document",
        "title": "Tides",
        "citations": None,
        "source": {"type": "text", "media_type": "text/plain", "data": "High at noon."},
    }
    result: Json = {
        "type": "web_fetch_result",
        "url": "https://harbour.example/tides",
        "content": page,
        "retrieved_at": "2026-01-01T00:00:00Z",
    }
    whole: Json = {"type": "web_fetch_tool_result", "tool_use_id": id, "caller": {"type": "direct"}, "content": result}
    return [*used(id, "web_fetch", {"url": "https://harbour.example/tides"}), *_block(whole)]


def ran(id: str = "srvtoolu_3") -> Blocks:
    """Code that the provider ran itself."""
    result = {
        "type": "bash_code_execution_result",
        "stdout": "2\n",
        "stderr": "",
        "return_code": 0,
        "content": [],
    }
    whole: Json = {"type": "bash_code_execution_tool_result", "tool_use_id": id, "content": result}
    return [*used(id, "bash_code_execution", {"command": "echo 2"}), *_block(whole)]


def upload(file_id: str) -> Blocks:
    return _block({"type": "container_upload", "file_id": file_id})


def citation(words: str = "High at noon.") -> Json:
    return {
        "type": "web_search_result_location",
        "cited_text": words,
        "encrypted_index": "place",
        "title": "Tides",
        "url": "https://harbour.example/tides",
    }


def _halves(words: str) -> list[str]:
    middle = len(words) // 2
    return [piece for piece in (words[:middle], words[middle:]) if piece]


def _block(start: Json, *deltas: Json) -> Blocks:
    return [
        {"type": "content_block_start", "content_block": start},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


def _begun(blocks: tuple[Blocks, ...]) -> list[Event]:
    usage = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 2,
    }
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Event] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    index = -1
    for event in (event for block in blocks for event in block):
        index += event["type"] == "content_block_start"
        events.append({**event, "index": index})
    return events


def _ended(stop: str) -> list[Event]:
    delta: dict[str, Any] = {"stop_reason": stop, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}, {"type": "message_stop"}]


def _reply(events: list[Event], *, broken: bool = False) -> Reply:
    head = {"content-type": "text/event-stream; charset=utf-8"}
    return Reply("anthropic", sse(events, named=True), 200, head, tuple(events), broken=broken)
