"""Puts the servers of a data folder together; what only a start or a change needs is loaded then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pilothouse.mcp.client.traffic import Traffic
from pilothouse.mcp.servers.capacity import Capacity
from pilothouse.mcp.servers.catalogue import Catalogue
from pilothouse.mcp.servers.folders import ServerFolders
from pilothouse.mcp.servers.logbook import Logbook
from pilothouse.mcp.servers.server import Level, ServerParts
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.types import limits
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import Secrets
from pilothouse.types.server_sandbox import ServerSandbox

if TYPE_CHECKING:
    from pilothouse.mcp.packages.rooms import PackageRooms
    from pilothouse.mcp.servers.connecting import Sessions
    from pilothouse.mcp.servers.consent import Consents
    from pilothouse.mcp.servers.servers_file import ServersFile
    from pilothouse.types.shared import SharedParts


class HostParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the servers have from the rest of the program."""

    home: Path
    secrets: Secrets
    redact: Callable[[str], str]
    learn: Callable[[str], None]
    changed: Callable[[], None]
    notice: Callable[[Level, str, str], None]
    # Lets go on what waits until someone signed in to a server.
    signed_in: Callable[[str], Awaitable[None]]
    # Who puts servers into a sandbox.
    server_sandbox: Lazy[ServerSandbox] | None = None
    # How many local servers may run side by side.
    most: Callable[[], int] = lambda: limits.SERVERS_MOST
    # Where the person put a document about this client, for signing in; empty for nowhere.
    client_document: Callable[[], str] = str
    # Who installs their packages, where others ask that, too.
    packages: Lazy[PackageRooms] | None = None
    # Whether this process starts local servers.
    programs: bool = True
    # What other processes share of what was agreed to, approved and got by signing in; None where there are none.
    shared: SharedParts | None = None


def _catalogue(host: HostParts) -> Catalogue:
    folder = host.home / "cache" / "mcp"
    if host.shared is None:
        return Catalogue(folder)
    from pilothouse.mcp.servers.shared_catalogue import SharedCatalogue  # noqa: PLC0415

    return SharedCatalogue(folder, host.home, host.shared.open_json, programs=host.programs)


def supervise(file: ServersFile, host: HostParts) -> Supervisor:
    """Return who runs the servers of a data folder."""

    def sessions() -> Sessions:
        # Transports and the protocol: for the first server that is started.
        from pilothouse.mcp.servers.connecting import Sessions  # noqa: PLC0415

        alone = host.shared.alone if host.shared is not None else None
        return Sessions(host.home, host.secrets, host.learn, host.server_sandbox, host.client_document, alone=alone)

    def consents() -> Consents:
        file = host.home / "secrets" / "consents.json"
        if host.shared is not None:
            from pilothouse.mcp.servers.shared_consents import SharedConsents  # noqa: PLC0415

            return SharedConsents(file, host.secrets, host.shared.open_json)
        from pilothouse.mcp.servers.consent import Consents  # noqa: PLC0415

        return Consents(file, host.secrets)

    def packages() -> PackageRooms:
        from pilothouse.mcp.packages.rooms import rooms_in  # noqa: PLC0415

        return rooms_in(host.home / "cache")

    parts = ServerParts(
        secrets=host.secrets,
        consents=Lazy(consents),
        catalogue=_catalogue(host),
        traffic=Traffic(host.redact),
        logs=Logbook(host.home / "logs" / "mcp"),
        folders=ServerFolders(host.home / "servers"),
        opener=Lazy(sessions),
        redact=host.redact,
        learn=host.learn,
        changed=host.changed,
        notice=host.notice,
        capacity=Capacity(host.most),
        starts=asyncio.Semaphore(limits.SERVER_STARTS),
        signed_in=host.signed_in,
        packages=host.packages or Lazy(packages),
        programs=host.programs,
    )
    return Supervisor(file, parts)
