"""A host that has no MCP servers and takes none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.server_traffic import TrafficPage, TrafficSwitch
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportReport,
    ImportRequest,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
    ServerTest,
    ServerView,
    StatusReport,
    ToolConfirmed,
    ToolList,
    ToolTrial,
    ToolTry,
)


class NoServers:
    """Implements `ServerAdmin`: lists are empty, and nothing else is possible."""

    async def list(self) -> ServerList:
        """Return none."""
        return ServerList(servers=())

    async def add(self, body: ServerInput) -> ServerView:
        """Refuse."""
        raise PilothouseError("not_found", "This host takes no MCP servers.")

    async def update(self, server_id: str, body: ServerInput) -> ServerView:
        """Find nothing."""
        _unknown(server_id)

    async def patch(self, server_id: str, body: ServerPatch) -> ServerView:
        """Find nothing."""
        _unknown(server_id)

    async def delete(self, server_id: str) -> None:
        """Find nothing."""
        _unknown(server_id)

    async def consent(self, server_id: str, body: ConsentGiven) -> ServerView:
        """Find nothing."""
        _unknown(server_id)

    async def retry(self, server_id: str) -> ServerView:
        """Find nothing."""
        _unknown(server_id)

    async def test(self, server_id: str) -> ServerTest:
        """Find nothing."""
        _unknown(server_id)

    async def tools(self, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return none."""
        if server_id is not None:
            _unknown(server_id)
        return ToolList(tools=())

    async def confirm_tool(self, server_id: str, body: ToolConfirmed) -> ToolList:
        """Find nothing."""
        _unknown(server_id)

    async def decide_about(self, server_id: str, body: AboutDecided) -> ServerView:
        """Find nothing."""
        _unknown(server_id)

    async def try_tool(self, body: ToolTry) -> ToolTrial:
        """Find nothing."""
        _unknown(body.server_id)

    async def log(self, server_id: str) -> ServerLog:
        """Find nothing."""
        _unknown(server_id)

    async def status(self) -> StatusReport:
        """Return nothing."""
        return StatusReport(servers=())

    async def traffic(self, after: int, server_id: str | None) -> TrafficPage:
        """Return no messages."""
        return TrafficPage(messages=(), last_seq=after, recording=False)

    async def switch_traffic(self, body: TrafficSwitch) -> TrafficPage:
        """Record nothing, as there is nothing."""
        return await self.traffic(0, None)

    async def import_file(self, body: ImportRequest) -> ImportReport:
        """Refuse."""
        raise PilothouseError("not_found", "This host takes no MCP servers.")

    async def release(self, call_ids: Sequence[str]) -> None:
        """Do nothing: no call is paused."""


def _unknown(server_id: str) -> NoReturn:
    raise PilothouseError("not_found", f"There is no MCP server “{server_id}”.")
