"""Changes of files in the core that keeps everything in memory: there are none."""

from __future__ import annotations

from typing import Protocol

from pilothouse.types.changes import ChangeList, UndoReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.runs import Run


class _KnowsRuns(Protocol):
    async def run(self, owner: str, run_id: str) -> Run: ...


class MemoryChanges:
    """The part of HostApi that is about changes of files."""

    async def changes(self: _KnowsRuns, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        await self.run(owner, run_id)
        return ChangeList(changes=())

    async def undo_run(self: _KnowsRuns, owner: str, run_id: str) -> UndoReport:
        await self.run(owner, run_id)
        return UndoReport(undone=())

    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        raise PilothouseError("not_found", "There is no such item.")
