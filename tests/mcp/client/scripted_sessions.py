"""Sessions with real server processes, for tests that look at the protocol itself."""

from __future__ import annotations

from asyncio import WriteTransport
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pilothouse.mcp.client.session import Session, SessionOptions, connect
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from tests.support.mcp_servers import scripted


class ScriptedSession:
    """A session with the scripted server, and everything that was heard of it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.garbage: list[tuple[str, str]] = []
        self.changes = 0
        self.session: Session
        self.channel: Stdio

    def changed(self) -> None:
        self.changes += 1

    async def say(self, text: str = "hi") -> str:
        """Call echo and return what it says."""
        return text_of(await self.session.call_tool("echo", {"text": text}))


def text_of(result: Any) -> str:
    """Return the text of a result."""
    return str(result["content"][0]["text"])


@asynccontextmanager
async def open_session(
    *options: object, launch: dict[str, Any] | None = None, **how: Any
) -> AsyncIterator[ScriptedSession]:
    """Start the scripted server and connect to it."""
    talked = ScriptedSession()
    command = Launch(argv=scripted(*options), on_stderr=talked.log.append, **(launch or {}))
    talked.channel = Stdio(command)
    wanted = SessionOptions(
        client_version="1.0",
        on_garbage=lambda text, why: talked.garbage.append((text, why)),
        on_tools_changed=talked.changed,
        on_log=lambda level, text: talked.log.append(f"{level} {text}"),
    )
    talked.session = await connect(talked.channel, msgspec.structs.replace(wanted, **how))
    try:
        yield talked
    finally:
        await talked.session.close()


def unsent(channel: Stdio) -> int:
    """Return how many bytes have not left yet."""
    assert channel._transport is not None
    pipe = channel._transport.get_pipe_transport(0)
    assert isinstance(pipe, WriteTransport)
    return int(pipe.get_write_buffer_size())
