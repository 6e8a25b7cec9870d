"""The program that the conformance suite drives: the product's own client, doing what each scenario calls for.

The server's address is the last argument; the scenario and its context are in the environment. The suite judges what
it sees on the wire, so this program only has to do its best.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import msgspec

from pilothouse import __version__
from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.session import InputRequired, RpcError, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.oauth.credentials import Client, ClientMethod, Credentials
from pilothouse.mcp.oauth.registration import Identity
from pilothouse.mcp.servers.quarantine import reasons
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask
from tests.support.sign_ins import Attended, Guest, Memory, Person

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "initialize")
CONTEXT: JsonObject = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
REDIRECT = "http://localhost:3000/callback"
ABOUT_US = "https://conformance-test.local/client-metadata.json"
PATIENCE = 25.0
ZERO = {"integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}


def person() -> Person:
    """Someone who agrees wherever they are sent; with a client of their own where the scenario gives one."""
    secret = CONTEXT.get("client_secret", "")
    method: ClientMethod = "client_secret_basic" if secret else "none"
    own = Client(id=CONTEXT["client_id"], secret=secret, method=method) if CONTEXT.get("client_id") else None
    return Person(Identity(redirect_uri=REDIRECT, client=own, document_url=ABOUT_US), Guest().authorize)


def answer(ask: Ask) -> JsonObject:
    """Accept, with the defaults of the form."""
    fields = ask.schema.get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    if "confirmed" in fields:
        content["confirmed"] = True
    return {"action": "accept", "content": content}


async def call(session: Session, name: str, arguments: JsonObject) -> None:
    """Call a tool and answer whatever it asks."""
    try:
        result = await session.call_tool(name, arguments)
        while isinstance(result, InputRequired):
            answers = {ask.id: answer(ask) for ask in result.asks}
            result = await session.resume_call(name, arguments, result.state, answers)
    except (RpcError, ChannelError) as error:
        print(f"{name}: {error!r}", file=sys.stderr)


def arguments_for(tool: JsonObject) -> JsonObject:
    fields = tool["inputSchema"].get("properties", {})
    required = tool["inputSchema"].get("required", [])
    return {name: ZERO.get(fields.get(name, {}).get("type"), "x") for name in required}


async def act(session: Session) -> None:
    """Do what the scenario looks at."""
    listed = (await session.list_tools()).tools
    tools = {tool["name"]: tool for tool, reason in zip(listed, reasons(listed), strict=True) if not reason}
    match SCENARIO:
        case "initialize" | "json-schema-ref-no-deref":
            pass
        case "tools_call":
            await call(session, "add_numbers", {"a": 5, "b": 3})
        case "http-custom-headers":
            for wanted in CONTEXT["toolCalls"]:
                await call(session, wanted["name"], wanted.get("arguments") or {})
        case "json-schema-2020-12-preservation":
            await call(session, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})
        case _:
            for name, tool in tools.items():
                await call(session, name, arguments_for(tool))
    if SCENARIO == "http-standard-headers":
        for resource in (await session.request("resources/list", {}))["resources"][:1]:
            await session.request("resources/read", {"uri": resource["uri"]})
        for prompt in (await session.request("prompts/list", {}))["prompts"][:1]:
            await session.request("prompts/get", {"name": prompt["name"]})


async def main(url: str) -> int:
    access = Attended(url, Credentials(Memory()), person()) if SCENARIO.startswith("auth/") else None
    channel = channel_to(Target(url=url, access=access))
    try:
        # All scenarios run at once; a slow answer must not look like one from another era.
        options = SessionOptions(client_version=__version__, probe_timeout=PATIENCE, connect_timeout=2 * PATIENCE)
        session = await connect(channel, options)
        try:
            await act(session)
        finally:
            await session.close()
    except (ChannelError, RpcError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with contextlib.suppress(ChannelError):
            await channel.close()
        await close_clients()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
