"""The MCP servers of a running server's core."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at, query_of
from pilothouse.types import limits
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


class RemoteServers:
    """The part of `ClientApi` that is about servers, over HTTP."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling

    async def servers(self, owner: str) -> ServerList:
        """Return all servers as they are now."""
        return await self._calling.ask("GET", "/api/servers", ServerList)

    async def add_server(self, owner: str, body: ServerInput) -> ServerView:
        """Add a server; a local command starts only after consent."""
        return await self._calling.ask("POST", "/api/servers", ServerView, body=body)

    async def update_server(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        """Replace a server's configuration; secrets that are not sent stay."""
        return await self._calling.ask("PUT", at("servers", server_id), ServerView, body=body)

    async def patch_server(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        """Switch it on or off, or single tools of it."""
        return await self._calling.ask("PATCH", at("servers", server_id), ServerView, body=body)

    async def delete_server(self, owner: str, server_id: str) -> None:
        """Stop a server, remove it and delete every secret kept for it."""
        await self._calling.tell("DELETE", at("servers", server_id))

    async def consent_server(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly this command."""
        return await self._calling.ask("POST", at("servers", server_id, "consent"), ServerView, body=body)

    async def retry_server(self, owner: str, server_id: str) -> ServerView:
        """Connect now, with fresh counters."""
        return await self._calling.ask("POST", at("servers", server_id, "retry"), ServerView)

    async def disconnect_server(self, owner: str, server_id: str) -> ServerView:
        """Stop a server without switching it off."""
        return await self._calling.ask("POST", at("servers", server_id, "disconnect"), ServerView)

    async def test_server(self, owner: str, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        return await self._calling.ask("POST", at("servers", server_id, "test"), ServerTest)

    async def server_tools(self, owner: str, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        path = "/api/tools" if server_id is None else at("servers", server_id, "tools")
        return await self._calling.ask("GET", path, ToolList, query=query_of(page))

    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
        return await self._calling.ask("POST", at("servers", server_id, "tools", "confirm"), ToolList, body=body)

    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what a server says about itself now, or keep what it said before."""
        return await self._calling.ask("POST", at("servers", server_id, "about"), ServerView, body=body)

    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        """Call a tool by hand."""
        wait = limits.SERVER_ANSWER + limits.CALL_TIME_MOST
        return await self._calling.ask("POST", "/api/tools/try", ToolTrial, body=body, wait=wait)

    async def server_log(self, owner: str, server_id: str) -> ServerLog:
        """Return what a server wrote."""
        return await self._calling.ask("GET", at("servers", server_id, "log"), ServerLog)

    async def server_status(self, owner: str) -> StatusReport:
        """Return latencies, errors and past states."""
        return await self._calling.ask("GET", "/api/servers/status", StatusReport)

    async def traffic(self, owner: str, after: int, server_id: str | None) -> TrafficPage:
        """Return recorded messages after a number."""
        query = {"after": after, "server": server_id}
        return await self._calling.ask("GET", "/api/traffic", TrafficPage, query=query)

    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        """Start or stop recording messages."""
        return await self._calling.ask("PUT", "/api/traffic", TrafficPage, body=body)

    async def switch_servers(self, owner: str, body: ServersSwitch) -> ServerList:
        """Switch several servers on or off at once."""
        return await self._calling.ask("PATCH", "/api/servers", ServerList, body=body)

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        """Return what the servers of another program's file leave open."""
        return await self._calling.ask("POST", "/api/servers/import/questions", ImportQuestions, body=body)

    async def import_servers(self, owner: str, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file; none starts without consent."""
        return await self._calling.ask("POST", "/api/servers/import", ImportReport, body=body)
