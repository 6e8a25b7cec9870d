"""The host of a running server, with the same verbs as one of our own. Whose it is, the token decides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress

from pilothouse.client.calling import Calling, Locate, Revive, path_of
from pilothouse.client.sse import EventReader
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.api import Link, MessageAccepted
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import ClientApi, Conversations, FeedBatch
from pilothouse.types.late_services import MethodOf
from pilothouse.types.runs import ENDED, Run
from pilothouse.types.verbs import realised


class RemoteHost(ClientApi):
    """Every verb over HTTP; streams go on where they were when the connection or the server comes back."""

    def __init__(self, locate: Locate, revive: Revive | None = None) -> None:
        self._calling = Calling(locate, revive, self._answered)
        # The runs that were begun from here, and on whose behalf.
        self._begun: dict[str, str] = {}
        self.conversations = realised(Conversations, self._calling.method_of, events=self._follow)

    def method_of(self, noun: str) -> MethodOf:
        return self._calling.method_of

    @property
    def address(self) -> ServerAddress | None:
        """Return where the server is, None when it is away."""
        return self._calling.locate()

    async def new_link(self) -> str:
        """Return a link that opens the page once, signed in."""
        return (await self._calling.ask("POST", "/api/link", Link)).url

    def _answered(self, owner: str, begun: object) -> None:
        """Remember what was begun from here."""
        if isinstance(begun, MessageAccepted):
            self._begun[begun.run_id] = owner
        elif isinstance(begun, Run):
            self._begun[begun.id] = owner

    # --- the stream of a conversation's events ---

    async def _follow(self, owner: str, conversation_id: str, after: int = 0) -> AsyncGenerator[FeedBatch, None]:
        """Open the feed after event `after`; it survives a lost connection and a restarted server."""
        path = path_of("/api/conversations/{id}/events", conversation_id)
        return self._events(path, after, await self._open(path, after))

    async def _open(self, path: str, after: int) -> Reply:
        return await self._calling.open(path, {"accept": "text/event-stream", "last-event-id": str(after)})

    async def _events(self, path: str, cursor: int, reply: Reply) -> AsyncGenerator[FeedBatch, None]:
        reader = EventReader()
        try:
            while True:
                try:
                    # Twice the pause of a healthy stream: a server that is silent for longer is gone.
                    chunk = await reply.chunk(2 * limits.FEED_PING)
                except NetError:
                    chunk = None
                if chunk is None:
                    await reply.aclose()
                    reply, reader = await self._open_again(path, cursor), EventReader()
                    continue
                batch = reader.feed(chunk)
                cursor = max((event.seq for event in batch), default=0) or cursor
                yield batch
        finally:
            await reply.aclose()

    async def _open_again(self, path: str, cursor: int) -> Reply:
        end = time.monotonic() + limits.SERVER_AWAY
        while True:
            try:
                await self._go_on()
                return await self._open(path, cursor)
            except PilothouseError as error:
                if error.code != "server_away" or time.monotonic() > end:
                    raise
            await asyncio.sleep(limits.SERVER_RETRY)

    async def _go_on(self) -> None:
        """Take up what was begun from here and stopped because the process ended that executed it."""
        for run_id, owner in list(self._begun.items()):
            run = await self.runs.get(owner, run_id)
            if run.status == "interrupted" and not run.is_given_up and await self._goes_on_by_itself(owner):
                # A server that came back may have been faster.
                with suppress(PilothouseError):
                    await self.runs.resume(owner, run_id)
            elif run.status in ENDED:
                del self._begun[run_id]

    async def _goes_on_by_itself(self, owner: str) -> bool:
        return (await self.settings.get(owner)).resume_after_restart == "auto"
