"""Asks a provider which models it offers."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse.models.factory import make_wire
from pilothouse.models.providers import with_address
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode, PilothouseError
from pilothouse.types.models import ModelConfig
from pilothouse.types.origins import origin_of

# From where a wire asks for answers to where it lists models.
_LISTS = (
    (re.compile(r"/v1/messages$"), "/v1/models", "limit=1000"),
    (re.compile(r"/(chat/completions|responses)$"), "/models", ""),
    (re.compile(r"/api/chat$"), "/api/tags", ""),
    (re.compile(r"/models/[^/]*:streamGenerateContent$"), "/models", "pageSize=1000"),
)
_NAME = re.compile(r"[\w./:@+ -]{1,200}")
# Models that make no text.
_OTHER_KINDS = re.compile(r"embed|whisper|tts|dall-e|moderation|rerank", re.IGNORECASE)


class _Offer(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    name: str = ""
    # Gemini says what a model can do.
    supported_generation_methods: tuple[str, ...] = ("generateContent",)


class _Offers(msgspec.Struct, frozen=True):
    data: list[_Offer] | None = None
    models: list[_Offer] | None = None


async def offered(config: ModelConfig, key: str, *, timeout: float = limits.MODEL_LIST_TIMEOUT) -> tuple[str, ...]:
    """Return the names of the models that a configured model's provider offers; raise one that says why not."""
    wire = make_wire(with_address(config), key)
    place = urlsplit(wire.url).hostname or wire.url
    try:
        reply = await fetch(_list_url(wire.url), headers=wire.headers, timeout=timeout, limit=limits.MODEL_LIST_BYTES)
    except NetError as error:
        raise PilothouseError("model_unreachable", f"{place} could not be asked: {error.why}.") from None
    if reply.status != 200:
        code: ErrorCode = "bad_key" if reply.status in (401, 403) else "model_refused"
        reason = "it does not accept the key" if code == "bad_key" else f"it answered with status {reply.status}"
        raise PilothouseError(code, f"{place} did not list its models: {reason}.")
    try:
        return _names(msgspec.json.decode(reply.body, type=_Offers))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise PilothouseError("model_failed", f"{place} sent something else than a list of models.") from None


def _list_url(url: str) -> str:
    parts = urlsplit(url)
    for pattern, replacement, query in _LISTS:
        if pattern.search(parts.path):
            return urlunsplit((parts.scheme, parts.netloc, pattern.sub(replacement, parts.path), query, ""))
    return f"{origin_of(url)}/v1/models"


def _names(offers: _Offers) -> tuple[str, ...]:
    listed = offers.data if offers.data is not None else offers.models
    if listed is None:
        raise msgspec.ValidationError("no list")
    names = {
        (offer.id or offer.name).removeprefix("models/")
        for offer in listed
        if "generateContent" in offer.supported_generation_methods
    }
    return tuple(sorted(name for name in names if _NAME.fullmatch(name) and not _OTHER_KINDS.search(name)))
