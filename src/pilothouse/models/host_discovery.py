"""Finds model servers on a host that a person named: at their usual ports, or at the one that was given."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

import msgspec

from pilothouse.models.discovery import LOCAL_SERVERS, answer, offer
from pilothouse.net.errors import UNKNOWN_NAME
from pilothouse.types import limits
from pilothouse.types.api import FoundModels
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import FoundModel, ModelConfig
from pilothouse.types.origins import origin_of

_FIX = "Give a name or an address, and a port if it is not the usual one: nas.local, 192.168.1.5:8080."
_NAME = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*\.?")


async def find_at(
    host: str,
    configured: Iterable[ModelConfig],
    *,
    servers: Iterable[ModelConfig] = LOCAL_SERVERS,
    timeout: float = limits.HOST_DISCOVERY_TIMEOUT,
) -> FoundModels:
    """Ask all servers that may be there at once; return what is not configured yet, or say why that is nothing."""
    asked, configured = servers_at(host, tuple(servers)), tuple(configured)
    answers = await asyncio.gather(*(answer(server, timeout) for server in asked))
    found: dict[str, FoundModel | None] = {}
    for server, names in zip(asked, answers, strict=True):
        # The first that answers at a place is what it is: Ollama also speaks as the others do.
        if not isinstance(names, PilothouseError):
            found.setdefault(origin_of(server.base_url), offer(server, names, configured))
    offers = tuple(each for each in found.values() if each is not None)
    note = "" if offers else _nothing(host.strip(), asked, answers)
    return FoundModels(found=offers, note=note)


def servers_at(host: str, servers: tuple[ModelConfig, ...]) -> tuple[ModelConfig, ...]:
    """Return what to ask a host for; raise for what is no host."""
    scheme, name, port = _read(host)
    if port is None:
        return tuple(_moved(server, f"{scheme}://{name}:{urlsplit(server.base_url).port}") for server in servers)
    known = {server.provider: server for server in servers if urlsplit(server.base_url).port == port}
    ways = {server.provider: known.get(server.provider, _plain(server)) for server in servers}
    return tuple(_moved(server, f"{scheme}://{name}:{port}") for server in ways.values())


def _plain(server: ModelConfig) -> ModelConfig:
    """Return a server at a port that says nothing about it; only Ollama's own way of speaking tells who it is."""
    if server.provider == "ollama":
        return server
    return ModelConfig(name="Model server", provider=server.provider, base_url=server.base_url)


def _moved(server: ModelConfig, origin: str) -> ModelConfig:
    return msgspec.structs.replace(server, base_url=origin + urlsplit(server.base_url).path)


def _read(host: str) -> tuple[str, str, int | None]:
    """Return how to speak to a host, its name as it stands in an address, and its port if one was given."""
    text = host.strip()
    # What takes addresses apart leaves line breaks out in silence.
    if not text.isprintable():
        raise _no_host(host)
    if _is_address(text, 6):
        text = f"[{text}]"
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        raise _no_host(host) from None
    if parts.scheme not in ("http", "https") or parts.username is not None or parts.query or parts.fragment:
        raise _no_host(host)
    if _is_address(name, 6):
        return parts.scheme, f"[{name}]", port
    if not _NAME.fullmatch(name):
        raise _no_host(host)
    return parts.scheme, name, port


def _is_address(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _no_host(host: str) -> PilothouseError:
    return PilothouseError("bad_request", f"“{host.strip()[:80]}” is no host.", fix=_FIX)


def _nothing(host: str, asked: tuple[ModelConfig, ...], answers: Iterable[tuple[str, ...] | PilothouseError]) -> str:
    """Say in one sentence why nothing of a host can be added."""
    problems = [each for each in answers if isinstance(each, PilothouseError)]
    if len(problems) < len(asked):
        return f"Everything that {host} offers is added already, or it offers no model that answers."
    if any(problem.code == "bad_key" for problem in problems):
        return f"A model server at {host} wants a key: add it with its address and the key."
    ports = ", ".join(dict.fromkeys(str(urlsplit(server.base_url).port) for server in asked))
    said = f"No model server answered at {host} (asked at {ports})"
    if all(problem.message.endswith(f"{UNKNOWN_NAME}.") for problem in problems):
        return f"{said}: {UNKNOWN_NAME}. Is it typed correctly?"
    return f"{said}. Is it running, and does it listen for other machines?"
