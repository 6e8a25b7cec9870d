"""The answers of five providers, written from one neutral description of what a model says.

Each writer yields the frames of one streamed answer as the provider would send them, fields that we do
not read included, so that a reader that trips over them is found out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Wire = Literal["anthropic-compatible", "openai-compatible", "openai-responses", "ollama", "gemini"]
WIRES: tuple[Wire, ...] = ("anthropic-compatible", "openai-compatible", "openai-responses", "ollama", "gemini")
# Only Gemini says that it could not read a call.
Stop = Literal["end", "tool", "length", "refusal", "malformed"]


@dataclass(frozen=True)
class Text:
    """Text of the answer, piece by piece."""

    pieces: Iterable[str]


@dataclass(frozen=True)
class Thought:
    """Thinking, piece by piece, with the provider's proof."""

    pieces: Iterable[str]
    proof: str = "c2lnbmF0dXJl"
    redacted: bool = False


@dataclass(frozen=True)
class Call:
    """A tool call with its arguments as text, in pieces of seven characters."""

    id: str
    name: str
    arguments: str

    @property
    def pieces(self) -> list[str]:
        return [self.arguments[at : at + 7] for at in range(0, len(self.arguments), 7)]


@dataclass(frozen=True)
class Native:
    """A block of the provider's own kind."""

    block: Json


Part = Text | Thought | Call | Native


@dataclass(frozen=True)
class Tokens:
    """What the provider counts: `input` with what was cached."""

    input: int = 1025
    output: int = 15
    cached: int = 900
    reasoning: int = 3


@dataclass(frozen=True)
class Say:
    """What the model says, and the habits of the server it runs on."""

    parts: tuple[Part, ...] = ()
    # None leaves out the finish reason.
    stop: Stop | None = "end"
    tokens: Tokens = field(default_factory=Tokens)
    # "stop" beside tool calls, all parallel calls numbered 0, thinking in `reasoning`: habits of compatible servers.
    plain_finish: bool = False
    all_index_zero: bool = False
    reasoning_field: str = "reasoning_content"
    empty_choices: bool = False


def sse(data: Json, event: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def frames(wire: Wire, say: Say) -> Iterator[bytes]:
    """Yield the frames of an answer in a provider's format."""
    return _WRITERS[wire](say)


def error_frame(wire: Wire, kind: str, message: str) -> bytes:
    """Return an error as the provider tells it inside a stream."""
    if wire == "anthropic-compatible":
        return sse({"type": "error", "error": {"type": kind, "message": message}}, "error")
    if wire == "ollama":
        return json.dumps({"error": message}).encode() + b"\n"
    if wire == "openai-responses":
        return sse({"type": "error", "code": kind, "message": message, "param": None, "sequence_number": 9}, "error")
    return sse({"error": {"type": kind, "message": message, "code": None}})


# --- Anthropic Messages ---------------------------------------------------------------------------


def _anthropic(say: Say) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    fresh = say.tokens.input - say.tokens.cached
    usage = {"input_tokens": fresh, "cache_read_input_tokens": say.tokens.cached, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage, "new_field": [1]}
    yield event("message_start", message=message)
    yield event("ping")
    for index, part in enumerate(say.parts):
        block, deltas = _anthropic_block(part)
        yield event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    words = {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "refusal": "refusal"}
    if say.stop:
        delta = {"stop_reason": words[say.stop], "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": say.tokens.output})
        yield event("message_stop")


def _anthropic_block(part: Part) -> tuple[Json, Iterable[Json]]:
    match part:
        case Text():
            return {"type": "text", "text": ""}, ({"type": "text_delta", "text": piece} for piece in part.pieces)
        case Thought(redacted=True):
            return {"type": "redacted_thinking", "data": part.proof}, []
        case Thought():
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in part.pieces]
            deltas.append({"type": "signature_delta", "signature": part.proof})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case Call():
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *part.pieces]]
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}, deltas
        case Native():
            return part.block, []


# --- OpenAI chat completions ----------------------------------------------------------------------


def _chat(say: Say) -> Iterator[bytes]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "new_field": {"a": 1}}

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return sse({**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    if say.empty_choices:
        yield sse({**base, "choices": [], "prompt_filter_results": []})
    calls = 0
    for part in say.parts:
        match part:
            case Text():
                yield from (chunk({"content": piece}) for piece in part.pieces)
            case Thought():
                yield from (chunk({"content": None, say.reasoning_field: piece}) for piece in part.pieces)
            case Call():
                yield from _chat_call(part, 0 if say.all_index_zero else calls, chunk)
                calls += 1
            case Native():
                continue
    words = {"end": "stop", "tool": "tool_calls", "length": "length", "refusal": "content_filter"}
    if say.stop:
        yield chunk({}, "stop" if say.plain_finish else words[say.stop])
        yield sse({**base, "choices": [], "usage": _chat_usage(say.tokens)})
        yield b"data: [DONE]\n\n"


def _chat_call(part: Call, index: int, chunk: Callable[[Json], bytes]) -> Iterator[bytes]:
    start = {"index": index, "id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    yield chunk({"tool_calls": [start]})
    for piece in part.pieces:
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chat_usage(tokens: Tokens) -> Json:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


# --- OpenAI responses -----------------------------------------------------------------------------


def _responses(say: Say) -> Iterator[bytes]:
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return sse({"type": kind, "sequence_number": number, **fields}, kind)

    yield event("response.created", response={"id": "resp_1", "status": "in_progress", "error": None, "usage": None})
    for index, part in enumerate(say.parts):
        match part:
            case Text():
                yield from _response_text(part, index, event, "refusal" if say.stop == "refusal" else "output_text")
            case Thought():
                yield from _response_thought(part, index, event)
            case Call():
                yield from _response_call(part, index, event)
            case Native():
                yield event("response.output_item.done", output_index=index, item=part.block)
    if say.stop:
        kind = "response.incomplete" if say.stop == "length" else "response.completed"
        details = {"reason": "max_output_tokens"} if say.stop == "length" else None
        usage = {
            "input_tokens": say.tokens.input,
            "input_tokens_details": {"cached_tokens": say.tokens.cached},
            "output_tokens": say.tokens.output,
            "output_tokens_details": {"reasoning_tokens": say.tokens.reasoning},
        }
        yield event(kind, response={"id": "resp_1", "error": None, "incomplete_details": details, "usage": usage})


Event = Callable[..., bytes]


def _response_text(part: Text, index: int, event: Event, kind: str) -> Iterator[bytes]:
    item = {"id": f"msg_{index}", "type": "message", "role": "assistant", "content": []}
    yield event("response.output_item.added", output_index=index, item=item)
    for piece in part.pieces:
        yield event(f"response.{kind}.delta", item_id=item["id"], output_index=index, content_index=0, delta=piece)
    yield event("response.output_item.done", output_index=index, item={**item, "status": "completed"})


def _response_thought(part: Thought, index: int, event: Event) -> Iterator[bytes]:
    item: Json = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
    where = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    yield event("response.output_item.added", output_index=index, item=item)
    yield event("response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""})
    for piece in part.pieces:
        yield event("response.reasoning_summary_text.delta", **where, delta=piece)
    summary = [{"type": "summary_text", "text": "".join(part.pieces)}]
    done = {**item, "summary": summary, "encrypted_content": part.proof, "status": "completed"}
    yield event("response.output_item.done", output_index=index, item=done)


def _response_call(part: Call, index: int, event: Event) -> Iterator[bytes]:
    item = {"id": f"fc_{index}", "type": "function_call", "call_id": part.id, "name": part.name, "arguments": ""}
    yield event("response.output_item.added", output_index=index, item=item)
    for piece in part.pieces:
        yield event("response.function_call_arguments.delta", item_id=item["id"], output_index=index, delta=piece)
    yield event("response.function_call_arguments.done", output_index=index, arguments=part.arguments)
    yield event("response.output_item.done", output_index=index, item={**item, "arguments": part.arguments})


# --- Ollama ---------------------------------------------------------------------------------------


def _ollama(say: Say) -> Iterator[bytes]:
    def line(fields: Json) -> bytes:
        whole = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "new_field": 1, **fields}
        return json.dumps(whole, ensure_ascii=False).encode() + b"\n"

    def message(**fields: Any) -> bytes:
        return line({"message": {"role": "assistant", "content": "", **fields}, "done": False})

    for part in say.parts:
        match part:
            case Text():
                yield from (message(content=piece) for piece in part.pieces)
            case Thought():
                yield from (message(thinking=piece) for piece in part.pieces)
            case Call():
                function = {"index": 0, "name": part.name, "arguments": json.loads(part.arguments)}
                yield message(tool_calls=[{"id": part.id, "function": function}])
            case Native():
                continue
    if say.stop:
        counts = {"prompt_eval_count": say.tokens.input, "eval_count": say.tokens.output, "total_duration": 5}
        end = {"done": True, "done_reason": "length" if say.stop == "length" else "stop"}
        yield line({"message": {"role": "assistant", "content": ""}, **end, **counts})


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini(say: Say) -> Iterator[bytes]:
    usage = {
        "promptTokenCount": say.tokens.input,
        "candidatesTokenCount": say.tokens.output - say.tokens.reasoning,
        "thoughtsTokenCount": say.tokens.reasoning,
        "cachedContentTokenCount": say.tokens.cached,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": say.tokens.input}],
    }

    def chunk(parts: list[Json], **fields: Any) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **fields}
        return sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})

    for part in say.parts:
        match part:
            case Text():
                yield from (chunk([{"text": piece}]) for piece in part.pieces)
            case Thought():
                yield from (chunk([{"text": piece, "thought": True}]) for piece in part.pieces)
            case Call():
                call = {"id": part.id, "name": part.name, "args": json.loads(part.arguments)}
                yield chunk([{"functionCall": call, "thoughtSignature": "c2ln"}])
            case Native():
                yield chunk([part.block])
    words = {"end": "STOP", "tool": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
    if say.stop == "malformed":
        yield chunk([], finishReason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: print(x")
    elif say.stop:
        yield chunk([{"text": ""}], finishReason=words[say.stop])


_WRITERS: dict[Wire, Callable[[Say], Iterator[bytes]]] = {
    "anthropic-compatible": _anthropic,
    "openai-compatible": _chat,
    "openai-responses": _responses,
    "ollama": _ollama,
    "gemini": _gemini,
}
