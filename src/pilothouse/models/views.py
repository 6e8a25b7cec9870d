"""Models as the page and the command line show them."""

from __future__ import annotations

from urllib.parse import urlsplit

from pilothouse.models.keys import Keys, read_source
from pilothouse.models.models_file import ModelsFile
from pilothouse.models.providers import EMBEDDED_NOTE, LOCAL, address_of, sees_images
from pilothouse.types.models import FileProblem, ModelConfig, ModelList, ModelView
from pilothouse.types.origins import is_loopback


def model_list(content: ModelsFile, keys: Keys, problem: FileProblem | None) -> ModelList:
    """Return all models as shown, in the order of the file."""
    default = content.default_model_id
    views = tuple(model_view(config, keys, is_default=config.id == default) for config in content.models.values())
    return ModelList(default_model_id=default, models=views, problem=problem)


def model_view(config: ModelConfig, keys: Keys, *, is_default: bool) -> ModelView:
    """Return one model as shown; a literal key is never in it."""
    return ModelView(
        id=config.id,
        name=config.name,
        provider=config.provider,
        model=config.model,
        base_url=config.base_url,
        host=host_line(config),
        api_key_source=read_source(config.api_key_source).shown,
        key=keys.state(config),
        context_window=config.context_window,
        supports_thinking=config.supports_thinking,
        supports_images=sees_images(config),
        max_tokens=config.max_tokens,
        is_default=is_default,
        tool_calls=config.tool_calls,
        native_tools=config.native_tools,
        note=EMBEDDED_NOTE if config.provider == "embedded" else "",
        context_label=context_label(config.context_window),
    )


def host_line(config: ModelConfig) -> str:
    """Return where a model is, in the few words a card has room for."""
    if config.provider in LOCAL:
        return "this machine"
    address = address_of(config)
    parts = urlsplit(address)
    # On this machine the port tells one server from another.
    return parts.netloc.rpartition("@")[2] if is_loopback(address) else parts.hostname or ""


def context_label(tokens: int) -> str:
    """Return a context window in words, for example "128K context"."""
    unit = 1000 if tokens % 1000 == 0 or tokens % 1024 else 1024
    if tokens >= unit * unit:
        return f"{tokens / unit / unit:.3g}M context"
    return f"{round(tokens / unit)}K context" if tokens >= unit else f"{tokens} tokens of context"
