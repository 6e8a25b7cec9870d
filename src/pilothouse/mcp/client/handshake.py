"""The protocol's two eras: a handshake and a session until 2025-11-25, and none of both since 2026-07-28."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.fingerprints import about
from pilothouse.mcp.client.header_arguments import header_text, mirrored
from pilothouse.mcp.client.jsonrpc import BadAnswer, ConnectionLost, JsonRpc, RpcError
from pilothouse.types.json import Frozen, JsonObject, an_object

SpokenEra = Literal["modern", "handshake"]

MODERN = "2026-07-28"
# Newest first: the first is proposed, any is accepted.
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_META = "io.modelcontextprotocol/"
_VERSION_HEADER = "mcp-protocol-version"
# Which parameter of a request is repeated in the header Mcp-Name.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_UNSUPPORTED_VERSION = -32022
# Refusals that say nothing about the era: asking differently would not help.
_DECISIVE = frozenset({401, 403, 407, 429})


class ServerFacts(Frozen, frozen=True):
    """What a server said about itself."""

    name: str
    version: str
    protocol_version: str
    era: SpokenEra
    capabilities: JsonObject
    # What it says about itself, to models and to people.
    about: JsonObject


class ExitedOnProbe(ChannelError):
    """The server went away when it was asked which era it speaks; it must be started again and not be asked."""


class NoHandshake(ChannelError):
    """The server does not shake hands, or in no version that is known here."""


class Client(msgspec.Struct, frozen=True):
    """What we say about ourselves."""

    version: str
    # Whether folders are offered to the server.
    roots: bool = False

    @property
    def info(self) -> JsonObject:
        return {"name": "pilothouse", "title": "Pilothouse", "version": self.version}

    def capabilities(self, version: str) -> JsonObject:
        """Return what we offer to a server that speaks this version."""
        offered: JsonObject = {}
        if self.roots:
            # In the modern era they are asked for with each call that needs them.
            offered["roots"] = {} if version == MODERN else {"listChanged": True}
        if version >= "2025-11-25":
            offered["elicitation"] = {"form": {}, "url": {}}
        elif version == "2025-06-18":
            offered["elicitation"] = {}
        return offered

    def meta(self) -> JsonObject:
        """Return what travels with each request of the modern era."""
        return {
            f"{_META}protocolVersion": MODERN,
            f"{_META}clientInfo": self.info,
            f"{_META}clientCapabilities": self.capabilities(MODERN),
        }


def modern_headers(method: str, params: JsonObject, schema: JsonObject | None = None) -> dict[str, str]:
    """Return what HTTP repeats of a request of the modern era."""
    headers = {"mcp-method": method}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = header_text(name)
    if schema is not None:
        headers |= mirrored(schema, params.get("arguments") or {})
    return headers


async def negotiate(rpc: JsonRpc, client: Client, patience: float, *, modern: bool = False) -> ServerFacts:
    """Find out which era a server speaks, by asking in the words of the modern one; raise a ChannelError if neither.

    A server that is still starting has not read the question yet when patience ends. It is then greeted in the old
    way too, and whatever it answers first holds.
    """
    probe = asyncio.ensure_future(_discovered(rpc, client))
    tasks: list[asyncio.Future[ServerFacts] | asyncio.Future[ServerFacts | None]] = [probe]
    try:
        await asyncio.wait(tasks, timeout=None if modern else patience)
        if probe.done() or modern:
            facts = await probe
            if facts is None and modern:
                raise ChannelError("It does not speak the newest protocol.", fix="Set the era to auto.", sent=False)
            return facts or await handshake(rpc, client)
        greeting = asyncio.ensure_future(handshake(rpc, client))
        tasks.append(greeting)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if greeting.done() and greeting.exception() is None:
            return greeting.result()
        # Refused, or not answered yet: a modern server answers what it was asked first.
        facts = await probe
        return _modern(rpc, facts) if facts is not None else await greeting
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _modern(rpc: JsonRpc, facts: ServerFacts) -> ServerFacts:
    """Go on in the modern era, whatever was said since it was asked for."""
    rpc.headers = {_VERSION_HEADER: MODERN}
    return facts


async def _discovered(rpc: JsonRpc, client: Client) -> ServerFacts | None:
    """Ask in the words of the modern era; None when the server does not speak them."""
    rpc.headers = {_VERSION_HEADER: MODERN}
    try:
        result = await _asked(rpc, client)
    except ConnectionLost as lost:
        raise ExitedOnProbe(lost.message, sent=lost.sent) from None
    except ChannelError as error:
        if error.status is None or error.status in _DECISIVE or error.status >= 500:
            raise
        return None
    except (RpcError, BadAnswer):
        # Also a refusal of the version: nothing newer or older than this is modern yet.
        return None
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or MODERN not in versions:
        return None
    stamp = an_object(an_object(result.get("_meta")).get(f"{_META}serverInfo"))
    return _facts(stamp, result, MODERN, "modern")


async def _asked(rpc: JsonRpc, client: Client) -> JsonObject:
    params: JsonObject = {"_meta": client.meta()}
    headers = modern_headers("server/discover", params)
    try:
        return await rpc.request("server/discover", params, headers=headers, quiet=True)
    except RpcError as error:
        # A refusal that names our version among the supported ones was meant for another moment.
        if error.code != _UNSUPPORTED_VERSION or MODERN not in an_object(error.data).get("supported", ()):
            raise
        return await rpc.request("server/discover", params, headers=headers, quiet=True)


async def handshake(rpc: JsonRpc, client: Client) -> ServerFacts:
    """Shake hands; raise a ChannelError when the server speaks no version that we know."""
    rpc.headers = {}
    proposed = HANDSHAKES[0]
    params: JsonObject = {
        "protocolVersion": proposed,
        "capabilities": client.capabilities(proposed),
        "clientInfo": client.info,
    }
    try:
        result = await rpc.request("initialize", params, quiet=True)
    except RpcError as error:
        raise NoHandshake(f"It refused the connection: {error.message}", sent=False) from None
    except BadAnswer as error:
        raise NoHandshake(
            f"It does not speak MCP: {error.message}.", fix="Check that this is an MCP server.", sent=False
        ) from None
    version = result.get("protocolVersion")
    if version not in HANDSHAKES:
        raise NoHandshake(
            f"It speaks version {version} of the protocol, which is not known here.",
            fix=f"Known are {MODERN} and {', '.join(HANDSHAKES)}.",
            sent=False,
        )
    rpc.headers = {_VERSION_HEADER: str(version)}
    await rpc.notify("notifications/initialized")
    return _facts(an_object(result.get("serverInfo")), result, str(version), "handshake")


def _facts(info: Mapping[str, object], result: JsonObject, version: str, era: SpokenEra) -> ServerFacts:
    return ServerFacts(
        name=_text(info.get("name")),
        version=_text(info.get("version")),
        protocol_version=version,
        era=era,
        capabilities=an_object(result.get("capabilities")),
        about=about(info, _text(result.get("instructions"))),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
