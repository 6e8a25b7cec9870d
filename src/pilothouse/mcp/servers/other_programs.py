"""Servers of other programs' settings files taken over, and ours written for other programs."""

from __future__ import annotations

import asyncio

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.keeping import Keeping, check_owner
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.mcp.servers.taking import taken
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import OtherPrograms
from pilothouse.types.server_sharing import OtherFiles, OtherProgram, Snippet
from pilothouse.types.servers import ImportQuestion, ImportQuestions, ImportReport, ImportRequest


class OtherProgramService(OtherPrograms):
    """Reads other programs' files only when someone asks, and starts nothing of them."""

    def __init__(self, supervisor: Supervisor, helper: Helper) -> None:
        self._supervisor = supervisor
        self._helper = helper
        self._keeping = Keeping(supervisor)

    async def files(self, owner: str) -> OtherFiles:
        check_owner(owner)
        raise PilothouseError("bad_request", "TODO")

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        check_owner(owner)
        return ImportQuestions(questions=await asyncio.to_thread(self._open_questions, body))

    async def import_file(self, owner: str, body: ImportRequest) -> ImportReport:
        check_owner(owner)
        self._supervisor.reconcile()
        there = {slug(server.entry.name) for server in self._supervisor.servers.values()}
        outcomes, drafts = await asyncio.to_thread(lambda: taken(self._imported(body.text), body, there))
        if drafts:
            await self._keeping.keep_all(drafts)
        return ImportReport(servers=tuple(outcomes))

    async def export(self, owner: str, server_id: str, program: OtherProgram = "claude-desktop") -> Snippet:
        raise PilothouseError("bad_request", "TODO")

    def _open_questions(self, body: ImportRequest) -> tuple[ImportQuestion, ...]:
        return importing.questions(self._imported(body.text))

    def _imported(self, text: str) -> importing.File:
        try:
            return self._helper.ask(importing.read, text)
        except Unreadable as error:
            fix = "Choose the file that lists the MCP servers."
            raise PilothouseError("bad_request", f"The file cannot be read: {error.why}.", fix=fix) from None
