"""The Anthropic Messages format, as Anthropic and the many compatible endpoints speak it.

Cache breakpoints, four at most: the last tool, the system prompt, the end of the newest message of the
person (tool results included), and the end of the one before it. The last is where the previous request
ended, so its cache is found even when the model added more blocks than the provider looks back over.
The marks move from request to request; they are no part of what is cached, and all other bytes stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import ModelLessons, Spare
from pilothouse.models.native_tools import ANTHROPIC, declared
from pilothouse.models.pictures import pictures_aside
from pilothouse.models.wire import (
    Wire,
    host_of,
    introduced,
    joined,
    native_for,
    own,
    own_limit,
    path_of,
    within,
    written,
)
from pilothouse.models.wire_table import ANTHROPIC as WIRE
from pilothouse.models.wire_table import WireMedia
from pilothouse.models.wires.anthropic_reader import AnthropicReader
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object
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

_HOST = "api.anthropic.com"
_VERSION = "2023-06-01"
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_MARK: JsonObject = {"type": "ephemeral"}
# How DeepSeek says that it wants the thinking before a call back, and what stands for thinking that there was not.
_WANTS_THINKING = "missing.thinking"
_MISSING_THINKING = r"\bthinking\W.{0,40}must be passed back"
_THINKS_LATER = "The model does not think first yet: this answer began without thinking, and goes on like that."
_NO_THINKING: JsonObject = {"type": "thinking", "thinking": " ", "signature": ""}


class AnthropicWire(Wire):
    """Writes and reads the Messages format for one model."""

    is_sse = True
    media = WireMedia(image_bytes=limits.ANTHROPIC_IMAGE_BYTES)
    spares = (
        Spare(_WANTS_THINKING, missed=_MISSING_THINKING),
        # Compatible endpoints may know nothing of this field; then arguments arrive all at once.
        Spare("eager_input_streaming", anywhere=True),
        Spare("cache_control", anywhere=True),
        Spare("temperature"),
        Spare("max_tokens"),
        # Newer models decide themselves how much to think and refuse a budget.
        Spare("thinking.type", also=("adaptive",), values=("enabled", "adaptive", "disabled")),
        Spare("thinking"),
    )

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        base = config.base_url
        path = path_of(base)
        tail = "" if path.endswith("/messages") else "/messages" if path.endswith("/v1") else "/v1/messages"
        super().__init__(config, joined(base, tail), {"anthropic-version": _VERSION, **_key(base, key)}, lessons)
        # Claude signs all that it thinks; what others think may be unsigned, and goes back to them like that.
        self._signs = host_of(base) == _HOST or "claude" in config.model.lower()

    def body(self, request: ModelRequest) -> bytes:
        config = self._config
        if self._cannot_think(request):
            request = msgspec.structs.replace(request, thinking=None)
        head: JsonObject = {"model": config.model, "stream": True}
        head["max_tokens"] = self._longest(request)
        if request.thinking is not None and (thinking := self._thinking(request.thinking)):
            head["thinking"] = thinking
        # With thinking on, the provider takes no temperature but its own.
        if request.temperature is not None and not request.thinking:
            head["temperature"] = request.temperature
        if request.answer_schema is not None:
            head["output_config"] = {"format": {"type": "json_schema", "schema": request.answer_schema}}
        if tools := self._tools(request):
            head["tools"] = tools
        if place := _container(request.messages):
            head["container"] = place
        if request.system:
            head["system"] = [{"type": "text", "text": request.system, **self._mark()}]
        messages = _messages(pictures_aside(request.messages))
        if self.lessons.has(_WANTS_THINKING):
            _think_before_calls(messages)
        self._mark_ends(messages)
        return written(self.lessons.applied(head), config.extra, ("messages", messages))

    def left_out(self, request: ModelRequest) -> str:
        """Return one sentence where thinking is wanted in the middle of an answer that began without."""
        return _THINKS_LATER if self._cannot_think(request) else ""

    def _cannot_think(self, request: ModelRequest) -> bool:
        """Return whether thinking would be refused: Claude begins with it, or does without it until the answer ends."""
        if not request.thinking or not self._signs or self.lessons.pick("thinking.type", "enabled") is None:
            return False
        recent = request.messages[len(request.messages) - _under_way(request.messages) :]
        kinds = {part["type"] for message in recent for block in message.content if (part := _part(block))}
        return "tool_use" in kinds and kinds.isdisjoint({"thinking", "redacted_thinking"})

    def reader(self, answer: Answer) -> AnthropicReader:
        return AnthropicReader(answer, signs=self._signs)

    def _longest(self, request: ModelRequest) -> int:
        """Return how long the answer may be with its thinking: as is asked for, else as long as the model's can be."""
        own, asked = own_limit(self._config), request.max_tokens or self._config.max_tokens
        if asked is None:
            return within(request, own or limits.DEFAULT_MAX_TOKENS)
        longest = asked + limits.THINKING_TOKENS if request.thinking else asked
        return within(request, min(longest, own) if own else longest)

    def _thinking(self, on: bool) -> JsonObject | None:
        kind = self.lessons.pick("thinking.type", *(("enabled", "adaptive") if on else ("disabled",)))
        if kind is None:
            return None
        return {"type": kind, **({"budget_tokens": limits.THINKING_TOKENS} if kind == "enabled" else {})}

    def _mark(self) -> JsonObject:
        return {} if self.lessons.has("cache_control") else {"cache_control": _MARK}

    def _mark_ends(self, messages: list[JsonObject]) -> None:
        """Mark the ends of the person's last two messages as breakpoints."""
        for message in [message for message in messages if message["role"] == "user"][-2:]:
            message["content"][-1] |= self._mark()

    def _tools(self, request: ModelRequest) -> list[JsonObject]:
        tools: list[JsonObject] = [dict(form) for form in declared(self._config, request, ANTHROPIC)]
        for spec in request.tools:
            tool: JsonObject = {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
            if not self.lessons.has("eager_input_streaming"):
                tool["eager_input_streaming"] = True
            tools.append(tool)
        if tools:
            tools[-1] |= self._mark()
        return tools


def _key(base: str, key: str) -> dict[str, str]:
    """Return the key's headers: compatible endpoints want one or the other, Anthropic only its own."""
    if not key:
        return {}
    if host_of(base) == _HOST:
        return {"x-api-key": key}
    return {"x-api-key": key, "authorization": f"Bearer {key}"}


def _under_way(messages: Sequence[Message]) -> int:
    """Return how many of the last messages belong to the answer that is under way: those since the person spoke."""
    count = 0
    for message in reversed(messages):
        if message.role == "user" and any(not isinstance(block, ResultBlock) for block in message.content):
            break
        count += 1
    return count


def _container(messages: Sequence[Message]) -> str | None:
    """Return where the provider runs the code of the answer that is under way: what is pending there is found by it."""
    recent = messages[len(messages) - _under_way(messages) :]
    blocks = [block for message in recent for block in message.content if isinstance(block, NativeBlock)]
    places = [kept["container"] for block in blocks if "container" in (kept := native_for(WIRE, block.raw) or {})]
    return str(places[-1]) if places else None


def _messages(messages: Sequence[Message]) -> list[JsonObject]:
    out: list[JsonObject] = []
    over = len(messages) - _under_way(messages)
    contents = [[part for block in message.content if (part := _part(block))] for message in messages]
    answered = {str(part["tool_use_id"]) for content in contents for part in content if "tool_use_id" in part}
    for number, (message, parts) in enumerate(zip(messages, contents, strict=True)):
        content = [part for part in parts if number >= over or not _is_pending(part, answered)]
        results = [part for part in content if part["type"] == "tool_result"]
        others = [part for part in content if part["type"] != "tool_result"]
        # The provider wants results first.
        if content := [*results, *_beside(message), *others]:
            out.append({"role": message.role, "content": content})
    return out


def _think_before_calls(messages: list[JsonObject]) -> None:
    """Have each answer with calls begin with thinking: calls that another model made have none."""
    for message in messages:
        kinds = {part["type"] for part in message["content"]}
        if "tool_use" in kinds and kinds.isdisjoint({"thinking", "redacted_thinking"}):
            message["content"].insert(0, _NO_THINKING)


def _is_pending(part: JsonObject, answered: set[str]) -> bool:
    """Return whether a part calls a tool of the provider's own that gave nothing: once all was said it is refused."""
    return str(part["type"]).endswith("_tool_use") and str(part.get("id")) not in answered


def _beside(message: Message) -> list[JsonObject]:
    """Return the pictures of failed calls: the provider takes only text in a result that is an error."""
    failed = [block for block in message.content if isinstance(block, ResultBlock) and block.is_error and block.media]
    return [part for block in failed for part in (_text(introduced(block)), *_pictures(block))]


def _part(block: Block) -> JsonObject | None:
    match block:
        case TextBlock():
            # The provider refuses empty text.
            return {**_text(block.text), **_more(block.opaque)} if block.text else None
        case ImageBlock():
            return _picture(block)
        case ThinkingBlock():
            return _thought(block)
        case CallBlock():
            call = {"type": "tool_use", "id": _id(block.id), "name": block.name, "input": block.arguments}
            return {**call, **_more(block.opaque)}
        case ResultBlock():
            return _result(block)
        case NativeBlock():
            kept = native_for(WIRE, block.raw)
            return kept if kept is not None and "type" in kept else None


def _more(opaque: JsonObject | None) -> JsonObject:
    """Return what else the provider said of a block: its citations, who made a call, and what we know nothing of."""
    return an_object(own(WIRE, opaque).get("more"))


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
    opaque = own(WIRE, block.opaque)
    if "redacted" in opaque:
        return {"type": "redacted_thinking", "data": opaque["redacted"]}
    if "signature" not in opaque and "thinking" not in opaque:
        return None
    thought = {"type": "thinking", "thinking": opaque.get("thinking", block.text)}
    signature = {"signature": opaque["signature"]} if "signature" in opaque else {}
    return {**thought, **signature, **_more(opaque)}


ADAPTER = AnthropicWire
