"""Judges requests and answers by the types of the makers' own SDKs.

A program for the environment that has those; `tests/wires/judging.py` starts it. It reads lines of JSON, each a list of
`{"wire": ..., "request" | "event": ...}`, and answers each with a list of complaints for each.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as genai
from ollama import ChatResponse, Message, Tool
from ollama._types import ChatRequest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from pydantic import BaseModel, TypeAdapter, ValidationError

Json = dict[str, Any]
Complaints = list[str]
_MANY = 8


def _whole(value: Any) -> Any:
    """Return a validated value with its lazy lists read to their ends, which is when they complain."""
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, str | bytes | int | float | None) or not hasattr(value, "__iter__"):
        return value
    return [_whole(inner) for inner in value]


def _unknown(sent: Any, known: Any, path: str) -> Complaints:
    """Return what was sent and the type has no place for."""
    if isinstance(sent, dict) and isinstance(known, dict):
        lost = [f"{path}.{key} is unknown to the SDK" for key in sent if key not in known]
        inner = (_unknown(sent[key], known[key], f"{path}.{key}") for key in sent if key in known)
        return [*lost, *(each for found in inner for each in found)]
    if isinstance(sent, list) and isinstance(known, list):
        pairs = enumerate(zip(sent, known, strict=True))
        return [each for index, (one, other) in pairs for each in _unknown(one, other, f"{path}[{index}]")]
    return []


def _told(error: ValidationError, path: str) -> Complaints:
    where = [(".".join(map(str, each["loc"]))[-160:], each["msg"][:120]) for each in error.errors()[:_MANY]]
    return [f"{path} {place}: {message}" for place, message in where]


def _typed(adapter: TypeAdapter[Any], value: Any, path: str) -> Complaints:
    try:
        return _unknown(value, _whole(adapter.validate_python(value)), path)
    except ValidationError as error:
        return _told(error, path)


def _modelled(model: type[BaseModel], value: Any, path: str) -> Complaints:
    try:
        model.model_validate(value)
    except ValidationError as error:
        return _told(error, path)
    return []


_ANTHROPIC: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)
_CHAT: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)
_RESPONSES: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)
_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
_ANTHROPIC_EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
_RESPONSES_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
# What the SDK's own code, not its types, reads from a stream.
_UNTYPED = ("ping", "error")


def _responses_request(body: Json) -> Complaints:
    """Look at each item alone: of a union of thirty kinds it is otherwise not said which was meant."""
    found = _typed(_RESPONSES, {**body, "input": "x"}, "")
    for index, item in enumerate(body["input"]):
        said = _typed(_ITEM, item, f"input[{index}]")
        fits = all(each.endswith("is unknown to the SDK") for each in said)
        found += said if fits else [f"input[{index}] is none of the SDK's items: {json.dumps(item)[:200]}"]
    return found


_GEMINI: dict[str, type[BaseModel]] = {
    "systemInstruction": genai.Content,
    "toolConfig": genai.ToolConfig,
    "generationConfig": genai.GenerationConfig,
}
_GEMINI_LISTS: dict[str, type[BaseModel]] = {
    "contents": genai.Content,
    "tools": genai.Tool,
    "safetySettings": genai.SafetySetting,
}


def _gemini_request(body: Json) -> Complaints:
    found = [f".{key} is unknown to the SDK" for key in body if key not in {*_GEMINI, *_GEMINI_LISTS}]
    for key, model in _GEMINI.items():
        found += _modelled(model, body[key], key) if key in body else []
    for key, model in _GEMINI_LISTS.items():
        for index, each in enumerate(body.get(key, ())):
            found += _modelled(model, each, f"{key}[{index}]")
    return found


def _ollama_request(body: Json) -> Complaints:
    """Look at each message alone: in a request its type lets anything pass."""
    found = _dumped(ChatRequest, {**body, "messages": [], "tools": []}, "")
    for index, message in enumerate(body["messages"]):
        # Its client wraps pictures, which come as they are on the line.
        wrapped = [{"value": image} for image in message.get("images", ())]
        bare = {key: value for key, value in message.items() if key != "images"}
        found += _dumped(Message, bare, f"messages[{index}]")
        found += _modelled(Message, {**bare, "images": wrapped}, f"messages[{index}]")
    # Schemas of tools are free in form, and their type keeps only what it has names for.
    for index, tool in enumerate(body.get("tools", ())):
        found += _modelled(Tool, tool, f"tools[{index}]")
    return found


def _dumped(model: type[BaseModel], value: Json, path: str) -> Complaints:
    """Compare with what a type keeps, where it takes what it does not know and drops it."""
    try:
        known = json.loads(model.model_validate(value).model_dump_json(exclude_none=True))
    except ValidationError as error:
        return _told(error, path)
    return _unknown(value, known, path)


@cache
def _converse() -> Any:
    """Return what AWS says about a request; read when the first asks, since that takes a while."""
    from botocore.session import get_session

    return get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape


def _converse_request(body: Json) -> Complaints:
    from botocore.validate import ParamValidator

    # The model's name stands in the address.
    report = ParamValidator().validate({"modelId": "m", **body}, _converse())
    return list(report.generate_report().splitlines()) if report.has_errors() else []


def _chat_event(event: Json) -> Complaints:
    whole = event.get("object") == "chat.completion"
    return _modelled(ChatCompletion if whole else ChatCompletionChunk, event, "")


_REQUESTS: dict[str, Callable[[Json], Complaints]] = {
    "anthropic": lambda body: _typed(_ANTHROPIC, body, ""),
    "chat": lambda body: _typed(_CHAT, body, ""),
    "responses": _responses_request,
    "gemini": _gemini_request,
    "ollama": _ollama_request,
    "converse": _converse_request,
}
_EVENTS: dict[str, Callable[[Json], Complaints]] = {
    "anthropic": lambda event: [] if event["type"] in _UNTYPED else _typed(_ANTHROPIC_EVENT, event, ""),
    "chat": _chat_event,
    "responses": lambda event: _typed(_RESPONSES_EVENT, event, ""),
    "gemini": lambda event: _modelled(genai.GenerateContentResponse, event, ""),
    "ollama": lambda event: _modelled(ChatResponse, event, ""),
}


def judged(case: Json) -> Complaints:
    """Return what is wrong with one request or one event of an answer."""
    if "request" in case:
        return _REQUESTS[case["wire"]](case["request"])
    return _EVENTS[case["wire"]](case["event"])


def main() -> None:
    """Judge lines until there are no more."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps([judged(case) for case in json.loads(line)]), flush=True)


if __name__ == "__main__":
    main()
