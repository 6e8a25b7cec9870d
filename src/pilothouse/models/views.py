"""Models as the page and the command line show them."""

from __future__ import annotations

from urllib.parse import urlsplit

from pilothouse.models.facts import facts_of, filled, source_of
from pilothouse.models.keys import Keys, read_source
from pilothouse.models.learned_limits import LessonBook
from pilothouse.models.models_file import ModelsFile
from pilothouse.models.provider_table import kept_as, row_of
from pilothouse.models.providers import EMBEDDED_NOTE, LOCAL, address_of, with_address
from pilothouse.types.models import FileProblem, Known, ModelConfig, ModelList, ModelView, SaidFacts
from pilothouse.types.origins import is_loopback
from pilothouse.types.prices import Prices


def model_list(content: ModelsFile, keys: Keys, problem: FileProblem | None, learned: LessonBook) -> ModelList:
    """Return all models as shown, in the order of the file."""
    default = content.default_model_id
    views = tuple(
        model_view(config, keys, learned, is_default=config.id == default) for config in content.models.values()
    )
    return ModelList(default_model_id=default, models=views, problem=problem)


def model_view(config: ModelConfig, keys: Keys, learned: LessonBook, *, is_default: bool) -> ModelView:
    """Return one model as shown; a literal key is never in it."""
    facts, whole = facts_of(config), filled(config)
    return ModelView(
        id=config.id,
        name=config.name,
        provider=config.provider,
        service=_service(config),
        model=config.model,
        base_url=config.base_url,
        host=host_line(config),
        api_key_source=read_source(config.api_key_source).shown,
        key=keys.state(config),
        context_window=whole.context_window,
        supports_thinking=bool(whole.supports_thinking),
        supports_images=bool(whole.supports_images),
        max_tokens=config.max_tokens,
        is_default=is_default,
        tool_calls=config.tool_calls,
        native_tools=config.native_tools,
        note=EMBEDDED_NOTE if config.provider == "embedded" else "",
        learned=learned.views(config),
        context_label=context_label(whole.context_window),
        price_label=_price_label(config, facts),
        said=SaidFacts(
            context_window=config.context_window or None,
            supports_thinking=config.supports_thinking,
            supports_images=config.supports_images,
            prices=config.prices,
        ),
        facts_from=source_of(config, facts),
    )


def _service(config: ModelConfig) -> str:
    """Return whose a model is: as it says, else whose its address is, if they speak the same wire."""
    row = row_of(with_address(config))
    return config.service or (kept_as(row) if row is not None and row.wire == config.provider else "")


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
    return f"{_short(tokens)} context" if tokens >= 1000 else f"{tokens} tokens of context"


def price_label(prices: Prices) -> str:
    """Return prices in words, for example "$3 in, $15 out per 1M tokens"."""
    if not prices.input and not prices.output:
        return "free of charge"
    more = f", more above {_short(prices.above)}" if prices.beyond is not None else ""
    return f"{_dollars(prices.input)} in, {_dollars(prices.output)} out per 1M tokens{more}"


def _price_label(config: ModelConfig, facts: Known) -> str:
    if config.prices is not None:
        return f"{price_label(config.prices)}, as you set it"
    return price_label(facts.prices) if facts.prices is not None else ""


def _dollars(price: float) -> str:
    return f"${price:.4f}".rstrip("0").rstrip(".")


def _short(tokens: int) -> str:
    unit = 1000 if tokens % 1000 == 0 or tokens % 1024 else 1024
    return f"{tokens / unit / unit:.3g}M" if tokens >= unit * unit else f"{round(tokens / unit)}K"
