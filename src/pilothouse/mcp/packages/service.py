"""Newer versions of the packages that servers run, as a person asks for them."""

from __future__ import annotations

from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Packages
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.servers import ServerView


class PackageService(Packages):
    """Nothing is taken without consent."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def look(self, owner: str, server_id: str) -> PackageUpdate:
        raise PilothouseError("bad_request", "TODO")

    async def update(self, owner: str, server_id: str, body: UpdateAgreed) -> ServerView:
        raise PilothouseError("bad_request", "TODO")
