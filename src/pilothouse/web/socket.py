"""The page's WebSocket: many conversations and the list, over one connection per tab."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import TypeVar

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from pilothouse.host.service import HostService
from pilothouse.types import limits
from pilothouse.types.api import LaggedFrame, ProblemFrame, SocketCommand, Subscribe
from pilothouse.types.errors import PASSING, PilothouseError
from pilothouse.types.feed import Lagged
from pilothouse.types.host import FeedBatch
from pilothouse.types.json import encode, encode_text, explained
from pilothouse.web.guard import PROTOCOL
from pilothouse.web.problems import internal_problem
from pilothouse.web.sessions import Access, Caller

log = logging.getLogger(__name__)

T = TypeVar("T")

_commands = msgspec.json.Decoder(SocketCommand)

# How a closed tab tells "sign in again" from "connect again".
SIGNED_OUT = 4401
TRY_AGAIN = 1013
STOPPING = 1012

# What sending to a window that is gone raises.
GONE = (WebSocketDisconnect, WebSocketDisconnected)


def events_frame(conversation_id: str, batch: FeedBatch) -> str:
    """Return an EventsFrame put together from the events' own bytes."""
    events = b",".join(event.json for event in batch)
    return (b'{"op":"events","conversationId":%s,"events":[%s]}' % (encode(conversation_id), events)).decode()


async def page_socket(socket: WebSocket) -> None:
    """Serve one tab until it leaves, its session ends, or the server stops."""
    caller: Caller = socket.scope["caller"]
    await serve(socket, Tab(socket, socket.app.state.host, caller.owner).run)


async def serve(socket: WebSocket, work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Do the work of a connection until it ends, its session does, or the server stops; then close it and say why."""
    access: Access = socket.app.state.access
    await socket.accept(subprotocol=PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None)
    serving = asyncio.ensure_future(work())
    try:
        with access.streaming(socket.scope["caller"], serving):
            await asyncio.wait({serving})
        code = TRY_AGAIN if not serving.cancelled() else STOPPING if access.closed else SIGNED_OUT
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
    with suppress(*GONE):
        await socket.close(code)


async def next_command(socket: WebSocket, commands: msgspec.json.Decoder[T]) -> T | None:
    """Return what a window asks for next, None when it is gone; raise a sentence for what is no command."""
    try:
        return commands.decode(await socket.receive_text())
    except (*GONE, KeyError):
        return None
    except msgspec.ValidationError as error:
        message = f"The command was not understood: {explained(error).message}"
        raise PilothouseError("bad_request", message) from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise PilothouseError("bad_request", "The command was not understood.") from None


class Tab:
    """One open page: what it reads, and the tasks that send it."""

    def __init__(self, socket: WebSocket, host: HostService, owner: str) -> None:
        self._socket = socket
        self._host = host
        self._owner = owner
        self._readers: dict[str, asyncio.Task[None]] = {}
        # One frame at a time waits for the network, whatever the tab reads.
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Send the list's changes and obey commands until either ends."""
        async with asyncio.TaskGroup() as group:
            lists = group.create_task(self._send_list())
            commands = group.create_task(self._obey(group))
            await asyncio.wait({lists, commands}, return_when=asyncio.FIRST_COMPLETED)
            for task in (lists, commands, *self._readers.values()):
                task.cancel()

    async def _obey(self, group: asyncio.TaskGroup) -> None:
        while True:
            try:
                command = await next_command(self._socket, _commands)
            except PilothouseError as error:
                await self._problem(None, error)
                continue
            if command is None:
                return
            self._stop(command.conversation_id)
            if isinstance(command, Subscribe):
                await self._subscribe(command, group)

    async def _subscribe(self, command: Subscribe, group: asyncio.TaskGroup) -> None:
        if len(self._readers) >= limits.SOCKET_SUBSCRIPTIONS:
            await self._problem(
                command.conversation_id,
                PilothouseError("bad_request", f"At most {limits.SOCKET_SUBSCRIPTIONS} conversations at once."),
            )
            return
        reader = group.create_task(self._send_events(command.conversation_id, max(command.after, 0)))
        self._readers[command.conversation_id] = reader
        reader.add_done_callback(lambda task: self._forget(command.conversation_id, task))

    def _stop(self, conversation_id: str) -> None:
        reader = self._readers.pop(conversation_id, None)
        if reader is not None:
            reader.cancel()

    def _forget(self, conversation_id: str, reader: asyncio.Task[None]) -> None:
        if self._readers.get(conversation_id) is reader:
            del self._readers[conversation_id]

    async def _send_events(self, conversation_id: str, after: int) -> None:
        try:
            feed = await self._open(conversation_id, after)
            async with aclosing(feed):
                async for batch in feed:
                    if batch:
                        async with self._sending:
                            await self._socket.send_text(events_frame(conversation_id, batch))
        except Lagged:
            await self._send(LaggedFrame(conversation_id))
        except PilothouseError as error:
            await self._problem(conversation_id, error)
        except GONE:
            return
        except Exception as error:
            internal_problem(log, self._socket.scope, error)
            await self._problem(conversation_id, PilothouseError("internal", "The events could not be read."))

    async def _open(self, conversation_id: str, after: int) -> AsyncGenerator[FeedBatch, None]:
        """Open a conversation's feed, as soon as the database answers: a notice says why that takes so long."""
        while True:
            try:
                return await self._host.conversations.events(self._owner, conversation_id, after)
            except PilothouseError as error:
                if error.code not in PASSING:
                    raise
            await asyncio.sleep(limits.STORE_RETRY)

    async def _send_list(self) -> None:
        changes = self._host.list_changes(self._owner)
        try:
            async with aclosing(changes):
                async for change in changes:
                    await self._send(change)
        except (Lagged, *GONE):
            return
        except Exception as error:
            internal_problem(log, self._socket.scope, error)

    async def _problem(self, conversation_id: str | None, error: PilothouseError) -> None:
        await self._send(ProblemFrame(conversation_id, error.code, error.message))

    async def _send(self, frame: object) -> None:
        with suppress(*GONE):
            async with self._sending:
                await self._socket.send_text(encode_text(frame))
