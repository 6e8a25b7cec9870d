"""Ollama's own chat format: lines of JSON, tool calls whole, and a window that must be asked for."""

from __future__ import annotations

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import ModelLessons, Spare
from pilothouse.models.pictures import pictures_aside
from pilothouse.models.wire import (
    Unfinished,
    Wire,
    bearer,
    count,
    ending,
    functions,
    joined,
    max_tokens,
    path_of,
    told_error,
    written,
)
from pilothouse.models.wire_table import WireMedia
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Usage


class OllamaWire(Wire):
    """Writes and reads `/api/chat` for one model."""

    is_sse = False
    media = WireMedia(images=("image/png", "image/jpeg"), image_bytes=limits.OLLAMA_IMAGE_BYTES)
    spares = (Spare("think", also=("thinking",)), Spare("options.temperature"))

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        base = config.base_url
        path = path_of(base)
        tail = "" if path.endswith("/api/chat") else "/chat" if path.endswith("/api") else "/api/chat"
        super().__init__(config, joined(base, tail), bearer(key), lessons)

    def body(self, request: ModelRequest) -> bytes:
        # Without num_ctx the server uses a small window and drops the beginning without a word.
        options: JsonObject = {"num_ctx": self._config.context_window}
        if cap := max_tokens(self._config, request):
            options["num_predict"] = cap
        if request.temperature is not None:
            options["temperature"] = request.temperature
        head: JsonObject = {"model": self._config.model, "stream": True, "options": options}
        if request.thinking is not None:
            head["think"] = request.thinking
        if request.answer_schema is not None:
            head["format"] = request.answer_schema
        if request.tools:
            head["tools"] = functions(request)
        messages: list[JsonObject] = [{"role": "system", "content": request.system}] if request.system else []
        for message in pictures_aside(request.messages):
            messages += _written(message)
        return written(self.lessons.applied(head), self._config.extra, ("messages", messages))

    def reader(self, answer: Answer) -> _Reader:
        return _Reader(answer)


def _written(message: Message) -> list[JsonObject]:
    """Return the results first, each its own message, then the rest of the message."""
    content = message.content
    out = [_result(block) for block in content if isinstance(block, ResultBlock)]
    # One text for each message: what the person said and a reminder before it must not run together.
    between = "\n\n" if message.role == "user" else ""
    text = between.join(block.text for block in content if isinstance(block, TextBlock))
    main: JsonObject = {"role": message.role, "content": text}
    if images := [block.data for block in content if isinstance(block, ImageBlock)]:
        main["images"] = images
    if calls := [block for block in content if isinstance(block, CallBlock)]:
        # The thinking that led to a call belongs to it; that of a finished answer is not replayed.
        main["thinking"] = "".join(block.text for block in content if isinstance(block, ThinkingBlock))
        main["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    if text or len(main) > 2:
        out.append(main)
    return out


def _result(block: ResultBlock) -> JsonObject:
    result: JsonObject = {"role": "tool", "tool_name": block.name, "tool_call_id": block.id, "content": block.text}
    if block.media:
        result["images"] = [media.data for media in block.media]
    return result


class _Function(msgspec.Struct):
    name: str = ""
    arguments: object = None


class _ToolCall(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Line(msgspec.Struct):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: object = None
    eval_count: object = None
    error: object = None


_decode = msgspec.json.Decoder(_Line).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._last: _Line | None = None

    def feed(self, data: bytes) -> None:
        """Take one line."""
        line = _decode(data)
        if line.error:
            raise told_error(line.error)
        if message := line.message:
            if message.thinking:
                self._answer.thinking(message.thinking)
            if message.content:
                self._answer.text(message.content)
            for call in message.tool_calls or ():
                self._answer.whole(call.id, call.function.name, call.function.arguments)
        if line.done:
            self._last = line

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        last = self._last
        if last is None:
            raise Unfinished
        usage = Usage(input=count(last.prompt_eval_count), output=count(last.eval_count))
        ending(self._answer, usage, "length" if last.done_reason == "length" else "end", last.done_reason)


ADAPTER = OllamaWire
