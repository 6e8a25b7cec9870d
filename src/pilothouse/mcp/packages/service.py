"""Newer versions of the packages that servers run, as a person asks for them."""

from __future__ import annotations

import asyncio
import re
from weakref import WeakValueDictionary

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.packages.locks import Lock, differences
from pilothouse.mcp.packages.pins import Pin, Wanted, wanted_of
from pilothouse.mcp.servers.consent import Agreed, can_be_pinned
from pilothouse.mcp.servers.entries import entry_id, written
from pilothouse.mcp.servers.keeping import check_owner
from pilothouse.mcp.servers.server import SHARED, Server
from pilothouse.mcp.servers.server_package import agreed_pin
from pilothouse.mcp.servers.supervisor import Supervisor, with_entry
from pilothouse.mcp.servers.views import view
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Packages
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.servers import Consent, ServerEntry, ServerView


class Newer(msgspec.Struct, frozen=True):
    """What is installed and agreed to, and what would be in its place."""

    agreed: Agreed | None
    before: Pin | None
    # As the entry would be kept.
    entry: ServerEntry
    lock: Lock
    now: Agreed


class PackageService(Packages):
    """Nothing is taken without consent."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._rooms = supervisor.parts.packages
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def look(self, owner: str, server_id: str) -> PackageUpdate:
        server = self._supervisor.find(server_id)
        newer = await self._newer(server, "")
        version, newest = newer.before.version if newer.before else "", newer.lock.pin.version
        if newer.before is not None and not _is_newer(newest, version):
            return PackageUpdate(version=version, newest=version, message=f"{version} is the newest version.")
        what = f"instead of {version}" if version else "to be installed once, instead of looked for at each start"
        message = f"{newer.lock.pin.name} has version {newest}, {what}."
        return PackageUpdate(
            version=version, newest=newest, consent=await self._consent(server, newer), message=message
        )

    async def update(self, owner: str, server_id: str, body: UpdateAgreed) -> ServerView:
        check_owner(owner)
        server = self._supervisor.find(server_id)
        turn = self._turns.setdefault(server.id, asyncio.Lock())
        async with turn:
            newer = await self._newer(server, body.version)
            if newer.now.fingerprint() != body.fingerprint:
                message = f"What “{server.name}” would be updated to changed since you looked at it."
                raise PilothouseError("conflict", message, fix="Look at it again.")
            await self._take(server, newer)
            return view(self._supervisor.find(server.id))

    async def _newer(self, server: Server, version: str) -> Newer:
        """Return what a version of a server's package would be, the newest where none is named."""
        wanted = wanted_of(server.entry.package)
        if wanted is None or not server.local or not await asyncio.to_thread(can_be_pinned, server.entry):
            message = f"“{server.name}” is no package that is installed here."
            raise PilothouseError("bad_request", message, fix="Update it in the way that it was installed.")
        consents = self._supervisor.parts.consents()
        agreed = await asyncio.to_thread(consents.agreed, server.id)
        if agreed is None:
            message = f"“{server.name}” was never started, so there is nothing to update."
            raise PilothouseError("bad_request", message, fix="Allow it first.")
        lock = await self._locked(wanted, version)
        # What was typed may name the version of before.
        named = f"{wanted.name}{wanted.extras}"
        package = msgspec.structs.replace(server.entry.package, identifier=named, version=lock.pin.version)
        entry = msgspec.structs.replace(server.entry, package=package)
        pin = msgspec.structs.replace(lock.pin, wanted=_asked(entry))
        now = await self._looked(server, entry, agreed, pin)
        return Newer(agreed, agreed_pin(server.entry, agreed), entry, lock, now)

    async def _locked(self, wanted: Wanted, version: str) -> Lock:
        index = self._rooms().index
        # Whoever looks for the newest wants to know what is there now.
        lock = await index.lock(msgspec.structs.replace(wanted, version=version), anew=not version)
        # The same by its name, as it will be asked for from now on.
        return lock if version else await index.lock(msgspec.structs.replace(wanted, version=lock.pin.version))

    async def _looked(self, server: Server, entry: ServerEntry, agreed: Agreed, pin: Pin) -> Agreed:
        try:
            return await asyncio.to_thread(self._supervisor.parts.consents().look, entry, agreed, pin)
        except ChannelError as error:
            raise PilothouseError("server_failed", error.message, fix=error.fix) from None

    async def _consent(self, server: Server, newer: Newer) -> Consent:
        consents = self._supervisor.parts.consents()
        shown = await asyncio.to_thread(consents.shown, newer.entry, newer.now, newer.agreed)
        kept = await self._rooms().locked(newer.before, await server.package.room()) if newer.before else None
        return msgspec.structs.replace(shown, changes=(*shown.changes, *differences(kept, newer.lock)))

    async def _take(self, server: Server, newer: Newer) -> None:
        """Install the newer one beside the other, and go on with it if it starts; else all is as it was."""
        rooms, room, pin = self._rooms(), await server.package.room(), newer.now.pin
        if pin is None:
            return
        await rooms.keep(newer.entry.package, pin, room)
        await server.package.installed(newer.entry.package, pin)
        await self._switch(newer.entry, newer.now)
        fresh = self._supervisor.find(server.id)
        if not fresh.entry.enabled:
            return
        try:
            await fresh.connection(SHARED).get()
        except ChannelError as error:
            await self._switch(server.entry, newer.agreed)
            old = newer.before.version if newer.before else "what was there before"
            message = f"{pin.name} {pin.version} does not start, so {old} goes on: {error.message}"
            raise PilothouseError("server_failed", message, fix=error.fix) from None
        await rooms.index.empty()

    async def _switch(self, entry: ServerEntry, agreed: Agreed | None) -> None:
        """Keep an entry with the consent to it; the supervisor starts what the file says."""
        parts, file = self._supervisor.parts, self._supervisor.file
        before = next((each for each in file.entries() if entry_id(each) == entry.id), None)
        if before is None:
            raise PilothouseError("not_found", f"“{entry.name}” was removed meanwhile.")
        if agreed is not None:
            await asyncio.to_thread(parts.consents().give, entry.id, agreed)
        await file.change(with_entry(written(entry, before)))
        self._supervisor.reconcile()


def _asked(entry: ServerEntry) -> str:
    wanted = wanted_of(entry.package)
    return wanted.text if wanted is not None else ""


def _is_newer(version: str, than: str) -> bool:
    """Return whether a version comes after another, by its numbers; one with a word after them comes before."""
    return _order(version) > _order(than)


def _order(version: str) -> tuple[tuple[int, ...], int, str]:
    numbers, rest = re.match(r"v?([\d.]*)(.*)", version, re.S).groups()  # type: ignore[union-attr]
    counted = tuple(int(each) for each in numbers.split(".") if each)
    while counted and counted[-1] == 0:
        counted = counted[:-1]
    is_final = not rest or rest.startswith((".post", "+"))
    return counted, int(is_final), rest
