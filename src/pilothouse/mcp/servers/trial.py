"""A tool called by a person instead of a model, to see what it does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from pilothouse.json_schema.checking import complaint
from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.content import to_output
from pilothouse.mcp.client.session import BadAnswer, CannotAsk, InputRequired, RpcError
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.servers.server import SHARED, Server
from pilothouse.types import limits
from pilothouse.types.argument_defaults import with_defaults
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.servers import ServerTool, ToolTrial, ToolTry

_ASKS = "The tool asks a question before it goes on; call it in a chat."


async def try_tool(server: Server, body: ToolTry) -> ToolTrial:
    """Call a tool and return what it gave, good or bad; raise a PilothouseError when it cannot be called."""
    tool = _tool(server, body.tool)
    arguments = with_defaults(tool.input_schema, body.arguments)
    wrong = await complaint(tool.input_schema, arguments, len(encode(arguments)))
    if wrong is not None:
        raise PilothouseError("bad_request", wrong, fix=f"Look at the parameters of {tool.qualified_name}.")
    began = time.monotonic()
    ok, text, needs_sign_in = False, "", False
    result: JsonObject = {}
    try:
        ok, text, result = await _call(server, tool, arguments)
    except TimeoutError:
        text = f"Tool call timed out after {tool.seconds:g}s"
    except (RpcError, BadAnswer, ChannelError) as error:
        if needs_sign_in := isinstance(error, SignInNeeded):
            server.asked_to_sign_in(error)
        text = str(error) or "The call failed."
    seconds = time.monotonic() - began
    server.history.call(tool.name, seconds, ok=ok)
    server.lacks.answered(tool.name, None if ok else text)
    # A result in many pieces takes a while to be masked.
    content, structured = await asyncio.to_thread(_shown, server, result)
    said = await asyncio.to_thread(server.parts.redact, text)
    return ToolTrial(
        ok=ok,
        text=said[: limits.RESULT_CHARS],
        content=content,
        structured=structured,
        elapsed_ms=round(seconds * 1000),
        needs_sign_in=needs_sign_in,
    )


async def _call(server: Server, tool: ServerTool, arguments: JsonObject) -> tuple[bool, str, JsonObject]:
    session = await server.session(SHARED)
    try:
        with server.connection(SHARED).using():
            async with asyncio.timeout(tool.seconds):
                reply = await session.call_tool(tool.name, arguments)
    except CannotAsk as refused:
        return False, _ASKS if server.fall_back() else refused.message, {}
    if isinstance(reply, InputRequired):
        if isinstance(handle := reply.state.get("held"), str):
            session.release(handle)
        return False, _ASKS, {}
    output = to_output(reply)
    return output.error is None, output.text, reply


def _tool(server: Server, name: str) -> ServerTool:
    if (tool := server.tool_named(name)) is None:
        message = f"“{server.name}” has no tool “{name}”."
        raise PilothouseError("not_found", message, fix="Look at the list of its tools.")
    if tool.state in ("changed", "quarantined"):
        raise PilothouseError("conflict", f"{tool.qualified_name} cannot be called. {tool.reason}")
    return tool


def _shown(server: Server, result: JsonObject) -> tuple[tuple[JsonObject, ...], JsonObject | None]:
    """Return the content and the data of a result as the person sees them."""
    content, structured = result.get("content"), result.get("structuredContent")
    blocks = content[: limits.LARGE_MESSAGE_BLOCKS] if isinstance(content, list) else []
    return (
        tuple(_masked(server, each) for each in blocks if isinstance(each, dict)),
        _masked(server, structured) if isinstance(structured, dict) else None,
    )


def _masked(server: Server, value: Any) -> Any:
    if isinstance(value, str):
        return server.parts.redact(value)
    if isinstance(value, dict):
        return {key: _masked(server, inner) for key, inner in value.items()}
    return [_masked(server, inner) for inner in value] if isinstance(value, list) else value
