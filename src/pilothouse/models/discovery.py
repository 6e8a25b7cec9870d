"""Finds what could be added with one click: model servers on this machine, and keys in the environment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.models.keys import read_source
from pilothouse.models.offers import offered
from pilothouse.models.providers import address_of, usual_window
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import FoundModel, ModelConfig, Provider
from pilothouse.types.origins import is_loopback, origin_of


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that people run on their own machine, and where it usually listens."""

    name: str
    provider: Provider
    base_url: str


LOCAL_SERVERS = (
    LocalServer("Ollama", "ollama", "http://127.0.0.1:11434"),
    LocalServer("LM Studio", "openai-compatible", "http://127.0.0.1:1234/v1"),
    LocalServer("llama.cpp", "openai-compatible", "http://127.0.0.1:8080/v1"),
)


class _Known(msgspec.Struct, frozen=True):
    """A provider whose key may be in the environment, and a model to begin with."""

    variable: str
    name: str
    provider: Provider
    base_url: str
    model: str
    thinks: bool


_KNOWN = (
    _Known(
        "ANTHROPIC_API_KEY", "Anthropic", "anthropic-compatible", "https://api.anthropic.com", "claude-sonnet-4-5", True
    ),
    _Known("OPENAI_API_KEY", "OpenAI", "openai-responses", "https://api.openai.com/v1", "gpt-5", True),
    _Known(
        "DeepseekKey",
        "DeepSeek",
        "anthropic-compatible",
        "https://api.deepseek.com/anthropic",
        "deepseek-reasoner",
        True,
    ),
    _Known("GEMINI_API_KEY", "Gemini", "gemini", "https://generativelanguage.googleapis.com", "gemini-2.5-flash", True),
    _Known(
        "OPENROUTER_API_KEY",
        "OpenRouter",
        "openai-compatible",
        "https://openrouter.ai/api/v1",
        "openrouter/auto",
        False,
    ),
)


async def find_models(
    configured: Iterable[ModelConfig],
    *,
    environ: Mapping[str, str] = os.environ,
    servers: Iterable[LocalServer] = LOCAL_SERVERS,
    timeout: float = limits.DISCOVERY_TIMEOUT,
) -> tuple[FoundModel, ...]:
    """Look everywhere at once and return what is not configured yet; nothing outside this machine is asked."""
    configured = tuple(configured)
    answers = await asyncio.gather(*(_ask(server, configured, timeout) for server in servers))
    return (*(found for found in answers if found is not None), *_keys(configured, environ))


async def answer(server: LocalServer, timeout: float) -> tuple[str, ...] | PilothouseError:
    """Ask a server for its models; return their names, or why it named none."""
    draft = ModelConfig(name=server.name, provider=server.provider, base_url=server.base_url)
    try:
        return await offered(draft, "", timeout=timeout)
    except PilothouseError as error:
        return error


async def _ask(server: LocalServer, configured: tuple[ModelConfig, ...], timeout: float) -> FoundModel | None:
    names = await answer(server, timeout)
    return None if isinstance(names, PilothouseError) else offer(server, names, configured)


def offer(server: LocalServer, names: tuple[str, ...], configured: tuple[ModelConfig, ...]) -> FoundModel | None:
    """Return what a server has that is not configured yet; None when that is nothing."""
    draft = ModelConfig(name=server.name, provider=server.provider, base_url=server.base_url)
    here = origin_of(server.base_url)
    taken = {config.model for config in configured if origin_of(address_of(config)) == here}
    choices = tuple(name for name in names if name not in taken)
    if not choices:
        return None
    count = "1 model" if len(choices) == 1 else f"{len(choices)} models"
    where = "on this machine" if is_loopback(server.base_url) else f"at {urlsplit(here).hostname}"
    return FoundModel(
        title=f"{server.name} {where}",
        why=f"It listens at {here.removeprefix('http://')} and offers {count}.",
        draft=msgspec.structs.replace(
            draft,
            name=f"{choices[0]} ({server.name})",
            model=choices[0],
            context_window=usual_window(server.provider, choices[0]),
        ),
        choices=choices,
    )


def _keys(configured: tuple[ModelConfig, ...], environ: Mapping[str, str]) -> Iterable[FoundModel]:
    used = {read_source(config.api_key_source).name for config in configured}
    for known in _KNOWN:
        if not environ.get(known.variable) or known.variable in used:
            continue
        yield FoundModel(
            title=f"{known.name} (key found in {known.variable})",
            why=f"The environment has a key for {known.name}; it goes to {urlsplit(known.base_url).hostname} only.",
            draft=ModelConfig(
                name=f"{known.name} {known.model}",
                provider=known.provider,
                base_url=known.base_url,
                api_key_source=f"env:{known.variable}",
                model=known.model,
                context_window=usual_window(known.provider, known.model),
                supports_thinking=known.thinks,
            ),
        )
