"""From a configured model to one that can be asked. Each adapter is imported when the first of its kind is made."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from pilothouse.models.keys import read_source
from pilothouse.models.provider_rows import Row
from pilothouse.models.provider_table import blank_in, blanks_of, filled, is_at, row_of, rows
from pilothouse.models.providers import with_address
from pilothouse.models.wire_table import adapter_of
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.origins import is_loopback, origin_of
from pilothouse.types.plugins import ModelMaker
from pilothouse.types.ports import Model
from pilothouse.types.stream import Failed, StreamEvent

if TYPE_CHECKING:
    from pilothouse.models.embedded import EmbeddedModel
    from pilothouse.models.learned_limits import ModelLessons
    from pilothouse.models.signing import Signer
    from pilothouse.models.wire import Wire

# ruff: noqa: PLC0415 - an HTTP client takes 0.15 s to import; a command that asks no model must not pay for it.


_log = logging.getLogger(__name__)


def _embedded_model() -> type[EmbeddedModel]:
    from pilothouse.models.embedded import EmbeddedModel

    return EmbeddedModel


# Its server runs in this process: whoever opened a host stops it.
embedded_model = Lazy(_embedded_model)


def make_model(
    config: ModelConfig,
    key: str = "",
    *,
    first_byte: float = limits.FIRST_BYTE_TIMEOUT,
    silence: float = limits.SILENCE_TIMEOUT,
    first_wait: float = limits.RETRY_FIRST_WAIT,
    lessons: ModelLessons | None = None,
) -> Model:
    """Return the configured model, ready to be asked; raise a PilothouseError when it cannot be one."""
    from pilothouse.models.tool_calling import ToolCalling

    if config.provider == "embedded":
        return ToolCalling(embedded_model()(config), config, limits.EMBEDDED_CALL_ROUNDS)
    model: Model
    if config.provider == "scripted":
        from pilothouse.models.scripted import ScriptedModel

        path = config.model or config.base_url
        model = ScriptedModel(path, first_byte=first_byte, silence=silence, first_wait=first_wait)
    else:
        from pilothouse.models.http_model import HttpModel

        secrets = (key, *config.headers.values())
        wire, signer = make_wire(config, key, lessons), make_signer(config, key)
        model = HttpModel(
            wire, secrets=secrets, signer=signer, first_byte=first_byte, silence=silence, first_wait=first_wait
        )
    return ToolCalling(model, config, limits.CONSTRAINED_CALL_ROUNDS, lessons)


def make_wire(config: ModelConfig, key: str = "", lessons: ModelLessons | None = None) -> Wire:
    """Return the wire format of a configured model that is reached over HTTP, as its provider wants it."""
    config = with_address(config)
    row = row_of(config)
    if row is None:
        return _wire(config, key, lessons)
    wire = _wire(_as_wanted(config, row), key if row.key == "wire" else "", lessons)
    for name, value in row.headers.items():
        if value is None and name not in config.headers:
            wire.headers.pop(name, None)
    if key and row.key != "wire" and not _is_google_key(row, key) and not _is_login(row, key):
        wire.headers.setdefault(*(("authorization", f"Bearer {key}") if row.key == "bearer" else (row.key, key)))
    if row.path and row.wire == config.provider:
        from pilothouse.models.wire import joined

        path, _, query = row.path.replace("{model}", quote(config.model, safe="")).partition("?")
        wire.url = joined(config.base_url, path, query)
    return wire


def make_signer(config: ModelConfig, key: str = "") -> Signer | None:
    """Return what proves with each request who asks; None for a provider that wants a key alone."""
    row = row_of(config)
    source = read_source(config.api_key_source)
    if source.kind == "aws":
        from pilothouse.models.aws import AwsSigner, Scope

        region = (blanks_of(row, config.base_url) if row else {}).get("region") or filled("{region}")
        service = row.aws_service if row and row.aws_service else "bedrock"
        return AwsSigner(source.name, Scope("us-east-1" if blank_in(region) else region, service))
    if source.kind == "google" or _is_google_key(row, key):
        from pilothouse.models.google_tokens import GoogleSigner

        return GoogleSigner(key, source.name)
    if source.kind == "copilot" or _is_login(row, key):
        return _copilot_signer(config, key, source.name)
    return None


def _copilot_signer(config: ModelConfig, key: str, path: str) -> Signer:
    from pilothouse.models.copilot_tokens import CopilotSigner

    row = rows()["copilot"]

    def may_move(place: str) -> bool:
        """Return whether requests go where GitHub says: one of its own, unless a person chose another already."""
        if is_loopback(config.base_url):
            return is_loopback(place)
        return origin_of(config.base_url) == origin_of(row.base_url) and is_at(row, origin_of(place))

    return CopilotSigner(key, path, base_url=config.base_url, may_move=may_move)


def _is_google_key(row: Row | None, key: str) -> bool:
    """Return whether a key is a service account's, which signs and is never sent."""
    return row is not None and row.signs == "google" and key.lstrip().startswith("{")


def _is_login(row: Row | None, key: str) -> bool:
    """Return whether a key is one of GitHub's for Copilot, which is exchanged for another."""
    return row is not None and row.signs == "copilot" and bool(key)


def _as_wanted(config: ModelConfig, row: Row) -> ModelConfig:
    """Return the configuration with the provider's own headers and fields under the person's."""
    headers = {name: value for name, value in row.headers.items() if value is not None}
    fields: JsonObject = {}
    if row.wire == config.provider:
        fields = {**dict.fromkeys(row.lacks), **row.extra}
    wanted = msgspec.structs.replace(config, headers=headers | config.headers, extra=fields | config.extra)
    if row.brief and config.max_tokens is None:
        from pilothouse.models.wire import own_limit

        wanted = msgspec.structs.replace(wanted, max_tokens=own_limit(config))
    return wanted


def _wire(config: ModelConfig, key: str, lessons: ModelLessons | None) -> Wire:
    if (adapter := adapter_of(config.provider)) is None:
        raise PilothouseError("bad_config", f"A model of the kind “{config.provider}” is not reached over HTTP.")
    return adapter(config, key, lessons)


def make_plugged(config: ModelConfig, key: str, makers: Mapping[str, ModelMaker]) -> Model:
    """Return the model that a plugin makes; its configuration names it as `name/model`."""
    from pilothouse.models.tool_calling import ToolCalling

    name = config.model.partition("/")[0]
    maker = makers.get(name)
    if maker is None:
        known = f"Plugins make: {', '.join(sorted(makers))}." if makers else "No installed plugin makes models."
        raise PilothouseError("bad_config", f"There is no plugin that makes the model “{config.model}”.", fix=known)
    try:
        made = maker(config, key)
    except Exception as error:
        _log.exception("a plugin could not make the model %s", config.id)
        message = f"The plugin for “{config.model}” failed: {type(error).__name__}."
        raise PilothouseError("bad_config", message, fix="The log has the details.") from error
    return ToolCalling(_Plugged(made, name), config, limits.CONSTRAINED_CALL_ROUNDS)


class _Plugged:
    """A plugin's model whose failures are events, as everywhere."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._name = name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            _log.exception("the model of the plugin %s raised", self._name)
            yield Failed(code="model_failed", message=f"The plugin “{self._name}” failed: {type(error).__name__}.")


def making(makers: Callable[[], Mapping[str, ModelMaker]], make: ModelMaker) -> ModelMaker:
    """Return how models are made: by plugins where the configuration says so, as ever otherwise."""
    return lambda config, key: make_plugged(config, key, makers()) if config.provider == "plugin" else make(config, key)
