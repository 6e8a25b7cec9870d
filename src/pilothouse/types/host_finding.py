"""The verbs about finding MCP servers and keeping their packages: a part of `types/host`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pilothouse.types import limits
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.proposals import AnyText, FilledProposal, Recognised
from pilothouse.types.registries import FoundServers, RegistryInput, RegistryKey, RegistryList
from pilothouse.types.server_sharing import HostsToLookAt, NearbyServers, OtherFiles, OtherProgram, Snippet
from pilothouse.types.servers import ImportQuestions, ImportReport, ImportRequest, ServerInput, ServerView
from pilothouse.types.verbs import Options, Service, verb


class Registries(Service):
    """Registries of MCP servers."""

    @verb("list_registries", "GET", "/api/registries")
    async def list(self, owner: str) -> RegistryList:
        """The registries that can be searched."""

    @verb("add_registry", "POST", "/api/registries", Options(status=201))
    async def add(self, owner: str, body: RegistryInput) -> RegistryList:
        """Add a registry that has the API of the official one."""

    @verb("search_registries", "GET", "/api/registries/search", Options(longer=limits.RECOGNISING_TIME))
    async def search(self, owner: str, q: str, registry: str = "all") -> FoundServers:
        """Search for MCP servers in one registry, by its id, or in all of them."""

    @verb("remove_registry", "DELETE", "/api/registries/{id}")
    async def remove(self, owner: str, registry_id: str) -> RegistryList:
        """Remove a registry that was added, with its copy."""

    @verb("set_registry_key", "PUT", "/api/registries/{id}/key")
    async def set_key(self, owner: str, registry_id: str, body: RegistryKey) -> RegistryList:
        """Keep a key for a registry that wants one, or take it away."""

    @verb("registry_proposals", "GET", "/api/registries/{id}/proposals", Options(longer=limits.BUNDLE_DOWNLOAD_TIME))
    async def proposals(self, owner: str, registry_id: str, name: str) -> Recognised:
        """How a server of a registry could be added: its packages and addresses, with what is to be filled in."""


class Proposals(Service):
    """What a person typed, pasted or dropped, understood."""

    @verb("recognise", "POST", "/api/proposals", Options(longer=limits.BUNDLE_DOWNLOAD_TIME))
    async def recognise(self, owner: str, body: AnyText) -> Recognised:
        """Find out what a text is: a command, a package, an address, a link, a snippet, or words to search for."""

    @verb("recognise_bundle", "POST", "/api/proposals/bundle", Options(body_limit=limits.BUNDLE_BYTES))
    async def recognise_bundle(self, owner: str, body: AsyncIterator[bytes]) -> Recognised:
        """Read an MCP bundle, which is kept for an hour so that it can be added."""

    @verb("fill_proposal", "POST", "/api/proposals/filled")
    async def fill(self, owner: str, body: FilledProposal) -> ServerInput:
        """The server that a filled-in proposal stands for, ready to be checked or added."""


class OtherPrograms(Service):
    """Servers that other programs on this machine have, and ours for them."""

    @verb("other_files", "GET", "/api/servers/import/files")
    async def files(self, owner: str, folder: str = "") -> OtherFiles:
        """The settings files of other programs that list MCP servers, on this machine and in a project's folder."""

    @verb("import_questions", "POST", "/api/servers/import/questions")
    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        """What the servers of another program's settings file leave open: nothing is added."""

    @verb("import_servers", "POST", "/api/servers/import")
    async def import_file(self, owner: str, body: ImportRequest) -> ImportReport:
        """Add the MCP servers of another program's settings file; none starts without consent."""

    @verb("export_server", "GET", "/api/servers/{id}/export")
    async def export(self, owner: str, server_id: str, program: OtherProgram = "claude-desktop") -> Snippet:
        """An MCP server as another program takes it, without secrets."""


class Nearby(Service):
    """Servers on hosts that a person names."""

    @verb("nearby_servers", "POST", "/api/servers/nearby", Options(stops_with_client=True, longer=limits.NEARBY_TIME))
    async def look(self, owner: str, body: HostsToLookAt) -> NearbyServers:
        """Look for MCP servers on hosts, at the usual ports and paths; nothing is added or started."""


class Packages(Service):
    """The packages that servers run, each pinned."""

    @verb("look_for_update", "POST", "/api/servers/{id}/newer", Options(longer=limits.INSTALL_TIMEOUT))
    async def look(self, owner: str, server_id: str) -> PackageUpdate:
        """Ask whether there is a newer version of a server's package; nothing changes."""

    @verb("update_package", "POST", "/api/servers/{id}/newer/consent", Options(longer=limits.INSTALL_TIMEOUT))
    async def update(self, owner: str, server_id: str, body: UpdateAgreed) -> ServerView:
        """Take a newer version of a server's package, after consent to exactly that one."""
