"""All servers of an installation: started and stopped as the file says, side by side, each on its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.servers.entries import BadEntry, Entries, entry_id, parse_entries, parse_entry, written
from pilothouse.mcp.servers.names import slugs
from pilothouse.mcp.servers.server import SHARED, Server, ServerParts
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.servers.servers_file import ServersFile

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Supervisor:
    """Keeps the running servers in step with the file."""

    def __init__(self, file: ServersFile, parts: ServerParts) -> None:
        self.file = file
        self.parts = parts
        self.servers: dict[str, Server] = {}
        self.bad: tuple[BadEntry, ...] = ()
        # Whoever looks for a name that is free keeps it before the next one looks.
        self.naming = asyncio.Lock()
        self._raw: Sequence[JsonObject] | None = None
        # What may be cut short at the end, and what must not: a server on its way down.
        self._starting: set[asyncio.Task[Any]] = set()
        self._stopping: set[asyncio.Task[Any]] = set()
        self._afterwards: asyncio.Task[None] | None = None
        self._learning = False
        self._closed = False

    # --- what there is ---

    def find(self, server_id: str) -> Server:
        """Return a server by its id, its name or its prefix; raise `not_found` if there is none."""
        self.reconcile()
        server = self.servers.get(server_id)
        if server is None:
            wanted = server_id.lower()
            named = (each for each in self.servers.values() if wanted in (each.name.lower(), each.slug))
            server = next(named, None)
        if server is None:
            raise PilothouseError("not_found", f"There is no server “{server_id}”.", fix="Look at the list of servers.")
        return server

    # --- in step with the file ---

    def reconcile(self) -> None:
        """Take up what changed in the file: only servers whose entry changed in any way are touched."""
        raw = self.file.entries()
        if raw is self._raw or self._closed:
            return
        self._raw = raw
        entries = parse_entries(raw)
        self.bad = entries.bad
        before, self.servers = self.servers, self._made(entries)
        for server_id, server in before.items():
            if self.servers.get(server_id) is not server:
                self._retire(server)
        if self._learning:
            fresh = [each for each in self.servers.values() if before.get(each.id) is not each]
            self._spawn(self._start_needed(fresh), self._starting)
        self.parts.changed()

    def consents_changed(self) -> None:
        """Look again at the servers that wait for consent: it may have been given at another process."""
        if not self._closed:
            waiting = [server for server in self.servers.values() if server.asks_for_consent]
            self._spawn(self._start_needed(waiting), self._starting)

    def _made(self, entries: Entries) -> dict[str, Server]:
        prefixes = slugs(entries.good)
        made: dict[str, Server] = {}
        for entry in entries.good:
            known, prefix = self.servers.get(entry.id), prefixes[entry.id]
            if known is not None and known.slug == prefix and known.takes(entry):
                made[entry.id] = known
            else:
                made[entry.id] = Server(entry, prefix, self.parts, known.history if known else None)
        return made

    def restart(self, server_id: str) -> None:
        """Begin a server anew: a secret of it changed, which no entry shows."""
        before = self.servers[server_id]
        after = Server(before.entry, before.slug, self.parts, before.history)
        self.servers[server_id] = after
        self._retire(before)
        self._spawn(self._start_needed([after]), self._starting)

    def _retire(self, server: Server) -> None:
        server.retire()
        self._spawn(server.stop(), self._stopping)

    # --- starting and stopping ---

    def begin(self, *, learn: bool = True) -> None:
        """Start, a moment later and in the background, what is always on and what nobody has seen yet.

        A program that ends with its answer does not `learn`: it starts only what it uses.
        """
        self.reconcile()
        self._spawn(self._begin(learn), self._starting)

    async def _begin(self, learn: bool) -> None:
        await asyncio.sleep(limits.LEARN_DELAY)
        try:
            left = await asyncio.to_thread(lambda: self.parts.opener().reap())
            if left:
                _log.warning("ended %d servers that a program that died had left running", left)
        except Exception:
            _log.exception("what an earlier run left behind could not be looked at")
        self._learning = learn
        if learn:
            await self._start_needed(list(self.servers.values()))

    async def _start_needed(self, servers: Sequence[Server]) -> None:
        """Find out which servers wait for consent, and start those that must run or were never seen."""
        async with asyncio.TaskGroup() as group:
            for server in servers:
                if server.entry.enabled and server.current:
                    group.create_task(self._start_if_needed(server))

    async def _start_if_needed(self, server: Server) -> None:
        try:
            await server.check_consent()
            if server.elsewhere:
                return
            if server.entry.config.always_on or not self.parts.catalogue.known(server.entry):
                await server.connection(SHARED).get()
        except ChannelError:
            # The server itself tells it.
            return
        except Exception:
            # What nobody thought of at one server is no reason not to start the others.
            _log.exception("server %s could not be looked at", server.name)

    async def look_for_consent(self) -> None:
        """Find out for every local server whether the person agreed to its command.

        A package that has to be looked up in its index may take a while: it is told when that is known.
        """
        unseen = [server for server in self.servers.values() if server.entry.enabled and not server.looked]
        looks = {asyncio.create_task(self._look(server), name="servers"): server for server in unseen}
        for look in looks:
            self._starting.add(look)
            look.add_done_callback(self._starting.discard)
        if looks:
            _, waiting = await asyncio.wait(looks, timeout=limits.LIST_PATIENCE)
            await asyncio.gather(*(look for look in waiting if not looks[look].package.doing), return_exceptions=True)

    async def _look(self, server: Server) -> None:
        # The server itself tells what is wrong with it; what nobody thought of is told when it is started.
        with contextlib.suppress(Exception):
            await server.check_consent()

    async def trying(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a check of a server comes to; whoever stops waiting for it, and the end of all, cut it short."""
        if self._closed:
            work.close()
            raise PilothouseError("cancelled", "Pilothouse is stopping.")
        task = asyncio.create_task(work, name="server-check")
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return await task

    def afterwards(self, work: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        """Do something after a while, or when all ends before that; while one thing waits so, no other does."""
        if self._afterwards is not None and not self._afterwards.done():
            return

        async def rest() -> None:
            try:
                await asyncio.sleep(seconds)
            finally:
                await work()

        self._afterwards = asyncio.create_task(rest(), name="servers")
        self._starting.add(self._afterwards)
        self._afterwards.add_done_callback(self._starting.discard)

    async def stop(self, server: Server) -> None:
        """Stop a server that is in no list, whatever becomes of whoever waits for that."""
        stopping = asyncio.create_task(server.stop(), name="servers")
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)
        await asyncio.shield(stopping)

    async def close(self) -> None:
        """Stop all servers side by side."""
        self._closed = True
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*(server.stop() for server in self.servers.values()))
        if left := self._starting | self._stopping:
            await asyncio.wait(left)
        if (packages := self.parts.packages.made) is not None:
            # What was downloaded is installed by now, or nobody wanted it.
            await packages.index.empty()
        await self.parts.logs.close()

    def _spawn(self, work: Coroutine[Any, Any, None], kind: set[asyncio.Task[Any]]) -> None:
        task = asyncio.create_task(work, name="servers")
        kind.add(task)

        def done(task: asyncio.Task[None]) -> None:
            kind.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.error("a task of the servers failed", exc_info=error)

        task.add_done_callback(done)


def with_entry(entry: JsonObject) -> Callable[[list[JsonObject]], None]:
    """Return a change that puts an entry in the list, in place of the one with its id."""

    def change(entries: list[JsonObject]) -> None:
        for index, each in enumerate(entries):
            if entry_id(each) == entry["id"]:
                entries[index] = entry
                return
        entries.append(entry)

    return change


def signed_in_to(entry: ServerEntry) -> Callable[[list[JsonObject]], None]:
    """Return a change that notes that someone signed in to a server; it raises if that is elsewhere now, or gone."""

    def change(entries: list[JsonObject]) -> None:
        for index, raw in enumerate(entries):
            if entry_id(raw) == entry.id and (now := parse_entry(raw)).config.url == entry.config.url:
                entries[index] = written(msgspec.structs.replace(now, auth_type="oauth"), raw)
                return
        message = f"“{entry.name}” was moved to another address or deleted while you signed in."
        raise PilothouseError("sign_in_failed", message, fix="Sign in again.")

    return change
