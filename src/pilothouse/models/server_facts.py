"""Asks a model's own server what it knows about it: the window that it was really loaded with, and its abilities."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Coroutine, Iterable
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from pilothouse.models.factory import make_wire
from pilothouse.models.facts import has_open_list, over
from pilothouse.models.listing import list_urls
from pilothouse.models.providers import with_address
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.models import Known, ModelConfig
from pilothouse.types.origins import origin_of
from pilothouse.types.prices import Prices

T = TypeVar("T")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_MILLION = 1_000_000


class _Show(msgspec.Struct, frozen=True):
    """What Ollama says about a model at `/api/show`."""

    capabilities: tuple[str, ...]
    model_info: JsonObject = {}
    # The lines of its Modelfile.
    parameters: str = ""


class _Settings(msgspec.Struct, frozen=True):
    n_ctx: int


class _Modalities(msgspec.Struct, frozen=True):
    vision: bool = False


class _Props(msgspec.Struct, frozen=True):
    """What llama.cpp says about itself at `/props`; it has one model."""

    default_generation_settings: _Settings
    modalities: _Modalities = _Modalities()


class _Provider(msgspec.Struct, frozen=True):
    max_completion_tokens: int | None = None


class _Architecture(msgspec.Struct, frozen=True):
    input_modalities: tuple[str, ...] = ()


class _Meta(msgspec.Struct, frozen=True):
    n_ctx: int | None = None


class _Listed(msgspec.Struct, frozen=True):
    """A model in a list, with what vLLM, LM Studio, OpenRouter and others add to its name."""

    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_completion_tokens: int | None = None
    # LM Studio: what it could have, and what it was loaded with.
    max_context_length: int | None = None
    loaded_context_length: int | None = None
    type: str = ""
    capabilities: tuple[str, ...] | JsonObject | None = None
    # OpenRouter.
    architecture: _Architecture | None = None
    top_provider: _Provider | None = None
    supported_parameters: tuple[str, ...] | None = None
    pricing: dict[str, object] | None = None
    # llama.cpp.
    meta: _Meta | None = None


class _Named(msgspec.Struct, frozen=True):
    id: str


class _List(msgspec.Struct, frozen=True):
    # Each is read by itself: what is odd about another model does not matter here.
    data: tuple[msgspec.Raw, ...]


async def told(config: ModelConfig, key: str, *, timeout: float = limits.TOLD_TIMEOUT) -> Known | None:
    """Return what a model's server says about it; None when it does not answer, or has nothing to say."""
    config = with_address(config)
    answers = await asyncio.gather(*_Asking(config, key, timeout).questions())
    facts = _together([answer for answer in answers if answer is not None])
    if not has_open_list(config):
        # What runs near costs nothing for its tokens; whoever passes requests on has prices of their own.
        facts = msgspec.structs.replace(facts, prices=None)
    if facts == Known():
        return None
    place = urlsplit(config.base_url).netloc.rpartition("@")[2]
    return msgspec.structs.replace(facts, source=f"{place} on {datetime.now(UTC).date().isoformat()}")


class _Asking:
    """The questions about one model, each in the words of one kind of server."""

    def __init__(self, config: ModelConfig, key: str, timeout: float) -> None:
        self._config = config
        self._wire = make_wire(config, key)
        self._origin = origin_of(config.base_url)
        self._timeout = timeout

    def questions(self) -> tuple[Coroutine[None, None, Known | None], ...]:
        """Return all that may be answered; of two answers to a point the first counts."""
        if self._config.provider == "ollama":
            return (self._ollama(),)
        if has_open_list(self._config):
            return (self._listed(next(iter(list_urls(self._config, self._wire.url)), "")),)
        return (
            self._llama_cpp(),
            self._listed(f"{self._origin}/api/v0/models"),
            self._listed(next(iter(list_urls(self._config, self._wire.url)), "")),
            self._ollama(),
        )

    async def _ollama(self) -> Known | None:
        body = msgspec.json.encode({"model": self._config.model})
        shown = await self._get(f"{self._origin}/api/show", _Show, body)
        if shown is None:
            return None
        able = frozenset(shown.capabilities)
        return Known(
            context_window=self._ollama_window(shown),
            images="vision" in able,
            thinking="thinking" in able,
            tools="tools" in able,
        )

    def _ollama_window(self, shown: _Show) -> int | None:
        """Return the window that the model is given: as its Modelfile says, else no more than most machines take."""
        if found := _NUM_CTX.search(shown.parameters):
            return int(found[1])
        sizes = (value for name, value in shown.model_info.items() if name.endswith(".context_length"))
        whole = next((size for size in sizes if isinstance(size, int) and size > 0), None)
        # Only in its own format can Ollama be told how much to load.
        if whole is None or self._config.provider != "ollama":
            return None
        return min(whole, limits.DEFAULT_CONTEXT_WINDOW)

    async def _llama_cpp(self) -> Known | None:
        props = await self._get(f"{self._origin}/props", _Props)
        if props is None or props.default_generation_settings.n_ctx < 1:
            return None
        return Known(context_window=props.default_generation_settings.n_ctx, images=props.modalities.vision)

    async def _listed(self, url: str) -> Known | None:
        found = await self._get(url, _List)
        if found is None:
            return None
        if (entry := _entry(found.data, self._config.model)) is not None:
            return _read(entry)
        # The ways in which OpenRouter chooses who answers, "x/y:nitro", are not listed and have other prices.
        name, colon, _way = self._config.model.rpartition(":")
        entry = _entry(found.data, name) if colon and has_open_list(self._config) else None
        return msgspec.structs.replace(_read(entry), prices=None) if entry is not None else None

    async def _get(self, url: str, kind: type[T], body: bytes | None = None) -> T | None:
        """Return a document, None for whatever else comes: these are questions that a server need not know."""
        try:
            reply = await fetch(
                url, headers=self._wire.headers, timeout=self._timeout, limit=limits.MODEL_LIST_BYTES, content=body
            )
            return msgspec.json.decode(reply.body, type=kind) if reply.status == 200 else None
        except (NetError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


def _entry(listed: Iterable[msgspec.Raw], model: str) -> _Listed | None:
    """Return what a list has about a model; a field of another kind than usual is none."""
    for raw in listed:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if msgspec.json.decode(raw, type=_Named).id == model:
                return _understood(msgspec.json.decode(raw))
    return None


def _understood(entry: JsonObject) -> _Listed:
    known: JsonObject = {}
    for field in msgspec.structs.fields(_Listed):
        with contextlib.suppress(msgspec.ValidationError):
            if entry.get(field.name) is not None:
                known[field.name] = msgspec.convert(entry[field.name], field.type, strict=False)
    return _Listed(**known)


def _read(entry: _Listed) -> Known:
    """Return what a list says of a model beside its name."""
    sees: bool | None = None
    reasons: bool | None = None
    calls: bool | None = None
    if entry.type in ("llm", "vlm"):
        sees = entry.type == "vlm"
    if isinstance(entry.capabilities, tuple):
        calls = "tool_use" in entry.capabilities or None
    if entry.architecture is not None and entry.architecture.input_modalities:
        sees = "image" in entry.architecture.input_modalities
    if entry.supported_parameters is not None:
        reasons = "reasoning" in entry.supported_parameters
        calls = "tools" in entry.supported_parameters
    provider = entry.top_provider or _Provider()
    return Known(
        context_window=_window(entry),
        max_output=entry.max_completion_tokens or provider.max_completion_tokens,
        images=sees,
        thinking=reasons,
        tools=calls,
        prices=_prices(entry.pricing or {}),
    )


def _window(entry: _Listed) -> int | None:
    """Return the window that a model has been given; one that is not loaded yet may get less than it could have."""
    meta = entry.meta or _Meta()
    given = entry.loaded_context_length, entry.max_model_len, entry.context_length, entry.context_window, meta.n_ctx
    found = next((size for size in given if size is not None and size > 0), None)
    if found is None and entry.max_context_length:
        return min(entry.max_context_length, limits.DEFAULT_CONTEXT_WINDOW)
    return found


def _prices(pricing: dict[str, object]) -> Prices | None:
    """Return OpenRouter's prices, which are dollars for one token, in text."""
    numbers: dict[str, float] = {}
    for name, value in pricing.items():
        with contextlib.suppress(TypeError, ValueError):
            numbers[name] = round(float(str(value)) * _MILLION, 6)
    # What it chooses for each request anew has no price of its own, and is told as -1.
    if min(numbers.get("prompt", -1), numbers.get("completion", -1)) < 0:
        return None
    return Prices(
        input=numbers["prompt"],
        output=numbers["completion"],
        cache_read=numbers.get("input_cache_read"),
        cache_write=numbers.get("input_cache_write"),
    )


def _together(answers: Iterable[Known]) -> Known:
    """Return what all answers say; of two to a point the first counts."""
    facts = Known()
    for answer in answers:
        facts = over(facts, answer)
    return facts
