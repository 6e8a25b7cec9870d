"""Answers in OpenAI's Responses format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.wires.replies import Event, Foreign, Json, Reply, plain, refused, sse

Item = list[Event]


def answer(*items: Item, final: Event | None = None) -> Reply:
    """Return an answer of these items; `final` is its last event, where that is another than "completed"."""
    began = _response("in_progress", usage=None)
    events: list[Event] = [
        {"type": "response.created", "response": began},
        {"type": "response.in_progress", "response": began},
    ]
    for index, item in enumerate(items):
        events += [_placed(event, index) for event in item]
    last = final or {"type": "response.completed", "response": _response("completed")}
    return _reply([*events, last], broken=plain(last)["type"] == "response.failed")


def erred(code: str, message: str) -> Reply:
    """Return a stream that is nothing but an error."""
    return _reply([{"type": "error", "code": code, "message": message, "param": None}], broken=True)


def incomplete(reason: str) -> Json:
    details = {"reason": reason}
    return {"type": "response.incomplete", "response": _response("incomplete", incomplete_details=details)}


def failed(code: str, message: str) -> Json:
    error = {"code": code, "message": message}
    return {"type": "response.failed", "response": _response("failed", error=error)}


def refusal(status: int, message: str, code: str | None = None, param: str | None = None) -> Reply:
    """Return an error before the stream."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return refused(status, {"error": error})


def reasoning(id: str, *summary: str) -> Item:
    """Thinking, with a summary in as many parts as there are words, and sealed."""
    events: Item = [_added({"type": "reasoning", "id": id, "summary": [], "encrypted_content": ""})]
    parts: list[Json] = [{"type": "summary_text", "text": words} for words in summary]
    for index, part in enumerate(parts):
        where: Json = {"item_id": id, "summary_index": index}
        kind = "response.reasoning_summary"
        events += [
            {"type": f"{kind}_part.added", **where, "part": {**part, "text": ""}},
            {"type": f"{kind}_text.delta", **where, "delta": part["text"]},
            {"type": f"{kind}_text.done", **where, "text": part["text"]},
            {"type": f"{kind}_part.done", **where, "part": part},
        ]
    return [*events, _done({"type": "reasoning", "id": id, "summary": parts, "encrypted_content": f"sealed {id}"})]


def message(id: str, words: str, annotations: Sequence[Json] = (), **more: Any) -> Item:
    base: Json = {"type": "message", "id": id, "role": "assistant", **more}
    part: Json = {"type": "output_text", "text": words, "annotations": list(annotations), "logprobs": []}
    where: Json = {"item_id": id, "content_index": 0}
    noted: Item = [
        {"type": "response.output_text.annotation.added", **where, "annotation_index": index, "annotation": one}
        for index, one in enumerate(annotations)
    ]
    return [
        _added({**base, "status": "in_progress", "content": []}),
        {"type": "response.content_part.added", **where, "part": {**part, "text": "", "annotations": []}},
        {"type": "response.output_text.delta", **where, "delta": words, "logprobs": []},
        *noted,
        {"type": "response.output_text.done", **where, "text": words, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
        _done({**base, "status": "completed", "content": [part]}),
    ]


def refusing(id: str, words: str) -> Item:
    """A message in which the model declines."""
    base: Json = {"type": "message", "id": id, "role": "assistant"}
    where: Json = {"item_id": id, "content_index": 0}
    part: Json = {"type": "refusal", "refusal": words}
    return [
        _added({**base, "status": "in_progress", "content": []}),
        {"type": "response.content_part.added", **where, "part": {**part, "refusal": ""}},
        {"type": "response.refusal.delta", **where, "delta": words},
        {"type": "response.refusal.done", **where, "refusal": words},
        {"type": "response.content_part.done", **where, "part": part},
        _done({**base, "status": "completed", "content": [part]}),
    ]


def call(call_id: str, arguments: Json | str, *, status: str = "completed", name: str = "think") -> Item:
    id = f"fc_{call_id}"
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    base: Json = {"type": "function_call", "id": id, "call_id": call_id, "name": name}
    told: Item = [{"type": "response.function_call_arguments.delta", "item_id": id, "delta": written}]
    if status == "completed":
        kind = "response.function_call_arguments.done"
        told.append({"type": kind, "item_id": id, "arguments": written, "name": name})
    return [
        _added({**base, "arguments": "", "status": "in_progress"}),
        *told,
        _done({**base, "arguments": written, "status": status}),
    ]


def searched(id: str = "ws_1") -> Item:
    """The provider's own search."""
    action: Json = {"type": "search", "query": "tides", "queries": ["tides"]}
    item: Json = {"type": "web_search_call", "id": id, "action": action}
    states: Item = [
        {"type": f"response.web_search_call.{state}", "item_id": id}
        for state in ("in_progress", "searching", "completed")
    ]
    return [_added({**item, "status": "in_progress"}), *states, _done({**item, "status": "completed"})]


def picture(data: str, id: str = "ig_1") -> Item:
    """A picture that the provider made, with a first sketch of it."""
    item: Json = {"type": "image_generation_call", "id": id}
    sketch: Json = {"item_id": id, "partial_image_b64": "AA==", "partial_image_index": 0}
    return [
        _added({**item, "status": "in_progress", "result": None}),
        {"type": "response.image_generation_call.partial_image", **sketch},
        _done({**item, "status": "completed", "result": data}),
    ]


def unheard_of() -> Item:
    """An item and an event of a kind that nobody knows yet."""
    item = {"type": "quantum_call", "id": "q_1"}
    return [
        Foreign(_added(item)),
        Foreign({"type": "response.quantum.delta", "delta": {"qubit": 1}}),
        Foreign(_done(item)),
    ]


def shell() -> Item:
    """An event whose delta is an object, as a hosted shell sends it."""
    return [
        {
            "type": "response.shell_call_output_content.delta",
            "command_index": 0,
            "delta": {"stdout": "ahoy"},
            "item_id": "sh_1",
        }
    ]


def citation(words: str) -> Json:
    url = "https://harbour.example/tides"
    return {"type": "url_citation", "start_index": 0, "end_index": len(words), "title": "Tides", "url": url}


def _added(item: Json) -> Json:
    return {"type": "response.output_item.added", "item": item}


def _done(item: Json) -> Json:
    return {"type": "response.output_item.done", "item": item}


def _placed(event: Event, index: int) -> Event:
    placed = {**plain(event), "output_index": index}
    return Foreign(placed) if isinstance(event, Foreign) else placed


def _response(status: str, **more: Any) -> Json:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 15,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "metadata": {},
        "instructions": None,
        "error": None,
        "incomplete_details": None,
        "usage": usage,
        **more,
    }


def _reply(events: list[Event], *, broken: bool = False) -> Reply:
    for number, event in enumerate(events):
        plain(event)["sequence_number"] = number
    head = {"content-type": "text/event-stream; charset=utf-8"}
    return Reply("responses", sse(events, named=True), 200, head, tuple(events), broken=broken)


def tool_search(call_id: str, arguments: Json) -> Item:
    """A search for tools that the client carries out."""
    item: Json = {"type": "tool_search_call", "id": f"tsc_{call_id}", "call_id": call_id, "execution": "client"}
    return [
        _added({**item, "arguments": {}, "status": "in_progress"}),
        _done({**item, "arguments": arguments, "status": "completed"}),
    ]
