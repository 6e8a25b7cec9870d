"""The tools that work on a folder: loaded and made when a conversation has one, closed with the host."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from pilothouse.permissions.policy import Policy
from pilothouse.tools.making import FolderToolParts, ToolParts, made
from pilothouse.types.changes import KeptChange, UndoReport
from pilothouse.types.lazy import Lazy
from pilothouse.types.plugins import PluginContext
from pilothouse.types.ports import PathGuard, Tool
from pilothouse.types.searching import IndexView
from pilothouse.types.terminals import SandboxView
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.tools.sandbox.sandbox import Sandbox
    from pilothouse.tools.sandbox.server_sandbox import LocalServerSandbox
    from pilothouse.tools.search.indexes import Indexes
    from pilothouse.tools.snapshots.covering import Snapshots
    from pilothouse.tools.terminal.terminals import Terminals
    from pilothouse.types.processes import ProgramsAt


class FolderTools:
    """Files, commands, builds."""

    def __init__(
        self, base: Foundation, tools: ToolParts, guard: PathGuard, policy: Policy, *, programs: ProgramsAt = "here"
    ) -> None:
        self._base = base
        self._programs = programs
        self._tools = tools
        self._guard = guard
        self._policy = policy
        self._indexes = Lazy(self._make_indexes)
        self.sandbox = Lazy(self._make_sandbox)
        self._snapshots = Lazy(self._make_snapshots)
        self.server_sandbox = Lazy(self._make_server_sandbox)
        self.terminals = Lazy(self._make_terminals)

    @property
    def programs(self) -> bool:
        """Return whether programs are started here."""
        return self._programs == "here"

    @property
    def has_folders(self) -> bool:
        """Return whether conversations' folders are on this machine: a process for the page cannot say."""
        return self._programs != "workers"

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return the tools."""
        from pilothouse.tools.files.workspace import Workspace
        from pilothouse.tools.sandbox.runner import SandboxRunner
        from pilothouse.tools.search.last_search import LastSearches, recall_from
        from pilothouse.tools.search.operation import Searching

        base, guard, withheld = self._base, self._guard, self._policy.withheld
        workspace = Workspace(guard, base.opened.store)
        recall = recall_from(base.opened.store.history)
        searching = Searching(workspace, guard, self._indexes(), LastSearches(), recall, withheld)
        return made(
            FolderToolParts(
                **msgspec.structs.asdict(self._tools),
                workspace=workspace,
                terminals=self.terminals(),
                searching=searching,
                runner=SandboxRunner(self.sandbox()),
            )
        )

    def _make_indexes(self) -> Indexes:
        from pilothouse.tools.search.indexes import Indexes

        redact = self._base.redactor.redact
        folder, meaning, withheld = self._base.home.cache / "index", self._tools.meaning, self._policy.withheld
        return Indexes(folder, self._guard, lambda text: redact(text) != text, meaning, withheld)

    def _make_terminals(self) -> Terminals:
        from pilothouse.tools.terminal.elsewhere import TerminalsElsewhere
        from pilothouse.tools.terminal.terminals import Terminals

        base, kind = self._base, TerminalsElsewhere if self._programs == "workers" else Terminals
        return kind(self.sandbox(), base.home.path / "recordings", base.redactor, base.helper, self._snapshots())

    def _make_sandbox(self) -> Sandbox:
        from pilothouse.tools.sandbox.sandbox import Sandbox

        # A process for the page may be asked what would hold commands, as one of a single machine is.
        return Sandbox(
            self._base.home.path,
            lambda: self._base.config.config.terminal,
            programs=self._programs != "other_workers",
        )

    def _make_snapshots(self) -> Snapshots:
        from pilothouse.tools.snapshots.covering import Snapshots

        base, home = self._base, self._base.home
        return Snapshots(base.opened.store, self._guard, base.redactor.redact, home.cache / "snapshots", home.path)

    def _make_server_sandbox(self) -> LocalServerSandbox:
        from pilothouse.tools.sandbox.server_sandbox import LocalServerSandbox

        return LocalServerSandbox(self.sandbox())

    def with_terminals(self) -> Sequence[str]:
        """Return the conversations whose terminals or background commands run here."""
        return terminals.running() if (terminals := self.terminals.made) is not None else ()

    async def held(self) -> SandboxView:
        """Return what holds commands here; the first time that is tried, which takes a moment."""
        return await asyncio.to_thread(self.sandbox().view)

    async def is_offline(self) -> bool:
        """Return whether a sandbox keeps commands off the network."""
        return (await self.held()).offline

    async def view(self, root: str) -> IndexView:
        """Return how the index of a folder stands."""
        if (indexes := self._indexes.made) is None:
            return IndexView(working_directory=root, state="none")
        return await indexes.view(root)

    async def undo(self, changes: Sequence[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
        """Put files back as they were."""
        from pilothouse.tools.files.restoring import undo

        return await undo(changes)

    async def close(self) -> None:
        """End whatever was begun."""
        if (terminals := self.terminals.made) is not None:
            await terminals.close()
        elif (sandbox := self.sandbox.made) is not None:
            await asyncio.to_thread(sandbox.close)
        if (snapshots := self._snapshots.made) is not None:
            snapshots.close()
        if (indexes := self._indexes.made) is not None:
            await indexes.close()
