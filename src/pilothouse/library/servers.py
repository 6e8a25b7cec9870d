"""MCP servers and their tools, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pilothouse.host import selection
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.paging import whole
from pilothouse.types.proposals import AnyText, FilledProposal, Proposal, Recognised
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.server_sharing import OtherProgram, Snippet
from pilothouse.types.servers import (
    ConsentGiven,
    ServerInput,
    ServerPatch,
    ServerTest,
    ServerTool,
    ServerView,
    ToolTrial,
    ToolTry,
)


class Servers:
    """The MCP servers; each is named by its id, its name or its prefix."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def list(self) -> Sequence[ServerView]:
        """Return all servers as they are now."""
        return (await self._api.servers.list(LOCAL_OWNER)).servers

    async def find(self, name: str) -> ServerView:
        """Return one server."""
        return selection.find(name, (await self._api.servers.list(LOCAL_OWNER)).servers)

    async def recognise(self, text: str) -> Recognised:
        """Return what a text is, as the box of the page takes it, and how it could be added; nothing is added."""
        return await self._api.proposals.recognise(LOCAL_OWNER, AnyText(text=text))

    async def filled(
        self, proposal: Proposal, values: JsonObject | None = None, keys: Mapping[str, str] | None = None
    ) -> ServerInput:
        """Return the server that a proposal stands for, with values and keys by the ids of its fields."""
        given = {field: KeyInput(value=key) for field, key in (keys or {}).items()}
        return await self._api.proposals.fill(
            LOCAL_OWNER, FilledProposal(proposal=proposal, values=values or {}, keys=given)
        )

    async def add(self, server: ServerInput) -> ServerView:
        """Add a server; a local command starts only after `consent`."""
        return await self._api.servers.add(LOCAL_OWNER, server)

    async def consent(self, name: str, fingerprint: str) -> ServerView:
        """Agree to start exactly the command of `server.consent` with this fingerprint."""
        body = ConsentGiven(fingerprint=fingerprint)
        return await self._api.servers.consent(LOCAL_OWNER, (await self.find(name)).id, body)

    async def switch(self, name: str, *, on: bool) -> ServerView:
        """Switch a server on or off."""
        return await self._api.servers.patch(LOCAL_OWNER, (await self.find(name)).id, ServerPatch(enabled=on))

    async def disconnect(self, name: str) -> ServerView:
        """Stop a server without switching it off; its next call starts it again."""
        return await self._api.servers.disconnect(LOCAL_OWNER, (await self.find(name)).id)

    async def remove(self, name: str) -> None:
        """Stop and remove a server with every secret kept for it."""
        await self._api.servers.delete(LOCAL_OWNER, (await self.find(name)).id)

    async def test(self, name: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        return await self._api.servers.test(LOCAL_OWNER, (await self.find(name)).id)

    async def tools(self, name: str | None = None) -> Sequence[ServerTool]:
        """Return the tools of one server or of all, as last listed."""
        servers = self._api.servers
        if name is None:
            return (await whole(lambda page: servers.all_tools(LOCAL_OWNER, page))).tools
        found = await self.find(name)
        return (await whole(lambda page: servers.tools(LOCAL_OWNER, found.id, page))).tools

    async def call(self, name: str, tool: str, arguments: JsonObject | None = None) -> ToolTrial:
        """Call a tool by hand."""
        body = ToolTry(server_id=(await self.find(name)).id, tool=tool, arguments=arguments or {})
        return await self._api.servers.try_tool(LOCAL_OWNER, body)

    async def newer(self, name: str) -> PackageUpdate:
        """Return whether there is a newer version of a server's package, and what taking it would mean."""
        return await self._api.packages.look(LOCAL_OWNER, (await self.find(name)).id)

    async def update(self, name: str, version: str, fingerprint: str) -> ServerView:
        """Take a newer version, as the consent in `newer` shows it."""
        body = UpdateAgreed(version=version, fingerprint=fingerprint)
        return await self._api.packages.update(LOCAL_OWNER, (await self.find(name)).id, body)

    async def export(self, name: str, program: OtherProgram = "claude-desktop") -> Snippet:
        """Return a server as another program takes it, without secrets."""
        return await self._api.other_programs.export(LOCAL_OWNER, (await self.find(name)).id, program)
