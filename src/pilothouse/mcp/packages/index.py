"""The indexes of packages, asked through npm and uv: what is there, and what exactly it would bring."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from pilothouse.mcp.packages.facts import Advisories, PackageFacts, Unpacked
from pilothouse.mcp.packages.locks import Lock
from pilothouse.mcp.packages.npm import Npm
from pilothouse.mcp.packages.pins import PackageKind, Wanted
from pilothouse.mcp.packages.pypi import PyPI
from pilothouse.mcp.packages.running import Around
from pilothouse.mcp.packages.tools import Tools
from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

AskAdvisories = Callable[[PackageKind, str, str], Awaitable[Advisories]]


async def no_advisories(kind: PackageKind, name: str, version: str) -> Advisories:
    """Know nothing against any package."""
    return Advisories()


class PackageIndex:
    """Asks npm and PyPI; what was resolved is remembered for a while."""

    def __init__(self, cache: Path, tools: Tools, advisories: AskAdvisories = no_advisories) -> None:
        self.tools = tools
        self._cache = cache
        self._advisories = advisories
        self._kinds: dict[PackageKind, Npm | PyPI] = {
            "npm": Npm(tools, cache / "npm"),
            "pypi": PyPI(tools, cache / "uv"),
        }
        self._locks: OrderedDict[str, tuple[float, Lock]] = OrderedDict()
        self._failed: dict[str, tuple[float, PilothouseError]] = {}
        self._turns = asyncio.Semaphore(limits.INSTALLERS)
        # Each lives as long as someone resolves that text, or waits for it.
        self._resolving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._at_work = 0

    async def newest(self, kind: PackageKind, name: str, version: str = "") -> PackageFacts | None:
        """Return a package at this version, or at its newest; None if there is none."""
        async with self._working():
            return await self._kinds[kind].facts(Wanted(kind=kind, name=name, version=version))

    async def lock(self, wanted: Wanted, *, anew: bool = False) -> Lock:
        """Return what a package would bring, each at one version; raise a PilothouseError in one sentence.

        `anew` asks the index also where it was asked a moment ago.
        """
        turn = self._resolving.setdefault(wanted.text, asyncio.Lock())
        async with turn:
            known = self._locks.get(wanted.text)
            if known is not None and not anew and time.monotonic() - known[0] < limits.LOCK_AGE:
                return known[1]
            failed = self._failed.pop(wanted.text, None)
            if failed is not None and time.monotonic() - failed[0] < limits.RESOLVE_AGAIN:
                self._failed[wanted.text] = failed
                raise failed[1].with_traceback(None)
            lock = await self._resolved(wanted)
            self._remember(wanted.text, lock)
            # Who is shown the newest agrees to it by its version.
            exact = msgspec.structs.replace(wanted, version=lock.pin.version).text
            named = msgspec.structs.replace(lock.pin, wanted=exact)
            self._remember(exact, msgspec.structs.replace(lock, pin=named))
            return lock

    async def _resolved(self, wanted: Wanted) -> Lock:
        try:
            async with self._working():
                lock = await self._kinds[wanted.kind].resolve(wanted)
            return await self._judged(lock, wanted)
        except PilothouseError as error:
            if error.code != "bad_request":
                self._failed[wanted.text] = (time.monotonic(), error)
                while len(self._failed) > limits.LOCKS_KEPT:
                    del self._failed[next(iter(self._failed))]
            raise

    def _remember(self, text: str, lock: Lock) -> None:
        self._locks[text] = (time.monotonic(), lock)
        while len(self._locks) > limits.LOCKS_KEPT:
            self._locks.popitem(last=False)

    async def _judged(self, lock: Lock, wanted: Wanted) -> Lock:
        """Return a lock with what is known against its package; raise a PilothouseError for a malicious one."""
        known = await self._advisories(wanted.kind, wanted.name, lock.pin.version)
        if known.malicious:
            message = f"{wanted.name} {lock.pin.version} is known to be malicious: {visible(known.malicious)}"
            raise PilothouseError("bad_request", message, fix="Do not use it. Nothing was installed.")
        pin = msgspec.structs.replace(lock.pin, warnings=(*lock.pin.warnings, *map(visible, known.warnings)))
        return msgspec.structs.replace(lock, pin=pin)

    async def install(self, lock: Lock, wanted: Wanted, folder: Path, around: Around) -> Unpacked:
        """Install a locked package into an empty folder; raise a PilothouseError in one sentence."""
        async with self._working():
            installer = self._kinds[wanted.kind]
            if isinstance(installer, Npm):
                return await installer.install(lock, wanted, folder, around)
            return await installer.install(lock, wanted, folder)

    @contextlib.asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        self._at_work += 1
        try:
            async with self._turns:
                yield
        finally:
            self._at_work -= 1

    async def empty(self) -> None:
        """Remove what was downloaded, unless it is in use just now."""
        if not self._at_work:
            await asyncio.to_thread(shutil.rmtree, self._cache, ignore_errors=True)

    async def tidy(self) -> None:
        """Remove what was downloaded and not used for long."""
        with contextlib.suppress(OSError):
            newest = max((each.stat().st_mtime for each in os.scandir(self._cache)), default=0.0)
            if time.time() - newest > limits.PACKAGE_CACHE_AGE:
                await self.empty()
