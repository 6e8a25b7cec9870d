"""Servers as people see them: in their words, with nothing secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.client.processes import memory_of
from pilothouse.mcp.client.server_requests import NOTE
from pilothouse.mcp.servers.entries import SECRET, BadEntry, address_of, slots_of
from pilothouse.mcp.servers.keys import is_secret, keys_of
from pilothouse.mcp.servers.names import mixes_scripts, plain_host, slug, telling
from pilothouse.mcp.servers.secret_detection import readable
from pilothouse.mcp.servers.server import Server
from pilothouse.types import limits
from pilothouse.types.paging import Page, window
from pilothouse.types.servers import (
    ManualSource,
    Package,
    ProcessFacts,
    ServerEntry,
    ServerSettings,
    ServerStatus,
    ServerTool,
    ServerView,
    ToolList,
)

if TYPE_CHECKING:
    from pilothouse.mcp.client.transports.stdio import Stdio

_LABELS = {
    "disabled": "Disabled",
    "idle": "Idle",
    "connecting": "Connecting...",
    "reconnecting": "Reconnecting...",
    "needs_consent": "Waiting for your consent",
    "needs_sign_in": "Sign in",
}


def view(server: Server) -> ServerView:
    """Return a server as lists show it."""
    entry, kept, state = readable(server.entry), server.parts.catalogue.kept(server.entry), server.state
    tools = server.parts.catalogue.counts(server.entry)
    connections = list(server.connections.values())
    newest = max(connections, key=lambda each: (each.up, each.connected_at or 0.0), default=None)
    message = server.parts.redact(server.error.message) if server.error is not None else ""
    process = _process(newest.process) if newest is not None else None
    return ServerView(
        id=entry.id,
        name=entry.name,
        slug=server.slug,
        enabled=entry.enabled,
        state=state,
        label=server.package.doing or _label(server, state, tools["offered"], message),
        transport=entry.transport,
        wire=entry.config.wire if entry.config.wire != "auto" else kept.wire,
        package=_package(entry, server),
        source=entry.source,
        auth_type=entry.auth_type,
        address=server.address,
        settings=_settings(entry.config),
        secret_names=tuple(name for name, value in _values(entry).items() if is_secret(name, value)),
        keys=keys_of(entry, server.lacks.known()),
        secret_slots=slots_of(entry),
        tool_count=tools["offered"],
        changed_tools=tools["changed"],
        quarantined_tools=tools["quarantined"],
        protocol_version=kept.protocol_version,
        protocol_note=_protocol_note(server),
        server_version=kept.server_version,
        connected_at=newest.connected_at if newest is not None and newest.up else None,
        last_used_at=server.last_used_at,
        last_health_check=newest.checked_at if newest is not None else None,
        last_error=message or (server.history.errors[-1].text if server.history.errors else ""),
        fix=server.error.fix if server.error is not None else "",
        restarts=sum(connection.restarts for connection in connections),
        process=process,
        consent=server.asking if entry.enabled else None,
        warnings=(*_warnings(entry), *_heavy(process)),
        about_change=server.parts.catalogue.about_change(entry),
    )


def _process(process: Stdio | None) -> ProcessFacts | None:
    if process is None:
        return None
    return ProcessFacts(pid=process.pid, started_at=process.started_at, memory_bytes=memory_of(process.pid))


def _warnings(entry: ServerEntry) -> Iterator[str]:
    """Yield what a careful reader would notice about the names."""
    if mixes_scripts(entry.name):
        yield f"Its name mixes letters of scripts that look alike: {entry.name!a}"
    host = urlsplit(entry.config.url).hostname or ""
    if not host.isascii():
        mixed = "mixes letters of scripts that look alike" if mixes_scripts(host) else "is not written in ASCII"
        yield f"Its host {mixed}; the network knows it as {plain_host(host)}."


def _heavy(process: ProcessFacts | None) -> Iterator[str]:
    """Yield what is to be said about the memory of a server, with everything that it started."""
    taken = process.memory_bytes if process is not None else None
    if taken is not None and taken > limits.SERVER_MEMORY:
        usual, megabyte = limits.SERVER_MEMORY // 1024**2, 1024**2
        yield f"It takes {taken / megabyte:.0f} MB of memory; most servers take less than {usual} MB."


def _protocol_note(server: Server) -> str:
    fallback = server.parts.catalogue.fallback(server.entry)
    return NOTE if fallback is not None and not fallback.refused and server.entry.config.era == "auto" else ""


def bad_view(bad: BadEntry) -> ServerView:
    """Return an entry that cannot be used, so that people see it and why."""
    return ServerView(
        id=bad.id,
        name=bad.name,
        slug=slug(bad.name),
        enabled=False,
        state="error",
        label=f"Error: {bad.message}",
        transport="stdio",
        wire="auto",
        package=Package(type="command", identifier=""),
        source=ManualSource(),
        auth_type="none",
        address="",
        settings=ServerSettings(),
        secret_names=(),
        tool_count=0,
        last_error=bad.message,
        fix="Correct the entry in config.json, or delete it.",
    )


def status(server: Server) -> ServerStatus:
    """Return what the status page shows of a server."""
    history = server.history
    return ServerStatus(
        server_id=server.id,
        server=server.name,
        state=server.state,
        calls=tuple(history.calls),
        history=tuple(history.states),
        errors=tuple(history.errors),
    )


def counted(tools: int) -> str:
    """Return a number of tools in words."""
    return f"{tools} {'tool' if tools == 1 else 'tools'}"


def _label(server: Server, state: str, tools: int, error: str) -> str:
    return "Runs at the workers" if server.elsewhere and state == "idle" else label(state, tools, error)


def label(state: str, tools: int, error: str) -> str:
    """Return the words of the status chip."""
    if state == "connected":
        return f"Connected ({counted(tools)})"
    if state in ("error", "disconnected"):
        return f"{'Error' if state == 'error' else 'Disconnected'}: {error or 'unknown'}"
    return _LABELS[state]


def _package(entry: ServerEntry, server: Server) -> Package:
    if (pin := server.package.pin) is not None and pin.kind != "mcpb":
        return msgspec.structs.replace(entry.package, version=pin.version)
    if entry.package.type != "http":
        return entry.package
    return msgspec.structs.replace(entry.package, identifier=address_of(entry))


def _settings(config: ServerSettings) -> ServerSettings:
    headers = {name: SECRET if is_secret(name, value) else value for name, value in config.headers.items()}
    env = {name: SECRET if is_secret(name, value) else value for name, value in config.env.items()}
    return msgspec.structs.replace(config, headers=headers, env=env)


def _values(entry: ServerEntry) -> dict[str, str]:
    return {**entry.config.env, **entry.config.headers}


def listed(every: Sequence[Server], chosen: Sequence[Server], page: Page) -> ToolList:
    """Return a page of the tools of some servers; only those on it are looked at for names of all servers' tools."""
    kept = [server.parts.catalogue.kept(server.entry).tools for server in chosen]
    sides = list(zip(chosen, kept, strict=True))
    keys = [f"{server.id} {each.tool.get('name')}" for server, tools in sides for each in tools]
    first, last, rest = window(keys, page)
    names = telling(name for server in every for name in server.names())
    found: list[ServerTool] = []
    begin = 0
    for server, tools in sides:
        part = slice(max(0, first - begin), max(0, last - begin))
        if part.start < min(part.stop, len(tools)):
            found += server.listed(names, part)
        begin += len(tools)
    return ToolList(tools=tuple(found), next=rest)
