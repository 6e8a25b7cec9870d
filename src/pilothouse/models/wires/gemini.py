"""Google's Gemini format: parts, whole tool calls, and signatures that must come back with what they signed."""

from __future__ import annotations

import re
from urllib.parse import quote

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import OWN_TOOLS_BESIDE, ModelLessons, Spare
from pilothouse.models.native_tools import GEMINI, GEMINI_PICTURES, beside, declared
from pilothouse.models.wire import Wire, introduced, joined, max_tokens, native_for, path_of, written
from pilothouse.models.wire_table import STILL, WireMedia
from pilothouse.models.wires.gemini_reader import WIRE, GeminiReader
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

_GENERATION = re.compile(r"gemini-(\d+)")
# From this one on Gemini takes pictures inside results, and its own tools beside functions.
_THIRD = 3
_CALL_IDS = "functionCall.id"
_AS_MUCH_AS_IT_LIKES = -1
# What the provider documents for calls that another model made and that therefore have no signature.
_NO_SIGNATURE = "skip_thought_signature_validator"

# Whose a part is; everything else that is kept with it came with it.
_OURS = frozenset({"wire", "home"})


class GeminiWire(Wire):
    """Writes and reads `streamGenerateContent` for one model."""

    is_sse = True
    media = WireMedia(
        images=STILL,
        image_bytes=limits.GEMINI_INLINE_BYTES,
        sounds=("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac"),
        sound_bytes=limits.GEMINI_INLINE_BYTES,
        hearing=re.compile(r"gemini"),
    )
    spares = (
        Spare("generationConfig.thinkingConfig.thinkingBudget", also=("thinking budget", "thinking_budget", "budget ")),
        Spare("generationConfig.thinkingConfig"),
        Spare("generationConfig.temperature", also=("temperature",)),
        Spare("generationConfig.maxOutputTokens", also=("maxoutputtokens", "max_output_tokens")),
        # Vertex knows calls and their results by their order alone.
        Spare(_CALL_IDS, also=('unknown name "id"',), anywhere=True),
        Spare("functionResponse.parts", also=("function_response", "functionresponse"), anywhere=True),
        Spare("missing.thoughtSignature", missed="thought_?signature"),
        Spare(
            OWN_TOOLS_BESIDE,
            also=(
                *("include_server_side_tool_invocations", "includeserversidetoolinvocations"),
                *("cannot be combined", "tool use with function calling"),
            ),
        ),
    )

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        base = config.base_url
        version = "" if path_of(base).endswith(("/v1beta", "/v1", "/v1alpha")) else "/v1beta"
        model = quote(config.model.removeprefix("models/"), safe="")
        url = joined(base, f"{version}/models/{model}:streamGenerateContent", "alt=sse")
        super().__init__(config, url, {"x-goog-api-key": key} if key else {}, lessons)
        found = _GENERATION.match(config.model.removeprefix("models/").lower())
        self._is_third = found is None or int(found[1]) >= _THIRD
        # Earlier ones think when they are given something to think with; the later ones always do.
        self._needs_budget = not self._is_third

    def body(self, request: ModelRequest) -> bytes:
        options: JsonObject = {}
        if cap := max_tokens(self._config, request):
            options["maxOutputTokens"] = cap
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.thinking is not None:
            options["thinkingConfig"] = self._thinking(request.thinking)
        for fields in declared(self._config, request, GEMINI_PICTURES):
            options |= fields
        if request.answer_schema is not None:
            options |= {"responseMimeType": "application/json", "responseJsonSchema": request.answer_schema}
        head: JsonObject = {}
        if options:
            head["generationConfig"] = options
        head |= self._tools(request)
        if request.system:
            head["systemInstruction"] = {"parts": [{"text": request.system}]}
        return written(self.lessons.applied(head), self._config.extra, ("contents", self._contents(request)))

    def reader(self, answer: Answer) -> GeminiReader:
        return GeminiReader(answer)

    def left_out(self, request: ModelRequest) -> str:
        return "" if self._combines else beside(self._config, request)

    @property
    def _combines(self) -> bool:
        return self._is_third and not self.lessons.has(OWN_TOOLS_BESIDE)

    def _tools(self, request: ModelRequest) -> JsonObject:
        tools = declared(self._config, request, GEMINI)
        fields: JsonObject = {}
        if tools and request.tools and not self._combines:
            tools = []
        elif request.tools and (tools or (self._combines and _has_invocations(request))):
            fields["toolConfig"] = {"includeServerSideToolInvocations": True}
        if request.tools:
            declarations = [
                {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.input_schema}
                for spec in request.tools
            ]
            tools.append({"functionDeclarations": declarations})
        return {"tools": tools, **fields} if tools else {}

    def _thinking(self, on: bool) -> JsonObject:
        thoughts: JsonObject = {"includeThoughts": on}
        if not on or self._needs_budget:
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
        result: JsonObject = {**self._id(block.id), "name": block.name}
        result["response"] = {"error" if block.is_error else "result": block.text}
        if inside := [_inline(media) for media in block.media if self._stands_inside(media)]:
            result["parts"] = inside
        return {"functionResponse": result}

    def _id(self, call: str) -> JsonObject:
        return {} if self.lessons.has(_CALL_IDS) else {"id": call}

    def _beside(self, message: Message) -> list[JsonObject]:
        """Return the pictures and sounds that cannot stand inside their results."""
        parts: list[JsonObject] = []
        for block in message.content:
            if isinstance(block, ResultBlock):
                beside = [_inline(media) for media in block.media if not self._stands_inside(media)]
                parts += [{"text": introduced(block)}, *beside] if beside else []
        return parts

    def _stands_inside(self, media: Media) -> bool:
        return self._is_third and media.is_image and not self.lessons.has("functionResponse.parts")

    def _part(self, block: Block) -> JsonObject | None:
        match block:
            case TextBlock():
                kept = _came_with(block.opaque)
                return {"text": block.text, **kept} if block.text or kept else None
            case ImageBlock():
                return {**_inline(block), **_came_with(block.opaque)}
            case CallBlock():
                call = {"functionCall": {**self._id(block.id), "name": block.name, "args": block.arguments}}
                return {**call, **self._signature(block)}
            case ResultBlock():
                return None
            case ThinkingBlock():
                return _thought(block)
            case NativeBlock():
                part = native_for(WIRE, block.raw)
                return part if part is None or self._combines or not _is_invocation(part) else None

    def _signature(self, block: CallBlock) -> JsonObject:
        kept = _came_with(block.opaque)
        if "thoughtSignature" in kept or not self.lessons.has("missing.thoughtSignature"):
            return kept
        return {**kept, "thoughtSignature": _NO_SIGNATURE}


def _is_invocation(part: JsonObject) -> bool:
    """Return whether a part tells of a tool of the provider's at work, which only comes back with its flag."""
    return "toolCall" in part or "toolResponse" in part


def _has_invocations(request: ModelRequest) -> bool:
    blocks = (block for message in request.messages for block in message.content if isinstance(block, NativeBlock))
    return any(_is_invocation(native_for(WIRE, block.raw) or {}) for block in blocks)


def _inline(media: ImageBlock | Media) -> JsonObject:
    return {"inlineData": {"mimeType": media.media_type, "data": media.data}}


def _thought(block: ThinkingBlock) -> JsonObject | None:
    """Return a thought that was signed, as it came; others are not replayed."""
    kept = _came_with(block.opaque)
    return {"text": "", **kept} if kept else None


def _came_with(opaque: JsonObject | None) -> JsonObject:
    """Return what came with a part of this wire and goes back with it."""
    if opaque is None or opaque.get("wire", WIRE) != WIRE:
        return {}
    # Earlier versions kept the signature alone, and did not say whose their other proofs are.
    names = [name for name in opaque if name not in _OURS] if "wire" in opaque else ["thoughtSignature"]
    return {name: opaque[name] for name in names if name in opaque}


ADAPTER = GeminiWire
