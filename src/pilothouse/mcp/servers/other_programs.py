"""Servers of other programs' settings files taken over, and ours written for other programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.mcp.servers.exporting import exported
from pilothouse.mcp.servers.keeping import Keeping, check_owner
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.other_files import candidates, cherry_studio, project_of
from pilothouse.mcp.servers.placeholders import FOLDER
from pilothouse.mcp.servers.secret_detection import readable
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.mcp.servers.taking import taken
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host_finding import OtherPrograms
from pilothouse.types.server_sharing import OtherFile, OtherFiles, OtherProgram, Snippet
from pilothouse.types.servers import ImportQuestion, ImportQuestions, ImportReport, ImportRequest
from pilothouse.types.text_files import read_text

_Returned = TypeVar("_Returned")
_CHERRY = (
    "It keeps its servers in a browser's database, which is not read here. Copy them in its settings, MCP servers, "
    "Edit JSON, and paste the text here."
)


class OtherProgramService(OtherPrograms):
    """Reads other programs' files only when someone asks, and starts nothing of them."""

    def __init__(self, supervisor: Supervisor, helper: Helper) -> None:
        self._supervisor = supervisor
        self._helper = helper
        self._keeping = Keeping(supervisor)

    async def files(self, owner: str, folder: str = "") -> OtherFiles:
        check_owner(owner)
        return OtherFiles(files=await asyncio.to_thread(self._files, _project(folder)))

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        check_owner(owner)
        return ImportQuestions(questions=await asyncio.to_thread(self._open_questions, body))

    async def import_file(self, owner: str, body: ImportRequest) -> ImportReport:
        check_owner(owner)
        async with self._supervisor.naming:
            self._supervisor.reconcile()
            there = {slug(server.entry.name) for server in self._supervisor.servers.values()}
            outcomes, drafts = await asyncio.to_thread(lambda: taken(self._imported(body), _with_origin(body), there))
            if drafts:
                await self._keeping.keep_all(drafts)
        return ImportReport(servers=tuple(outcomes))

    async def export(self, owner: str, server_id: str, program: OtherProgram = "claude-desktop") -> Snippet:
        self._supervisor.reconcile()
        # What stands in the file in plain text and is a key has a slot here, as wherever a server is shown.
        return exported(readable(self._supervisor.find(server_id).entry), program)

    def _files(self, project: Path) -> tuple[OtherFile, ...]:
        # `Path.is_file` raises for a folder that is not ours to look into, or a name that no system takes.
        found = [self._look(program, path) for program, path in candidates(project) if os.path.isfile(path)]
        if (folder := cherry_studio()) is not None:
            found.append(OtherFile(program="Cherry Studio", path=str(folder), problem=_CHERRY))
        return tuple(each for each in found if each.servers or each.problem)

    def _look(self, program: str, path: Path) -> OtherFile:
        try:
            return OtherFile(program=program, path=str(path), servers=self._asked(importing.names_in, _text(path)))
        except PilothouseError as error:
            return OtherFile(program=program, path=str(path), problem=visible(error.message))

    def _open_questions(self, body: ImportRequest) -> tuple[ImportQuestion, ...]:
        asked = importing.questions(self._imported(body))
        project = project_of(at_home(body.file)) if body.file else None
        if project is None:
            return asked
        return tuple(
            msgspec.structs.replace(each, default=str(project)) if each.id == FOLDER else each for each in asked
        )

    def _imported(self, body: ImportRequest) -> importing.File:
        text = body.text if body.text or not body.file else _text(_listed(body.file)[1])
        return importing.chosen(self._asked(importing.read, text), body.only)

    def _asked(self, function: Callable[[str], _Returned], text: str) -> _Returned:
        try:
            return self._helper.ask(function, text)
        except Unreadable as error:
            fix = "Choose the file that lists the MCP servers."
            raise PilothouseError("bad_request", f"The file cannot be read: {error.why}.", fix=fix) from None


def _project(folder: str) -> Path:
    """Return the folder whose project files are looked for: what the person named, or where this program runs."""
    if not folder:
        return Path.cwd()
    project = at_home(folder)
    if "\0" in folder or not project.is_absolute():
        raise PilothouseError("bad_request", f"“{visible(folder)}” is half a path.", fix="Give the whole one.")
    return project


def _listed(file: str) -> tuple[str, Path]:
    """Return the program and the path of a file that is one of those that other programs keep servers in."""
    path = at_home(file)
    if "\0" not in file and path.is_absolute() and (program := _program_of(path)):
        return program, path
    message = f"“{visible(file)}” is none of the files that other programs keep their servers in."
    raise PilothouseError("bad_request", message, fix="Choose one of the list, or give its text.")


def _program_of(path: Path) -> str:
    return next((program for program, each in candidates(project_of(path) or Path.cwd()) if each == path), "")


def _with_origin(body: ImportRequest) -> ImportRequest:
    if body.origin or not body.file:
        return body
    path = at_home(body.file)
    return msgspec.structs.replace(body, origin=_program_of(path) or path.name)


def _text(path: Path) -> str:
    return read_text(path, limits.SETTINGS_FILE_BYTES, "a settings file", visible(str(path)))
