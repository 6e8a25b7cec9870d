"""The MCP servers as a host has them: loaded only when there is one, or when someone asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pilothouse.host.dependencies import Finding
from pilothouse.tools.offering import offered
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import ToolRequest, ToolSet
from pilothouse.types.server_sandbox import ServerSandbox
from pilothouse.wiring.built_in import BuiltIns
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.host.service import HostService
    from pilothouse.mcp.packages.rooms import PackageRooms
    from pilothouse.mcp.packages.service import PackageService
    from pilothouse.mcp.proposals.service import ProposalService
    from pilothouse.mcp.registry.service import RegistryService
    from pilothouse.mcp.servers.admin import McpAdmin
    from pilothouse.mcp.servers.nearby import NearbyService
    from pilothouse.mcp.servers.other_programs import OtherProgramService
    from pilothouse.mcp.servers.supervisor import Supervisor
    from pilothouse.types.processes import ProgramsAt


class Servers:
    """The MCP servers and the tools of a run; what they need is loaded when there is a server or someone asks."""

    def __init__(
        self,
        base: Foundation,
        built_in: BuiltIns,
        server_sandbox: Lazy[ServerSandbox],
        service: Lazy[HostService],
        *,
        learn: bool = True,
        programs: ProgramsAt = "here",
    ) -> None:
        self._base = base
        self._built_in = built_in
        self._server_sandbox = server_sandbox
        # Who is told of changes, and of sign-ins; made after them.
        self._service = service
        # Whether servers that nobody asks for are looked at, too.
        self._learn = learn
        # Whether local ones are started here.
        self._programs = programs == "here"
        self.packages = Lazy(self._make_rooms)
        self._supervisor = Lazy(self._supervise)
        self.admin = Lazy(self._make_admin)
        self._registries = Lazy(self._make_registries)
        self.finding = Finding(
            self._registries,
            Lazy(self._make_proposals),
            Lazy(self._make_other_programs),
            Lazy(self._make_nearby),
            Lazy(self._make_packages),
        )

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        """Return the tools of a run."""
        own, selection = self._built_in.tools(wanted.working_directory), wanted.selection
        named = selection is not None and bool(selection.servers)
        if self._supervisor.made is None and not named and not self._entries():
            return offered(wanted, own)
        from pilothouse.mcp.servers.toolbox import server_tools

        return offered(wanted, own, *await server_tools(selection, self._supervisor(), waits=wanted.waits))

    def _entries(self) -> Sequence[JsonObject]:
        """Return what is configured, as the file has it."""
        return self._base.config.config.mcps

    def _supervise(self) -> Supervisor:
        from pilothouse.mcp.servers.assembly import HostParts, supervise
        from pilothouse.mcp.servers.servers_file import ServersFile

        sharing = HostParts(
            home=self._base.home.path,
            secrets=self._base.secrets,
            redact=self._base.redactor.redact,
            learn=self._base.redactor.learn,
            changed=self._service().server_news.changed,
            notice=self._base.feed.notice,
            signed_in=self._service().questions.signed_in,
            packages=self.packages,
            server_sandbox=self._server_sandbox,
            most=self._base.config.local_servers,
            client_document=lambda: self._base.config.config.client_document or "",
            programs=self._programs,
            shared=self._base.shared,
        )
        supervisor = supervise(ServersFile(self._base.config.file, self._entries), sharing)
        supervisor.begin(learn=self._learn)
        return supervisor

    def _make_admin(self) -> McpAdmin:
        from pilothouse.mcp.servers.admin import McpAdmin

        return McpAdmin(self._supervisor())

    def _make_registries(self) -> RegistryService:
        from pilothouse.mcp.registry.book import RegistryBook
        from pilothouse.mcp.registry.local_copy import LocalCopy
        from pilothouse.mcp.registry.service import RegistryService

        config = self._base.config
        book = RegistryBook(config.file, lambda: config.config.registries, self._base.secrets)
        copy = LocalCopy(self._base.home.cache / "registries.sqlite")
        return RegistryService(book, copy, lambda: self.packages().bundles)

    def _make_proposals(self) -> ProposalService:
        from pilothouse.mcp.proposals.service import ProposalService

        rooms = self.packages()
        return ProposalService(self._base.helper, rooms.index, rooms.bundles)

    def _make_other_programs(self) -> OtherProgramService:
        from pilothouse.mcp.servers.other_programs import OtherProgramService

        return OtherProgramService(self._supervisor(), self._base.helper)

    def _make_nearby(self) -> NearbyService:
        from pilothouse.mcp.servers.nearby import NearbyService

        return NearbyService(self._supervisor())

    def _make_rooms(self) -> PackageRooms:
        from pilothouse.mcp.packages.rooms import rooms_in
        from pilothouse.mcp.registry.advisories import AdvisoryFeed

        return rooms_in(self._base.home.path / "cache", AdvisoryFeed().look)

    def _make_packages(self) -> PackageService:
        from pilothouse.mcp.packages.service import PackageService

        return PackageService(self._supervisor())

    def begin(self) -> None:
        """Start what must run, in the background; nothing at all when there are no servers."""
        if self._entries():
            self._supervisor()

    def reconcile(self) -> None:
        """Take up an edit of the file."""
        if (supervisor := self._supervisor.made) is not None:
            supervisor.reconcile()
        else:
            self.begin()

    def consents_changed(self) -> None:
        """Take up what was agreed to at another process."""
        if (supervisor := self._supervisor.made) is not None:
            supervisor.consents_changed()

    async def release(self, call_ids: Sequence[str]) -> None:
        """Give up calls that waited for an answer."""
        if self._supervisor.made is not None:
            await self.admin().release(call_ids)

    async def close(self) -> None:
        """Stop all servers, and what is done for finding others."""
        if (registries := self._registries.made) is not None:
            await registries.close()
        if (supervisor := self._supervisor.made) is not None:
            await supervisor.close()
        elif (packages := self.packages.made) is not None:
            # Names were looked up, and no server came of it.
            await packages.index.empty()
