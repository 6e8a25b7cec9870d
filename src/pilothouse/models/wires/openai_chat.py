"""OpenAI chat completions, the format most servers speak: OpenAI, DeepSeek, OpenRouter, vLLM, LM Studio, llama.cpp."""

from __future__ import annotations

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.native_tools import chat_forms, declared
from pilothouse.models.wire import (
    Unfinished,
    data_url,
    ending,
    host_of,
    introduced,
    joined,
    max_tokens,
    path_of,
    told_error,
    written,
)
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    CallBlock,
    ImageBlock,
    Media,
    Message,
    ModelRequest,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import StopReason, Usage

DEFAULT_BASE = "https://api.openai.com/v1"
_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tool",
    "function_call": "tool",
    "length": "length",
    "content_filter": "refusal",
}
# Fields that a request can do without when a server knows nothing of them.
_OPTIONAL = ("stream_options", "reasoning_effort", "chat_template_kwargs", "reasoning_content", "reasoning", "thinking")


class OpenAIChatWire:
    """Writes and reads chat completions for one model."""

    is_sse = True

    def __init__(self, config: ModelConfig, key: str) -> None:
        base = config.base_url or DEFAULT_BASE
        path = path_of(base)
        tail = "" if path.endswith("/chat/completions") else "/chat/completions" if path else "/v1/chat/completions"
        self.url = joined(base, tail)
        self.headers = {"content-type": "application/json"}
        if key:
            self.headers["authorization"] = f"Bearer {key}"
        self.headers |= config.headers
        self._config = config
        self._host = host_of(base)
        self._cap = "max_completion_tokens" if self._host == "api.openai.com" else "max_tokens"
        self._cap_changed = False
        self._refused: set[str] = set()

    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes."""
        head: JsonObject = {"model": self._config.model, "stream": True, "stream_options": {"include_usage": True}}
        if cap := max_tokens(self._config, request):
            head[self._cap] = cap
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if request.thinking is not None:
            head |= thinking_field(self._host, request.thinking)
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": request.answer_schema, "strict": True}
            head["response_format"] = {"type": "json_schema", "json_schema": schema}
        for fields in declared(self._config, request, chat_forms(self._config.base_url)):
            head |= fields
        if request.tools:
            head["tools"] = [
                {
                    "type": "function",
                    "function": {"name": spec.name, "description": spec.description, "parameters": spec.input_schema},
                }
                for spec in request.tools
            ]
        for name in self._refused:
            head.pop(name, None)
        return written(head, self._config.extra, ("messages", self._messages(request)))

    def reader(self, answer: Answer) -> _Reader:
        """Return a reader for one answer."""
        return _Reader(answer)

    def adapt(self, refusal: str) -> bool:
        """Use the other name for the cap, or leave out an optional field, when the server asks for that."""
        if not self._cap_changed and self._cap in refusal:
            self._cap = "max_tokens" if self._cap == "max_completion_tokens" else "max_completion_tokens"
            self._cap_changed = True
            return True
        for name in _OPTIONAL:
            if name in refusal and name not in self._refused:
                self._refused.add(name)
                return True
        return False

    def _messages(self, request: ModelRequest) -> list[JsonObject]:
        out: list[JsonObject] = []
        if request.system:
            out.append({"role": "system", "content": request.system})
        for message in request.messages:
            if message.role == "user":
                out += _user(message)
            else:
                out.append(self._assistant(message))
        return out

    def _assistant(self, message: Message) -> JsonObject:
        text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
        calls = [
            {
                "id": block.id,
                "type": "function",
                "function": {"name": block.name, "arguments": msgspec.json.encode(block.arguments).decode()},
            }
            for block in message.content
            if isinstance(block, CallBlock)
        ]
        if not calls:
            return {"role": "assistant", "content": text}
        out: JsonObject = {"role": "assistant", "content": text or None}
        # Between a call and its result some servers want the thinking that led to it, under the name they gave it.
        for block in message.content:
            field = (block.opaque or {}).get("field", "") if isinstance(block, ThinkingBlock) else ""
            if isinstance(block, ThinkingBlock) and field and field not in self._refused:
                out[field] = out.get(field, "") + block.text
        out["tool_calls"] = calls
        return out


def thinking_field(host: str, on: bool) -> JsonObject:
    """Return how thinking is switched, which every provider does in its own way."""
    if host.endswith("deepseek.com"):
        return {"thinking": {"type": "enabled" if on else "disabled"}}
    if host.endswith("openrouter.ai"):
        return {"reasoning": {"enabled": on}}
    if host.endswith("openai.com") or host.endswith("openai.azure.com"):
        return {"reasoning_effort": "medium" if on else "none"}
    return {"chat_template_kwargs": {"enable_thinking": on}}


def _user(message: Message) -> list[JsonObject]:
    """Return the results first, each its own message, then what they show and what the person said."""
    out: list[JsonObject] = []
    parts: list[JsonObject] = _shown(message)
    for block in message.content:
        match block:
            case ResultBlock():
                out.append({"role": "tool", "tool_call_id": block.id, "content": block.text})
            case TextBlock():
                parts.append({"type": "text", "text": block.text})
            case ImageBlock():
                url = f"data:{block.media_type};base64,{block.data}"
                parts.append({"type": "image_url", "image_url": {"url": url}})
            case _:
                continue
    if len(parts) == 1 and parts[0]["type"] == "text":
        # Plain text as plain text: some servers know no parts.
        out.append({"role": "user", "content": parts[0]["text"]})
    elif parts:
        out.append({"role": "user", "content": parts})
    return out


def _shown(message: Message) -> list[JsonObject]:
    """Return the pictures and sounds of results, which this format takes from the person only."""
    parts: list[JsonObject] = []
    for block in message.content:
        if isinstance(block, ResultBlock) and block.media:
            parts += [{"type": "text", "text": introduced(block)}, *(_medium(media) for media in block.media)]
    return parts


def _medium(media: Media) -> JsonObject:
    if media.is_image:
        return {"type": "image_url", "image_url": {"url": data_url(media)}}
    kind = "mp3" if media.media_type == "audio/mpeg" else "wav"
    return {"type": "input_audio", "input_audio": {"data": media.data, "format": kind}}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: object = None


class _ToolCall(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | list[JsonObject] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Chunk).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._usage: Usage | None = None
        self._stop: str | None = None
        self._done = False
        # The field that thinking comes in, until its block has ended.
        self._field: str | None = None

    def feed(self, data: bytes) -> None:
        """Take one chunk."""
        try:
            chunk = _decode(data)
        except msgspec.DecodeError:
            if data.strip() != b"[DONE]":
                raise
            self._done = True
            return
        if chunk.error:
            raise told_error(chunk.error)
        if chunk.usage:
            self._usage = _counted(chunk.usage)
        for choice in chunk.choices or ():
            if choice.delta:
                self._delta(choice.delta)
            if choice.finish_reason:
                # A refusal ends with the ordinary word.
                self._stop = self._stop or choice.finish_reason

    def finish(self) -> None:
        """End what is open, add usage and the reason for the end."""
        if self._stop is None and not self._done:
            raise Unfinished
        self._end_thinking()
        for key in self._answer.open_keys():
            self._answer.end(key)
        ending(self._answer, self._usage, _REASONS.get(self._stop or "stop", "other"), self._stop)

    def _delta(self, delta: _Delta) -> None:
        if thought := delta.reasoning_content or delta.reasoning:
            self._field = "reasoning_content" if delta.reasoning_content else "reasoning"
            self._answer.thinking(thought)
        if delta.content:
            self._end_thinking()
            if isinstance(delta.content, str):
                self._answer.text(delta.content)
            else:
                self._parts(delta.content)
        if delta.refusal:
            self._answer.text(delta.refusal)
            self._stop = "content_filter"
        for call in delta.tool_calls or ():
            self._end_thinking()
            self._call(call)

    def _parts(self, parts: list[JsonObject]) -> None:
        """Take content in parts: text, or thinking that is itself made of text parts."""
        for part in parts:
            if isinstance(inner := part.get("thinking"), list):
                self._answer.thinking("".join(str(piece.get("text", "")) for piece in inner if isinstance(piece, dict)))
            elif isinstance(text := part.get("text"), str):
                self._answer.text(text)

    def _call(self, call: _ToolCall) -> None:
        key = call.index or 0
        function = call.function or _Function()
        known = self._answer.open_id(key)
        # Some servers number all parallel calls 0; a new id is a new call.
        if known is None or (call.id and call.id != known):
            if known is not None:
                self._answer.end(key)
            # Pieces of parallel calls may interleave, so an earlier call ends here only if it is complete.
            for other in self._answer.open_keys():
                if self._answer.is_complete(other):
                    self._answer.end(other)
            self._answer.start(key, call.id, function.name or "")
        if function.arguments:
            given = function.arguments
            self._answer.arguments(key, given if isinstance(given, str) else msgspec.json.encode(given).decode())

    def _end_thinking(self) -> None:
        if self._field:
            self._answer.opaque({"field": self._field})
            self._field = None


def _counted(usage: _Usage) -> Usage:
    prompt = usage.prompt_tokens_details or _Details()
    completion = usage.completion_tokens_details or _Details()
    return Usage(
        input=usage.prompt_tokens or 0,
        output=usage.completion_tokens or 0,
        cache_read=prompt.cached_tokens or usage.prompt_cache_hit_tokens or 0,
        reasoning=completion.reasoning_tokens or 0,
    )
