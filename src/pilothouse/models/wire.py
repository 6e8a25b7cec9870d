"""What a wire format is to the rest: an address, headers, a request's bytes, and a reader for the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.types.json import JsonObject
from pilothouse.types.media import described
from pilothouse.types.messages import Block, Media, ModelRequest, ResultBlock
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import Stopped, StopReason, Usage


class WireError(Exception):
    """An error that the provider told inside the stream: its words, and its code or type if it gave one."""

    def __init__(self, message: str, kind: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status


class Unfinished(Exception):
    """The stream ended without saying that the answer did."""


class Reader(Protocol):
    """Turns the lines of one answer into events."""

    def feed(self, data: bytes) -> None:
        """Take one JSON document of the stream."""
        ...

    def finish(self) -> None:
        """Take the end of the stream; raise Unfinished when the answer was not at its end."""
        ...


class Wire(Protocol):
    """One provider's format, for one configured model."""

    @property
    def is_sse(self) -> bool:
        """Return whether answers come as server-sent events; otherwise as lines of JSON."""
        ...

    @property
    def url(self) -> str:
        """Return where requests go."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of every request, the key among them."""
        ...

    def body(self, request: ModelRequest) -> bytes:
        """Return the request's bytes; the same request always gives the same bytes."""
        ...

    def reader(self, answer: Answer) -> Reader:
        """Return a reader that adds to the answer."""
        ...

    def adapt(self, refusal: str) -> bool:
        """Take in that the provider refused something it need not get; return whether to ask again without."""
        ...


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
    """Return the cap on the answer: the request's, else the model's."""
    return request.max_tokens or config.max_tokens


def ending(answer: Answer, usage: Usage | None, reason: StopReason, raw: str | None) -> None:
    """Add the last events of an answer; one with tool calls stops for them, whatever word the provider chose."""
    if usage:
        answer.add(usage)
    if answer.calls and reason in ("end", "other"):
        reason = "tool"
    answer.add(Stopped(reason, raw))


def native(wire: str, block: JsonObject) -> JsonObject:
    """Return a provider's own block as it is kept: with the wire it belongs to, the only one it is replayed on."""
    return {"wire": wire, "block": block}


def native_for(wire: str, raw: JsonObject) -> JsonObject | None:
    """Return a kept block if it belongs to this wire."""
    block = raw.get("block")
    return block if raw.get("wire") == wire and isinstance(block, dict) else None


def introduced(block: ResultBlock) -> str:
    """Return the words before pictures and sounds that cannot stand in the result they belong to."""
    return f"From the result of {block.name} (call {block.id}):"


def data_url(media: Media) -> str:
    """Return a picture as an address that holds it."""
    return f"data:{media.media_type};base64,{media.data}"


def without_media(request: ModelRequest) -> ModelRequest:
    """Return a request in which results are only text, for a provider that did not take what they showed."""
    messages = tuple(
        msgspec.structs.replace(message, content=tuple(_only_text(block) for block in message.content))
        for message in request.messages
    )
    return msgspec.structs.replace(request, messages=messages)


def _only_text(block: Block) -> Block:
    if not isinstance(block, ResultBlock) or not block.media:
        return block
    notes = [
        f"[Not shown: {described(media.media_type, media.size, media.name)}; the provider did not take it.]"
        for media in block.media
    ]
    return msgspec.structs.replace(block, text="\n".join([block.text, *notes]), media=())


def told_error(error: object) -> WireError:
    """Return the error inside a stream, whatever of the usual shapes it has."""
    if not isinstance(error, dict):
        return WireError(str(error))
    code = error.get("code")
    kind = str(error.get("type") or error.get("status") or code or "")
    return WireError(
        str(error.get("message") or kind or "no reason given"), kind, code if isinstance(code, int) else None
    )
