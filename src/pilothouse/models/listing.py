"""Asks a provider which models it offers."""

from __future__ import annotations

import asyncio
import re
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse.models.factory import make_signer, make_wire
from pilothouse.models.keys import read_source
from pilothouse.models.provider_rows import Row
from pilothouse.models.provider_table import row_of
from pilothouse.models.providers import with_address
from pilothouse.models.signing import Signer, signed
from pilothouse.models.wire import Wire
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Fetched
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode, PilothouseError
from pilothouse.types.models import ModelConfig
from pilothouse.types.origins import origin_of

T = TypeVar("T")
# From where a wire asks for answers to where it lists models.
_LISTS = (
    (re.compile(r"/v1/messages$"), "/v1/models", "limit=1000"),
    (re.compile(r"/(chat/completions|responses)$"), "/models", ""),
    (re.compile(r"/api/chat$"), "/api/tags", ""),
    (re.compile(r"/models/[^/]*:streamGenerateContent$"), "/models", "pageSize=1000"),
)
_NAME = re.compile(r"[\w./:@+ -]{1,200}")
_PROJECT = re.compile(r"/projects/([^/]+)/")
_PUBLISHED = re.compile(r"^(publishers/[^/]+/)?models/")
_NO_LIST = "{} has no list of models that could be asked for. Type the model's name."
# Models that make no text.
_OTHER_KINDS = re.compile(r"embed|whisper|tts|dall-e|moderation|rerank", re.IGNORECASE)


class _Abilities(msgspec.Struct, frozen=True):
    type: str = ""


class _Offer(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    name: str = ""
    # What Bedrock calls a model, and what reaches it in other regions.
    model_id: str = ""
    inference_profile_id: str = ""
    response_streaming_supported: bool = True
    # Gemini says what a model can do.
    supported_generation_methods: tuple[str, ...] = ("generateContent",)
    # So does Copilot, and where it can be asked; others have something else in these places.
    capabilities: msgspec.Raw = msgspec.Raw(b"{}")
    endpoints: msgspec.Raw = msgspec.field(name="supported_endpoints", default=msgspec.Raw(b"[]"))

    @property
    def called(self) -> str:
        """Return the name by which it is asked."""
        return self.id or self.name or self.inference_profile_id or self.model_id

    def answers_at(self, path: str) -> bool:
        """Return whether a model chats, and there; one that says nothing does."""
        if "generateContent" not in self.supported_generation_methods or not self.response_streaming_supported:
            return False
        kind = _read(self.capabilities, _Abilities)
        endpoints = _read(self.endpoints, list[str])
        at = [each for each in endpoints or () if each.startswith("/")]
        return (kind is None or kind.type in ("", "chat")) and (not at or any(path.endswith(each) for each in at))


class _Offers(msgspec.Struct, frozen=True):
    data: list[_Offer] | None = None
    models: list[_Offer] | None = None
    # Bedrock's and Vertex'.
    on_demand: list[_Offer] | None = msgspec.field(name="modelSummaries", default=None)
    published: list[_Offer] | None = msgspec.field(name="publisherModels", default=None)
    profiles: list[_Offer] | None = msgspec.field(name="inferenceProfileSummaries", default=None)


async def offered(config: ModelConfig, key: str, *, timeout: float = limits.MODEL_LIST_TIMEOUT) -> tuple[str, ...]:
    """Return the names of the models that a configured model's provider offers; raise one that says why not."""
    config = with_address(config)
    wire = make_wire(config, key)
    urls = list_urls(config, wire.url)
    if not urls:
        raise PilothouseError("model_refused", _NO_LIST.format(urlsplit(wire.url).hostname or wire.url))
    signer = make_signer(config, key)
    row = row_of(config)
    if row is not None and row.signs == "google" and (project := _PROJECT.search(wire.url)):
        # Whoever signed in as a person says which project pays.
        wire.headers.setdefault("x-goog-user-project", project[1])
    lists = await asyncio.gather(*(_listed(url, wire, signer, timeout) for url in urls), return_exceptions=True)
    # Whoever may see only one of several lists sees that one.
    seen = [names for names in lists if not isinstance(names, BaseException)]
    if not seen:
        raise next(error for error in lists if isinstance(error, BaseException))
    return tuple(sorted({name for names in seen for name in names if row is None or row.family in name}))


async def _listed(url: str, wire: Wire, signer: Signer | None, timeout: float) -> set[str]:
    place = urlsplit(url).hostname or url
    try:
        reply = await _fetched(url, wire, signer, timeout)
    except NetError as error:
        raise PilothouseError("model_unreachable", f"{place} could not be asked: {error.why}.") from None
    if reply.status != 200:
        code: ErrorCode = "bad_key" if reply.status in (401, 403) else "model_refused"
        reason = "it does not accept the key" if code == "bad_key" else f"it answered with status {reply.status}"
        raise PilothouseError(code, f"{place} did not list its models: {reason}.")
    try:
        return _names(msgspec.json.decode(reply.body, type=_Offers | list[_Offer]), urlsplit(wire.url).path)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise PilothouseError("model_failed", f"{place} sent something else than a list of models.") from None


async def _fetched(url: str, wire: Wire, signer: Signer | None, timeout: float) -> Fetched:
    """Return a list as it came; a proof that was refused is replaced once, as for a question."""
    asked = await signed(signer, "GET", url, wire.headers)
    reply = await fetch(asked.url, headers=asked.headers, timeout=timeout, limit=limits.MODEL_LIST_BYTES)
    if signer is None or reply.status not in (401, 403) or not signer.drop(asked.headers, reply):
        return reply
    asked = await signed(signer, "GET", url, wire.headers)
    return await fetch(asked.url, headers=asked.headers, timeout=timeout, limit=limits.MODEL_LIST_BYTES)


def has_list(config: ModelConfig) -> bool:
    """Return whether a configured model's provider has a list of models at all."""
    row = row_of(with_address(config))
    return row is None or (row.lists != "" and _may_ask(row, config))


def _may_ask(row: Row, config: ModelConfig) -> bool:
    """Return whether a list can be asked for: at another host only with a signature, for a key stays at its own."""
    return row.lists_at is None or read_source(config.api_key_source).kind == row.signs


def list_urls(config: ModelConfig, url: str) -> tuple[str, ...]:
    """Return where a provider lists its models, empty for nowhere; a key is sent to its own origin only."""
    row = row_of(config)
    if row is not None and row.lists is not None:
        if not row.lists or not _may_ask(row, config):
            return ()
        origin = origin_of(url).replace(*row.lists_at, 1) if row.lists_at else origin_of(url)
        return tuple(origin + path for path in (row.lists, *row.also_lists))
    return (_usual_list(url),)


def _usual_list(url: str) -> str:
    parts = urlsplit(url)
    for pattern, replacement, query in _LISTS:
        if pattern.search(parts.path):
            return urlunsplit((parts.scheme, parts.netloc, pattern.sub(replacement, parts.path), query, ""))
    return f"{origin_of(url)}/v1/models"


def _read(raw: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError:
        return None


def _names(offers: _Offers | list[_Offer], path: str) -> set[str]:
    # Some send the bare list.
    lists = (offers,) if isinstance(offers, list) else msgspec.structs.astuple(offers)
    listed = next((each for each in lists if each is not None), None)
    if listed is None:
        raise msgspec.ValidationError("no list")
    names = {_PUBLISHED.sub("", offer.called) for offer in listed if offer.answers_at(path)}
    return {name for name in names if _NAME.fullmatch(name) and not _OTHER_KINDS.search(name)}
