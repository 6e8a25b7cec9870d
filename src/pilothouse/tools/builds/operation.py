"""What the operations of `build_and_version_control` have in common."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds.git import Repository
from pilothouse.tools.files.places import working_root
from pilothouse.tools.files.workspace import folder_identity
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.terminal.operation import TerminalOperation
from pilothouse.types.access import Access, CommandUse, PathUse
from pilothouse.types.ports import CallContext

TOOL = "build_and_version_control"


class BuildOperation(TerminalOperation):
    """An operation on the project: it runs programs like the terminal's, held in the same way."""

    icon = "git"

    async def command_access(self, command: CommandUse, context: CallContext) -> Access:
        access = await super().command_access(command, context)
        return msgspec.structs.replace(access, operation=f"{TOOL}.{self.name}", lane="files")

    async def reading_access(self, context: CallContext, *paths: PathUse) -> Access:
        """Return what looking at the project touches."""
        return Access(
            operation=f"{TOOL}.{self.name}",
            effects=frozenset({"reads"}),
            paths=paths,
            brings=frozenset({"private"}),
            source="files",
            folder_identity=await asyncio.to_thread(folder_identity, context),
        )

    async def repository(self, context: CallContext) -> Repository:
        """Return the repository of the working directory."""
        folder = await asyncio.to_thread(working_root, context.working_directory)
        runner = SandboxRunner(self._terminals.sandbox, context.conversation_id)
        return await asyncio.to_thread(Repository, runner, folder)

    async def led_to(self, repository: Repository, nested: Sequence[str] = ()) -> tuple[PathUse, ...]:
        """Return what of a repository, and of those within it, lies outside, as a decision sees it."""
        found: dict[str, bool] = {}
        for root in (repository.root, *nested):
            for lead in (await repository.reach(root)).leads:
                found[lead.path] = found.get(lead.path, True) and lead.belongs
        return tuple(
            PathUse(path=path, effect="reads", inside=False, belongs=belongs) for path, belongs in found.items()
        )

    async def hold_leads(self, repository: Repository, context: CallContext, nested: Sequence[str] = ()) -> None:
        """Refuse a repository that leads to other places than those that were looked at."""
        if context.access is None:
            return
        allowed = {use.path for use in context.access.paths}
        others = [use.path for use in await self.led_to(repository, nested) if use.path not in allowed]
        if others:
            raise BadArgument(f"The repository leads to {others[0]} now, which was not asked about.", "CONFLICT")

    def hold_folder(self, context: CallContext) -> None:
        """Refuse to work in another folder than the one that was looked at."""
        allowed = context.access.folder_identity if context.access is not None else None
        if allowed is not None and folder_identity(context) != allowed:
            name = os.path.basename(context.working_directory or "")
            raise BadArgument(f"{name} is another folder now than when the call was allowed.", "CONFLICT")
