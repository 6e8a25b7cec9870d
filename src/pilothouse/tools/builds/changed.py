"""Which files differ from the last commit."""

from __future__ import annotations

import asyncio
import os
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import optional_bool, success
from pilothouse.tools.builds.git import DIFF, NOT_INTO, Repository
from pilothouse.tools.builds.operation import TOOL, BuildOperation
from pilothouse.tools.builds.status import Status, parse, printable
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.tools.terminal.text import shortened, whole_of
from pilothouse.types import limits
from pilothouse.types.access import Access, PathUse
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput, Withheld

STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")


class GetChangedFiles(BuildOperation):
    """Lists the changed files of the working directory."""

    name = "get_changed_files"
    doing = "Looking at changes"
    properties: ClassVar[JsonObject] = {
        "include_diff": {"type": "boolean", "description": "With the differences of tracked files."}
    }

    def __init__(self, terminals: Terminals, workspace: Workspace, withheld: Withheld) -> None:
        super().__init__(terminals)
        self._workspace = workspace
        self._withheld = withheld

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the folder, and what of the repository lies outside."""
        repository = await self.repository(context)
        folder = PathUse(path=repository.folder, effect="reads", inside=True)
        return await self.reading_access(context, folder, *await self.led_to(repository))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Ask git, and read what it says."""
        await asyncio.to_thread(self.hold_folder, context)
        repository = await self.repository(context)
        await self.hold_leads(repository, context)
        status = await asyncio.to_thread(parse, await repository.ask(*STATUS, NOT_INTO, "--", "."))
        lines, diff = [_head(status), *_listed(status)], ""
        if optional_bool(arguments, "include_diff", False) and status.files:
            note, diff = await self._differences(repository, status, context)
            lines += ["", *note, *([shortened(diff)] if diff else [])]
        # Someone may have pointed it elsewhere while git was at it.
        await self.hold_leads(repository, context)
        return success("\n".join(lines), {"status": _bounded(status)}, whole_of(diff, shortened(diff)))

    async def _differences(self, repository: Repository, status: Status, context: CallContext) -> tuple[list[str], str]:
        """Return the differences of the files that may be read without a word of their own, and what was left out."""
        shown, left_out = await asyncio.to_thread(self._apart, repository, status, context)
        note = [f"Left out: {', '.join(map(printable, left_out))}."] if left_out else []
        if not shown:
            return note, ""
        against = ("HEAD",) if status.commit else ("--cached",)
        paths = shown[: limits.CHANGED_FILES] if left_out else ["."]
        diff = await repository.ask("diff", *DIFF, NOT_INTO, *against, "--", *paths)
        return note, diff.decode(errors="replace")

    def _apart(self, repository: Repository, status: Status, context: CallContext) -> tuple[list[str], list[str]]:
        """Return the files to show, by their way from the folder, and those to leave out."""
        withheld = self._withheld(context.access or Access(operation=f"{TOOL}.{self.name}"), context.working_directory)
        shown, left_out = [], []
        # A file that was renamed is shown as two: what its former name had, and what the new one has.
        for name in dict.fromkeys(name for file in status.files for name in (file.path, file.source) if name):
            place = Place(repository.root, tuple(name.split("/")), True)
            if self._workspace.protected(place, "reads", None) or withheld(place.path):
                left_out.append(name)
            else:
                shown.append(os.path.relpath(place.path, repository.folder))
        return shown, left_out


def _head(status: Status) -> str:
    branch = "no branch" if status.branch == "(detached)" else f"branch {printable(status.branch)}"
    apart = [f"{count} {word}" for count, word in ((status.ahead, "ahead"), (status.behind, "behind")) if count]
    upstream = f", {' and '.join(apart)} of {printable(status.upstream)}" if apart else ""
    changed = f"{len(status.files)} changed files" if status.files else "nothing changed"
    return f"On {branch}{upstream}: {changed}." if status.commit else f"On {branch}, without a commit yet: {changed}."


def _listed(status: Status) -> list[str]:
    lines = []
    for file in status.files[: limits.CHANGED_FILES]:
        source = f" (from {printable(file.source)})" if file.source else ""
        lines.append(f"{printable(file.path)}: {file.words}{source}")
    left = len(status.files) - len(lines)
    return [*lines, f"… and {left} more"] if left > 0 else lines


def _bounded(status: Status) -> JsonObject:
    return plain(msgspec.structs.replace(status, files=status.files[: limits.CHANGED_FILES]))
