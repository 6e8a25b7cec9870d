"""Stop reaches the server: by the run, by the call, by the clock, over every wire; going away stops nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from websockets.sync.client import connect

from pilothouse.types.servers import ConsentGiven, ServerInput, ToolTimes
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.mcp_gateway import Brain, Streamable
from tests.support.mcp_servers import SCRIPTED
from tests.support.sampling import first_and_some
from tests.support.servers import Server
from tests.support.tiny_http import TinyHttp
from tests.support.waiting import eventually, until

SLEEP: list[Any] = [[{"call": "far__sleep", "arguments": {"seconds": 600}}], "Slept."]
Json = dict[str, Any]
Wire = Literal["stdio", "modern stdio", "http", "modern http"]
WIRES: list[Wire] = ["stdio", "modern stdio", "http", "modern http"]
MODERN = "2026-07-28"


class Sleepy(Brain):
    """A server with one tool that never ends; it speaks one of the two eras."""

    def __init__(self, *, modern: bool) -> None:
        super().__init__()
        self._modern = modern

    def answer(self, message: Json) -> Json | None:
        method = message.get("method")
        if self._modern and method == "server/discover":
            return self._said(message, {"supportedVersions": [MODERN], "capabilities": {"tools": {}}})
        if method == "tools/list":
            return self._said(message, {"tools": [{"name": "sleep", "inputSchema": {"type": "object"}}]})
        if method == "tools/call":
            self.heard.append(message)
            return None
        return super().answer(message)

    def _said(self, message: Json, result: Json) -> Json:
        self.heard.append(message)
        return {"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", **result}}


class Far:
    """The server that is to be told, and what it heard."""

    def __init__(self, body: ServerInput, record: Path | None = None, http: tuple[Sleepy, TinyHttp] | None = None):
        self.body = body
        self._record = record
        self._http = http

    def heard(self) -> list[Json]:
        """Return every message that arrived."""
        if self._record is None:
            assert self._http is not None
            return self._http[0].heard
        text = self._record.read_text(encoding="utf-8") if self._record.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def calls(self) -> list[Any]:
        """Return the ids of the calls that arrived."""
        return [message["id"] for message in self.heard() if message.get("method") == "tools/call"]

    def cancelled(self) -> list[Any]:
        """Return the ids of the requests that it was told to stop; for the modern HTTP, one for each closed answer."""
        told = [message for message in self.heard() if message.get("method") == "notifications/cancelled"]
        ids = [message["params"]["requestId"] for message in told]
        if self._http is not None and self.body.era == "modern":
            assert not ids, "closing the answer is the word for it"
            return self.calls()[: self._http[1].let_go]
        return ids


@asynccontextmanager
async def far(wire: Wire, folder: Path, **more: Any) -> AsyncIterator[Far]:
    modern = "modern" in wire
    era: Any = "modern" if modern else "handshake"
    if "stdio" in wire:
        record = folder / "record"
        options = ("--record", str(record), *(("--era", "modern") if modern else ()))
        args = (str(SCRIPTED), *options)
        yield Far(ServerInput(name="Far", command=sys.executable, args=args, era=era, **more), record)
    else:
        place = Streamable(Sleepy(modern=modern))
        async with TinyHttp(place) as server:
            body = ServerInput(name="Far", url=f"{server.url}/mcp", wire="streamable", era=era, **more)
            assert isinstance(place.brain, Sleepy)
            yield Far(body, http=(place.brain, server))


@asynccontextmanager
async def sleeping(wire: Wire, home: Path, **more: Any) -> AsyncIterator[tuple[Chat, Far, str]]:
    """Open a chat in which a call is at the server, and give the run."""
    async with far(wire, home.parent, **more) as there, open_chat(home, SLEEP) as chat:
        view = await chat.api.servers.add(ME, there.body)
        if view.consent is not None:
            await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        tested = await chat.api.servers.test(ME, view.id)
        assert tested.ok, tested.message
        sent = await chat.send("Sleep.", allow=("far.*",))

        async def arrived() -> bool:
            return bool(there.calls())

        await eventually(arrived, "the call to arrive", PATIENCE)
        yield chat, there, sent.run_id


async def told(there: Far) -> None:
    """Wait until the server is told to stop exactly the one call that it got."""

    async def stopped() -> bool:
        return bool(there.cancelled())

    await eventually(stopped, "the server to be told", PATIENCE)
    assert there.cancelled() == there.calls()
    assert len(there.calls()) == 1


@pytest.mark.case("TMO-07", "TMO-08", "F-18")
@pytest.mark.parametrize("wire", WIRES)
async def test_stopping_the_run_reaches_the_server(home: Path, wire: Wire) -> None:
    async with sleeping(wire, home) as (chat, there, run_id):
        await chat.api.runs.cancel(ME, run_id)
        await told(there)
        assert (await chat.settled(run_id)).status == "cancelled"
        (call,) = await chat.items("tool_call")
        assert (call.status, call.raw["cancellation"]) == ("cancelled", "asked")
        assert call.text.startswith("Operation cancelled by user")
        assert (call.raw["error"]["code"], call.raw["error"]["retryable"]) == ("CANCELLED", False)


@pytest.mark.case("TMO-07", "TMO-08")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_stopping_one_call_reaches_the_server_and_the_run_goes_on(home: Path, wire: Wire) -> None:
    async with sleeping(wire, home) as (chat, there, run_id):
        await chat.api.runs.cancel_call(ME, (await chat.items("tool_call"))[0].id)
        await told(there)
        assert (await chat.settled(run_id)).status == "completed"
        (call,) = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"]) == ("cancelled", "CANCELLED")
        assert (await chat.texts("response"))[-1] == "Slept."


@pytest.mark.case("TMO-08", "TMO-11", "F-04")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_a_call_whose_time_is_over_is_stopped_at_the_server_and_is_no_cancel(home: Path, wire: Wire) -> None:
    async with sleeping(wire, home, times=ToolTimes(total=0.5)) as (chat, there, run_id):
        await told(there)
        assert (await chat.settled(run_id)).status == "completed"
        (call,) = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"]) == ("timed_out", "TIMEOUT")
        assert call.text.startswith("Tool call timed out after 0.5s")
        (server,) = (await chat.api.servers.list(ME)).servers
        assert (server.state, server.restarts) == ("connected", 0)


@pytest.mark.case("TMO-07")
async def test_a_reader_that_goes_away_stops_nothing(home: Path) -> None:
    async with sleeping("stdio", home) as (chat, there, run_id):
        async with aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as reader:
            await anext(reader)
        # A later question to the server proves that a word about the call would have arrived by now.
        server = (await chat.api.servers.list(ME)).servers[0]
        assert (await chat.api.servers.test(ME, server.id)).ok
        assert there.cancelled() == []
        assert (await chat.api.runs.get(ME, run_id)).status == "running"
        await chat.api.runs.cancel(ME, run_id)
        await told(there)


@pytest.mark.case("TMO-07")
def test_closing_the_page_stops_nothing_and_the_button_does(home: Path, tmp_path: Path) -> None:
    script, record = tmp_path / "script.json", tmp_path / "record"
    script.write_text(json.dumps({"turns": SLEEP}))
    with Server(home) as server:
        body = {"name": "Far", "command": sys.executable, "args": [str(SCRIPTED), "--record", str(record)]}
        view = server.post("/api/servers", body, 201)
        server.post(f"/api/servers/{view['id']}/consent", {"fingerprint": view["consent"]["fingerprint"]})
        assert server.post(f"/api/servers/{view['id']}/test")["ok"]
        conversation = server.post("/api/conversations", {"title": ""}, 201)["id"]
        message = {"text": "Sleep.", "modelId": f"scripted:{script}", "allow": ["far.*"]}
        run = server.post(f"/api/conversations/{conversation}/messages", message, 202)["runId"]
        until(lambda: '"sleep"' in record.read_text(), "the call to arrive")
        read_and_leave(server, conversation)
        assert server.post(f"/api/servers/{view['id']}/test")["ok"]
        assert "notifications/cancelled" not in record.read_text()
        assert server.run_status(run) == "running"
        server.post(f"/api/runs/{run}/cancel")
        until(lambda: "notifications/cancelled" in record.read_text(), "the server to be told")
        server.wait_for_run(run, "cancelled")


def read_and_leave(server: Server, conversation: str) -> None:
    """Read a conversation's events as a script and as a page do, and hang up in the middle."""
    with server.client.stream("GET", f"/api/conversations/{conversation}/events") as stream:
        assert next(line for line in stream.iter_lines() if line.startswith("data:"))
    headers = {"Authorization": server.client.headers["authorization"]}
    with connect(f"ws://127.0.0.1:{server.port}/api/ws", additional_headers=headers) as page:
        page.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 0}))
        while '"tool_call"' not in str(page.recv(PATIENCE)):
            pass
