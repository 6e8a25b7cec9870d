"""OpenAI responses: nothing is stored with the provider; its reasoning travels encrypted and is replayed as given."""

from __future__ import annotations

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.native_tools import OPENAI_RESPONSES, declared
from pilothouse.models.wire import (
    Unfinished,
    data_url,
    ending,
    joined,
    max_tokens,
    native,
    native_for,
    path_of,
    told_error,
    written,
)
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    NativeBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import NativeDelta, StopReason, Usage

DEFAULT_BASE = "https://api.openai.com/v1"
_REASONS: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "refusal"}


class OpenAIResponsesWire:
    """Writes and reads `/responses` for one model."""

    is_sse = True

    def __init__(self, config: ModelConfig, key: str) -> None:
        base = config.base_url or DEFAULT_BASE
        path = path_of(base)
        self.url = joined(base, "" if path.endswith("/responses") else "/responses" if path else "/v1/responses")
        self.headers = {"content-type": "application/json"}
        if key:
            self.headers["authorization"] = f"Bearer {key}"
        self.headers |= config.headers
        self._config = config
        self._refused: set[str] = set()

    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes."""
        head: JsonObject = {"model": self._config.model, "stream": True, "store": False}
        if "include" not in self._refused:
            head["include"] = ["reasoning.encrypted_content"]
        if cap := max_tokens(self._config, request):
            head["max_output_tokens"] = cap
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if request.thinking is not None and "reasoning" not in self._refused:
            head["reasoning"] = self._reasoning(request.thinking)
        if request.answer_schema is not None:
            schema = {"type": "json_schema", "name": "answer", "schema": request.answer_schema, "strict": True}
            head["text"] = {"format": schema}
        if tools := self._tools(request):
            head["tools"] = tools
        if request.system:
            head["instructions"] = request.system
        items = [item for message in request.messages for item in _items(message)]
        return written(head, self._config.extra, ("input", items))

    def reader(self, answer: Answer) -> _Reader:
        """Return a reader for one answer."""
        return _Reader(answer)

    def adapt(self, refusal: str) -> bool:
        """Leave out what the model cannot give: encrypted reasoning, a summary of it, or reasoning at all."""
        words = refusal.lower()
        for name, sign in (("include", "encrypted"), ("summary", "summary"), ("reasoning", "reasoning")):
            if sign in words and name not in self._refused:
                self._refused.add(name)
                return True
        return False

    def _tools(self, request: ModelRequest) -> list[JsonObject]:
        functions = [
            {
                "type": "function",
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.input_schema,
                # Strict is this API's default, and it rewrites schemas.
                "strict": False,
            }
            for spec in request.tools
        ]
        return [*declared(self._config, request, OPENAI_RESPONSES), *functions]

    def _reasoning(self, on: bool) -> JsonObject:
        if not on:
            return {"effort": "none"}
        return {"effort": "medium"} if "summary" in self._refused else {"effort": "medium", "summary": "auto"}


def _items(message: Message) -> list[JsonObject]:
    """Return a message as input items; neighbouring text and images share one."""
    out: list[JsonObject] = []
    parts: list[JsonObject] = []
    for block in message.content:
        if isinstance(block, TextBlock | ImageBlock):
            if not parts:
                out.append({"role": message.role, "content": parts})
            parts.append(_part(message.role, block))
        elif item := _item(block):
            parts = []
            out.append(item)
    return out


def _part(role: str, block: TextBlock | ImageBlock) -> JsonObject:
    if isinstance(block, ImageBlock):
        return {"type": "input_image", "image_url": f"data:{block.media_type};base64,{block.data}"}
    return {"type": "input_text" if role == "user" else "output_text", "text": block.text}


def _item(block: Block) -> JsonObject | None:
    match block:
        case CallBlock():
            arguments = msgspec.json.encode(block.arguments).decode()
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        case ResultBlock():
            return {"type": "function_call_output", "call_id": block.id, "output": _output(block)}
        case ThinkingBlock():
            item = (block.opaque or {}).get("item")
            return item if isinstance(item, dict) else None
        case NativeBlock():
            return native_for("openai-responses", block.raw)
        case _:
            return None


def _output(block: ResultBlock) -> str | list[JsonObject]:
    if not block.media:
        return block.text
    images = [{"type": "input_image", "image_url": data_url(media)} for media in block.media]
    return [{"type": "input_text", "text": block.text}, *images]


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    usage: _Usage | None = None
    error: object = None
    incomplete_details: _Incomplete | None = None


class _Event(msgspec.Struct):
    type: str = ""
    delta: str | None = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int = 0
    item: JsonObject | None = None
    response: _Response | None = None
    error: object = None
    code: object = None
    message: str | None = None

    @property
    def key(self) -> object:
        """Return what tells items apart: their place, or their id where a server gives no place."""
        return self.output_index if self.output_index is not None else self.item_id or (self.item or {}).get("id")


_decode = msgspec.json.Decoder(_Event).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._streamed: set[object] = set()
        self._usage: Usage | None = None
        self._refused = False
        self._end: tuple[StopReason, str] | None = None

    def feed(self, data: bytes) -> None:
        """Take one event."""
        if data.strip() == b"[DONE]":
            return
        event = _decode(data)
        match event.type:
            case "response.output_text.delta":
                self._answer.text(event.delta or "")
            case "response.function_call_arguments.delta":
                self._streamed.add(event.key)
                self._answer.arguments(event.key, event.delta or "")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._answer.thinking(event.delta or "")
            case "response.reasoning_summary_part.added":
                if event.summary_index:
                    self._answer.thinking("\n\n")
            case "response.refusal.delta":
                self._refused = True
                self._answer.text(event.delta or "")
            case "response.output_item.added" | "response.output_item.done":
                self._item(event, event.item or {})
            case _:
                self._state(event)

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        if self._end is None:
            raise Unfinished
        reason, raw = self._end
        ending(self._answer, self._usage, "refusal" if self._refused else reason, raw)

    def _item(self, event: _Event, item: JsonObject) -> None:
        done = event.type.endswith("done")
        match item.get("type"):
            case "function_call":
                self._call(event.key, item, done)
            case "reasoning" if done:
                # The status is the server's business and refused when it comes back.
                kept = {name: value for name, value in item.items() if name != "status"}
                self._answer.opaque({"item": kept})
            case "message" | "reasoning" | None:
                return
            case _ if done:
                self._answer.add(NativeDelta(native("openai-responses", item)))

    def _call(self, key: object, item: JsonObject, done: bool) -> None:
        if self._answer.open_id(key) is None:
            self._answer.start(key, item.get("call_id"), str(item.get("name", "")))
        if done:
            if key not in self._streamed:
                self._answer.arguments(key, str(item.get("arguments") or ""))
            self._answer.end(key)

    def _state(self, event: _Event) -> None:
        """Take what is said about the answer as a whole."""
        response = event.response or _Response()
        if event.type == "response.failed" or event.error:
            raise told_error(event.error or response.error or "the response failed")
        if event.type == "error":
            raise told_error({"message": event.message, "code": event.code})
        if event.type in ("response.completed", "response.incomplete"):
            self._usage = _counted(response.usage)
            why = (response.incomplete_details.reason if response.incomplete_details else None) or ""
            default: StopReason = "end" if event.type == "response.completed" else "other"
            self._end = (_REASONS.get(why, default), why or event.type.removeprefix("response."))


def _counted(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input=usage.input_tokens or 0,
        output=usage.output_tokens or 0,
        cache_read=(usage.input_tokens_details or _Details()).cached_tokens or 0,
        reasoning=(usage.output_tokens_details or _Details()).reasoning_tokens or 0,
    )
