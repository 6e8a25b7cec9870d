"""Which server a call goes to, with servers that are objects in this process: no process, no socket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.mcp.client.channel import ChannelError, Deliver, Message, Outgoing, RequestId
from pilothouse.mcp.client.session import Session, SessionOptions, connect
from pilothouse.mcp.servers.connection import Connection
from pilothouse.mcp.servers.server import Server
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import ToolOutput
from pilothouse.types.servers import ServerEntry, ServerInput, ServerPatch
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.waiting import eventually


class Memory:
    """A channel that ends in a function."""

    def __init__(self, name: str, calls: list[tuple[str, str, Any]]) -> None:
        self._name = name
        self._calls = calls
        self._closed: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        return self._closed

    async def open(self, deliver: Deliver) -> None:
        self._deliver = deliver

    async def send(self, message: Outgoing) -> None:
        asked = json.loads(message.body)
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], **self._answer(asked["method"], asked.get("params") or {})}
            self._deliver(Message(answer, len(message.body)))

    def _answer(self, method: str, params: JsonObject) -> JsonObject:
        match method:
            case "initialize":
                info = {"name": self._name, "version": "1"}
                return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
            case "tools/list":
                names = ("read", f"only_{self._name}")
                return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}}
            case "tools/call":
                self._calls.append((self._name, params["name"], params["arguments"]))
                return {"result": {"content": [{"type": "text", "text": f"{self._name} did {params['name']}"}]}}
        return {"error": {"code": -32601, "message": "no such method"}}

    def fail(self, error: ChannelError) -> None:
        self._closed.set_result(error)

    def abandon(self, request_id: RequestId) -> None:
        pass

    async def close(self) -> None:
        if not self._closed.done():
            self._closed.set_result(None)


class Opening:
    """Makes sessions of servers in memory; implements `Opener`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []

    async def open(self, server: Server, connection: Connection) -> Session:
        session = await connect(Memory(server.name, self.calls), SessionOptions(client_version="1"))
        await server.learn(session)
        return session

    def reap(self) -> int:
        return 0

    async def forget(self, entry: ServerEntry) -> None:
        """There is nothing to forget."""


@pytest.mark.case("TST-08", "NAM-04")
async def test_a_call_reaches_the_server_that_its_name_says_and_no_other(home: Path) -> None:
    async with open_mcp_host(home) as hosted:
        opening = Opening()
        hosted.supervisor.parts = msgspec.structs.replace(hosted.supervisor.parts, opener=Lazy(lambda: opening))
        names = ("alpha", "beta", "gamma")
        for name in names:
            await hosted.add(ServerInput(name=name, url=f"https://{name}.example.com/mcp"))
            assert (await hosted.admin.test(ME, name)).ok
        asked = [(name, tool) for name in names for tool in ("read", f"only_{name}")]
        outputs = await asyncio.gather(*(call(hosted, *one) for one in asked))
        assert outputs == [f"{name} did {tool}" for name, tool in asked]
        assert sorted(opening.calls) == sorted((name, tool, {"n": f"{name}.{tool}"}) for name, tool in asked)
        assert "alpha.only_beta" not in await hosted.tools()


@pytest.mark.case("NAM-17")
async def test_tools_are_made_once_and_anew_when_something_about_their_server_changed(home: Path) -> None:
    async with open_mcp_host(home) as hosted:
        hosted.supervisor.parts = msgspec.structs.replace(hosted.supervisor.parts, opener=Lazy(Opening))
        view = await hosted.add(ServerInput(name="alpha", url="https://alpha.example.com/mcp"))
        assert (await hosted.admin.test(ME, "alpha")).ok
        made = await hosted.tools()
        again = await hosted.tools()
        assert all(again[name] is made[name] for name in ("alpha.read", "alpha.only_alpha"))
        await hosted.admin.patch(ME, view.id, ServerPatch(off_tools=("read",)))
        changed = await hosted.tools()
        assert "alpha.read" not in changed
        assert changed["alpha.only_alpha"] is not made["alpha.only_alpha"]


class Crowded(Opening):
    """Opens nothing until it is told to, and knows how many wait for that."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.now = self.most = 0

    async def open(self, server: Server, connection: Connection) -> Session:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.go.wait()
            return await super().open(server, connection)
        finally:
            self.now -= 1


@pytest.mark.case("F-15")
@pytest.mark.slow
async def test_of_many_servers_eight_are_started_at_a_time(home: Path) -> None:
    async with open_mcp_host(home) as hosted:
        crowded = Crowded()
        hosted.supervisor.parts = msgspec.structs.replace(hosted.supervisor.parts, opener=Lazy(lambda: crowded))
        names = [f"server{number}" for number in range(20)]
        for name in names:
            await hosted.add(ServerInput(name=name, url=f"https://{name}.example.com/mcp"))
        tests = [asyncio.create_task(hosted.admin.test(ME, name)) for name in names]

        async def busy() -> bool:
            return crowded.now >= 8

        await eventually(busy, "the first servers to be started")
        crowded.go.set()
        assert all(tested.ok for tested in await asyncio.gather(*tests))
        assert crowded.most == 8


async def call(hosted: McpHost, server: str, tool: str) -> str:
    output = await hosted.call(f"{server}.{tool}", {"n": f"{server}.{tool}"})
    assert isinstance(output, ToolOutput)
    return output.text
