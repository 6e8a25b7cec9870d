"""Puts the servers of a data folder together; what only a start or a change needs is loaded then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pilothouse.mcp.capacity import Capacity
from pilothouse.mcp.catalogue import Catalogue
from pilothouse.mcp.connection import Connection
from pilothouse.mcp.logbook import Logbook
from pilothouse.mcp.rooms import Rooms
from pilothouse.mcp.server import Around, Level, Server
from pilothouse.mcp.supervisor import Supervisor
from pilothouse.mcp.traffic import Traffic
from pilothouse.types import limits
from pilothouse.types.enclosing import Encloser
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import Consent, ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.consent import Agreed, Consents
    from pilothouse.mcp.opening import Sessions
    from pilothouse.mcp.ports import ServersFile
    from pilothouse.mcp.session import Session


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """What the servers have from the rest of the program."""

    home: Path
    secrets: Secrets
    redact: Callable[[str], str]
    learn: Callable[[str], None]
    changed: Callable[[], None]
    notice: Callable[[Level, str, str], None]
    # Who puts servers into a sandbox.
    encloser: Encloser | None = None
    # How many local servers may run side by side.
    most: Callable[[], int] = lambda: limits.SERVERS_MOST


def supervise(file: ServersFile, sharing: Sharing) -> Supervisor:
    """Return who runs the servers of a data folder."""
    around = Around(
        secrets=sharing.secrets,
        consents=_LateConsents(sharing),
        catalogue=Catalogue(sharing.home / "cache" / "mcp"),
        traffic=Traffic(sharing.redact),
        logs=Logbook(sharing.home / "logs" / "mcp"),
        rooms=Rooms(sharing.home / "servers"),
        opener=_LateSessions(sharing),
        redact=sharing.redact,
        changed=sharing.changed,
        notice=sharing.notice,
        capacity=Capacity(sharing.most),
        starts=asyncio.Semaphore(limits.SERVER_STARTS),
    )
    return Supervisor(file, around)


class _LateSessions:
    """Loads transports and protocol when the first server is started; implements `Opener`."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._sessions: Sessions | None = None

    async def open(self, server: Server, connection: Connection) -> Session:
        """Connect; raise a ChannelError that says why not."""
        return await self._made().open(server, connection)

    def reap(self) -> int:
        """End what a program that died left running; return how many servers that were."""
        return self._made().reap()

    async def forget(self, entry: ServerEntry) -> None:
        """Delete what signing in to a server brought."""
        await self._made().forget(entry)

    def _made(self) -> Sessions:
        if self._sessions is None:
            from pilothouse.mcp.opening import Sessions  # noqa: PLC0415

            sharing = self._sharing
            self._sessions = Sessions(sharing.home, sharing.secrets, sharing.learn, sharing.encloser)
        return self._sessions


class _LateConsents:
    """Loads what consents need when someone looks at one; implements `Agreements`."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._consents: Consents | None = None

    def look(self, entry: ServerEntry, known: Agreed | None = None) -> Agreed:
        """Return what starting a server would do now; raise a ChannelError when it cannot be started at all."""
        return self._made().look(entry, known)

    def shown(self, entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
        """Return what the person is asked to agree to."""
        return self._made().shown(entry, now, before)

    def agreed(self, server_id: str) -> Agreed | None:
        """Return what was agreed to for a server, if anything."""
        return self._made().agreed(server_id)

    def give(self, server_id: str, agreed: Agreed) -> None:
        """Keep that the person agreed."""
        self._made().give(server_id, agreed)

    def withdraw(self, server_id: str) -> None:
        """Forget a consent."""
        self._made().withdraw(server_id)

    def _made(self) -> Consents:
        if self._consents is None:
            from pilothouse.mcp.consent import Consents  # noqa: PLC0415

            self._consents = Consents(self._sharing.home / "secrets" / "consents.json", self._sharing.secrets)
        return self._consents
