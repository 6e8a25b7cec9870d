"""The package of a server: what it is pinned to, looked up when nobody knows, and installed before the first start."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.start_errors import NeedsPerson
from pilothouse.mcp.packages.pins import asked_for
from pilothouse.types.errors import PilothouseError
from pilothouse.types.package_updates import LOOKING_UP
from pilothouse.types.servers import Package, ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.packages.facts import Unpacked
    from pilothouse.mcp.packages.pins import Pin
    from pilothouse.mcp.servers.consent import Agreed
    from pilothouse.mcp.servers.server import Server

_INSTALLING = "Installing..."


def agreed_pin(entry: ServerEntry, agreed: Agreed | None) -> Pin | None:
    """Return what an entry is pinned to by a consent; None where it was given for something else."""
    if agreed is None or agreed.pin is None or agreed.pin.wanted != asked_for(entry.package):
        return None
    return agreed.pin


class ServerPackage:
    """What is known and done about the package of one server; nothing at all for one that has none."""

    def __init__(self, server: Server) -> None:
        self._server = server
        # What it is pinned to, once anyone looked.
        self.pin: Pin | None = None
        # What is done with it just now, in words.
        self.doing = ""
        # With which nothing else lies in its room.
        self._settled: Pin | None = None

    async def room(self) -> Path:
        """Return the folder for what belongs to this server alone."""
        return Path(await asyncio.to_thread(self._server.parts.folders.of, self._server.id))

    async def looked(self) -> tuple[Agreed | None, Agreed]:
        """Return what was agreed to, and what would be started now: a package is looked up in its index if need be."""
        from pilothouse.mcp.servers.consent import can_be_pinned  # noqa: PLC0415

        entry, consents = self._server.entry, self._server.parts.consents()
        agreed = await asyncio.to_thread(consents.agreed, entry.id)
        pin = agreed_pin(entry, agreed)
        if pin is None and await asyncio.to_thread(can_be_pinned, entry):
            if agreed is not None and agreed.pin is None:
                # Who agreed to npx or uvx before packages were installed here is not asked again.
                with contextlib.suppress(ChannelError):
                    now = await asyncio.to_thread(consents.look, entry, agreed)
                    if agreed.allows(now):
                        return agreed, now
            with self.while_doing(LOOKING_UP):
                pin = await self._server.parts.packages().pin(entry.package, await self.room())
        return agreed, await asyncio.to_thread(consents.look, entry, agreed, pin)

    async def keep(self, pin: Pin | None) -> None:
        """Keep what the person agreed to, so that it can be installed at any time."""
        self.pin = pin
        if pin is not None:
            await self._server.parts.packages().keep(self._server.entry.package, pin, await self.room())

    async def unpacked(self, pin: Pin | None) -> Unpacked | None:
        """Return how a pinned package is started, installed first if need be; None for what is not pinned."""
        if pin is None:
            return None
        server, room, rooms = self._server, await self.room(), self._server.parts.packages()
        if await asyncio.to_thread(rooms.is_installed, pin, room):
            return await rooms.installed(server.entry.package, pin, room)
        unpacked = await self.installed(server.entry.package, pin)
        if server.keeps_package:
            await rooms.index.empty()
        return unpacked

    async def installed(self, package: Package, pin: Pin) -> Unpacked:
        """Have a package installed in this server's room; what it runs meanwhile is held as the server is."""
        server, room = self._server, await self.room()
        within = await asyncio.to_thread(server.parts.opener().holding, server)
        server.history.line("host", "info", f"Installing {pin.name} {pin.version}.")
        with self.while_doing(_INSTALLING):
            return await server.parts.packages().installed(package, pin, room, within)

    async def connected(self) -> None:
        """Remove what was installed for it before: what is there now has shown that it works."""
        if self.pin is not None and self._server.keeps_package and self._settled != self.pin:
            self._settled = self.pin
            await self._server.parts.packages().clear(await self.room(), self.pin)

    async def install(self) -> None:
        """Have it installed if the person agreed; raise a ChannelError that says why it cannot be."""
        try:
            agreed = await self._server.check_consent()
            if agreed is not None:
                await self.unpacked(agreed.pin)
        except PilothouseError as error:
            raise NeedsPerson(error.message, fix=error.fix) from None

    @contextlib.contextmanager
    def while_doing(self, words: str) -> Iterator[None]:
        """Tell people what is done meanwhile."""
        self.doing = words
        self._server.parts.changed()
        try:
            yield
        finally:
            self.doing = ""
            self._server.parts.changed()
