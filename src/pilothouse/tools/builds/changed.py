"""Which files differ from the last commit."""

from __future__ import annotations

import asyncio
import os
from typing import ClassVar

from pilothouse.tools.arguments import optional_bool, success
from pilothouse.tools.builds.git import DIFF
from pilothouse.tools.builds.operation import BuildOperation
from pilothouse.tools.builds.status import Status, parse, printable
from pilothouse.tools.terminal.text import shortened
from pilothouse.types import limits
from pilothouse.types.access import Access, PathUse
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput

STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all")


class GetChangedFiles(BuildOperation):
    """Lists the changed files of the working directory."""

    name = "get_changed_files"
    doing = "Looking at changes"
    properties: ClassVar[JsonObject] = {
        "include_diff": {"type": "boolean", "description": "With the differences of tracked files."}
    }

    async def look(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the folder, and the repository where that lies outside."""
        repository = await self.repository(context)
        paths = [PathUse(path=repository.folder, effect="reads", inside=True)]
        if not repository.is_whole:
            paths.append(PathUse(path=os.path.join(repository.root, ".git"), effect="reads", inside=False))
        return await self.reading_access(context, *paths)

    async def perform(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Ask git, and read what it says."""
        await asyncio.to_thread(self.hold_folder, context)
        repository = await self.repository(context)
        status = parse(await repository.ask(*STATUS, "--", "."))
        lines = [_head(status), *_listed(status)]
        if optional_bool(arguments, "include_diff", False) and status.files:
            against = ("HEAD",) if status.commit else ("--cached",)
            diff = await repository.ask("diff", *DIFF, *against, "--", ".")
            lines += ["", shortened(diff.decode(errors="replace"))]
        return success("\n".join(lines), {"status": plain(_bounded(status))})


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
    facts = plain(status)
    facts["files"] = facts["files"][: limits.CHANGED_FILES]
    return facts
