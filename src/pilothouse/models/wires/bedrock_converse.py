"""Bedrock's Converse format, which all models there that stream have in common; Claude has its own way beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import ModelLessons, Spare
from pilothouse.models.pictures import pictures_aside
from pilothouse.models.wire import Unfinished, Wire, bearer, ending, joined, max_tokens, own, proof, told_error, written
from pilothouse.models.wire_table import WireMedia
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.messages import (
    Block,
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
from pilothouse.types.stream import Cited, StopReason, Usage

WIRE = "bedrock-converse"
_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "malformed_model_output": "malformed",
    "malformed_tool_use": "malformed",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_.:-]")
_ID_CHARS = 64
# The only ones that are told whether a call failed.
_TOLD_STATUS = re.compile(r"claude|nova")
_NOTHING = "(nothing)"


class BedrockConverseWire(Wire):
    """Writes and reads the Converse stream for one model."""

    is_sse = False
    media = WireMedia(image_bytes=limits.ANTHROPIC_IMAGE_BYTES)
    spares = (Spare("inferenceConfig.temperature", also=("temperature",)), Spare("outputConfig"))

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        url = joined(config.base_url, f"/model/{quote(config.model, safe='')}/converse-stream")
        super().__init__(config, url, bearer(key), lessons)
        self._status = bool(_TOLD_STATUS.search(config.model))

    def body(self, request: ModelRequest) -> bytes:
        head: JsonObject = {}
        if request.system.strip():
            head["system"] = [{"text": request.system}]
        options: JsonObject = {}
        if cap := max_tokens(self._config, request):
            options["maxTokens"] = cap
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if options:
            head["inferenceConfig"] = options
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": encode_text(request.answer_schema)}
            head["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
        if tools := _tools(request):
            head["toolConfig"] = {"tools": tools}
        return written(
            self.lessons.applied(head),
            self._config.extra,
            ("messages", self._messages(pictures_aside(request.messages))),
        )

    def reader(self, answer: Answer) -> _Reader:
        return _Reader(answer)

    def _messages(self, messages: Sequence[Message]) -> list[JsonObject]:
        out: list[JsonObject] = []
        for message in messages:
            content = [part for block in message.content if (part := self._part(block))]
            if out and content and out[-1]["role"] == message.role:
                # Two of the same side in a row are refused.
                out[-1]["content"] += content
            elif content:
                out.append({"role": message.role, "content": content})
        return out

    def _part(self, block: Block) -> JsonObject | None:
        match block:
            case TextBlock():
                return {"text": block.text} if block.text.strip() else None
            case ImageBlock():
                return _picture(block)
            case ThinkingBlock():
                return _thought(block)
            case CallBlock():
                return {"toolUse": {"toolUseId": _id(block.id), "name": block.name, "input": block.arguments}}
            case ResultBlock():
                return self._result(block)
            case _:
                return None

    def _result(self, block: ResultBlock) -> JsonObject:
        content = [{"text": block.text}] if block.text.strip() else []
        content += [_picture(media) for media in block.media if media.is_image]
        result: JsonObject = {"toolUseId": _id(block.id), "content": content or [{"text": _NOTHING}]}
        if block.is_error and self._status:
            result["status"] = "error"
        return {"toolResult": result}


def _tools(request: ModelRequest) -> list[JsonObject]:
    """Return the tools; calls in the past need a declaration even where none may be made."""
    tools = [_tool(spec.name, spec.description, spec.input_schema) for spec in request.tools]
    if tools:
        return tools
    called = (block for message in request.messages for block in message.content if isinstance(block, CallBlock))
    return [_tool(name, "", {"type": "object"}) for name in dict.fromkeys(call.name for call in called)]


def _tool(name: str, description: str, schema: JsonObject) -> JsonObject:
    told = {"description": description} if description.strip() else {}
    return {"toolSpec": {"name": name, **told, "inputSchema": {"json": schema}}}


def _picture(image: ImageBlock | Media) -> JsonObject:
    return {"image": {"format": image.media_type.removeprefix("image/"), "source": {"bytes": image.data}}}


def _thought(block: ThinkingBlock) -> JsonObject | None:
    """Return thinking with its proof; models that give none refuse to be told their thoughts."""
    opaque = own(WIRE, block.opaque) if block.opaque and "wire" in block.opaque else {}
    if "redacted" in opaque:
        return {"reasoningContent": {"redactedContent": opaque["redacted"]}}
    if "signature" in opaque:
        text = {"text": opaque.get("thinking", block.text), "signature": opaque["signature"]}
        return {"reasoningContent": {"reasoningText": text}}
    return None


def _id(call: str) -> str:
    return _NOT_IN_IDS.sub("_", call)[-_ID_CHARS:]


class _ToolStart(msgspec.Struct, rename="camel"):
    tool_use_id: str = ""
    name: str = ""


class _Start(msgspec.Struct, rename="camel"):
    tool_use: _ToolStart | None = None


class _ToolDelta(msgspec.Struct):
    input: str = ""


class _Reasoning(msgspec.Struct, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _Quote(msgspec.Struct):
    text: str = ""


class _Citation(msgspec.Struct, rename="camel"):
    title: str = ""
    source: str = ""
    source_content: list[_Quote] = []
    location: dict[str, JsonObject] = {}


class _Delta(msgspec.Struct, rename="camel"):
    text: str | None = None
    tool_use: _ToolDelta | None = None
    reasoning_content: _Reasoning | None = None
    citation: _Citation | None = None


class _Block(msgspec.Struct, rename="camel"):
    content_block_index: int = 0
    start: _Start | None = None
    delta: _Delta | None = None


class _Stop(msgspec.Struct, rename="camel"):
    stop_reason: str = ""


class _Counts(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0


class _Metadata(msgspec.Struct):
    usage: _Counts | None = None


class _Event(msgspec.Struct, rename="camel"):
    content_block_start: _Block | None = None
    content_block_delta: _Block | None = None
    content_block_stop: _Block | None = None
    message_stop: _Stop | None = None
    metadata: _Metadata | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Event).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        # What each open block is: a call, text, or thinking with the pieces of its words and of its proof.
        self._kinds: dict[int, str] = {}
        self._thought: list[str] = []
        self._signature: list[str] = []
        self._usage: Usage | None = None
        self._stop: str | None = None

    def feed(self, data: bytes) -> None:
        """Take one event."""
        event = _decode(data)
        if event.error:
            raise told_error(event.error)
        if (block := event.content_block_delta) and block.delta:
            self._delta(block.content_block_index, block.delta)
        elif (block := event.content_block_start) and block.start and (call := block.start.tool_use):
            self._kinds[block.content_block_index] = "call"
            self._answer.start(block.content_block_index, call.tool_use_id, call.name)
        elif block := event.content_block_stop:
            self._end(block.content_block_index)
        elif event.message_stop:
            self._stop = event.message_stop.stop_reason
        elif event.metadata and event.metadata.usage:
            self._usage = _counted(event.metadata.usage)
            self._answer.count(self._usage)

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        if self._stop is None:
            raise Unfinished
        ending(self._answer, self._usage, _REASONS.get(self._stop, "other"), self._stop)

    def _delta(self, index: int, delta: _Delta) -> None:
        if delta.text:
            self._kinds[index] = "text"
            self._answer.text(delta.text)
        elif delta.tool_use:
            if delta.tool_use.input:
                self._answer.arguments(index, delta.tool_use.input)
        elif thought := delta.reasoning_content:
            self._think(index, thought)
        elif delta.citation:
            self._answer.add(_cited(delta.citation))

    def _think(self, index: int, thought: _Reasoning) -> None:
        self._kinds[index] = "thinking"
        if thought.text:
            self._thought.append(thought.text)
            self._answer.thinking(thought.text)
        if thought.signature:
            self._signature.append(thought.signature)
        if thought.redacted_content:
            self._answer.opaque(proof(WIRE, redacted=thought.redacted_content))

    def _end(self, index: int) -> None:
        match self._kinds.pop(index, ""):
            case "call":
                self._answer.end(index)
            case "text":
                self._answer.end_text()
            case "thinking" if self._signature:
                signed = {"thinking": "".join(self._thought), "signature": "".join(self._signature)}
                self._answer.opaque(proof(WIRE, **signed))
        self._thought.clear()
        self._signature.clear()


def _cited(citation: _Citation) -> Cited:
    url = str(citation.location.get("web", {}).get("url", "")) or citation.source
    return Cited(url, citation.title, " ".join(each.text for each in citation.source_content))


def _counted(counts: _Counts) -> Usage:
    read, write = counts.cache_read_input_tokens, counts.cache_write_input_tokens
    return Usage(
        input=counts.input_tokens + read + write, output=counts.output_tokens, cache_read=read, cache_write=write
    )


ADAPTER = BedrockConverseWire
