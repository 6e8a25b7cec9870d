"""Server-sent events: a conversation's feed as a stream that any client can resume."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pilothouse.types import limits
from pilothouse.types.api import NoticeFrame
from pilothouse.types.errors import PilothouseError
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import FeedBatch, ListChange
from pilothouse.types.json import encode
from pilothouse.web.problems import internal_problem, problem_response
from pilothouse.web.routing import AnyRoute, make_call
from pilothouse.web.sessions import NOBODY, Access, Caller

log = logging.getLogger(__name__)

PING = b": ping\n\n"
LAGGED = b'event: lagged\ndata: {"message":"You fell behind; reload to catch up."}\n\n'
# How long a client waits before it connects again.
OPENING = b"retry: 1000\n\n"


def encode_batch(batch: FeedBatch) -> bytes:
    """Return a batch in the wire format; a live delta has no id, so it never becomes a cursor."""
    return b"".join(map(_encode, batch)) or PING


def _pieces(body: bytes) -> Iterator[bytes]:
    """Return a body in pieces of which one at a time lies ready for the network: a reader may take none of it."""
    return (body[start : start + limits.FEED_BATCH_BYTES] for start in range(0, len(body), limits.FEED_BATCH_BYTES))


def _encode(event: FeedEvent) -> bytes:
    if event.seq:
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), event.json)
    return b"event: %s\ndata: %s\n\n" % (event.kind.encode(), event.json)


def events_endpoint(route: AnyRoute) -> Callable[[Request], Awaitable[Response]]:
    """Return what Starlette calls for the stream: nothing is sent before the ownership is checked."""

    async def answer(request: Request) -> Response:
        try:
            call = await make_call(route, request)
            after = _cursor(request.headers.get("last-event-id"), call.query.after)
            feed = await call.host.conversations.events(call.owner, call.path["id"], after)
        except PilothouseError as error:
            return problem_response(error)
        except Exception as error:
            return internal_problem(log, request.scope, error)
        return EventStream(feed, call.host.list_changes(NOBODY.owner), call.access, call.caller)

    return answer


def _cursor(header: str | None, after: int) -> int:
    """Return where to go on; a browser that reconnects repeats the URL and adds the newer header."""
    if header is None or header == "":
        return after
    if not (header.isascii() and header.isdigit() and len(header) <= 18):
        raise PilothouseError("bad_request", "Last-Event-ID is not the number of an event.")
    return int(header)


class EventStream(Response):
    """Sends a feed until the reader leaves, falls behind, signs out, or the server stops."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: AsyncGenerator[FeedBatch, None],
        changes: AsyncGenerator[ListChange, None],
        access: Access,
        caller: Caller,
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._changes = changes
        self._access = access
        self._caller = caller
        # A batch may go out in pieces, and nothing else in between.
        self._sending = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream as ASGI."""
        async with aclosing(self._feed), aclosing(self._changes):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            pump = asyncio.ensure_future(self._pump(send))
            watch = asyncio.ensure_future(_cancel_when_gone(receive, pump))
            telling = asyncio.ensure_future(self._tell(send))
            try:
                with self._access.streaming(self._caller, pump):
                    await asyncio.wait({pump})
            finally:
                await _finish(pump, watch, telling)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": OPENING, "more_body": True})
        try:
            async for batch in self._feed:
                await self._send(send, encode_batch(batch))
        except Lagged:
            await send({"type": "http.response.body", "body": LAGGED, "more_body": True})
        except Exception as error:
            internal_problem(log, {"method": "GET", "path": "events"}, error)

    async def _tell(self, send: Send) -> None:
        """Say what keeps the whole server from going on, and when that is over."""
        with suppress(Lagged):
            async for change in self._changes:
                if isinstance(change, NoticeFrame) and change.code == "store":
                    await self._send(send, b"event: notice\ndata: %s\n\n" % encode(change))

    async def _send(self, send: Send, body: bytes) -> None:
        async with self._sending:
            for piece in _pieces(body):
                await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _cancel_when_gone(receive: Receive, pump: asyncio.Future[None]) -> None:
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    finally:
        pump.cancel()


async def _finish(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
