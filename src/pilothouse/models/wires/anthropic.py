"""The Anthropic Messages format, as Anthropic and the many compatible endpoints speak it.

Cache breakpoints, four at most: the last tool, the system prompt, the end of the newest message of the
person (tool results included), and the end of the one before it. The last is where the previous request
ended, so its cache is found even when the model added more blocks than the provider looks back over.
The marks move from request to request; they are no part of what is cached, and all other bytes stay.
"""

from __future__ import annotations

import re

import msgspec

from pilothouse.models.answer import Answer, parsed
from pilothouse.models.native_tools import ANTHROPIC, declared
from pilothouse.models.wire import (
    Unfinished,
    ending,
    host_of,
    introduced,
    joined,
    max_tokens,
    native,
    native_for,
    path_of,
    told_error,
    written,
)
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Media,
    Message,
    ModelRequest,
    NativeBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import NativeDelta, StopReason, Usage

DEFAULT_BASE = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_MARK: JsonObject = {"type": "ephemeral"}
_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "other",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicWire:
    """Writes and reads the Messages format for one model."""

    is_sse = True

    def __init__(self, config: ModelConfig, key: str) -> None:
        base = config.base_url or DEFAULT_BASE
        path = path_of(base)
        self.url = joined(
            base, "" if path.endswith("/messages") else "/messages" if path.endswith("/v1") else "/v1/messages"
        )
        self.headers = {"content-type": "application/json", "anthropic-version": _VERSION, **_key(base, key)}
        self.headers |= config.headers
        self._config = config
        # Compatible endpoints may know nothing of this field; then arguments arrive all at once.
        self._eager = True
        # Newer models decide themselves how much to think and refuse a budget.
        self._adaptive = False

    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes."""
        config = self._config
        head: JsonObject = {"model": config.model, "stream": True}
        answer_tokens = max_tokens(config, request) or limits.DEFAULT_MAX_TOKENS
        head["max_tokens"] = answer_tokens
        if request.thinking:
            head["thinking"] = self._thinking()
            head["max_tokens"] = answer_tokens + limits.THINKING_TOKENS
        elif request.thinking is False:
            head["thinking"] = {"type": "disabled"}
        # With thinking on, the provider takes no temperature but its own.
        if request.temperature is not None and not request.thinking:
            head["temperature"] = request.temperature
        if request.answer_schema is not None:
            head["output_config"] = {"format": {"type": "json_schema", "schema": request.answer_schema}}
        if tools := self._tools(request):
            head["tools"] = tools
        if request.system:
            head["system"] = [{"type": "text", "text": request.system, "cache_control": _MARK}]
        return written(head, config.extra, ("messages", _marked(_messages(request.messages))))

    def reader(self, answer: Answer) -> _Reader:
        """Return a reader for one answer."""
        return _Reader(answer)

    def adapt(self, refusal: str) -> bool:
        """Leave out eager streaming, or let the model set its thinking, when the provider asks for that."""
        if self._eager and "eager_input_streaming" in refusal:
            self._eager = False
            return True
        if not self._adaptive and "adaptive" in refusal:
            self._adaptive = True
            return True
        return False

    def _thinking(self) -> JsonObject:
        if self._adaptive:
            return {"type": "adaptive"}
        return {"type": "enabled", "budget_tokens": limits.THINKING_TOKENS}

    def _tools(self, request: ModelRequest) -> list[JsonObject]:
        tools: list[JsonObject] = [dict(form) for form in declared(self._config, request, ANTHROPIC)]
        for spec in request.tools:
            tool: JsonObject = {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
            if self._eager:
                tool["eager_input_streaming"] = True
            tools.append(tool)
        if tools:
            tools[-1]["cache_control"] = _MARK
        return tools


def _key(base: str, key: str) -> dict[str, str]:
    """Return the key's headers: compatible endpoints want one or the other, Anthropic only its own."""
    if not key:
        return {}
    if host_of(base) == "api.anthropic.com":
        return {"x-api-key": key}
    return {"x-api-key": key, "authorization": f"Bearer {key}"}


def _messages(messages: tuple[Message, ...]) -> list[JsonObject]:
    out: list[JsonObject] = []
    for message in messages:
        content = [part for block in message.content if (part := _part(block))]
        results = [part for part in content if part["type"] == "tool_result"]
        others = [part for part in content if part["type"] != "tool_result"]
        # The provider wants results first.
        if content := [*results, *_beside(message), *others]:
            out.append({"role": message.role, "content": content})
    return out


def _beside(message: Message) -> list[JsonObject]:
    """Return the pictures of failed calls: the provider takes only text in a result that is an error."""
    failed = [block for block in message.content if isinstance(block, ResultBlock) and block.is_error and block.media]
    return [part for block in failed for part in (_text(introduced(block)), *_pictures(block))]


def _part(block: Block) -> JsonObject | None:
    match block:
        case TextBlock(text=text):
            # The provider refuses empty text.
            return _text(text) if text else None
        case ImageBlock():
            return _picture(block)
        case ThinkingBlock():
            return _thought(block)
        case CallBlock():
            return {"type": "tool_use", "id": _id(block.id), "name": block.name, "input": block.arguments}
        case ResultBlock():
            return _result(block)
        case NativeBlock():
            return native_for("anthropic", block.raw)


def _result(block: ResultBlock) -> JsonObject:
    result: JsonObject = {"type": "tool_result", "tool_use_id": _id(block.id), "content": block.text}
    if block.is_error:
        return {**result, "is_error": True}
    if block.media:
        result["content"] = [*([_text(block.text)] if block.text else []), *_pictures(block)]
    return result


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _pictures(block: ResultBlock) -> list[JsonObject]:
    return [_picture(media) for media in block.media]


def _picture(image: ImageBlock | Media) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _id(call: str) -> str:
    """Return a call's id in the letters this provider takes; other providers use more."""
    return _NOT_IN_IDS.sub("_", call)


def _thought(block: ThinkingBlock) -> JsonObject | None:
    """Return thinking with its proof; without one (or with another provider's) it would be refused.

    The signed words travel inside the proof: what is shown of them may have been joined or masked since.
    """
    opaque = block.opaque or {}
    if "redacted" in opaque:
        return {"type": "redacted_thinking", "data": opaque["redacted"]}
    if "signature" in opaque:
        return {"type": "thinking", "thinking": opaque.get("thinking", block.text), "signature": opaque["signature"]}
    return None


def _marked(messages: list[JsonObject]) -> list[JsonObject]:
    """Mark the ends of the person's last two messages as breakpoints."""
    for message in [message for message in messages if message["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = _MARK
    return messages


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: JsonObject | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Event).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        # What kind each open block is, and for the provider's own kinds what came of it.
        self._kinds: dict[int, str] = {}
        self._native: dict[int, tuple[JsonObject, list[str]]] = {}
        self._thoughts: dict[int, list[str]] = {}
        self._signatures: dict[int, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._stop: str | None = None
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Take one event."""
        event = _decode(data)
        match event.type:
            case "content_block_delta":
                if event.delta:
                    self._delta(event.index, event.delta)
            case "content_block_start":
                self._begin(event.index, event.content_block or {})
            case "content_block_stop":
                self._end(event.index)
            case "message_start":
                self._count(event.message.usage if event.message else None)
            case "message_delta":
                self._count(event.usage)
                self._stop = (event.delta.stop_reason if event.delta else None) or self._stop
            case "message_stop":
                self._ended = True
            case "error":
                raise told_error(event.error)

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        if self._stop is None and not self._ended:
            raise Unfinished
        reason = _REASONS.get(self._stop or "end_turn", "other")
        ending(self._answer, self._usage(), reason, self._stop)

    def _delta(self, index: int, delta: _Delta) -> None:
        if delta.text:
            self._answer.text(delta.text)
        elif delta.thinking:
            self._think(index, delta.thinking)
        elif delta.partial_json:
            if self._kinds.get(index) == "tool_use":
                self._answer.arguments(index, delta.partial_json)
            elif index in self._native:
                self._native[index][1].append(delta.partial_json)
        elif delta.signature:
            self._signatures.setdefault(index, []).append(delta.signature)

    def _think(self, index: int, piece: str) -> None:
        self._thoughts.setdefault(index, []).append(piece)
        self._answer.thinking(piece)

    def _begin(self, index: int, block: JsonObject) -> None:
        kind = self._kinds[index] = str(block.get("type", ""))
        match kind:
            case "tool_use":
                self._answer.start(index, block.get("id"), str(block.get("name", "")))
                # Some compatible endpoints send the input whole, here.
                if given := block.get("input"):
                    self._answer.arguments(index, msgspec.json.encode(given).decode())
            case "text":
                if text := block.get("text"):
                    self._answer.text(text)
            case "thinking":
                if text := block.get("thinking"):
                    self._think(index, text)
                if signature := block.get("signature"):
                    self._signatures[index] = [signature]
            case "redacted_thinking":
                self._answer.opaque({"redacted": block.get("data", "")})
            case _:
                self._native[index] = (block, [])

    def _end(self, index: int) -> None:
        kind = self._kinds.pop(index, "")
        if kind == "tool_use":
            self._answer.end(index)
        elif signature := self._signatures.pop(index, None):
            words = "".join(self._thoughts.pop(index, ()))
            self._answer.opaque({"thinking": words, "signature": "".join(signature)})
        elif index in self._native:
            block, pieces = self._native.pop(index)
            if pieces:
                block = {**block, "input": parsed("".join(pieces)) or {}}
            self._answer.add(NativeDelta(native("anthropic", block)))

    def _count(self, usage: _Usage | None) -> None:
        if usage:
            for name in usage.__struct_fields__:
                if (value := getattr(usage, name)) is not None:
                    self._counts[name] = value

    def _usage(self) -> Usage | None:
        if not self._counts:
            return None
        read = self._counts.get("cache_read_input_tokens", 0)
        write = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input=self._counts.get("input_tokens", 0) + read + write,
            output=self._counts.get("output_tokens", 0),
            cache_read=read,
            cache_write=write,
        )
