"""Keeping the copy: what a search has to ask a registry for, and what goes on after it was answered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence

import msgspec

from pilothouse.mcp.registry.asking import BAD_KEY, LOST_KEY, NO_KEY, RegistryTrouble
from pilothouse.mcp.registry.book import Registry, RegistryBook
from pilothouse.mcp.registry.clients import OfficialClient, client_of
from pilothouse.mcp.registry.local_copy import LocalCopy, State
from pilothouse.mcp.registry.refreshing import Refresh, is_due, noted
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_log = logging.getLogger(__name__)


class Standing(msgspec.Struct, frozen=True):
    """How a registry stands after it was asked, or was not."""

    registry: Registry
    state: State
    # It was asked, and has not answered yet.
    waits: bool = False

    @property
    def wants_key(self) -> bool:
        return self.state.problem in (NO_KEY, BAD_KEY, LOST_KEY)


class Copying:
    """Asks registries for the copy; every task of its own ends when it is closed."""

    def __init__(self, book: RegistryBook, copy: LocalCopy) -> None:
        self._book = book
        self._copy = copy
        self._asking: dict[tuple[str, tuple[str, ...]], asyncio.Task[None]] = {}
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        # Of those, what is copied for the first time.
        self._first: set[str] = set()

    async def state(self, registry: Registry) -> State:
        """Return how the copy of a registry stands."""
        return await asyncio.to_thread(self._copy.state, registry.id, registry.url)

    async def hear(self, registries: Sequence[Registry], words: tuple[str, ...]) -> list[Standing]:
        """Ask those registries that the copy cannot answer for, all at once; wait a little, and say how each stands."""
        asked = {
            registry.id: self._ask_once(registry, words)
            for registry in registries
            if await self._must_ask(registry, words)
        }
        if asked:
            await asyncio.wait(asked.values(), timeout=limits.REGISTRY_PATIENCE)
        return [
            Standing(each, await self.state(each), each.id in asked and not asked[each.id].done())
            for each in registries
        ]

    def follow(self, standings: Sequence[Standing]) -> None:
        """Bring those copies up to date for which it is time, in the background."""
        now = time.time()
        for each in standings:
            running = self._refreshing.get(each.registry.id)
            if each.registry.kind == "official" and is_due(each.state, now) and (running is None or running.done()):
                self._refreshing[each.registry.id] = _task(self._refresh(each.registry))
                (self._first.discard if each.state.copied_at else self._first.add)(each.registry.id)

    async def stop(self, registry: Registry) -> None:
        """End what is done for one registry."""
        tasks = [task for (name, _words), task in self._asking.items() if name == registry.id]
        if (refreshing := self._refreshing.pop(registry.id, None)) is not None:
            tasks.append(refreshing)
        await _ended(tasks)

    async def close(self) -> None:
        """End all tasks; a copy that is made for the first time may go on for a moment."""
        first = [task for name, task in self._refreshing.items() if name in self._first]
        if first:
            await asyncio.wait(first, timeout=limits.REGISTRY_FAREWELL)
        await _ended([*self._asking.values(), *self._refreshing.values()])
        await asyncio.to_thread(self._copy.close)

    async def _must_ask(self, registry: Registry, words: tuple[str, ...]) -> bool:
        state, now = await self.state(registry), time.time()
        if now < state.rest_until or not words:
            return False
        if registry.kind == "official" and state.copied_at:
            return False
        at = await asyncio.to_thread(self._copy.was_asked, registry.id, " ".join(words))
        return now - at >= limits.REGISTRY_REFRESH_EVERY

    def _ask_once(self, registry: Registry, words: tuple[str, ...]) -> asyncio.Task[None]:
        """Return the task that asks for these words: the one under way, or a new one."""
        place = (registry.id, words)
        if place not in self._asking:
            task = self._asking[place] = _task(self._ask(registry, words))
            task.add_done_callback(lambda _task: self._asking.pop(place, None))
        return self._asking[place]

    async def _ask(self, registry: Registry, words: tuple[str, ...]) -> None:
        try:
            client = client_of(registry.kind, registry.url, await self._book.key(registry))
            found = await client.search(words)
        except RegistryTrouble as trouble:
            await asyncio.to_thread(self._copy.note, registry.id, registry.url, **noted(trouble))
            return
        changes: dict[str, str | float] = {"problem": "", "rest_until": 0.0}
        if registry.kind == "smithery":
            changes["copied_at"] = time.time()
        asked = " ".join(words)
        await asyncio.to_thread(self._copy.keep, registry.id, registry.url, found, asked=asked, changes=changes)

    async def _refresh(self, registry: Registry) -> None:
        state = await self.state(registry)
        # Another refresh may have ended since the search that asked for this one looked.
        if not is_due(state, time.time()):
            return
        try:
            client = OfficialClient(registry.url, await self._book.key(registry))
        except RegistryTrouble as trouble:
            await asyncio.to_thread(self._copy.note, registry.id, registry.url, **noted(trouble))
            return
        await Refresh(self._copy, registry, client, state).run()


def _task(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(_told(work), name="registry")
    # One that is cancelled before its first step never came to its work.
    task.add_done_callback(lambda _: work.close())
    return task


async def _told(work: Coroutine[None, None, None]) -> None:
    try:
        await work
    except PilothouseError as error:
        # The copy cannot be written; a search says so by itself.
        _log.warning("A registry was not copied: %s", error)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
