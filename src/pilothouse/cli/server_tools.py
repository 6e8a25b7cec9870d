"""`pilothouse mcp tools` and `pilothouse mcp call`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from pilothouse.cli.consent import agreed
from pilothouse.cli.options import AnyServer, AsJson, ConsentTo, given
from pilothouse.cli.prompting import read_piped, someone_is_there, yes
from pilothouse.cli.servers import find
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import Terminal, exact_json, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import whole
from pilothouse.types.servers import ServerTool, ServerView, ToolConfirmed, ToolTry


async def tools(
    name: AnyServer = None,
    as_json: AsJson = False,
    confirm: Annotated[
        str | None, given(metavar="TOOL", help="Show what changed in this tool's definition and accept it.")
    ] = None,
) -> int:
    """List the tools of a server, or of all."""
    async with connect_host() as api:
        server = await find(api, name) if name is not None else None
        if confirm is not None:
            return await _confirm(api, server, confirm)
        if server is not None and server.enabled and not server.tool_count and server.consent is None:
            # Nobody has asked it yet.
            await _ask(api, server)
        if server is None:
            listed = await whole(lambda page: api.servers.all_tools(LOCAL_OWNER, page))
        else:
            listed = await whole(lambda page: api.servers.tools(LOCAL_OWNER, server.id, page))
    out = output()
    if as_json:
        out.json(listed)
        return 0
    rows = [(tool.qualified_name, _state(tool), tool.description or tool.title) for tool in listed.tools]
    show_table(out, ("tool", "", "what it does"), rows, none=_nothing(server))
    for tool in listed.tools:
        if tool.state in ("changed", "quarantined"):
            messages().line(f"{one_line(tool.qualified_name)}: {one_line(tool.reason)}", "yellow")
        for warning in tool.warnings:
            messages().line(f"{one_line(tool.qualified_name)}: {one_line(warning)}", "yellow")
    return 0


def _nothing(server: ServerView | None) -> str:
    if server is None:
        return "No tools are known. `pilothouse mcp test NAME` asks a server for its tools."
    if server.consent is not None:
        return f"Its tools are known once it was started. Look at it: pilothouse mcp enable {server.slug}"
    if not server.enabled:
        return f"It is switched off, and its tools are not known. Switch it on: pilothouse mcp enable {server.slug}"
    return "It offers no tools."


def _state(tool: ServerTool) -> str:
    return "" if tool.state == "offered" else tool.state


async def _confirm(api: ClientApi, server: ServerView | None, name: str) -> int:
    """Show what a tool was and is now, and accept it when the person does."""
    if server is None:
        raise PilothouseError("bad_request", "Which server's tool?", fix="pilothouse mcp tools SERVER --confirm TOOL")
    tool = await _find_tool(api, server, name)
    aside = messages()
    if tool.state != "changed":
        aside.line(f"The definition of {one_line(tool.qualified_name)} has not changed.")
        return 0
    show_change(tool.approved, tool.now, aside)
    if not someone_is_there(aside):
        raise PilothouseError("needs_consent", "A changed tool is accepted at a terminal, or in the page.")
    if not await yes("Accept it as it is now?", aside):
        return 3
    body = ToolConfirmed(name=tool.name, fingerprint=tool.fingerprint)
    await api.servers.confirm_tool(LOCAL_OWNER, server.id, body)
    aside.line(f"{one_line(tool.qualified_name)} can be used again.")
    return 0


def show_change(before: JsonObject | None, now: JsonObject | None, aside: Terminal) -> None:
    """Print what something was and what it is now."""
    for label, definition in (("It was:", before), ("It is now:", now)):
        aside.line(label, "bold")
        aside.line(exact_json(json.dumps(definition, indent=2, ensure_ascii=False)))


async def call(
    name: Annotated[str, typer.Argument(metavar="SERVER.TOOL", help="The tool.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENTS", help="NAME=VALUE for each, one JSON object, or `-` for one that is piped in."
        ),
    ] = None,
    as_json: AsJson = False,
    consent: ConsentTo = None,
) -> int:
    """Call a tool by hand and print what it gives.

    Ends with 1 when the tool failed.
    """
    prefix, dot, tool_name = name.partition(".")
    if not dot or not tool_name:
        raise PilothouseError(
            "bad_request",
            f"“{name}” does not name a tool.",
            fix="Write SERVER.TOOL; `pilothouse mcp tools` lists them.",
        )
    async with connect_host() as api:
        server = await agreed(api, await find(api, prefix), consent)
        tool = await _find_tool(api, server, tool_name)
        body = ToolTry(server_id=server.id, tool=tool.name, arguments=arguments_of(arguments or (), tool.input_schema))
        trial = await api.servers.try_tool(LOCAL_OWNER, body)
    out, aside = output(), messages()
    if as_json:
        out.json(trial)
    elif trial.ok:
        out.line(trial.text)
    else:
        aside.line(trial.text, "red")
        if trial.needs_sign_in:
            aside.line(f"Sign in: pilothouse mcp sign-in {server.slug}")
    if aside.is_terminal:
        aside.line(f"{trial.elapsed_ms / 1000:.2f} s", "dim")
    return 0 if trial.ok else 1


async def _ask(api: ClientApi, server: ServerView) -> None:
    """Ask a server for its tools; raise why it does not answer."""
    test = await api.servers.test(LOCAL_OWNER, server.id)
    if not test.ok:
        raise PilothouseError("server_failed", test.message, fix=test.fix)


async def _find_tool(api: ClientApi, server: ServerView, name: str) -> ServerTool:
    """Return a tool; a server that was never asked for its tools is asked now."""
    for asked in (False, True):
        if asked:
            await _ask(api, server)
        known = (await whole(lambda page: api.servers.tools(LOCAL_OWNER, server.id, page))).tools
        names = (name, f"{server.slug}.{name}")
        found = next((tool for tool in known if tool.name in names or tool.qualified_name in names), None)
        if found is not None:
            return found
    fix = f"It has: {', '.join(tool.name for tool in known)}." if known else "It offers no tools."
    raise PilothouseError("unknown_server", f"{server.name} has no tool “{name}”.", fix=fix)


def arguments_of(given: Sequence[str], schema: JsonObject) -> JsonObject:
    """Return a tool's arguments: one JSON object, `-` for one that is piped in, or name=value for each."""
    if len(given) == 1 and (given[0] == "-" or given[0].lstrip().startswith("{")):
        text = given[0] if given[0] != "-" else read_piped(limits.BODY_BYTES, "The arguments are too long.")
        try:
            return msgspec.json.decode(text, type=JsonObject)
        except msgspec.MsgspecError as error:
            message = f"The arguments are not a JSON object: {error}."
            raise PilothouseError("bad_request", message, fix="""For example: '{"path": "/tmp"}'""") from None
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return dict(_argument(text, known) for text in given)


def _argument(text: str, known: JsonObject) -> tuple[str, object]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise PilothouseError("bad_request", f"“{text}” is not name=value.", fix="Or give one JSON object.")
    kind = known.get(name)
    if isinstance(kind, dict) and kind.get("type") == "string":
        return name, value
    try:
        return name, msgspec.json.decode(value)
    except msgspec.MsgspecError:
        return name, value
