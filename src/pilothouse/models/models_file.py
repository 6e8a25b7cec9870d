"""`models.json`: what it may hold, how an entry is written, and what the first one holds."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pilothouse.models.provider_table import blank_in, is_known, rows
from pilothouse.models.providers import EMBEDDED_NAME, LOCAL, address_of
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.models import PROVIDERS, ModelConfig
from pilothouse.types.origins import origin_of
from pilothouse.types.ports import Secrets
from pilothouse.types.prices import price_problem

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LEGACY_VARIABLE = "PILOTHOUSE_LEGACY_SETTINGS"
LEGACY_NAME = "appsettings.json"
# Written even when they have their default, so that a person sees what there is to set.
_ALWAYS = ("name", "provider", "baseUrl", "apiKeySource", "model", "contextWindow", "supportsThinking")
_OPTIONAL = (
    "service",
    "supportsImages",
    "maxTokens",
    "toolCalls",
    "nativeTools",
    "headers",
    "extra",
    "prices",
    "known",
)


class ModelsFile(msgspec.Struct, frozen=True):
    """The content of `models.json`."""

    default_model_id: str | None
    models: dict[str, ModelConfig]


def parse_models(raw: JsonObject) -> ModelsFile:
    """Return the content of `models.json`; raise a BadField for what does not fit."""
    entries = convert(raw.get("models", {}), dict[str, JsonObject], ("models",))
    models = {model_id: parse_model(model_id, entry) for model_id, entry in entries.items()}
    default = convert(raw.get("defaultModelId") or "", str, ("defaultModelId",))
    if default and default not in models:
        raise BadField(("defaultModelId",), f"The default model “{default}” is not among the models.")
    return ModelsFile(default or None, models)


def parse_model(model_id: str, entry: JsonObject) -> ModelConfig:
    """Return one entry of `models.json`; raise a BadField for what does not fit."""
    at = ("models", model_id)
    if not ID.fullmatch(model_id):
        message = f"“{model_id}” cannot be a model's id: use letters, digits, dots, dashes and underscores."
        raise BadField(at, message)
    provider = entry.get("provider")
    if isinstance(provider, str) and provider not in PROVIDERS:
        message = f"The provider “{provider}” is not known; use one of {', '.join(PROVIDERS)}."
        if row := rows().get(provider):
            message = f"“{provider}” is a service: write it as “service”, and as “provider” its wire, {row.wire}."
        raise BadField((*at, "provider"), message)
    # Null means "not said", as in a form.
    said = {key: value for key, value in entry.items() if value is not None and key != "id"}
    config = convert(said, ModelConfig, at)
    # It stands in tables, in sentences and in files that are read line by line.
    config = msgspec.structs.replace(config, id=model_id, name=on_one_line(config.name))
    _check(config, at)
    if "contextWindow" in said and config.context_window < 1:
        raise BadField((*at, "contextWindow"), "“contextWindow” must be at least 1.")
    return config


def _check(config: ModelConfig, at: tuple[str, ...]) -> None:
    if not config.name:
        raise BadField((*at, "name"), "A model needs a name.")
    if config.base_url and config.provider not in LOCAL and not origin_of(config.base_url):
        message = f"“{config.base_url}” is not a web address; it begins with http:// or https://."
        raise BadField((*at, "baseUrl"), message)
    if config.service and not is_known(config.service):
        message = f"The service “{config.service}” is not known; leave it out, and the address is enough."
        raise BadField((*at, "service"), message)
    if blank := blank_in(address := address_of(config)):
        message = f"The address {address} has a blank: put your own {blank} in the place of {{{blank}}}."
        raise BadField((*at, "baseUrl"), message)
    # A script may stand in either place.
    if not config.model and config.provider != "embedded" and not (config.provider == "scripted" and config.base_url):
        raise BadField((*at, "model"), "“model” must say which of the provider's models to use.")
    if config.prices is not None and (wrong := price_problem(config.prices)):
        raise BadField((*at, "prices"), wrong)
    if config.max_tokens is not None and config.max_tokens < 1:
        raise BadField((*at, "maxTokens"), "“maxTokens” must be at least 1.")


def has_no_models(raw: JsonObject) -> bool:
    """Return whether a file counts as empty."""
    return not raw.get("models")


def is_first(raw: JsonObject, config: ModelConfig) -> bool:
    """Return whether a model would be the first that a person adds: there is none beside the built-in one."""
    models: JsonObject = raw.get("models", {})
    return config.id not in models and all(entry["provider"] == "embedded" for entry in models.values())


def write_model(raw: JsonObject, config: ModelConfig) -> None:
    """Put an entry in; what else a person wrote into it by hand stays."""
    # Null is what nobody said: it is filled in with what is known.
    fields: JsonObject = {"baseUrl": "", "apiKeySource": "", "model": "", "supportsThinking": None}
    fields |= {"contextWindow": None, **msgspec.to_builtins(config)}
    entry = raw.setdefault("models", {}).setdefault(config.id, {})
    for name in _OPTIONAL:
        entry.pop(name, None)
    entry |= {name: fields[name] for name in (*_ALWAYS, *_OPTIONAL) if name in fields}


def embedded_only() -> JsonObject:
    """Return a content with the built-in model alone."""
    config = ModelConfig(id="embedded", name=EMBEDDED_NAME, provider="embedded", context_window=limits.EMBEDDED_CONTEXT)
    raw: JsonObject = {"defaultModelId": config.id}
    write_model(raw, config)
    return raw


def first_models(home: Path, secrets: Secrets, environ: Mapping[str, str] = os.environ) -> Callable[[], JsonObject]:
    """Return what makes the first content: the legacy settings where there are any, else the built-in model."""

    def make() -> JsonObject:
        path = Path(environ.get(LEGACY_VARIABLE) or home / LEGACY_NAME).expanduser()
        raw = embedded_only()
        legacy = _legacy(path)
        if legacy is not None:
            config = _migrated(legacy, secrets)
            write_model(raw, config)
            raw["defaultModelId"] = config.id
        return raw

    return make


class _Legacy(msgspec.Struct, frozen=True, rename="pascal"):
    """The one model that the settings of earlier hosts had."""

    model: str
    base_url: str = "https://api.anthropic.com"
    api_key: str = ""
    # 0 where it is left to what is known.
    context_window_tokens: int = 0


class _LegacyFile(msgspec.Struct, frozen=True):
    anthropic: _Legacy = msgspec.field(name="Anthropic")


def _legacy(path: Path) -> _Legacy | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_LegacyFile).anthropic
    except (OSError, msgspec.MsgspecError):
        return None
    usable = found.model.strip() and origin_of(found.base_url) and found.context_window_tokens >= 0
    return found if usable else None


def _migrated(legacy: _Legacy, secrets: Secrets) -> ModelConfig:
    model_id = slug(legacy.model, ())
    source = legacy.api_key.strip()
    if source and not source.lower().startswith(("env:", "secret:")):
        # A key in plain text is not carried over as one.
        secrets.put(secret_name(model_id), source, origin_of(legacy.base_url))
        source = f"secret:{secret_name(model_id)}"
    return ModelConfig(
        id=model_id,
        name=legacy.model,
        provider="anthropic-compatible",
        base_url=legacy.base_url,
        api_key_source=source,
        model=legacy.model,
        context_window=legacy.context_window_tokens,
        supports_thinking="reason" in legacy.model.lower(),
    )


def slug(name: str, taken: tuple[str, ...] | Mapping[str, object]) -> str:
    """Return an id made from a name, different from those that are taken."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:48].rstrip("-") or "model"
    candidate, number = base, 1
    while candidate in taken:
        number += 1
        candidate = f"{base}-{number}"
    return candidate


def secret_name(model_id: str) -> str:
    """Return the name under which a model's typed key is kept."""
    return f"model-{model_id}"
