"""A provider on loopback that answers each scenario as it is written, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support.tiny_http import LoopbackServer, read_request
from tests.wires.replies import Answer, Encoding, Json, Reply, Wire

# Requests with pictures are larger than the reader's usual limit.
READ_LIMIT = 16 * 1024 * 1024
# Answers go out in pieces that end in the middle of events, and of characters.
PIECE = 700
_WIRES: tuple[tuple[str, Wire], ...] = (
    ("/messages", "anthropic"),
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    (":streamGenerateContent", "gemini"),
    ("/api/chat", "ollama"),
)


@dataclass(frozen=True)
class Asked:
    """One request, and what was answered."""

    wire: Wire
    headers: Mapping[str, str]
    body: Json
    reply: Reply


class Provider(LoopbackServer):
    """The server; a scenario has its own address in it."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        super().__init__(limit=READ_LIMIT)
        self._answers = answers
        self._asked: dict[str, list[Asked]] = {}

    def url_of(self, scenario: str) -> str:
        """Return the address at which a scenario is played."""
        return f"{self.url}/{scenario}"

    def asked(self, scenario: str) -> list[Asked]:
        """Return what was asked of a scenario so far."""
        return self._asked.setdefault(scenario, [])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection can take another."""
        request = await read_request(reader)
        if request is None:
            return False
        path = request.path
        wire = next((wire for end, wire in _WIRES if path.endswith(end)), None)
        if wire is None:
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return True
        return await _send(writer, self._reply(path.split("/")[1], wire, request.headers, request.json))

    def _reply(self, scenario: str, wire: Wire, headers: Mapping[str, str], body: Json) -> Reply:
        asked, answers = self.asked(scenario), self._answers[scenario]
        # The last answer is given to whatever comes after it.
        answer = answers[min(len(asked), len(answers) - 1)]
        reply = answer(body) if callable(answer) else answer
        asked.append(Asked(wire, headers, body, reply))
        return reply


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    content = _packed(reply.body, reply.encoding)
    lines = [f"HTTP/1.{0 if reply.old else 1} {reply.status} Said"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    lines += [] if reply.old else ["transfer-encoding: chunked"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    for start in range(0, len(content), PIECE):
        piece = content[start : start + PIECE]
        writer.write(piece if reply.old else b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
    if not reply.old:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return not reply.old


def _packed(content: bytes, encoding: Encoding) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(content)
        case "deflate":
            return zlib.compress(content)
        case "raw deflate":
            packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            return packing.compress(content) + packing.flush()
        case "br":
            # Whoever cannot read it must say so; what it would unfold to is of no matter.
            return b"\x0b\x02\x80" + content[:4] + b"\x03"
        case _:
            return content
