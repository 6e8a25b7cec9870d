"""A server made with the official SDK: what others' servers say, said by the reference.

It speaks over stdio, and over HTTP with `PORT HOST…`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel

server = MCPServer("reference", version="7", instructions="Ask me anything.")


class Sum(BaseModel):
    total: int


class Name(BaseModel):
    name: str


async def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    return text


@server.tool()
async def add(a: int, b: int) -> Sum:
    return Sum(total=a + b)


@server.tool(structured_output=False)
async def steps(count: int, context: Context) -> str:
    for step in range(count):
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool(structured_output=False)
async def wait_for_ever() -> str:
    await asyncio.Event().wait()
    return "never"


@server.tool(structured_output=False)
async def greet(who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"Hello {who.name}"


@server.tool(structured_output=False)
async def interrupt(context: Context) -> str:
    answer = await context.elicit("What is your name?", schema=Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else "Hello"


@server.tool(structured_output=False)
async def fail() -> str:
    raise ValueError("It went wrong.")


@server.tool(structured_output=False)
async def grow(context: Context) -> str:
    server.add_tool(lambda: "new", name="grown", structured_output=False)
    await context.notify_tools_changed()
    return "grown"


def over_http(port: str, *hosts: str) -> None:
    """Serve at /mcp; with names given, only who asks for one of these is answered."""
    security = TransportSecuritySettings(allowed_hosts=list(hosts)) if hosts else None
    server.run("streamable-http", port=int(port), transport_security=security)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        over_http(*sys.argv[1:])
    else:
        server.run("stdio")
