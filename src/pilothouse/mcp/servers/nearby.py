"""MCP servers on hosts that a person names: known ports and paths, and what announces itself."""

from __future__ import annotations

from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Nearby
from pilothouse.types.server_sharing import HostsToLookAt, NearbyServers


class NearbyService(Nearby):
    """Knocks and asks; nothing is added or started."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def look(self, owner: str, body: HostsToLookAt) -> NearbyServers:
        raise PilothouseError("bad_request", "TODO")
