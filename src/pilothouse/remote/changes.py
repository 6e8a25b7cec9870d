"""What runs did to files, in a running server's core."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at, query_of
from pilothouse.types.changes import ChangeList, UndoReport
from pilothouse.types.paging import FIRST, Page


class RemoteChanges:
    """The part of `ClientApi` that is about changes of files, over HTTP."""

    _calling: Calling

    async def changes(self, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        """Return what a run changed and nobody undid."""
        return await self._calling.ask("GET", at("runs", run_id, "changes"), ChangeList, query=query_of(page))

    async def undo_run(self, owner: str, run_id: str) -> UndoReport:
        """Put back what a run changed."""
        return await self._calling.ask("POST", at("runs", run_id, "undo"), UndoReport)

    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        """Put back what one call changed."""
        return await self._calling.ask("POST", at("calls", item_id, "undo"), UndoReport)
