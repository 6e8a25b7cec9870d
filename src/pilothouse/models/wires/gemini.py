"""Google's Gemini format: parts, whole tool calls, and signatures that must come back with what they signed."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.native_tools import GEMINI, declared
from pilothouse.models.wire import (
    Unfinished,
    ending,
    introduced,
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

DEFAULT_BASE = "https://generativelanguage.googleapis.com"
_REASONS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
}
_GENERATION = re.compile(r"gemini-(\d+)")
_INSIDE_SINCE = 3
_AS_MUCH_AS_IT_LIKES = -1
# What the provider documents for calls that another model made and that therefore have no signature.
_NO_SIGNATURE = "skip_thought_signature_validator"


class GeminiWire:
    """Writes and reads `streamGenerateContent` for one model."""

    is_sse = True

    def __init__(self, config: ModelConfig, key: str) -> None:
        base = config.base_url or DEFAULT_BASE
        version = "" if path_of(base).endswith(("/v1beta", "/v1", "/v1alpha")) else "/v1beta"
        model = quote(config.model.removeprefix("models/"), safe="")
        self.url = joined(base, f"{version}/models/{model}:streamGenerateContent", "alt=sse")
        self.headers = {"content-type": "application/json"}
        if key:
            self.headers["x-goog-api-key"] = key
        self.headers |= config.headers
        self._config = config
        self._budget = True
        self._sign_all = False
        # From its third generation on Gemini wants pictures inside the result, earlier ones know them only beside it.
        found = _GENERATION.match(config.model.removeprefix("models/").lower())
        self._inside = found is None or int(found[1]) >= _INSIDE_SINCE
        # Earlier ones think when they are given something to think with; the later ones always do.
        self._needs_budget = not self._inside

    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes."""
        options: JsonObject = {}
        if cap := max_tokens(self._config, request):
            options["maxOutputTokens"] = cap
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.thinking is not None:
            options["thinkingConfig"] = self._thinking(request.thinking)
        if request.answer_schema is not None:
            options |= {"responseMimeType": "application/json", "responseJsonSchema": request.answer_schema}
        head: JsonObject = {}
        if options:
            head["generationConfig"] = options
        if tools := self._tools(request):
            head["tools"] = tools
        if request.system:
            head["systemInstruction"] = {"parts": [{"text": request.system}]}
        return written(head, self._config.extra, ("contents", self._contents(request)))

    def reader(self, answer: Answer) -> _Reader:
        """Return a reader for one answer."""
        return _Reader(answer)

    def adapt(self, refusal: str) -> bool:
        """Leave out the budget a model does not take, put pictures beside results, or sign others' calls."""
        words = refusal.lower().replace("_", "").replace(" ", "")
        if self._budget and ("thinkingbudget" in words or "budget0" in words):
            self._budget = False
            return True
        if self._inside and "functionresponse" in words and "parts" in words:
            self._inside = False
            return True
        if not self._sign_all and "thoughtsignature" in words:
            self._sign_all = True
            return True
        return False

    def _tools(self, request: ModelRequest) -> list[JsonObject]:
        tools = declared(self._config, request, GEMINI)
        if request.tools:
            declarations = [
                {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.input_schema}
                for spec in request.tools
            ]
            tools.append({"functionDeclarations": declarations})
        return tools

    def _thinking(self, on: bool) -> JsonObject:
        thoughts: JsonObject = {"includeThoughts": on}
        if self._budget and (not on or self._needs_budget):
            thoughts["thinkingBudget"] = _AS_MUCH_AS_IT_LIKES if on else 0
        return thoughts

    def _contents(self, request: ModelRequest) -> list[JsonObject]:
        out: list[JsonObject] = []
        for message in request.messages:
            role = "model" if message.role == "assistant" else "user"
            results = [self._result(block) for block in message.content if isinstance(block, ResultBlock)]
            others = [part for block in message.content if (part := self._part(block))]
            # Results stand by themselves: beside them the provider takes nothing else.
            for parts in (results, [*self._beside(message), *others]):
                if parts:
                    out.append({"role": role, "parts": parts})
        return out

    def _result(self, block: ResultBlock) -> JsonObject:
        result: JsonObject = {"id": block.id, "name": block.name}
        result["response"] = {"error" if block.is_error else "result": block.text}
        if inside := [_inline(media) for media in block.media if self._stands_inside(media)]:
            result["parts"] = inside
        return {"functionResponse": result}

    def _beside(self, message: Message) -> list[JsonObject]:
        """Return the pictures and sounds that cannot stand inside their results."""
        parts: list[JsonObject] = []
        for block in message.content:
            if isinstance(block, ResultBlock):
                beside = [_inline(media) for media in block.media if not self._stands_inside(media)]
                parts += [{"text": introduced(block)}, *beside] if beside else []
        return parts

    def _stands_inside(self, media: Media) -> bool:
        return self._inside and media.is_image

    def _part(self, block: Block) -> JsonObject | None:
        match block:
            case TextBlock():
                return {"text": block.text} if block.text else None
            case ImageBlock():
                return _inline(block)
            case CallBlock():
                call = {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}
                return {**call, **self._signature(block)}
            case ResultBlock():
                return None
            case ThinkingBlock():
                # Thoughts are not replayed, a signature that stood alone is.
                signed = _own_signature(block.opaque)
                return {"text": "", **signed} if signed else None
            case NativeBlock():
                return native_for("gemini", block.raw)

    def _signature(self, block: CallBlock) -> JsonObject:
        return _own_signature(block.opaque) or ({"thoughtSignature": _NO_SIGNATURE} if self._sign_all else {})


def _inline(media: ImageBlock | Media) -> JsonObject:
    return {"inlineData": {"mimeType": media.media_type, "data": media.data}}


def _own_signature(opaque: JsonObject | None) -> JsonObject:
    signature = (opaque or {}).get("thoughtSignature")
    return {"thoughtSignature": signature} if signature else {}


class _Function(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: object = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _Function | None = None


class _Content(msgspec.Struct):
    # Kept raw: a part of an unknown kind is handed on verbatim.
    parts: list[msgspec.Raw] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Chunk).decode
_decode_part = msgspec.json.Decoder(_Part).decode


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._usage: _Usage | None = None
        self._stop: tuple[StopReason, str] | None = None

    def feed(self, data: bytes) -> None:
        """Take one chunk."""
        chunk = _decode(data)
        if chunk.error:
            raise told_error(chunk.error)
        if chunk.usage_metadata:
            self._usage = chunk.usage_metadata
        if chunk.prompt_feedback and (blocked := chunk.prompt_feedback.block_reason):
            self._stop = ("refusal", blocked)
        for candidate in chunk.candidates or ():
            for part in (candidate.content.parts if candidate.content else None) or ():
                self._part(part)
            if why := candidate.finish_reason:
                self._stop = (_REASONS.get(why, "other"), why)

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        if self._stop is None:
            raise Unfinished
        ending(self._answer, _counted(self._usage), *self._stop)

    def _part(self, raw: msgspec.Raw) -> None:
        part = _decode_part(raw)
        opaque = {"thoughtSignature": part.thought_signature} if part.thought_signature else None
        if call := part.function_call:
            self._answer.whole(call.id, call.name, call.args, opaque)
            return
        if part.text is None and not opaque:
            self._answer.add(NativeDelta(native("gemini", msgspec.json.decode(raw))))
            return
        if part.text:
            if part.thought:
                self._answer.thinking(part.text)
            else:
                self._answer.text(part.text)
        if opaque:
            self._answer.opaque(opaque)


def _counted(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input=usage.prompt_token_count or 0,
        output=(usage.candidates_token_count or 0) + thoughts,
        cache_read=usage.cached_content_token_count or 0,
        reasoning=thoughts,
    )
