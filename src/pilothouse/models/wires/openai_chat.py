"""OpenAI chat completions, the format most servers speak: OpenAI, DeepSeek, OpenRouter, vLLM, LM Studio, llama.cpp."""

from __future__ import annotations

import re

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import EFFORTS, ModelLessons, Spare, efforts
from pilothouse.models.native_tools import chat_forms, declared
from pilothouse.models.pictures import pictures_aside
from pilothouse.models.signature_owners import home_of
from pilothouse.models.wire import (
    Wire,
    bearer,
    data_url,
    functions,
    host_of,
    introduced,
    joined,
    max_tokens,
    path_of,
    written,
)
from pilothouse.models.wire_table import WireMedia
from pilothouse.models.wires.chat_proofs import IN_CONTENT, PROOFS, WORDED, own, returned, words_field
from pilothouse.models.wires.chat_reader import ChatReader
from pilothouse.types import limits
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

_CAPS = ("max_tokens", "max_completion_tokens")
# The fields that thinking goes back in.
_THOUGHTS = (*PROOFS, "reasoning_content", "reasoning_text", "reasoning")
# How servers say that they want the thinking before a call back, and what stands for thinking that there was not.
_MISSING_THINKING = r"reasoning_content\W.{0,40}(must be passed|is missing)|missing.{0,12}reasoning_content"
_NO_THINKING = " "
# Hosts with a switch of this name: DeepSeek, Kimi, GLM.
_THINKING_HOSTS = ("deepseek.com", ".moonshot.ai", ".moonshot.cn", ".kimi.com", ".z.ai", ".bigmodel.cn")
# Hosts that are told how much to think.
_EFFORT_HOSTS = (
    *("openai.com", "openai.azure.com", ".mistral.ai", ".groq.com", ".x.ai", ".fireworks.ai", ".cerebras.ai"),
    "generativelanguage.googleapis.com",
)
# These are made to read all that they thought; of others only the thinking of a turn with calls goes back.
_KEEP_THINKING = re.compile(r"kimi|minimax|glm-|mistral")
# What Google takes in place of a signature for a call that another model made.
_NO_SIGNATURE: JsonObject = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_WANTS_THINKING = "missing.reasoning_content"
_WANTS_SIGNATURE = "missing.thoughtSignature"
_SPARES = (
    Spare(_WANTS_THINKING, missed=_MISSING_THINKING),
    Spare(_WANTS_SIGNATURE, missed="thought_signature"),
    *(Spare(cap) for cap in _CAPS),
    Spare("temperature"),
    Spare("stream_options"),
    Spare("reasoning_effort", values=EFFORTS),
    Spare("chat_template_kwargs"),
    Spare("thinking"),
    *(Spare(name, anywhere=True) for name in _THOUGHTS),
)


class OpenAIChatWire(Wire):
    """Writes and reads chat completions for one model."""

    is_sse = True
    media = WireMedia(
        sounds=("audio/wav", "audio/mpeg"),
        sound_bytes=limits.OPENAI_SOUND_BYTES,
        hearing=re.compile(r"audio|omni|voxtral|gemini"),
    )

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        base = config.base_url
        path = path_of(base)
        tail = "" if path.endswith("/chat/completions") else "/chat/completions" if path else "/v1/chat/completions"
        super().__init__(config, joined(base, tail), bearer(key), lessons)
        self._host = host_of(base)
        self._caps = _CAPS[::-1] if self._host == "api.openai.com" else _CAPS
        self._home = home_of(self.url, config.model)
        self._keeps_thinking = bool(_KEEP_THINKING.search(config.model.lower()))
        # The fields of a gateway's own that its calls had and that went back.
        self._returned: set[str] = set()

    @property
    def spares(self) -> tuple[Spare, ...]:
        return (*_SPARES, *(Spare(name, anywhere=True) for name in sorted(self._returned)))

    def body(self, request: ModelRequest) -> bytes:
        head: JsonObject = {"model": self._config.model, "stream": True, "stream_options": {"include_usage": True}}
        if cap := max_tokens(self._config, request):
            head[next((name for name in self._caps if not self.lessons.has(name)), self._caps[0])] = cap
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if request.thinking is not None:
            head |= self._switch(request.thinking)
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": request.answer_schema, "strict": True}
            head["response_format"] = {"type": "json_schema", "json_schema": schema}
        for fields in declared(self._config, request, chat_forms(self._config.base_url)):
            head |= fields
        if request.tools:
            head["tools"] = functions(request)
        return written(self.lessons.applied(head), self._config.extra, ("messages", self._messages(request)))

    def reader(self, answer: Answer) -> ChatReader:
        return ChatReader(answer, self._home)

    def _switch(self, on: bool) -> JsonObject:
        fields = thinking_field(self._host, on)
        if "reasoning_effort" in fields:
            effort = self.lessons.pick("reasoning_effort", *efforts(on))
            return {"reasoning_effort": effort} if effort else {}
        return fields

    def _messages(self, request: ModelRequest) -> list[JsonObject]:
        out: list[JsonObject] = []
        if request.system:
            out.append({"role": "system", "content": request.system})
        # Whether the model has called tools since the person spoke, and its calls in the form of old.
        has_called = False
        legacy: set[str] = set()
        for message in pictures_aside(request.messages):
            if message.role == "user":
                has_called = has_called and any(isinstance(block, ResultBlock) for block in message.content)
                out += _user(message, legacy)
            else:
                calls = [block for block in message.content if isinstance(block, CallBlock)]
                has_called = has_called or bool(calls)
                legacy |= {call.id for call in calls if len(calls) == 1 and own(call.opaque, self._home).get("legacy")}
                thinking = self._thinking(message, words=has_called or self._keeps_thinking)
                out.append(_assistant(message, thinking, [self._call(call, first=call is calls[0]) for call in calls]))
        return out

    def _thinking(self, message: Message, *, words: bool) -> JsonObject:
        """Return what goes back of the thinking: all proofs, and the words under the name that the server gave them."""
        kept = [own(getattr(block, "opaque", None), self._home) for block in message.content]
        out = self._allowed(returned(kept))
        if words and not out.keys() & WORDED:
            for block in message.content:
                field = words_field(block.opaque, self._home) if isinstance(block, ThinkingBlock) else ""
                if isinstance(block, ThinkingBlock) and field and not self.lessons.has(field):
                    out[field] = out.get(field, "") + block.text
        if self.lessons.has(_WANTS_THINKING) and not out.get("reasoning_content"):
            out["reasoning_content"] = _NO_THINKING
        return out

    def _call(self, block: CallBlock, *, first: bool) -> JsonObject:
        """Return a call with all that a gateway added to it."""
        kept = own(block.opaque, self._home)
        own_fields = kept.get("call") or {}
        if first and self.lessons.has(_WANTS_SIGNATURE) and "extra_content" not in own_fields:
            own_fields = {**own_fields, "extra_content": _NO_SIGNATURE}
        function_fields = kept.get("function") or {}
        self._returned |= own_fields.keys() | function_fields.keys()
        function = {"name": block.name, "arguments": msgspec.json.encode(block.arguments).decode()}
        call: JsonObject = {"id": block.id, "type": "function", "function": function | self._allowed(function_fields)}
        if kept.get("legacy"):
            call["legacy"] = True
        return {**call, **self._allowed(own_fields)}

    def _allowed(self, fields: JsonObject) -> JsonObject:
        return {name: value for name, value in fields.items() if not self.lessons.has(name)}


def _assistant(message: Message, thinking: JsonObject, calls: list[JsonObject]) -> JsonObject:
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    content: str | list[JsonObject] | None = text if text or not calls else None
    if thought := thinking.pop(IN_CONTENT, ""):
        parts = [{"type": "text", "text": text}] if text else []
        content = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}, *parts]
    out: JsonObject = {"role": "assistant", "content": content, **thinking}
    is_legacy = [call.pop("legacy", False) for call in calls] == [True]
    if is_legacy:
        out["function_call"] = calls[0]["function"]
    elif calls:
        out["tool_calls"] = calls
    return out


def thinking_field(host: str, on: bool) -> JsonObject:
    """Return how thinking is switched, which every provider does in its own way."""
    if host.endswith(_THINKING_HOSTS):
        return {"thinking": {"type": "enabled" if on else "disabled"}}
    if host.endswith("openrouter.ai"):
        return {"reasoning": {"enabled": on}}
    if host.endswith(_EFFORT_HOSTS):
        return {"reasoning_effort": "medium" if on else "none"}
    return {"chat_template_kwargs": {"enable_thinking": on}}


def _user(message: Message, legacy: set[str]) -> list[JsonObject]:
    """Return the results first, each its own message, then what they show and what the person said."""
    out: list[JsonObject] = []
    parts: list[JsonObject] = _shown(message)
    for block in message.content:
        match block:
            case ResultBlock():
                named = {"role": "function", "name": block.name} if block.id in legacy else None
                out.append({**(named or {"role": "tool", "tool_call_id": block.id}), "content": block.text})
            case TextBlock():
                parts.append({"type": "text", "text": block.text})
            case ImageBlock():
                parts.append({"type": "image_url", "image_url": {"url": data_url(block)}})
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


ADAPTER = OpenAIChatWire
