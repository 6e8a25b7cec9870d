"""A model server on loopback that speaks five wire formats and fails on demand.

As a fixture: `async with Endpoint() as endpoint`, then `endpoint.answer(Reply(...), ...)`.
As a program: `python -m tests.support.scripted_endpoint --port 8123`; the model's name says what it answers:

    text-20000              20,000 tokens in one burst
    text-500-every-0.02     500 tokens, one every 20 ms
    stamps-500-every-0.02   the same, each token the sender's monotonic clock in nanoseconds
    slow                    2,000 tokens, one every 50 ms
    tools                   thinking, text and two tool calls; then "Done." once it has their results
    think-30                30 rounds of a call to `think`, then "Done."
    status-429              that error status, always; status-429-times-2 only the first two times
    stall, cut, garbage     nothing at all; a stream cut after some text; a chunk that is not JSON

`GET /requests` lists what was asked (bodies included), `GET /closed` how many clients hung up early.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.support.tiny_http import LoopbackServer, read_request
from tests.support.wire_writers import Call, Say, Text, Thought, Tokens, Wire, error_frame, frames

# A request with images is larger than the reader's usual limit.
READ_LIMIT = 64 * 1024 * 1024
BURST_BYTES = 64 * 1024


@dataclass(frozen=True)
class Fault:
    """What goes wrong with an answer, after how many of its frames."""

    # "stall" goes silent, "cut" drops the connection, "end" closes the stream politely, "garbage" is no JSON,
    # "noise" is harmless (comments, blank lines, an unknown event), "error" is told inside the stream.
    kind: Literal["stall", "cut", "end", "garbage", "noise", "error"]
    after: int = 0
    error: tuple[str, str] = ("overloaded_error", "Overloaded")


@dataclass(frozen=True)
class Reply:
    """How one request is answered."""

    say: Say = field(default_factory=Say)
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    # The body, as it is: of an error status, made up when empty; or in place of what the model says.
    body: bytes = b""
    fault: Fault | None = None
    every: float = 0.0
    crlf: bool = False
    # Cuts the stream into pieces of so many bytes, inside characters too.
    pieces: int = 0
    # Leaves out the line feeds at the very end.
    no_last_newline: bool = False


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    wire: Wire
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Endpoint(LoopbackServer):
    """The server; its address is `url`."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port, limit=READ_LIMIT)
        self._replies: list[Reply] = []
        self._asked: dict[str, int] = {}
        self.requests: list[Received] = []
        self.closed = 0
        self._news = asyncio.Condition()

    def answer(self, *replies: Reply) -> None:
        """Answer the next requests with these, the last one for good; without any, the model's name decides."""
        self._replies = list(replies)

    async def until_asked(self, times: int = 1, timeout: float = 10.0) -> None:
        """Wait until so many requests arrived."""
        async with asyncio.timeout(timeout), self._news:
            await self._news.wait_for(lambda: len(self.requests) >= times)

    async def until_closed(self, times: int = 1, timeout: float = 10.0) -> None:
        """Wait until so many clients hung up in the middle of an answer."""
        async with asyncio.timeout(timeout), self._news:
            await self._news.wait_for(lambda: self.closed >= times)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The server is told of a hang-up below; a cancelled one is being closed with the whole endpoint.
            pass
        finally:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection can take another."""
        request = await read_request(reader)
        if request is None:
            return False
        wire = _wire(request.target)
        if wire is None:
            return await self._about(request.target, writer)
        received = Received(wire, request.target, request.headers, request.body)
        self.requests.append(received)
        await self._tell()
        reply = self._reply(received)
        if reply.status != 200 or reply.body:
            await _write_error(writer, reply)
            return True
        stream = asyncio.ensure_future(_Stream(writer, wire, reply).send())
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not stream.done() or stream.exception():
                self.closed += 1
                await self._tell()
                return False
            return stream.result()
        finally:
            for task in (stream, gone):
                task.cancel()
            await asyncio.gather(stream, gone, return_exceptions=True)

    def _reply(self, received: Received) -> Reply:
        if self._replies:
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        model = _model(received)
        self._asked[model] = self._asked.get(model, 0) + 1
        return reply_for(model, received, self._asked[model])

    async def _about(self, path: str, writer: asyncio.StreamWriter) -> bool:
        about: object = {"error": {"message": f"no such address: {path}"}}
        if path == "/closed":
            about = self.closed
        elif path == "/requests":
            about = [{"path": one.path, "headers": one.headers, "body": one.json} for one in self.requests]
        elif path.endswith("/models"):
            about = {"object": "list", "data": [{"id": "text-100", "object": "model"}, {"id": "tools"}]}
        elif path.endswith("/api/tags"):
            about = {"models": [{"name": "text-100", "model": "text-100"}]}
        status = 404 if isinstance(about, dict) and "error" in about else 200
        await _write_whole(writer, status, json.dumps(about).encode(), ())
        return True


class _Stream:
    """One streamed answer on its way out."""

    def __init__(self, writer: asyncio.StreamWriter, wire: Wire, reply: Reply) -> None:
        self._writer = writer
        self._wire = wire
        self._reply = reply
        self._held = b""

    async def send(self) -> bool:
        """Send the answer; return whether the connection is still good."""
        kind = "application/x-ndjson" if self._wire == "ollama" else "text/event-stream; charset=utf-8"
        fault = self._reply.fault
        self._writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for number, frame in enumerate(frames(self._wire, self._reply.say)):
            if fault and number == fault.after and await self._fail(fault):
                return False
            self._write(frame)
            if self._reply.every:
                await self._writer.drain()
                await asyncio.sleep(self._reply.every)
            elif self._writer.transport.get_write_buffer_size() > BURST_BYTES:
                await self._writer.drain()
        self._flush()
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _fail(self, fault: Fault) -> bool:
        """Do what the fault says; return whether nothing follows it."""
        match fault.kind:
            case "noise":
                if self._wire != "ollama":
                    self._write(b": a comment\n\nevent: unheard-of\nid: 7\nretry: 10\n\ndata:\n\n\n")
                return False
            case "garbage":
                self._write(b"data: {not json\n\n" if self._wire != "ollama" else b"{not json\n")
            case "error":
                self._write(error_frame(self._wire, *fault.error))
        self._flush()
        await self._writer.drain()
        match fault.kind:
            case "stall":
                await asyncio.Event().wait()
            case "cut":
                self._writer.transport.abort()
                return True
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    def _write(self, frame: bytes) -> None:
        if self._reply.crlf:
            frame = frame.replace(b"\n", b"\r\n")
        if not self._reply.pieces and not self._reply.no_last_newline:
            self._chunk(frame)
        else:
            self._held += frame

    def _flush(self) -> None:
        held = self._held.rstrip() if self._reply.no_last_newline else self._held
        size = self._reply.pieces or len(held) or 1
        for at in range(0, len(held), size):
            self._chunk(held[at : at + size])
        self._held = b""

    def _chunk(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def reply_for(model: str, received: Received, times: int) -> Reply:
    """Return what a model of this name answers."""
    every = float(found[1]) if (found := re.search(r"-every-([\d.]+)", model)) else 0.0
    if found := re.match(r"(text|stamps)-(\d+)", model):
        count = int(found[2])
        pieces = _stamps(count) if found[1] == "stamps" else [f" t{number:04d}" for number in range(count)]
        return Reply(Say((Text(pieces),), tokens=Tokens(output=count)), every=every)
    if found := re.match(r"status-(\d+)(?:-times-(\d+))?", model):
        if not found[2] or times <= int(found[2]):
            return Reply(status=int(found[1]), headers=(("retry-after", "0.05"),))
        return Reply(Say((Text(["Here again."]),)))
    if found := re.match(r"think-(\d+)", model):
        return _thinking_round(received, int(found[1]))
    match model:
        case "slow":
            return Reply(Say((Text([" token"] * 2000),)), every=0.05)
        case "tools":
            return Reply(Say((Text(["Done."]),)) if _has_results(received) else TOOLS, every=every)
        case "stall" | "cut" | "garbage" as kind:
            return Reply(Say((Text(["Hello", " there", " you"]),)), fault=Fault(kind, 0 if kind == "stall" else 4))
    return Reply(Say((Text(["Hello", " from", " ", model, "."]),)))


TOOLS = Say(
    (
        Thought(["Let me", " think", " hard."]),
        Text(["I will", " call", " tools."]),
        Call("call_a", "think", '{"thoughts": "first, a plan with ünïcode"}'),
        Call("call_b", "think", '{"thoughts": "then, the work"}'),
    ),
    stop="tool",
)


def _thinking_round(received: Received, rounds: int) -> Reply:
    done = received.body.count(b'"call_think_')
    # Every wire but Gemini's own counts a call and its result: two mentions a round.
    number = done // 2
    if number >= rounds:
        return Reply(Say((Text(["Done."]),)))
    call = Call(f"call_think_{number}", "think", json.dumps({"thoughts": f"round {number}"}))
    return Reply(Say((Text([f"Round {number}."]), call), stop="tool"))


def _stamps(count: int) -> Iterator[str]:
    for _ in range(count):
        yield f" {time.monotonic_ns()}"


def _has_results(received: Received) -> bool:
    marks = (b'"tool_result"', b'"role":"tool"', b'"function_call_output"', b'"functionResponse"')
    return any(mark in received.body for mark in marks)


def _wire(path: str) -> Wire | None:
    bare = path.partition("?")[0]
    ends: dict[str, Wire] = {
        "/messages": "anthropic-compatible",
        "/chat/completions": "openai-compatible",
        "/responses": "openai-responses",
        "/api/chat": "ollama",
        ":streamGenerateContent": "gemini",
    }
    return next((wire for end, wire in ends.items() if bare.endswith(end)), None)


def _model(received: Received) -> str:
    if received.wire == "gemini":
        return received.path.rpartition("/")[2].partition(":")[0]
    return str(received.json.get("model", ""))


async def _write_error(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = reply.body or json.dumps({"error": {"type": "made_up", "message": "as the script says"}}).encode()
    await _write_whole(writer, reply.status, body, reply.headers)


async def _write_whole(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: tuple[tuple[str, str], ...]
) -> None:
    kinds = () if any(name == "content-type" for name, _ in headers) else (("content-type", "application/json"),)
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*kinds, *headers))
    writer.write(f"HTTP/1.1 {status} X\r\n{lines}content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def _serve(port: int) -> None:
    async with Endpoint(port) as endpoint:
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A scripted model server for tests and benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; the address is printed")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().port))
