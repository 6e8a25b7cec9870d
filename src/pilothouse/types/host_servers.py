"""What interfaces ask of the core about MCP servers: a part of `types/host`."""

from __future__ import annotations

from typing import Protocol

from pilothouse.types.paging import FIRST, Page
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportQuestions,
    ImportReport,
    ImportRequest,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
    ServersSwitch,
    ServerTest,
    ServerView,
    StatusReport,
    ToolConfirmed,
    ToolList,
    ToolTrial,
    ToolTry,
    TrafficPage,
    TrafficSwitch,
)


class Servers(Protocol):
    """The MCP servers and their tools."""

    async def servers(self, owner: str) -> ServerList:
        """Return all servers as they are now."""
        ...

    async def add_server(self, owner: str, body: ServerInput) -> ServerView:
        """Add a server; a local command starts only after consent."""
        ...

    async def update_server(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        """Replace a server's configuration; secrets that are not sent stay."""
        ...

    async def patch_server(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        """Switch it on or off, or single tools of it."""
        ...

    async def delete_server(self, owner: str, server_id: str) -> None:
        """Stop a server, remove it and delete every secret kept for it."""
        ...

    async def consent_server(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly this command."""
        ...

    async def retry_server(self, owner: str, server_id: str) -> ServerView:
        """Connect now, with fresh counters."""
        ...

    async def disconnect_server(self, owner: str, server_id: str) -> ServerView:
        """Stop a server without switching it off; its next call starts it again."""
        ...

    async def test_server(self, owner: str, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        ...

    async def server_tools(self, owner: str, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        ...

    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
        ...

    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what a server says about itself now, or keep what it said before."""
        ...

    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        """Call a tool by hand."""
        ...

    async def server_log(self, owner: str, server_id: str) -> ServerLog:
        """Return what a server wrote."""
        ...

    async def server_status(self, owner: str) -> StatusReport:
        """Return latencies, errors and past states."""
        ...

    async def traffic(self, owner: str, after: int, server_id: str | None) -> TrafficPage:
        """Return recorded messages after a number."""
        ...

    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        """Start or stop recording messages."""
        ...

    async def switch_servers(self, owner: str, body: ServersSwitch) -> ServerList:
        """Switch several servers on or off at once."""
        ...

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        """Return what the servers of another program's file leave open."""
        ...

    async def import_servers(self, owner: str, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file; none starts without consent."""
        ...
