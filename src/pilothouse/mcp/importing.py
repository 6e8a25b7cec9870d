"""Servers out of other programs' settings files: Claude Desktop, Claude Code, Cursor, VS Code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ServerInput, Wire

# `${input:token}`, `${env:TOKEN}`, `${TOKEN}`, `${TOKEN:-default}`: to be filled in by the person.
_BLANK = re.compile(r"\$\{[^}]*\}")
_FOLDER = re.compile(r"\$\{(workspaceFolder|userHome)[^}]*\}")
_WIRES: dict[str, Wire] = {
    "sse": "sse",
    "http": "auto",
    "streamable-http": "streamable",
    "streamableHttp": "streamable",
    "ws": "websocket",
    "websocket": "websocket",
}
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', re.DOTALL)


class Found(msgspec.Struct, frozen=True):
    """A server found in a file, or why it cannot be taken."""

    name: str
    body: ServerInput | None
    problem: str = ""


def read(text: str) -> list[Found]:
    """Return the servers of a settings file, in their order; raise `bad_request` for a file without any."""
    if len(text.encode()) > limits.IMPORT_BYTES:
        raise PilothouseError("bad_request", "The file is too large to be a settings file.", fix="Choose another file.")
    try:
        content = msgspec.json.decode(_plain(text))
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"The file is not JSON: {error}." if str(error) else "The file is not JSON."
        raise PilothouseError("bad_request", message, fix="Choose the file that lists the MCP servers.") from None
    found = [_found(name, raw) for name, raw in _entries(content)]
    if not found:
        fix = "Such a file has “mcpServers” or “servers” in it."
        raise PilothouseError("bad_request", "There are no MCP servers in this file.", fix=fix)
    return found


def _plain(text: str) -> str:
    """Return the text without the comments and trailing commas that editors allow."""
    return _TOKENS.sub(lambda hit: hit[0] if hit[0].startswith('"') else "", text.removeprefix("\ufeff"))


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(content, Mapping):
        return
    places = [content.get("mcpServers"), content.get("servers")]
    nested = content.get("mcp")
    if isinstance(nested, Mapping):
        places.append(nested.get("servers"))
    projects = content.get("projects")
    if isinstance(projects, Mapping):
        places += [project.get("mcpServers") for project in projects.values() if isinstance(project, Mapping)]
    for place in places:
        if isinstance(place, Mapping):
            yield from ((str(name), raw) for name, raw in place.items())


def _found(name: str, raw: Any) -> Found:
    try:
        if not isinstance(raw, Mapping):
            raise BadField((), "It is not an object.")
        return Found(name, _body(name, dict(raw)))
    except BadField as error:
        return Found(name, None, error.message)


def _body(name: str, raw: JsonObject) -> ServerInput:
    url = raw.get("url") or raw.get("serverUrl") or raw.get("httpUrl")
    if url is not None:
        wire = _WIRES.get(str(raw.get("type") or raw.get("transport") or "http"), "auto")
        headers = _texts(raw, "headers")
        # Nobody agreed to talk to this address yet: it is added switched off.
        return ServerInput(name=name, url=_whole(url, "url"), wire=wire, headers=_secrets(headers), enabled=False)
    command = raw.get("command")
    if not isinstance(command, str) or not command.strip():
        raise BadField((), "It has neither a command nor a URL.")
    args = raw.get("args") or []
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise BadField((), "Its “args” are not a list of texts.")
    return ServerInput(
        name=name,
        command=_whole(command, "command"),
        args=tuple(_whole(word, "args") for word in args),
        env=_secrets(_texts(raw, "env")),
        cwd=_whole(raw["cwd"], "cwd") if raw.get("cwd") else None,
        enabled=not raw.get("disabled", False),
    )


def _whole(text: Any, where: str) -> str:
    """Return a text that stands for itself; what another program would fill in cannot be guessed."""
    if not isinstance(text, str):
        raise BadField((), f"Its “{where}” is not text.")
    if folder := _FOLDER.search(text):
        raise BadField((), f"Its “{where}” depends on a folder of the other program: {folder[0]}.")
    if blank := _BLANK.search(text):
        raise BadField((), f"Its “{where}” has a blank that must be filled in first: {blank[0]}.")
    return text


def _texts(raw: JsonObject, key: str) -> dict[str, str]:
    values = raw.get(key) or {}
    if not isinstance(values, Mapping):
        raise BadField((), f"Its “{key}” is not an object.")
    return {str(name): value if isinstance(value, str) else str(value) for name, value in values.items()}


def _secrets(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return the values as secrets; a blank stays empty until the person fills it in."""
    return {name: None if _BLANK.search(value) else value for name, value in values.items()}
