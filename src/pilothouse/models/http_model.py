"""A model behind HTTP: write the request, send it, read the answer as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING

import msgspec

from pilothouse.models.answer import Answer, passed_on
from pilothouse.models.failures import Refused, Setback, Teller, is_filtered
from pilothouse.models.learned_limits import PICTURES, Lesson
from pilothouse.models.non_streaming import Documents, NotAnAnswer, check_pieces
from pilothouse.models.retries import patiently, retry_after
from pilothouse.models.signing import PROOFS, Outgoing, Signer, signed
from pilothouse.models.wire import Reader, Unfinished, Wire, WireError, split, without_media
from pilothouse.net.client import send_repeatable
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import ModelRequest
from pilothouse.types.origins import is_loopback
from pilothouse.types.stream import Failed, Notice, Stopped, StreamEvent

if TYPE_CHECKING:
    from pilothouse.net.event_frames import EventFrames

_FRAMED = "application/vnd.amazon.eventstream"
# A provider that refuses one field after another is not adapted to for ever.
_ADAPTATIONS = 6
# What is refused for what is in it.
_REFUSED = (400, 422)


class _Stream:
    """An answer on its way, and what was asked to get it."""

    __slots__ = ("answer", "at", "chunk", "documents", "is_over", "learned", "reader", "reply", "request", "setback")

    def __init__(
        self,
        request: ModelRequest,
        reply: Reply,
        learned: list[Lesson],
        answer: Answer,
        reader: Reader,
        documents: Documents | EventFrames,
    ) -> None:
        self.request = request
        self.reply = reply
        # Followed in asking, and not yet proved right.
        self.learned = learned
        self.answer = answer
        self.reader = reader
        self.documents = documents
        self.chunk = b""
        # How much of the chunk is read.
        self.at = 0
        self.is_over = False
        self.setback: Setback | None = None


class HttpModel:
    """A model that is asked over HTTP in one wire format."""

    def __init__(
        self,
        wire: Wire,
        *,
        secrets: tuple[str, ...] = (),
        signer: Signer | None = None,
        first_byte: float = limits.FIRST_BYTE_TIMEOUT,
        silence: float = limits.SILENCE_TIMEOUT,
        first_wait: float = limits.RETRY_FIRST_WAIT,
    ) -> None:
        self.wire = wire
        self._signer = signer
        self._first_byte = first_byte
        self._silence = silence
        self._first_wait = first_wait
        self._teller = Teller(_place(wire.url), secrets, _start_hint(wire.url))

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        return patiently(lambda: self._attempt(request), self._first_wait)

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            stream = await self._opened(request)
        except Refused as refusal:
            yield Stopped("refusal", str(refusal))
            return
        try:
            if stream.setback and stream.answer.is_silent:
                # Before anything is told it may be asked again.
                raise stream.setback
            while not stream.is_over:
                async for event in passed_on(stream.answer.take()):
                    yield event
                if stream.setback:
                    raise stream.setback
                await self._step(stream, self._silence)
            async for event in passed_on(stream.answer.take()):
                yield self._ended(event) if isinstance(event, Stopped) else event
            if stream.setback:
                raise stream.setback
        finally:
            await stream.reply.aclose()

    async def _opened(self, request: ModelRequest) -> _Stream:
        """Return an answer that has begun, or failed; a refusal in its place is adapted to like one before it."""
        before: _Stream | None = None
        for _ in range(_ADAPTATIONS):
            stream = await self._ask(request, before)
            try:
                while not stream.is_over and stream.setback is None and stream.answer.is_silent:
                    await self._step(stream, self._first_byte)
                if not (stream.answer.is_silent and stream.setback is not None and stream.setback.said):
                    await self._keep(stream)
                    return stream
            except BaseException:
                self.wire.lessons.drop(stream.learned)
                await stream.reply.aclose()
                raise
            await stream.reply.aclose()
            before = stream
        self.wire.lessons.drop(stream.learned)
        return stream

    async def _step(self, stream: _Stream, timeout: float) -> None:
        """Read a piece of the answer that is not so long that others would wait for it."""
        try:
            if stream.at < len(stream.chunk):
                await asyncio.sleep(0)
            else:
                chunk = await stream.reply.chunk(timeout)
                if chunk is None:
                    stream.is_over = True
                    stream.setback = self._read(stream.reader, stream.documents.rest(), at_end=True)
                    return
                stream.chunk, stream.at = chunk, 0
            end = stream.at + limits.STREAM_STEP_BYTES
            piece = stream.chunk[stream.at : end] if stream.at or end < len(stream.chunk) else stream.chunk
            stream.at = end
            stream.setback = self._read(stream.reader, stream.documents.feed(piece))
        except NetError as error:
            raise self._teller.net(error) from None

    async def _keep(self, stream: _Stream) -> None:
        """Remember what an answer proved right."""
        if stream.learned and not stream.answer.is_silent:
            await self.wire.lessons.keep(stream.learned)
        self.wire.lessons.drop(stream.learned)

    def _begun(self, reply: Reply, request: ModelRequest, learned: list[Lesson]) -> _Stream:
        """Return an answer that begins, with what the person should know about what was asked."""
        answer = Answer()
        if words := self.wire.left_out(request):
            answer.add(Notice("left_out", words))
        if request.temperature is not None and (words := self.wire.lessons.about_temperature(request.temperature)):
            answer.add(Notice("temperature", words))
        return _Stream(request, reply, learned, answer, self.wire.reader(answer), self._documents(reply))

    def _documents(self, reply: Reply) -> Documents | EventFrames:
        """Return what takes the documents out of a reply: one of Bedrock's has frames."""
        if not reply.header("content-type").startswith(_FRAMED):
            return Documents(is_sse=self.wire.is_sse)
        from pilothouse.net.event_frames import EventFrames  # noqa: PLC0415 - few have such a provider

        return EventFrames()

    def _ended(self, event: Stopped) -> Stopped:
        """Return the end of an answer; the provider's own words for it may be shown."""
        return Stopped(event.reason, self._teller.own_words(event.raw) if event.raw else None)

    def _read(self, reader: Reader, documents: Iterable[bytes], *, at_end: bool = False) -> Setback | None:
        """Feed documents to the reader; what it made of those before a bad one still counts."""
        try:
            for data in documents:
                check_pieces(data)
                reader.feed(data)
            if at_end:
                reader.finish()
        except WireError as error:
            setback = self._teller.told(self._teller.own_words(error.message), error.kind, error.status)
            setback.said = error.said if setback.failed.status in _REFUSED else b""
            return setback
        except NotAnAnswer as error:
            words = self._teller.own_words(str(error))
            return self._teller.not_a_stream(f"“{words}”" if words else "a whole document")
        except Unfinished:
            return self._teller.broken("it ended before it was complete")
        except (msgspec.ValidationError, KeyError):
            return self._teller.misshapen()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            setback = self._teller.broken("it sent something that is not what this provider sends")
            # Once more for what was garbled on its way; whoever writes no JSON does not begin to.
            setback.tries = 2
            return setback
        return None

    async def _ask(self, request: ModelRequest, before: _Stream | None = None) -> _Stream:
        """Send the request, without what the provider refuses to get, and return an answer that begins.

        `before` is one that had a refusal in its place.
        """
        request = before.request if before is not None else self._taken(request)
        try:
            return await self._asked(request, before)
        except Setback as setback:
            plainer = _in_words(request, setback)
            if plainer is None:
                raise
            refused = setback
        from pilothouse.models.translation import NOT_TAKEN_BACK, proofs_of  # noqa: PLC0415

        try:
            stream = await self._asked(plainer)
        except Setback as setback:
            # It was about something else, and that was told the first time.
            raise (setback if setback.failed.code != "model_refused" else refused) from None
        self.wire.lessons.not_taken.update(proofs_of(request))
        stream.answer.add(NOT_TAKEN_BACK)
        return stream

    def _taken(self, request: ModelRequest) -> ModelRequest:
        """Return a request without what its provider did not take back before."""
        if not self.wire.lessons.not_taken:
            return request
        from pilothouse.models.translation import in_words  # noqa: PLC0415 - few have anything of that

        return in_words(request, self.wire.lessons.not_taken) or request

    async def _asked(self, request: ModelRequest, before: _Stream | None = None) -> _Stream:
        lessons = self.wire.lessons
        lessons.refresh()
        if lessons.has(PICTURES):
            request = without_media(request)
        learned = list(before.learned) if before is not None else []
        refused = before.setback if before is not None else None
        try:
            for _ in range(_ADAPTATIONS):
                body = self.wire.body(request)
                if refused is not None:
                    setback, said, refused = refused, refused.said, None
                else:
                    reply = await self._send(body)
                    if reply.status == 200 and self._is_stream(reply):
                        return self._begun(reply, request, learned)
                    setback, said = await self._refusal(reply)
                if (other := _shorter(request, setback, said) or _thoughtless(request, setback, said)) is not None:
                    request = other
                    continue
                found = self._learned(setback, said, body)
                if not found and setback.about_media and (plainer := without_media(request)) != request:
                    # One broken picture in a result would otherwise end the conversation for good.
                    request = plainer
                    # A picture may be broken; only what was said about all of them is worth remembering.
                    found = [Lesson(PICTURES)] if setback.about_media == "unsupported" else []
                elif not found:
                    break
                learned += found
            raise setback
        except NetError as error:
            lessons.drop(learned)
            raise self._teller.net(error) from None
        except BaseException:
            lessons.drop(learned)
            raise

    async def _send(self, body: bytes) -> Reply:
        sent = await self._signed(body)
        reply = await self._sent(sent)
        if self._signer is not None and reply.status in (401, 403) and self._signer.drop(sent.headers, reply):
            await reply.aclose()
            reply = await self._sent(await self._signed(body))
        return reply

    async def _sent(self, one: Outgoing) -> Reply:
        return await send_repeatable("POST", one.url, headers=one.headers, content=one.body, timeout=self._first_byte)

    async def _signed(self, body: bytes) -> Outgoing:
        try:
            one = await signed(self._signer, "POST", self.wire.url, self.wire.headers, body)
        except PilothouseError as error:
            raise Setback(Failed(error.code, str(error), False), tries=1) from None
        if self._signer is not None:
            # What passes soon is a secret as long as it lasts.
            self._teller.hide(*(one.headers[name].rpartition(" ")[2] for name in PROOFS if name in one.headers))
        return one

    def _learned(self, setback: Setback, said: bytes, sent: bytes) -> list[Lesson]:
        """Return what the next try can do differently; raise the setback of a model that takes no tools."""
        if setback.failed.code != "model_refused" or setback.failed.status not in _REFUSED:
            return []
        # Most people's providers refuse nothing.
        from pilothouse.models.refusals import read_refusal  # noqa: PLC0415

        refusal = read_refusal(said)
        lessons = refusal.lessons(self.wire.spares, sent)
        if not lessons and refusal.is_of_tools:
            raise self._teller.without_tools(setback)
        return [one for one in lessons if self.wire.lessons.try_out(one)]

    async def _refusal(self, reply: Reply) -> tuple[Setback, bytes]:
        try:
            body = await reply.read(limits.ERROR_BODY_BYTES, limits.CONNECT_TIMEOUT)
        finally:
            await reply.aclose()
        if is_filtered(reply.status, body):
            raise Refused(self._teller.own_words(body))
        words = self._teller.own_words(body)
        if 200 <= reply.status < 300:
            return self._teller.not_a_stream(_described(reply, words)), body
        setback = self._teller.status(reply.status, words, kind=body[:2000].decode("utf-8", "replace"))
        setback.retry_after = retry_after(reply.headers, body, limited=reply.status == 429)
        if reply.header("x-should-retry") == "false":
            setback.tries = 1
        return setback, body

    def _is_stream(self, reply: Reply) -> bool:
        return "html" not in reply.header("content-type")


def _shorter(request: ModelRequest, setback: Setback, said: bytes) -> ModelRequest | None:
    """Return a request for as long an answer as fits, where that is all that was wrong with it."""
    if setback.failed.code != "context_too_long" or request.room is not None:
        return None
    from pilothouse.models.error_texts import room_left  # noqa: PLC0415

    room = room_left(said.decode("utf-8", "replace"))
    return msgspec.structs.replace(request, room=room) if room is not None else None


def _thoughtless(request: ModelRequest, setback: Setback, said: bytes) -> ModelRequest | None:
    """Return a request without thinking, where that may not begin in the middle of an answer."""
    if not request.thinking or setback.failed.status not in _REFUSED:
        return None
    from pilothouse.models.error_texts import UNTHOUGHT  # noqa: PLC0415

    is_it = UNTHOUGHT.search(said.decode("utf-8", "replace"))
    return msgspec.structs.replace(request, thinking=None) if is_it else None


def _in_words(request: ModelRequest, setback: Setback) -> ModelRequest | None:
    """Return a request that was refused without what its provider had given before, if there is any of that."""
    if setback.failed.code != "model_refused" or setback.failed.status not in _REFUSED:
        return None
    # Most people's providers refuse nothing.
    from pilothouse.models.translation import in_words  # noqa: PLC0415

    return in_words(request)


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
