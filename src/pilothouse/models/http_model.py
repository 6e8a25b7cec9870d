"""A model behind HTTP: write the request, send it, read the answer as it arrives."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

import msgspec

from pilothouse.models.answer import Answer, passed_on
from pilothouse.models.failures import Refused, Setback, Teller, is_filtered
from pilothouse.models.retries import patiently, retry_after
from pilothouse.models.wire import Reader, Unfinished, Wire, WireError, split, without_media
from pilothouse.net.client import send
from pilothouse.net.errors import NetError
from pilothouse.net.lines import Lines, json_lines, sse_data
from pilothouse.net.reply import Reply
from pilothouse.types import limits
from pilothouse.types.messages import ModelRequest
from pilothouse.types.origins import is_loopback
from pilothouse.types.stream import Stopped, StreamEvent

# A provider that refuses one field after another is not adapted to for ever.
_ADAPTATIONS = 4
# How providers speak of pictures and sounds that they do not take.
_MEDIA = re.compile(r"image|audio|media|multimodal|vision|modalit", re.IGNORECASE)


class HttpModel:
    """A model that is asked over HTTP in one wire format."""

    def __init__(
        self,
        wire: Wire,
        *,
        secrets: tuple[str, ...] = (),
        first_byte: float = limits.FIRST_BYTE_TIMEOUT,
        silence: float = limits.SILENCE_TIMEOUT,
        first_wait: float = limits.RETRY_FIRST_WAIT,
    ) -> None:
        self.wire = wire
        self._first_byte = first_byte
        self._silence = silence
        self._first_wait = first_wait
        self._teller = Teller(_place(wire.url), secrets, _start_hint(wire.url))

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it arrives; closing the generator closes the connection."""
        return patiently(lambda: self._attempt(request), self._first_wait)

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            reply = await self._ask(request)
        except Refused as refusal:
            yield Stopped("refusal", str(refusal))
            return
        answer = Answer()
        reader = self.wire.reader(answer)
        lines = Lines()
        try:
            timeout = self._first_byte
            while (chunk := await self._chunk(reply, timeout)) is not None:
                for start in range(0, len(chunk), limits.STREAM_STEP_BYTES):
                    if start:
                        await asyncio.sleep(0)
                    setback = self._read(reader, lines.feed(chunk[start : start + limits.STREAM_STEP_BYTES]))
                    async for event in passed_on(answer.take()):
                        timeout = self._silence
                        yield event
                    if setback:
                        raise setback
            setback = self._read(reader, lines.rest(), at_end=True)
            async for event in passed_on(answer.take()):
                yield event
            if setback:
                raise setback
        except NetError as error:
            raise self._teller.net(error) from None
        finally:
            await reply.aclose()

    async def _chunk(self, reply: Reply, timeout: float) -> bytes | None:
        try:
            return await reply.chunk(timeout)
        except NetError as error:
            raise self._teller.net(error) from None

    def _read(self, reader: Reader, lines: list[bytes], *, at_end: bool = False) -> Setback | None:
        """Feed lines to the reader; what it made of those before a bad one still counts."""
        try:
            for data in sse_data(lines) if self.wire.is_sse else json_lines(lines):
                _check_pieces(data)
                reader.feed(data)
            if at_end:
                reader.finish()
        except WireError as error:
            return self._teller.told(self._teller.own_words(error.message), error.kind, error.status)
        except Unfinished:
            return self._teller.broken("it ended before it was complete")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
            return self._teller.broken("it sent something that is not what this provider sends")
        return None

    async def _ask(self, request: ModelRequest) -> Reply:
        """Send the request, without what the provider refuses to get, and return a reply that streams."""
        for _ in range(_ADAPTATIONS):
            try:
                reply = await send(
                    "POST",
                    self.wire.url,
                    headers=self.wire.headers,
                    content=self.wire.body(request),
                    timeout=self._first_byte,
                )
                if reply.status == 200 and self._is_stream(reply):
                    return reply
                refusal = await self._refusal(reply)
            except NetError as error:
                raise self._teller.net(error) from None
            if refusal.failed.status in (400, 422) and self.wire.adapt(refusal.failed.message):
                continue
            if not _is_about_media(refusal) or (plainer := without_media(request)) == request:
                break
            # One broken picture in a result would otherwise end the conversation for good.
            request = plainer
        raise refusal

    async def _refusal(self, reply: Reply) -> Setback:
        try:
            body = await reply.read(limits.ERROR_BODY_BYTES, limits.CONNECT_TIMEOUT)
        finally:
            await reply.aclose()
        if is_filtered(reply.status, body):
            raise Refused(self._teller.own_words(body))
        words = self._teller.own_words(body)
        if 200 <= reply.status < 300:
            return self._teller.not_a_stream(_described(reply, words))
        setback = self._teller.status(reply.status, words, kind=body[:2000].decode("utf-8", "replace"))
        setback.retry_after = retry_after(reply.header("retry-after-ms"), reply.header("retry-after"), body)
        if reply.header("x-should-retry") == "false":
            setback.tries = 1
        return setback

    def _is_stream(self, reply: Reply) -> bool:
        kind = reply.header("content-type")
        return "html" not in kind and not (self.wire.is_sse and kind.startswith("application/json"))


def _check_pieces(data: bytes) -> None:
    """Raise what `msgspec` raises for a long line of so many pieces that reading it would hold everyone up."""
    if len(data) > limits.STREAM_LINE_AT_ONCE and sum(map(data.count, (b"[", b"{", b":"))) > limits.JSON_PIECES:
        raise msgspec.DecodeError("it is in too many pieces")


def _is_about_media(refusal: Setback) -> bool:
    failed = refusal.failed
    return failed.code == "model_refused" and 400 <= (failed.status or 0) < 500 and bool(_MEDIA.search(failed.message))


def _described(reply: Reply, words: str) -> str:
    if "html" in reply.header("content-type"):
        return "a web page"
    return f"“{words}”" if words else "a whole document"


def _place(url: str) -> str:
    """Return host and port of an address and nothing else of it."""
    parts = split(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    host = parts.hostname or "the model's server"
    return f"{host}:{port or (443 if parts.scheme == 'https' else 80)}"


def _start_hint(url: str) -> str:
    if is_loopback(url):
        return "Start the model's server there, or correct the base URL in Settings, Models."
    return "Check your connection, and the base URL in Settings, Models."
