"""A small MCP gateway on real sockets: streamable HTTP, HTTP with events, WebSocket, each with its oddities.

`FaultProxy` stands between a client and any server and spoils the connection.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tests.support.tiny_http import Answer, Request

Json = dict[str, Any]
JSON = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream"}


class Brain:
    """What is behind every wire: two tools, one that answers and one that does not until it is told to."""

    def __init__(self) -> None:
        self.heard: list[Json] = []
        self.cancelled: list[object] = []

    def answer(self, message: Json) -> Json | None:
        """Return the answer to a request, None when there is none."""
        self.heard.append(message)
        method = message.get("method")
        if method == "notifications/cancelled":
            self.cancelled.append(message["params"]["requestId"])
        if "id" not in message or method is None or method == "silent":
            return None
        known: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
            "tools/call": lambda params: {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]},
        }
        if method not in known:
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": known[method](message.get("params") or {})}

    def _initialize(self, params: Json) -> Json:
        version = params.get("protocolVersion", "2025-06-18")
        info = {"name": "gateway", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}


def event(data: str, name: str = "", identity: str = "", retry: int | None = None, newline: str = "\n") -> bytes:
    """Return a server-sent event."""
    lines = [f"event: {name}"] if name else []
    lines += [f"id: {identity}"] if identity else []
    lines += [f"retry: {retry}"] if retry is not None else []
    lines += [f"data: {line}" for line in data.split("\n")]
    return newline.join([*lines, "", ""]).encode()


@dataclass
class Streamable:
    """Streamable HTTP at /mcp."""

    brain: Brain = field(default_factory=Brain)
    form: Literal["json", "events", "batch", "no type"] = "json"
    session: str = ""
    # What the server says by itself on the stream of a GET; None offers no such stream.
    says: list[bytes] | None = None
    # Answers given once each instead of the right one, for requests with that method.
    instead: dict[str, list[Answer]] = field(default_factory=dict)
    # What a GET with the last event id of a broken stream brings.
    resumed: dict[str, list[bytes]] = field(default_factory=dict)
    forgotten: bool = False
    # Methods that need no session.
    open_to: tuple[str, ...] = ()
    ended: list[str] = field(default_factory=list)
    gets: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        if request.target.partition("?")[0] != "/mcp":
            return Answer(404)
        if request.method == "DELETE":
            self.ended.append(request.headers.get("mcp-session-id", ""))
            return Answer(200)
        if request.method == "GET":
            return self._stream(request)
        message = json.loads(request.body)
        if planned := self.instead.get(message.get("method", "")):
            self.brain.heard.append(message)
            return planned.pop(0)
        known = not self.forgotten and request.headers.get("mcp-session-id", "") == self.session
        if message.get("method") not in ("initialize", *self.open_to) and not known:
            return Answer(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}', JSON)
        answer = self.brain.answer(message)
        if answer is None:
            return Answer(202) if "id" not in message else Answer(200, b"", EVENTS, stream=forever())
        return self._formed(answer, message)

    def _formed(self, answer: Json, message: Json) -> Answer:
        headers = {"Mcp-Session-Id": self.session} if self.session and message["method"] == "initialize" else {}
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}
        if self.form == "events":
            return Answer(200, event(json.dumps(note)) + event(json.dumps(answer)), {**EVENTS, **headers})
        if self.form == "batch":
            return Answer(200, json.dumps([note, answer]).encode(), {**JSON, **headers})
        kind = {} if self.form == "no type" else JSON
        return Answer(200, json.dumps(answer).encode(), {**kind, **headers})

    def _stream(self, request: Request) -> Answer:
        self.gets.append(request)
        last = request.headers.get("last-event-id", "")
        if last in self.resumed:
            return Answer(200, b"".join(self.resumed[last]), EVENTS)
        if self.says is None:
            return Answer(405)
        return Answer(200, b"", EVENTS, stream=then_forever(self.says))


async def then_forever(pieces: list[bytes]) -> AsyncIterator[bytes]:
    """Yield what is there, then keep the stream open."""
    while pieces:
        yield pieces.pop(0)
    await asyncio.Event().wait()


def forever() -> AsyncIterator[bytes]:
    """Return a stream that brings nothing and does not end."""
    return then_forever([])


async def by_the_byte(pace: float) -> AsyncIterator[bytes]:
    """Yield a byte after every so many seconds, without end."""
    while True:
        yield b"x"
        await asyncio.sleep(pace)


@dataclass
class OldGateway:
    """HTTP with events: the stream at /sse, messages wherever `takes` says."""

    brain: Brain = field(default_factory=Brain)
    session: str = "s1"
    # The first thing on the stream; how other gateways name the session.
    hello: bytes = b""
    # The paths at which a POST is taken, without the query.
    takes: tuple[str, ...] = ("/message",)
    wrap: Callable[[Json], object] = lambda answer: answer
    newline: str = "\n"
    answers_post: bool = False
    # The first POST is sent on with this status.
    redirect: int | None = None
    streams: list[asyncio.Queue[bytes | None]] = field(default_factory=list)
    posts: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        path = request.target.partition("?")[0]
        if request.method == "GET":
            if path != "/sse" or "event-stream" not in request.headers.get("accept", ""):
                return Answer(404)
            self.streams.append(asyncio.Queue())
            return Answer(200, b"", EVENTS, stream=self._pour(self.streams[-1]))
        self.posts.append(request)
        if path not in self.takes:
            return Answer(405 if path == "/sse" else 404)
        if self.redirect is not None:
            status, self.redirect = self.redirect, None
            return Answer(status, b"", {"Location": request.target})
        answer = self.brain.answer(json.loads(request.body))
        if answer is not None and self.answers_post:
            return Answer(200, json.dumps(answer).encode(), JSON)
        if answer is not None:
            self.say(self.wrap(answer))
        return Answer(202, b"Accepted")

    def say(self, value: object) -> None:
        """Put something on the stream."""
        text = value if isinstance(value, str) else json.dumps(value, indent=1)
        self.streams[-1].put_nowait(event(text, "message", newline=self.newline))

    async def _pour(self, pieces: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
        yield self.hello or event(f"/message?sessionId={self.session}", "endpoint", newline=self.newline)
        while (piece := await pieces.get()) is not None:
            yield piece


@dataclass
class Socket:
    """A WebSocket at `path`."""

    brain: Brain = field(default_factory=Brain)
    path: str = "/"
    subprotocols: tuple[str, ...] = ("mcp",)
    # Chosen although nobody offered it.
    insists_on: str = ""
    binary: bool = False
    batch: bool = False
    # Sent instead of answers to this method.
    instead: dict[str, Callable[[ServerConnection], Any]] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    seen: list[ServerConnection] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        """Return its address, as for a web page."""
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Socket]:
        """Listen."""
        names = [Subprotocol(name) for name in self.subprotocols] or None
        insist = (lambda connection, offered: Subprotocol(self.insists_on)) if self.insists_on else None
        async with serve(
            self._talk,
            "127.0.0.1",
            0,
            process_request=self._door,
            subprotocols=names,
            select_subprotocol=insist,
            ssl=self.tls,
            ping_interval=None,
        ) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self

    def _door(self, connection: ServerConnection, request: Any) -> Any:
        if request.path.partition("?")[0] == self.path:
            return None
        return connection.respond(200 if request.path == "/" else 404, "<html>a page</html>")

    async def _talk(self, connection: ServerConnection) -> None:
        self.seen.append(connection)
        try:
            async for frame in connection:
                message = json.loads(frame)
                if act := self.instead.get(message.get("method", "")):
                    await act(connection)
                elif (answer := self.brain.answer(message)) is not None:
                    text = json.dumps([answer] if self.batch else answer)
                    await connection.send(text.encode() if self.binary else text)
        except ConnectionClosed:
            pass


class FaultProxy:
    """`async with FaultProxy(port) as proxy:` passes bytes on; its attributes spoil what comes back."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._to = port
        # With it the proxy ends the encryption, as `tailscale serve` and its like do.
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._joined: set[asyncio.Task[None] | None] = set()
        # Bytes of an answer that are passed on before the fault.
        self.after = 0
        self.fault: Literal["none", "drop", "reset", "close"] = "none"
        # Bytes per piece.
        self.slice: int | None = None
        self.hit = asyncio.Event()

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> FaultProxy:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0, ssl=self._tls)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.gather(*(each for each in self._joined if each is not None), return_exceptions=True)
        # A handshake that failed has no task of ours; its end is only noticed by the loop.
        for _turn in range(10 if self._tls else 0):
            await asyncio.sleep(0)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._joined.add(asyncio.current_task())
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers |= {writer, inner_writer}
        there = asyncio.create_task(self._pass(reader, inner_writer))
        back = asyncio.create_task(self._spoil(inner_reader, writer))
        try:
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
            for one in (writer, inner_writer):
                one.transport.abort()
            self._writers -= {writer, inner_writer}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    async def _spoil(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passed = 0
        while data := await reader.read(self.slice or 65536):
            if self.fault != "none" and passed + len(data) > self.after:
                writer.write(data[: max(0, self.after - passed)])
                await writer.drain()
                self.hit.set()
                await self._fail(writer)
            passed += len(data)
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    async def _fail(self, writer: asyncio.StreamWriter) -> None:
        if self.fault == "drop":
            await asyncio.Event().wait()
        if self.fault == "reset":
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionResetError
