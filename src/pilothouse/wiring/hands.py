"""The tools that work on a folder: loaded and made when a conversation has one, closed with the host."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pilothouse.authz.policy import Policy
from pilothouse.types.changes import KeptChange, UndoReport
from pilothouse.types.enclosing import Enclosed, Encloser, Enclosing
from pilothouse.types.plugins import PluginContext
from pilothouse.types.ports import PathGuard, Tool
from pilothouse.types.searching import IndexView
from pilothouse.types.terminals import Runner, TerminalSettings
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.tools.files.desk import Desk
    from pilothouse.tools.sandbox.sandbox import Sandbox
    from pilothouse.tools.search.indexes import Indexes
    from pilothouse.tools.terminal.terminals import Terminals


class Hands:
    """Files, commands, builds."""

    def __init__(self, base: Foundation, guard: PathGuard, policy: Policy) -> None:
        self._base = base
        self._guard = guard
        self._policy = policy

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return the tools."""
        from pilothouse.tools.builds.tool import build_and_version_control
        from pilothouse.tools.files.tool import file_operations
        from pilothouse.tools.search.last import LastSearches, recall_from
        from pilothouse.tools.search.operation import Searching
        from pilothouse.tools.search.operations import search_operations
        from pilothouse.tools.terminal.tool import terminal_operations

        recall = recall_from(self._base.opened.store.history)
        searching = Searching(self.desk, self._guard, self.indexes, LastSearches(), recall, self._policy.withheld)
        return (
            file_operations(self.desk, search_operations(searching, self.runner, self._base.helper)),
            terminal_operations(self.terminals, self.desk),
            build_and_version_control(self.terminals, self.desk, self._base.helper, self._policy.withheld),
        )

    @cached_property
    def desk(self) -> Desk:
        """Return where files are read and changed."""
        from pilothouse.tools.files.desk import Desk

        return Desk(self._guard, self._base.opened.store)

    @cached_property
    def indexes(self) -> Indexes:
        """Return the indexes of folders."""
        from pilothouse.tools.search.indexes import Indexes

        redact = self._base.redactor.redact
        return Indexes(self._base.home.cache / "index", self._guard, lambda text: redact(text) != text)

    @cached_property
    def terminals(self) -> Terminals:
        """Return all terminals and background commands."""
        from pilothouse.tools.terminal.terminals import Terminals

        return Terminals(self.sandbox, self._base.home.path / "recordings", self._base.redactor, self._base.helper)

    @cached_property
    def sandbox(self) -> Sandbox:
        """Return what holds commands."""
        from pilothouse.tools.sandbox.sandbox import Sandbox

        return Sandbox(self._base.home.path, self._settings)

    @cached_property
    def encloser(self) -> Encloser:
        """Return who puts servers into the sandbox."""
        from pilothouse.tools.sandbox.enclosing import SandboxEncloser

        return SandboxEncloser(self.sandbox)

    @cached_property
    def runner(self) -> Runner:
        """Return who runs programs that tools need."""
        from pilothouse.tools.sandbox.runner import SandboxRunner

        return SandboxRunner(self.terminals.sandbox)

    def _settings(self) -> TerminalSettings:
        return self._base.config.config.terminal

    async def view(self, root: str) -> IndexView:
        """Return how the index of a folder stands; the part of the port `IndexHost`."""
        if "indexes" not in self.__dict__:
            return IndexView(working_directory=root, state="none")
        return await self.indexes.view(root)

    async def undo(self, changes: list[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
        """Put files back as they were; the part of the port `Undoing`."""
        from pilothouse.tools.files.undo import FileUndo

        return await FileUndo().undo(changes)

    async def close(self) -> None:
        """End whatever was begun."""
        if "terminals" in self.__dict__:
            await self.terminals.close()
        elif "sandbox" in self.__dict__:
            await asyncio.to_thread(self.sandbox.close)
        if "indexes" in self.__dict__:
            await self.indexes.close()


class LateEncloser:
    """Stands for who holds servers until one is to be held."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def check(self, *, network: bool) -> None:
        """Find out whether programs can be held here; raise a PilothouseError if not."""
        self._hands.encloser.check(network=network)

    def enclosed(self, wanted: Enclosing) -> AbstractContextManager[Enclosed]:
        """Prepare a program; what that needs is held open until it was started."""
        return self._hands.encloser.enclosed(wanted)


class LateTerminals:
    """Stands for the terminals until someone asks for one."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hands.terminals, name)
