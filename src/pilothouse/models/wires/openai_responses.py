"""OpenAI responses: nothing is stored with the provider; its reasoning travels encrypted and is replayed as given.

OpenAI has a form of its own for tools that are found on demand: a search that we carry out, whose result is tools.
Found ones are then called like any others, and the request stays as it was. Others who speak the format need not know
it, and a search that they pass over would be none: they get it as a function.
"""

from __future__ import annotations

from itertools import accumulate

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import EFFORTS, FOUND_TOOLS, ModelLessons, Spare, efforts
from pilothouse.models.native_tools import OPENAI_RESPONSES, declared
from pilothouse.models.pictures import pictures_aside
from pilothouse.models.wire import (
    Unfinished,
    Wire,
    bearer,
    count,
    data_url,
    ending,
    host_of,
    joined,
    max_tokens,
    native,
    native_for,
    own,
    path_of,
    proof,
    told_error,
    written,
)
from pilothouse.types.found_tools import specs
from pilothouse.types.json import JsonObject, objects_in
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
    ToolSpec,
)
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Cited, NativeDelta, PictureDelta, StopReason, Usage
from pilothouse.types.tool_names import SEARCH

WIRE = "openai-responses"
_OPENAI = "openai"
_HOST = "api.openai.com"
_CLIENT: JsonObject = {FOUND_TOOLS: "client", "status": "completed"}
_REASONS: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "refusal"}


class OpenAIResponsesWire(Wire):
    """Writes and reads `/responses` for one model."""

    is_sse = True
    spares = (
        Spare("include", also=("encrypted",)),
        Spare("reasoning.summary", also=("reasoning summar",)),
        Spare("reasoning.effort", values=EFFORTS),
        Spare("reasoning"),
        Spare("temperature"),
        Spare("max_output_tokens"),
        Spare("store"),
        Spare("strict", anywhere=True),
        # Stands in a search for tools alone; a model of before that kind takes it as a function.
        Spare(FOUND_TOOLS, also=("tool_search",), anywhere=True),
    )

    def __init__(self, config: ModelConfig, key: str, lessons: ModelLessons | None = None) -> None:
        base = config.base_url
        path = path_of(base)
        tail = "" if path.endswith("/responses") else "/responses" if path else "/v1/responses"
        super().__init__(config, joined(base, tail), bearer(key), lessons)
        self._is_openai = config.service == _OPENAI or host_of(base) in ("", _HOST)

    def body(self, request: ModelRequest) -> bytes:
        head: JsonObject = {"model": self._config.model, "stream": True, "store": False}
        head["include"] = ["reasoning.encrypted_content"]
        if cap := max_tokens(self._config, request):
            head["max_output_tokens"] = cap
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if request.thinking is not None:
            head["reasoning"] = self._reasoning(request.thinking)
        if request.answer_schema is not None:
            schema = {"type": "json_schema", "name": "answer", "schema": request.answer_schema, "strict": True}
            head["text"] = {"format": schema}
        if tools := self._tools(request):
            head["tools"] = tools
        if request.system:
            head["instructions"] = request.system
        items: list[JsonObject] = []
        finds = self._finds
        for message in pictures_aside(request.messages, stays=_is_own):
            _add(items, message, finds)
        return written(self.lessons.applied(head), self._config.extra, ("input", items))

    def reader(self, answer: Answer) -> _Reader:
        return _Reader(answer)

    def _tools(self, request: ModelRequest) -> list[JsonObject]:
        finds = self._finds
        functions = [
            _search(spec) if finds and spec.name == SEARCH else _function(spec, strict=self.lessons.has("strict"))
            for spec in request.tools
        ]
        return [*declared(self._config, request, OPENAI_RESPONSES), *functions]

    @property
    def _finds(self) -> bool:
        """Return whether the model has the provider's own form of searching for tools."""
        return self._is_openai and not self.lessons.has(FOUND_TOOLS)

    def _reasoning(self, on: bool) -> JsonObject:
        effort = self.lessons.pick("reasoning.effort", *efforts(on))
        return {**({"effort": effort} if effort else {}), **({"summary": "auto"} if on else {})}


def _function(spec: ToolSpec, *, strict: bool) -> JsonObject:
    """Return a tool; strict is this API's default, and it rewrites schemas."""
    function = {"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.input_schema}
    return function if strict else {**function, "strict": False}


def _search(spec: ToolSpec) -> JsonObject:
    return {
        "type": "tool_search",
        FOUND_TOOLS: "client",
        "description": spec.description,
        "parameters": spec.input_schema,
    }


def _add(items: list[JsonObject], message: Message, finds: bool) -> None:
    """Add a message as input items; what the person says and shows in one go shares one, and so does plain text."""
    parts: list[JsonObject] | None = None
    for block in message.content:
        if message.role == "user" and isinstance(block, TextBlock | ImageBlock):
            part = _picture(block) if isinstance(block, ImageBlock) else {"type": "input_text", "text": block.text}
        elif isinstance(block, TextBlock) and not (said := _said(block)):
            part = _output(block.text)
        else:
            item = said if isinstance(block, TextBlock) else _item(block, finds)
            parts = None if item else parts
            items += [item] if item else []
            continue
        if parts is None:
            parts = []
            items.append(_message(message.role, parts, len(items)))
        parts.append(part)


def _message(role: str, parts: list[JsonObject], place: int) -> JsonObject:
    """Return a message without an id of the provider's; one of the model has to have one, and its place will do."""
    if role == "user":
        return {"role": role, "content": parts}
    return {"type": "message", "id": f"msg_{place}", "role": role, "status": "completed", "content": parts}


class _Said(msgspec.Struct):
    """What is kept of a message beside its words: the rest of it and of its parts, and how long each of these is."""

    item: JsonObject
    parts: list[JsonObject]
    sizes: list[int]


def _said(block: TextBlock) -> JsonObject | None:
    """Return text as the message that the provider gave, if it did and nothing has changed since."""
    try:
        kept = msgspec.convert(own(WIRE, block.opaque), _Said)
    except msgspec.ValidationError:
        return None
    if len(kept.parts) != len(kept.sizes) or sum(kept.sizes) != len(block.text):
        return None
    texts = [block.text[end - size : end] for size, end in zip(kept.sizes, accumulate(kept.sizes), strict=True)]
    content = [{**part, _field(part): text} for part, text in zip(kept.parts, texts, strict=True)]
    return {**kept.item, "content": content}


def _field(part: JsonObject) -> str:
    """Return where a part of a message has its words."""
    return "refusal" if part.get("type") == "refusal" else "text"


def _output(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": []}


def _picture(image: ImageBlock | Media) -> JsonObject:
    return {"type": "input_image", "image_url": data_url(image), "detail": "auto"}


def _item(block: Block, finds: bool) -> JsonObject | None:
    match block:
        case CallBlock(name=name) if finds and name == SEARCH:
            more = own(WIRE, block.opaque).get("search") or {}
            return {"type": "tool_search_call", "call_id": block.id, **_CLIENT, "arguments": block.arguments, **more}
        case ResultBlock(name=name) if finds and name == SEARCH:
            found = [{**_function(spec, strict=False), "defer_loading": True} for spec in specs(block.text)]
            return {"type": "tool_search_output", "call_id": block.id, **_CLIENT, "tools": found}
        case CallBlock():
            arguments = msgspec.json.encode(block.arguments).decode()
            call = {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
            return {**call, **(own(WIRE, block.opaque).get("item") or {})}
        case ResultBlock():
            return {"type": "function_call_output", "call_id": block.id, "output": _result(block)}
        case ThinkingBlock():
            item = own(WIRE, block.opaque).get("item")
            return item if isinstance(item, dict) else None
        case ImageBlock():
            return {**own(WIRE, block.opaque)["item"], "result": block.data}
        case NativeBlock():
            return native_for(WIRE, block.raw)
        case _:
            return None


def _is_own(image: ImageBlock) -> bool:
    """Return whether a picture was made over this wire: it goes back as the call that made it."""
    return isinstance(own(WIRE, image.opaque).get("item"), dict)


def _result(block: ResultBlock) -> str | list[JsonObject]:
    if not block.media:
        return block.text
    return [{"type": "input_text", "text": block.text}, *map(_picture, block.media)]


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    usage: object = None
    error: object = None
    incomplete_details: _Incomplete | None = None


class _Kind(msgspec.Struct):
    type: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    # Text in all events that are read, anything in others.
    delta: object = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int = 0
    item: JsonObject | None = None
    response: _Response | None = None
    error: object = None
    code: object = None
    message: str | None = None
    param: object = None

    @property
    def key(self) -> object:
        """Return what tells items apart: their place, or their id where a server gives no place."""
        return self.output_index if self.output_index is not None else self.item_id or (self.item or {}).get("id")


_decode = msgspec.json.Decoder(_Event).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode
_TEXT = "response.output_text.delta"
_TEXTS = frozenset(
    f"response.{name}.delta"
    for name in ("output_text", "refusal", "function_call_arguments", "reasoning_summary_text", "reasoning_text")
)
_ITEMS = ("response.output_item.added", "response.output_item.done")
_STATES = ("response.completed", "response.incomplete", "response.failed", "error")
# What is read of an item by name; whatever else it has comes back with it. Likelihoods are never asked for.
_CALL = frozenset({"type", "call_id", "name", "arguments"})
_SEARCH_CALL = frozenset({"type", "call_id", "arguments", "status", FOUND_TOOLS})
_PART = frozenset({"text", "refusal", "logprobs"})


class _Reader:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._streamed: set[object] = set()
        # Whether text came since the last message was complete.
        self._saying = False
        self._usage: Usage | None = None
        self._refused = False
        self._end: tuple[StopReason, str] | None = None

    def feed(self, data: bytes) -> None:
        """Take one event; of kinds that we know nothing of there may be any, in any form."""
        if data.strip() == b"[DONE]":
            return
        try:
            event = _decode(data)
        except msgspec.ValidationError:
            kind = _decode_kind(data).type
            if kind in _TEXTS or kind in _ITEMS or kind in _STATES:
                raise
            return
        delta = event.delta
        if event.type == _TEXT and isinstance(delta, str):
            self._saying = True
            self._answer.text(delta)
        elif event.type in _TEXTS and isinstance(delta, str):
            self._text(event, delta)
        elif event.type in _ITEMS:
            self._item(event, event.item or {})
        elif event.type == "response.reasoning_summary_part.added":
            if event.summary_index:
                self._answer.thinking("\n\n")
        else:
            self._state(event)

    def _text(self, event: _Event, delta: str) -> None:
        match event.type:
            case "response.function_call_arguments.delta":
                self._streamed.add(event.key)
                self._answer.arguments(event.key, delta)
            case "response.refusal.delta":
                self._saying = self._refused = True
                self._answer.text(delta)
            case _:
                self._answer.thinking(delta)

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
            case "tool_search_call" if item.get(FOUND_TOOLS) == "client":
                self._searched(event.key, item, done)
            case "message" if done:
                self._message(item)
            case "reasoning" if done:
                # The status is the server's business and refused when it comes back.
                kept = {name: value for name, value in item.items() if name != "status"}
                self._answer.opaque(proof(WIRE, item=kept))
            case "image_generation_call" if done and isinstance(item.get("result"), str):
                # Kept apart from what its provider says about it; drafts that come before it are not.
                more = {name: value for name, value in item.items() if name != "result"}
                media_type = f"image/{item.get('output_format') or 'png'}"
                self._answer.add(PictureDelta(media_type, item["result"], proof(WIRE, item=more)))
            case "message" | "reasoning" | None:
                return
            case _ if done:
                self._answer.add(NativeDelta(native(WIRE, item)))

    def _message(self, item: JsonObject) -> None:
        """End a message: its text came before, or comes now, and everything else of it goes back with that."""
        content = objects_in(item.get("content"))
        texts = [str(part.get(_field(part)) or "") for part in content]
        if not self._saying:
            self._answer.text("".join(texts))
        self._saying = False
        for part in content:
            for source in _sources(part):
                self._answer.add(source)
        kept = {name: value for name, value in item.items() if name != "content"}
        parts = [{name: value for name, value in part.items() if name not in _PART} for part in content]
        sizes = [len(text) for text in texts]
        self._answer.end_text(proof(WIRE, item=kept, parts=parts, sizes=sizes) if parts else None)

    def _call(self, key: object, item: JsonObject, done: bool) -> None:
        if self._answer.open_id(key) is None:
            self._answer.start(key, item.get("call_id"), str(item.get("name", "")))
        if done:
            if key not in self._streamed:
                self._answer.arguments(key, str(item.get("arguments") or ""))
            more = {name: value for name, value in item.items() if name not in _CALL}
            self._answer.end(key, proof(WIRE, item=more) if more else None)

    def _searched(self, key: object, item: JsonObject, done: bool) -> None:
        """Take a search for tools, which is a call like any other; its arguments come whole."""
        if self._answer.open_id(key) is None:
            self._answer.start(key, item.get("call_id"), SEARCH)
        if done:
            given = item.get("arguments")
            self._answer.arguments(key, given if isinstance(given, str) else msgspec.json.encode(given or {}).decode())
            more = {name: value for name, value in item.items() if name not in _SEARCH_CALL}
            self._answer.end(key, proof(WIRE, search=more) if more else None)

    def _state(self, event: _Event) -> None:
        """Take what is said about the answer as a whole."""
        response = event.response or _Response()
        if event.type == "response.failed" or event.error:
            raise told_error(event.error or response.error or "the response failed")
        if event.type == "error":
            raise told_error({"message": event.message, "code": event.code, "param": event.param})
        if event.type in ("response.completed", "response.incomplete"):
            self._usage = _counted(response.usage)
            why = (response.incomplete_details.reason if response.incomplete_details else None) or ""
            default: StopReason = "end" if event.type == "response.completed" else "other"
            self._end = (_REASONS.get(why, default), why or event.type.removeprefix("response."))


def _sources(part: JsonObject) -> list[Cited]:
    """Return what a text cites: pages, and files that have only a name."""
    return [
        Cited(str(note.get("url") or ""), str(note.get("title") or note.get("filename") or ""))
        for note in objects_in(part.get("annotations"))
        if note.get("url") or note.get("filename")
    ]


def _counted(usage: object) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input=count(usage, "input_tokens"),
        output=count(usage, "output_tokens"),
        cache_read=count(usage, "input_tokens_details", "cached_tokens"),
        reasoning=count(usage, "output_tokens_details", "reasoning_tokens"),
    )


ADAPTER = OpenAIResponsesWire
