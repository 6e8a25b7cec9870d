"""A model server of its own process: OpenAI chat streams of ready-made chunks.

As providers do, every token is one server-sent event, in one HTTP chunk, in one write to the socket.
The model's name says what is asked for:

    burst-20000         so many tokens, as fast as the reader takes them
    paced-500-50        500 tokens, 50 a second; each is the sender's monotonic clock in nanoseconds
    text-20000-400      20,000 words of markdown, 400 a second
    rounds-20-1         a call of the echo tool, 20 times, one in each answer, then a word

`GET /turns` gives the seconds from each answer with calls to the request with their results, and forgets them; they
mean something while one conversation is held at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvloop

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
PARAGRAPH = (
    "## Section\n\nA paragraph with **strong words**, a bit of `code` and a [link](https://example.com/page) in it. "
    "It goes on for another sentence, and then for one more, so that lines wrap.\n\n- first point\n- second point\n\n"
    "```python\ndef add(a: int, b: int) -> int:\n    return a + b\n```\n\n"
)


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """Return a chunk with the fields that OpenAI sends."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return framed(
        {
            "id": "chatcmpl-Bx7QmZ2aUu0vJ8Q3bY5kD1nE6tHcR",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": "gpt-4o-mini-2024-07-18",
            "service_tier": "default",
            "system_fingerprint": "fp_560af6e559",
            "choices": [choice],
            "usage": None,
        }
    )


def framed(chunk: object) -> bytes:
    """Return a document as one event in one HTTP chunk."""
    data = b"data: %s\n\n" % (chunk if isinstance(chunk, bytes) else json.dumps(chunk, separators=(",", ":")).encode())
    return b"%x\r\n%s\r\n" % (len(data), data)


def counted(count: int) -> dict[str, int]:
    """Return what an answer of so many tokens cost."""
    return {"prompt_tokens": 9, "completion_tokens": count, "total_tokens": count + 9}


def ending(count: int, finish: str = "stop") -> bytes:
    """Return what follows the last token."""
    last = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted(count)}
    return event({}, finish) + framed(last) + framed(b"[DONE]") + b"0\r\n\r\n"


def whole(message: dict[str, Any], finish: str) -> bytes:
    """Return an answer that was not asked for as a stream."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    made = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_760_000_000, "model": "gpt-4o-mini"}
    return document({**made, "choices": [choice], "usage": counted(5)})


def document(content: object) -> bytes:
    """Return a whole JSON answer."""
    body = json.dumps(content).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


def words() -> Iterator[str]:
    """Return the pieces of an endless markdown text, word by word."""
    pieces = [f"{word} " if word else " " for word in PARAGRAPH.split(" ")]
    return itertools.cycle(pieces)


class Turns:
    """How long the reader took between an answer with calls and the request with their results."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._answered = 0.0

    def answered(self) -> None:
        """Note that an answer with calls went out."""
        self._answered = time.perf_counter()

    def came_back(self) -> None:
        """Note that their results came."""
        self.seconds.append(time.perf_counter() - self._answered)


turns = Turns()


class Exchange(asyncio.Protocol):
    """One connection: a request at a time, each answered by a stream."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._streaming: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._streaming is not None:
            self._streaming.cancel()

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if found and head.startswith(b"GET /turns "):
            self._received = b""
            self._transport.write(document(turns.seconds))
            turns.seconds = []
            return
        lengths = [int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"]
        if found and lengths and len(body) >= lengths[0]:
            self._received = b""
            self._streaming = self._loop.create_task(self._answer(json.loads(body)))

    async def _answer(self, request: dict[str, Any]) -> None:
        kind, count, *rate = str(request["model"]).split("-")
        if kind == "rounds":
            self._round(request, int(count), int(rate[0]))
            return
        self._transport.write(HEAD + event({"role": "assistant", "content": ""}))
        if kind == "burst":
            await self._burst(int(count))
        else:
            source = words()
            token = (lambda: f" {time.monotonic_ns()}") if kind == "paced" else (lambda: next(source))
            await self._paced(int(count), float(rate[0]), token)
        self._transport.write(ending(int(count)))

    def _round(self, request: dict[str, Any], rounds: int, parallel: int) -> None:
        """Answer with the next calls, or with a word when all were made; streamed or whole, as asked."""
        made = sum(message["role"] == "tool" for message in request["messages"])
        if made:
            turns.came_back()
        message: dict[str, Any] = {"role": "assistant", "content": None if made < rounds * parallel else "done"}
        if made < rounds * parallel:
            name = next(tool["function"]["name"] for tool in request["tools"] if "echo" in tool["function"]["name"])
            message["tool_calls"] = [
                {
                    "index": number,
                    "id": f"call_{made}_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps({"text": f"hello {made}"})},
                }
                for number in range(parallel)
            ]
        finish = "tool_calls" if "tool_calls" in message else "stop"
        if request.get("stream"):
            self._transport.write(HEAD + event(message) + ending(5, finish))
        else:
            self._transport.write(whole(message, finish))
        turns.answered()

    async def _burst(self, count: int) -> None:
        frames = [event({"content": f" t{number:04d}"}) for number in range(count)]
        for frame in frames:
            await self._flowing.wait()
            self._transport.write(frame)

    async def _paced(self, count: int, rate: float, token: Callable[[], str]) -> None:
        began = self._loop.time()
        # Cut open once: building the JSON again for each of thousands a second would be what is measured.
        before, after = event({"content": "@"}).partition(b"\r\n")[2].removesuffix(b"\r\n").split(b"@")
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - self._loop.time()))
            data = before + json.dumps(token()).encode()[1:-1] + after
            self._transport.write(b"%x\r\n%s\r\n" % (len(data), data))


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Exchange, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(main())
