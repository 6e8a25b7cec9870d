"""Servers and tools that a message selects or allows, on its way in: what it names must exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pilothouse.types import limits
from pilothouse.types.admin import OwnTools
from pilothouse.types.authority import DESTINATION, EDIT_TOOLS, NET, RUNNING, is_glob
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.lazy import Lazy
from pilothouse.types.selection import Selection, ServerChoice, ServerName
from pilothouse.types.servers import ServerView
from pilothouse.types.tool_names import BUILT_IN

if TYPE_CHECKING:
    from pilothouse.types.host_servers import Servers


def choose(names: Sequence[str]) -> Selection:
    """Return exactly these servers: each by its name, or as NAME:TOOL,TOOL for only some of its tools."""
    return Selection(servers=tuple(map(_choice, names)))


def _choice(text: str) -> ServerChoice:
    name, _, tools = text.partition(":")
    return ServerChoice(name=name.strip(), tools=tuple(tool.strip() for tool in tools.split(",") if tool.strip()))


async def check(selection: Selection | None, servers: Lazy[Servers]) -> None:
    """Raise one sentence for a server that does not exist, or a tool that its server does not have."""
    if selection is None or not selection.servers:
        return
    known = (await servers().list(LOCAL_OWNER)).servers
    for choice in selection.servers:
        await _check_tools(choice, find(choice.name, known), servers())


def find(name: str, known: Sequence[ServerView]) -> ServerView:
    """Return the server of this id, name or prefix, whatever case the name is written in."""
    wanted = name.strip().lower()
    for server in known:
        if name == server.id or wanted in (server.name.lower(), server.slug):
            return server
    names = ", ".join(server.slug for server in known)
    raise PilothouseError(
        "unknown_server",
        f"There is no MCP server “{name}”.",
        fix=f"There are: {names}." if names else "Add it first, in Settings or with `pilothouse mcp add`.",
    )


async def _check_tools(choice: ServerChoice, server: ServerView, servers: Servers) -> None:
    """Look for each tool in the last list; a server that was never reached has none to look in."""
    tools = (await servers.tools(LOCAL_OWNER, server.id)).tools if choice.tools else ()
    names = {name for tool in tools for name in (tool.name, tool.qualified_name, tool.wire_name)}
    missing = [name for name in choice.tools if name not in names]
    if tools and missing:
        raise PilothouseError(
            "unknown_server",
            f"The MCP server “{server.name}” has no tool “{missing[0]}”.",
            fix=f"`pilothouse mcp tools {server.slug}` lists what it has.",
        )


def check_allowed(allow: Sequence[str], server_names: Callable[[], Mapping[str, ServerName]], own: OwnTools) -> None:
    """Raise one sentence for permission that would be for nothing: no server, tool or operation has that name."""
    # Where all is about our own tools nobody needs to know the servers.
    names = {} if all(entry.partition(".")[0] in BUILT_IN for entry in allow) else server_names()
    others = [entry for entry in allow if not any(_is_of(slug, each.name, entry) for slug, each in names.items())]
    others = [entry for entry in others if not _is_place(entry)]
    operations = own.operations() if others else {}
    for entry in others:
        if not _is_own(entry, operations):
            raise _nothing(entry, operations, list(names))
        _check_path(entry)


def _check_path(entry: str) -> None:
    """Raise one sentence for a path that would hold nothing."""
    name, colon, _path = entry.partition(":")
    if colon and name in RUNNING:
        raise PilothouseError(
            "bad_request",
            f"“{entry[: limits.TOOL_NAME_CHARS]}” cannot be allowed: no path holds a command.",
            fix=f"Allow {name}, for commands in the working directory; another folder is chosen with --folder.",
        )


def _is_place(entry: str) -> bool:
    """Return whether an entry is a place that data may go to: `net:api.example.com`, `net:*`."""
    return entry.startswith(NET) and DESTINATION.fullmatch(entry.removeprefix(NET)) is not None


def _is_own(entry: str, operations: Mapping[str, Sequence[str] | None]) -> bool:
    """Return whether an entry is TOOL, TOOL.OPERATION or TOOL.*, of the host's tools and those of plugins.

    One that touches files may name where: TOOL.OPERATION:PATH.
    """
    entry, colon, path = entry.partition(":")
    name, dot, operation = entry.partition(".")
    if name not in operations or (colon and not (dot and is_glob(path))):
        return False
    if entry == EDIT_TOOLS:
        return True
    named = operations[name]
    return not dot or operation == "*" or (_is_plain(operation) if named is None else operation in named)


def _is_of(slug: str, name: str, entry: str) -> bool:
    """Return whether an entry is SERVER.TOOL or SERVER.*; which tools there are may not be known yet."""
    if entry in (f"{slug}.*", f"{name}.*"):
        return True
    # By its name for people, or by the one that the model has for it.
    starts = (f"{slug}.", f"{slug}__")
    return any(entry.startswith(start) and _is_plain(entry.removeprefix(start)) for start in starts)


def _is_plain(name: str) -> bool:
    return bool(name) and "*" not in name


def _nothing(entry: str, operations: Mapping[str, Sequence[str] | None], slugs: Sequence[str]) -> PilothouseError:
    said = entry[: limits.TOOL_NAME_CHARS]
    exact = [f"{tool}.{name}" for tool, names in operations.items() for name in names or ()]
    whole = [*operations, *(f"{slug}.*" for slug in slugs)]
    near = _near(said, [*exact, *whole]) or _near(said.partition(".")[0], whole)
    return PilothouseError(
        "bad_request",
        f"There is nothing named “{said}” that could be allowed.",
        fix=f"Near it: {', '.join(near)}." if near else f"There are: {', '.join(whole)}.",
    )


def _near(name: str, names: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - few name what there is not

    return get_close_matches(name.lower(), names, 3)
