"""What a server does besides answering: it tidies up, packs, gives memory back, and notices edits of its settings."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from pilothouse.host.service import HostService
from pilothouse.settings.json_file import watch
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import JsonStore
from pilothouse.types.records import Records
from pilothouse.types.retention import Retention
from pilothouse.wiring.folder_tools import FolderTools

_log = logging.getLogger(__name__)
# What `mallopt` calls them.
_MMAP_THRESHOLD, _ARENAS = -3, -8


def probe_sandbox(stack: AsyncExitStack, folder_tools: FolderTools) -> None:
    """Find out what holds commands before someone needs one."""
    probing = asyncio.create_task(asyncio.to_thread(folder_tools.terminals().sandbox.view), name="probe-sandbox")
    stack.push_async_callback(asyncio.wait, [probing])


def watch_files(
    stack: AsyncExitStack,
    files: Mapping[str, JsonStore[Any]],
    service: HostService,
    settings_changed: Callable[[], None],
    consents_changed: Callable[[], None],
) -> None:
    """Pick up edits of the settings files while the server runs, and what other processes changed."""
    telling: set[asyncio.Task[None]] = set()

    def changed(name: str) -> None:
        if name == "models":
            task = asyncio.create_task(service.models_changed())
            telling.add(task)
            task.add_done_callback(telling.discard)
        elif name == "policy":
            service.permissions.changed()
        elif name == "consents":
            consents_changed()
        elif name == "lists":
            service.server_news.changed()
        else:
            settings_changed()
            service.server_news.changed()

    watcher = asyncio.create_task(watch(files, changed), name="watch-files")
    stack.push_async_callback(_ended, watcher)


class HouseTurn(Protocol):
    """Whose turn it is to keep house, where several processes share a database; all raise while it is away."""

    async def is_mine(self) -> bool:
        """Return whether it is this process's; asking keeps it."""

    async def is_due(self) -> bool:
        """Return whether it is so long ago that anyone tidied up."""

    async def done(self) -> None:
        """Note that it was tidied up now."""

    async def give_back(self) -> None:
        """Let another one have the turn at once."""


async def _always() -> bool:
    return True


async def keep_tidy(
    stack: AsyncExitStack, records: Records, retention: Callable[[], Retention], turn: HouseTurn | None
) -> None:
    """Tidy up now, and go on with it as long as the host is open; where others do the same, while it is our turn."""
    if turn is not None:
        stack.push_async_callback(_given_back, turn)
        working = [_tidying_in_turn(records, retention, turn), _catching_up(records, turn.is_mine)]
        for each in (*working, _packing(records, turn.is_mine)):
            stack.push_async_callback(_ended, asyncio.create_task(each, name="keeping house in turn"))
        return
    try:
        await records.tidy()
    except PilothouseError as error:
        _log.warning("old records were not dropped: %s", error.message)
    stack.push_async_callback(_ended, asyncio.create_task(_tidying(records, retention), name="tidying"))
    stack.push_async_callback(_ended, asyncio.create_task(_catching_up(records, _always), name="catching-up"))
    stack.push_async_callback(_ended, asyncio.create_task(_packing(records, _always), name="packing"))


async def _tidying(records: Records, retention: Callable[[], Retention]) -> None:
    """Tidy up now and then: a server may run for months."""
    while True:
        try:
            # It may take a while, so that nobody's start waits for it.
            await records.retain(retention())
            await asyncio.sleep(limits.TIDY_EVERY)
            await records.tidy()
        except PilothouseError as error:
            _log.warning("old records were not dropped: %s", error.message)
            await asyncio.sleep(limits.TIDY_RETRY)


async def _tidying_in_turn(records: Records, retention: Callable[[], Retention], turn: HouseTurn) -> None:
    """Tidy up once a day for all who share the database; what dies in the middle is done again by the next."""
    while True:
        pause = limits.HOUSE_LOOK
        try:
            if await turn.is_mine() and await turn.is_due():
                await records.tidy()
                await records.retain(retention())
                await turn.done()
        except PilothouseError as error:
            pause = limits.TIDY_RETRY
            _log.warning("old records were not dropped: %s", error.message)
        await asyncio.sleep(pause)


async def _given_back(turn: HouseTurn) -> None:
    with contextlib.suppress(PilothouseError):
        await turn.give_back()


async def _catching_up(records: Records, is_mine: Callable[[], Awaitable[bool]]) -> None:
    """Make findable what an earlier version kept; what is not done when the host closes, the next one does."""
    more = True
    while more:
        pause = limits.CATCH_UP_PAUSE
        try:
            if await is_mine():
                more = await records.catch_up()
            else:
                pause = limits.HOUSE_LOOK
        except PilothouseError as error:
            pause = limits.PACK_EVERY
            _log.warning("older calls cannot be searched yet: %s", error.message)
        await asyncio.sleep(pause)


async def _packing(records: Records, is_mine: Callable[[], Awaitable[bool]]) -> None:
    """Make what finished runs wrote smaller, a little at a time, as long as the host is open."""
    more = False
    while True:
        await asyncio.sleep(limits.CATCH_UP_PAUSE if more else limits.PACK_EVERY)
        try:
            more = await is_mine() and await records.pack()
        except PilothouseError as error:
            more = False
            _log.info("what finished runs wrote was not packed: %s", error.message)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


# Memory that is free goes back to the system: by itself the C library keeps it, for each thread what it once used.
@asynccontextmanager
async def giving_back() -> AsyncGenerator[None, None]:
    """Let few heaps serve all threads, and give back what is free of them, for as long as a server runs."""
    library = _library()
    if library is None:
        yield
        return
    library.mallopt(_ARENAS, limits.MALLOC_ARENAS)
    library.mallopt(_MMAP_THRESHOLD, limits.MALLOC_MAPPED_BYTES)
    task = asyncio.create_task(_now_and_then(library), name="giving memory back")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _now_and_then(library: ctypes.CDLL) -> None:
    while True:
        await asyncio.sleep(limits.GIVE_BACK_EVERY)
        # In a thread: it takes milliseconds where much is free.
        await asyncio.to_thread(library.malloc_trim, 0)


def _library() -> ctypes.CDLL | None:
    """Return the C library if it is one that can be told; others give memory back by themselves."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
