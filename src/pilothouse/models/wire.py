"""What a wire format is to the rest: an address, headers, a request's bytes, and a reader for the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Protocol
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.learned_limits import ModelLessons, Spare
from pilothouse.models.wire_table import WireMedia
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.media import described
from pilothouse.types.messages import Block, ImageBlock, Media, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Stopped, StopReason, Usage


class WireError(Exception):
    """An error that the provider told inside the stream: its words, its code or type if it gave one, and all of it."""

    def __init__(self, message: str, kind: str = "", status: int | None = None, said: bytes = b"") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status
        self.said = said


class Unfinished(Exception):
    """The stream ended without saying that the answer did."""


class Reader(Protocol):
    """Turns the lines of one answer into events."""

    def feed(self, data: bytes) -> None:
        """Take one JSON document of the stream."""

    def finish(self) -> None:
        """Take the end of the stream; raise Unfinished when the answer was not at its end."""


class Wire(ABC):
    """One provider's format, for one configured model."""

    # Whether answers come as server-sent events; otherwise as lines of JSON.
    is_sse: ClassVar[bool]
    media: ClassVar[WireMedia] = WireMedia()

    def __init__(
        self, config: ModelConfig, url: str, headers: Mapping[str, str], lessons: ModelLessons | None = None
    ) -> None:
        # Where requests go, and the headers of each of them, the key among them.
        self.url = url
        self.headers = {"content-type": "application/json", **headers, **config.headers}
        # What was learned about the model; requests are written by it.
        self.lessons = lessons or ModelLessons()
        self._config = config

    @property
    @abstractmethod
    def spares(self) -> tuple[Spare, ...]:
        """Return the fields that a request can do without or write differently, the parts of one before the whole."""

    @abstractmethod
    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes; the same request always gives the same bytes."""

    @abstractmethod
    def reader(self, answer: Answer) -> Reader:
        """Return a reader that adds to the answer."""

    def left_out(self, _request: ModelRequest) -> str:
        """Return one sentence for the person about what they wanted and this provider does not get; else nothing."""
        return ""


def bearer(key: str) -> dict[str, str]:
    """Return the header that most providers want a key in."""
    return {"authorization": f"Bearer {key}"} if key else {}


def split(url: str) -> SplitResult:
    """Return the parts of an address, all empty when it is none; asking it then tells what is wrong."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def joined(base: str, path: str, query: str = "") -> str:
    """Return the base address with a path added; a query of the base stays."""
    parts = split(base)
    both = "&".join(part for part in (parts.query, query) if part)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, both, ""))


def path_of(base: str) -> str:
    """Return the path of an address without a slash at its end."""
    return split(base).path.rstrip("/")


def host_of(base: str) -> str:
    """Return the host name of an address."""
    return split(base).hostname or ""


def written(head: JsonObject, extra: JsonObject, messages: tuple[str, list[JsonObject]]) -> bytes:
    """Return a body's bytes, the messages last, so that each request's bytes continue the one before."""
    body = merged(head, {key: value for key, value in extra.items() if key != messages[0]})
    body[messages[0]] = messages[1]
    return msgspec.json.encode(body)


def merged(base: JsonObject, extra: JsonObject) -> JsonObject:
    """Return `base` with `extra` laid over it, inner objects likewise; None takes a field out."""
    out = dict(base)
    for key, value in extra.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        else:
            out[key] = value
    return out


def max_tokens(config: ModelConfig, request: ModelRequest) -> int | None:
    """Return the cap on the answer: the request's, else the model's; none where the provider needs none."""
    cap = request.max_tokens or config.max_tokens
    return within(request, cap) if cap is not None else None


def own_limit(config: ModelConfig) -> int | None:
    """Return how long the model's answers can be, thinking included, where that is known."""
    return config.known.max_output if config.known is not None else None


def within(request: ModelRequest, cap: int) -> int:
    """Return a cap on the answer that leaves the request in the window, where the provider said what is left of it."""
    return cap if request.room is None else min(cap, request.room)


def ending(answer: Answer, usage: Usage | None, reason: StopReason, raw: str | None) -> None:
    """Add the last events of an answer; one with tool calls stops for them, whatever word the provider chose."""
    if usage:
        answer.add(usage)
    if answer.calls and reason in ("end", "other"):
        reason = "tool"
    answer.add(Stopped(reason, raw))


def proof(wire: str, **fields: object) -> JsonObject:
    """Return what a provider wants back with a piece of its answer, and whose it is; empty fields are none."""
    return {"wire": wire, **{name: value for name, value in fields.items() if value not in ({}, [], None)}}


def own(wire: str, opaque: JsonObject | None) -> JsonObject:
    """Return such a proof if it belongs to this wire, else nothing; those of earlier versions name none."""
    return opaque if opaque is not None and opaque.get("wire", wire) == wire else {}


def native(wire: str, block: JsonObject) -> JsonObject:
    """Return a provider's own block as it is kept: with the wire it belongs to, the only one it is replayed on."""
    return {"wire": wire, "block": block}


def native_for(wire: str, raw: JsonObject) -> JsonObject | None:
    """Return a kept block if it belongs to this wire."""
    block = raw.get("block")
    return block if raw.get("wire") == wire and isinstance(block, dict) else None


def functions(request: ModelRequest) -> list[JsonObject]:
    """Return the tools as chat completions have them, and whoever took after these."""
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.input_schema},
        }
        for spec in request.tools
    ]


def introduced(block: ResultBlock) -> str:
    """Return the words before pictures and sounds that cannot stand in the result they belong to."""
    return f"From the result of {block.name} (call {block.id}):"


def data_url(media: Media | ImageBlock) -> str:
    """Return a picture as an address that holds it."""
    return f"data:{media.media_type};base64,{media.data}"


def without_media(request: ModelRequest) -> ModelRequest:
    """Return a request in which results and answers are only text, for a provider that did not take what they show."""
    messages = tuple(
        msgspec.structs.replace(message, content=tuple(_only_text(block, message.role) for block in message.content))
        for message in request.messages
    )
    return msgspec.structs.replace(request, messages=messages)


def _only_text(block: Block, role: str) -> Block:
    if isinstance(block, ImageBlock) and role == "assistant":
        return TextBlock(text=_not_taken(block))
    if not isinstance(block, ResultBlock) or not block.media:
        return block
    notes = [_not_taken(media) for media in block.media]
    return msgspec.structs.replace(block, text="\n".join([block.text, *notes]), media=())


def _not_taken(media: Media | ImageBlock) -> str:
    return f"[Not shown: {described(media.media_type, media.size, media.name)}; the provider did not take it.]"


def is_done(data: bytes) -> bool:
    """Return whether this is the word that ends streams of OpenAI, with which gateways end those of others too."""
    return data.strip() == b"[DONE]"


def count(told: object, *names: str) -> int:
    """Return the number of tokens under a path of names; none where a server put anything else there."""
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return int(told) if isinstance(told, int | float) and 0 < told <= limits.TOKENS_MOST else 0


def told_error(error: object) -> WireError:
    """Return the error inside a stream, whatever of the usual shapes it has."""
    said = msgspec.json.encode({"error": error})[: limits.ERROR_BODY_BYTES]
    if not isinstance(error, dict):
        return WireError(str(error), said=said)
    code = error.get("code")
    kind = str(error.get("type") or error.get("status") or code or "")
    status = code if isinstance(code, int) else None
    return WireError(str(error.get("message") or kind or "no reason given"), kind, status, said)
