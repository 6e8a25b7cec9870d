"""The MCP servers, as the rest of the host asks for them; every page is told of changes, however they came about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pilothouse.timeline.feed import Feed
from pilothouse.types import limits
from pilothouse.types.api import ServersFrame
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.lazy import Lazy
from pilothouse.types.verbs import Verb

if TYPE_CHECKING:
    from pilothouse.types.host_servers import Servers


class ServerNews:
    """Tells every page what the servers are now; changes in quick succession are told once."""

    def __init__(self, servers: Lazy[Servers], feed: Feed) -> None:
        self._servers = servers
        self._feed = feed
        self._telling: set[asyncio.Task[None]] = set()
        self._gathering = False

    def method_of(self, verb: Verb) -> Callable[..., Awaitable[Any]]:
        """Return what asks the servers, which are loaded for it, and tells what came of it."""

        async def ask(*args: Any, **kwargs: Any) -> Any:
            done = await getattr(self._servers(), verb.attribute)(*args, **kwargs)
            if verb.method != "GET":
                self.changed()
            return done

        return ask

    def changed(self) -> None:
        """Tell the pages, in a moment."""
        if self._gathering or not self._feed.list_owners():
            return
        self._gathering = True
        task = asyncio.create_task(self._tell(), name="tell-servers")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self) -> None:
        await asyncio.sleep(limits.SERVERS_GATHER)
        self._gathering = False
        self._feed.tell(ServersFrame(servers=await self._servers().list(LOCAL_OWNER)))

    async def stop(self) -> None:
        """Let go of changes that no page will hear of, and tell no more."""
        self._gathering = True
        for task in self._telling:
            task.cancel()
        if self._telling:
            await asyncio.wait(self._telling)
