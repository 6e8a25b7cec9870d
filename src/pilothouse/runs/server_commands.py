"""Commands about the MCP servers and their tools."""

from __future__ import annotations

import asyncio

import msgspec

from pilothouse.agent.validation import complaint
from pilothouse.runs.feed import Feed
from pilothouse.types import limits
from pilothouse.types.admin import ServerAdmin
from pilothouse.types.api import ServersFrame
from pilothouse.types.defaults import with_defaults
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import encode
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


class ServerCommands:
    """The part of the core that changes servers; every page is told, however the change came about."""

    def __init__(self, servers: ServerAdmin, feed: Feed) -> None:
        self._servers = servers
        self._watchers = feed
        self._telling: set[asyncio.Task[None]] = set()
        self._gathering = False

    async def servers(self, owner: str) -> ServerList:
        """Return all servers as they are now."""
        return await self._servers.list()

    async def add_server(self, owner: str, body: ServerInput) -> ServerView:
        """Add a server; a local command starts only after consent."""
        _check_definition(owner, body)
        return self._changed(await self._servers.add(body))

    async def update_server(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        """Replace a server's configuration; secrets that are not sent stay."""
        _check_definition(owner, body)
        return self._changed(await self._servers.update(server_id, body))

    async def patch_server(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        """Switch it on or off, or single tools of it."""
        return self._changed(await self._servers.patch(server_id, body))

    async def delete_server(self, owner: str, server_id: str) -> None:
        """Stop a server, remove it and delete every secret kept for it."""
        await self._servers.delete(server_id)
        self.servers_changed()

    async def consent_server(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly this command."""
        _check_owner(owner)
        return self._changed(await self._servers.consent(server_id, body))

    async def retry_server(self, owner: str, server_id: str) -> ServerView:
        """Connect now, with fresh counters."""
        return self._changed(await self._servers.retry(server_id))

    async def disconnect_server(self, owner: str, server_id: str) -> ServerView:
        """Stop a server without switching it off."""
        return self._changed(await self._servers.disconnect(server_id))

    async def test_server(self, owner: str, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        return await self._servers.test(server_id)

    async def server_tools(self, owner: str, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        return await self._servers.tools(server_id, page)

    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
        tools = await self._servers.confirm_tool(server_id, body)
        self.servers_changed()
        return tools

    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what a server says about itself now, or keep what it said before."""
        return self._changed(await self._servers.decide_about(server_id, body))

    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        """Call a tool by hand, with arguments that fit its description."""
        for tool in (await self._servers.tools(body.server_id, Page(limits.LIST_TOOLS))).tools:
            if body.tool in (tool.name, tool.qualified_name, tool.wire_name) and tool.state in ("offered", "off"):
                given = with_defaults(tool.input_schema, body.arguments)
                wrong = await complaint(tool.input_schema, given, len(encode(given)))
                if wrong is not None:
                    raise PilothouseError("bad_request", wrong, fix=f"Look at the parameters of {tool.qualified_name}.")
                body = msgspec.structs.replace(body, arguments=given)
                break
        return await self._servers.try_tool(body)

    async def server_log(self, owner: str, server_id: str) -> ServerLog:
        """Return what a server wrote."""
        return await self._servers.log(server_id)

    async def server_status(self, owner: str) -> StatusReport:
        """Return latencies, errors and past states."""
        return await self._servers.status()

    async def traffic(self, owner: str, after: int, server_id: str | None) -> TrafficPage:
        """Return recorded messages after a number."""
        return await self._servers.traffic(after, server_id)

    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        """Start or stop recording messages."""
        return await self._servers.switch_traffic(body)

    async def switch_servers(self, owner: str, body: ServersSwitch) -> ServerList:
        """Switch several servers on or off at once."""
        _check_owner(owner)
        servers = await self._servers.switch(body)
        self.servers_changed()
        return servers

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        """Return what the servers of another program's file leave open."""
        _check_owner(owner)
        return await self._servers.import_questions(body)

    async def import_servers(self, owner: str, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file; none starts without consent."""
        _check_owner(owner)
        report = await self._servers.import_file(body)
        self.servers_changed()
        return report

    def servers_changed(self) -> None:
        """Tell every page what the servers are now; changes in quick succession are told once."""
        if self._gathering or not self._watchers.list_owners():
            return
        self._gathering = True
        task = asyncio.create_task(self._tell_servers(), name="tell-servers")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _changed(self, view: ServerView) -> ServerView:
        self.servers_changed()
        return view

    async def _tell_servers(self) -> None:
        await asyncio.sleep(limits.SERVERS_GATHER)
        self._gathering = False
        self._watchers.tell(ServersFrame(servers=await self._servers.list()))

    async def stop_telling(self) -> None:
        """Let go of changes that no page will hear of, and tell no more."""
        self._gathering = True
        for task in self._telling:
            task.cancel()
        if self._telling:
            await asyncio.wait(self._telling)


def _check_definition(owner: str, body: ServerInput) -> None:
    if body.command_line is not None or body.command is not None:
        _check_owner(owner)


def _check_owner(owner: str) -> None:
    """Whoever defines a local command can run any program here: that is for the owner of this machine."""
    if owner != LOCAL_OWNER:
        raise PilothouseError(
            "forbidden",
            "Only the owner of this installation may define or start a local command.",
            fix="Ask them to add the server, or add one by its URL.",
        )
