"""Finds what could be added with one click: model servers on this machine, and keys in the environment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.models.keys import read_source
from pilothouse.models.listing import offered
from pilothouse.models.provider_rows import Row
from pilothouse.models.provider_table import blank_in, filled, kept_as, rows, source_in
from pilothouse.models.providers import address_of
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import FoundModel, ModelConfig
from pilothouse.types.origins import is_loopback, origin_of

# A model of each server that people run themselves, where that usually listens; it has no name yet.
LOCAL_SERVERS = tuple(
    ModelConfig(name=row.name, provider=row.wire, service=kept_as(row), base_url=row.base_url)
    for row in rows().values()
    if row.local
)
# What signs on this machine, as people call it.
_SIGNS = {"aws": "AWS credentials", "google": "Google credentials", "copilot": "a sign-in"}


async def find_models(
    configured: Iterable[ModelConfig],
    *,
    environ: Mapping[str, str] = os.environ,
    servers: Iterable[ModelConfig] = LOCAL_SERVERS,
    timeout: float = limits.DISCOVERY_TIMEOUT,
) -> tuple[FoundModel, ...]:
    """Look everywhere at once and return what is not configured yet; nothing outside this machine is asked."""
    configured = tuple(configured)
    answers = await asyncio.gather(*(_ask(server, configured, timeout) for server in servers))
    return (*(found for found in answers if found is not None), *_keys(configured, environ))


async def answer(server: ModelConfig, timeout: float) -> tuple[str, ...] | PilothouseError:
    """Ask a server for its models; return their names, or why it named none."""
    try:
        return await offered(server, "", timeout=timeout)
    except PilothouseError as error:
        return error


async def _ask(server: ModelConfig, configured: tuple[ModelConfig, ...], timeout: float) -> FoundModel | None:
    names = await answer(server, timeout)
    return None if isinstance(names, PilothouseError) else offer(server, names, configured)


def offer(server: ModelConfig, names: tuple[str, ...], configured: tuple[ModelConfig, ...]) -> FoundModel | None:
    """Return what a server has that is not configured yet; None when that is nothing."""
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
        draft=msgspec.structs.replace(server, name=f"{choices[0]} ({server.name})", model=choices[0]),
        choices=choices,
    )


def _keys(configured: tuple[ModelConfig, ...], environ: Mapping[str, str]) -> Iterable[FoundModel]:
    used = {read_source(config.api_key_source).shown for config in configured}
    for row in rows().values():
        if not row.model or blank_in(filled(row.base_url, environ)):
            continue
        source = source_in(row, environ)
        # Several rows may take the same key; it is offered once.
        if not source or source in used:
            continue
        used.add(source)
        yield _found(row, source, filled(row.base_url, environ))


def _found(row: Row, source: str, address: str) -> FoundModel:
    is_key = source.startswith("env:")
    told = f"key found in {source.removeprefix('env:')}" if is_key else f"{_SIGNS[source]} found"
    what = "a key" if is_key else "credentials"
    return FoundModel(
        title=f"{row.name}: {told}",
        why=f"The environment has {what} for {row.name}; used at {urlsplit(address).hostname} only.",
        draft=ModelConfig(
            name=f"{row.name} {row.model}",
            provider=row.wire,
            service=kept_as(row),
            base_url=address,
            api_key_source=source,
            model=row.model,
        ),
    )
