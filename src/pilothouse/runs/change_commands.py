"""Commands about what runs did to files."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pilothouse.types.changes import ChangeKeeper, ChangeList, KeptChange, Undoing, UndoReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.ids import new_id
from pilothouse.types.items import CLOSED, Item, ItemKind
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.records import Records

# Paths that a sentence names; the calls say the rest.
_NAMED = 8


class ChangeCommands:
    """The part of the core that shows what runs did to files, and puts it back."""

    def __init__(self, records: Records, keeper: ChangeKeeper, undoing: Undoing) -> None:
        self._records = records
        self._keeper = keeper
        self._undoing = undoing

    async def changes(self, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        """Return what a run changed and nobody undid, in order."""
        return await self._keeper.changes_of_run(owner, run_id, page)

    async def undo_run(self, owner: str, run_id: str) -> UndoReport:
        """Put back what a run changed, as far as nobody touched it since."""
        run = await self._records.run(owner, run_id)
        if run.status in ("queued", "running"):
            raise PilothouseError("conflict", "The run is still at work.", fix="Stop it first, or undo single calls.")
        return await self._undo(owner, await self._keeper.changes(owner, run_id=run_id))

    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        """Put back what one call changed."""
        item = await self._records.item(owner, item_id)
        if item.kind != "tool_call":
            raise PilothouseError("bad_request", "Only a tool call can be undone.")
        if item.status not in CLOSED:
            raise PilothouseError("conflict", "The call is still at work.", fix="Stop it first.")
        return await self._undo(owner, await self._keeper.changes(owner, item_id=item_id))

    async def _undo(self, owner: str, kept: list[KeptChange]) -> UndoReport:
        if not kept:
            raise PilothouseError("conflict", "There is nothing to undo: no file was changed, or all was put back.")
        report, ids = await self._undoing.undo(kept)
        if ids:
            await self._keeper.mark_undone(ids, time.time())
            await self._tell(owner, [each for each in kept if each.change.id in ids], report)
        return report

    async def _tell(self, owner: str, undone: Sequence[KeptChange], report: UndoReport) -> None:
        """Write to the timeline what was put back: at the calls, for people, and for the model."""
        conversation_id, run_id = undone[0].change.conversation_id, undone[0].change.run_id
        events: list[Event] = []
        for item_id in dict.fromkeys(each.change.item_id for each in undone):
            item = await self._records.item(owner, item_id)
            ids = [each.change.id for each in undone if each.change.item_id == item_id]
            events.append(ItemUpdated(item_id=item_id, data={"undone": [*item.data.get("undone", ()), *ids]}))
        named = _named(report.undone or [each.change.path for each in undone])
        left = f" Left as they are: {_named([each.path for each in report.conflicts])}." if report.conflicts else ""
        notice = _item(
            (conversation_id, run_id), "notice", f"Undone: {named}.{left}", {"level": "info", "code": "undone"}
        )
        told = f"The person undid changes of yours; these files are as they were before: {named}."
        reminder = _item((conversation_id, run_id), "reminder", told, {"name": "undone"})
        await self._records.append(
            conversation_id, [*events, ItemCreated(item=notice), ItemCreated(item=reminder)], None
        )


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _item(where: tuple[str, str], kind: ItemKind, text: str, data: JsonObject) -> Item:
    now = time.time()
    return Item(
        id=new_id("i"),
        conversation_id=where[0],
        run_id=where[1],
        kind=kind,
        status="completed",
        position=0,
        text=text,
        data=data,
        created_at=now,
        updated_at=now,
    )
