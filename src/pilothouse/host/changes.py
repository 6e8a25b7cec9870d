"""What runs did to files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from pilothouse.types.branches import path_of
from pilothouse.types.changes import ChangeList, KeptChange, Undo, UndoReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.host import Changes
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import CallData, NoticeData, ReminderData
from pilothouse.types.items import CLOSED, Item, new_item, patch, read
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.records import Records

# Paths that a sentence names; the calls say the rest.
_NAMED = 8


class ChangeService(Changes):
    """Shows what runs did to files, and puts it back."""

    def __init__(self, records: Records, undo: Undo) -> None:
        self._records = records
        self._put_back = undo
        # Two tabs may put back, or drop, the same thing: the second finds nothing left.
        self._one_at_a_time = asyncio.Lock()

    async def list(self, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        return await self._records.changes_of_run(owner, run_id, page)

    async def undo_run(self, owner: str, run_id: str) -> UndoReport:
        run = await self._records.run(owner, run_id)
        if run.status in ("queued", "running"):
            raise PilothouseError("conflict", "The run is still at work.", fix="Stop it first, or undo single calls.")
        async with self._one_at_a_time:
            return await self._undo(owner, await self._records.changes(owner, run_id=run_id))

    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        item = await self._records.item(owner, item_id)
        if item.kind != "tool_call" and not _is_aside(item):
            raise PilothouseError("bad_request", "Only a tool call can be undone.")
        if item.status not in CLOSED:
            raise PilothouseError("conflict", "The call is still at work.", fix="Stop it first.")
        async with self._one_at_a_time:
            return await self._undo(owner, await self._records.changes(owner, item_id=item_id))

    async def drop(self, owner: str, item_id: str) -> None:
        item = await self._records.item(owner, item_id)
        async with self._one_at_a_time:
            kept = await self._records.changes(owner, item_id=item_id) if _is_aside(item) else []
            if not kept:
                raise PilothouseError("conflict", "There is nothing to drop: nothing is set aside here.")
            dropped = ItemUpdated(item_id=item_id, data=patch(NoticeData, dropped=True))
            await self._records.append(item.conversation_id, [dropped], None)
            await self._records.drop_changes([each.change.id for each in kept])

    async def _undo(self, owner: str, kept: Sequence[KeptChange]) -> UndoReport:
        if not kept:
            raise PilothouseError("conflict", "There is nothing to undo: no file was changed, or all was put back.")
        report, ids = await self._put_back(kept)
        if ids:
            await self._records.mark_undone(ids, time.time())
            await self._tell(owner, [each for each in kept if each.change.id in ids], report)
        return report

    async def _tell(self, owner: str, undone: Sequence[KeptChange], report: UndoReport) -> None:
        """Write to the timeline what was put back: at the calls, for people, and for the model."""
        conversation_id, run_id = undone[0].change.conversation_id, undone[0].change.run_id
        events: list[Event] = []
        for item_id in dict.fromkeys(each.change.item_id for each in undone):
            item = await self._records.item(owner, item_id)
            data = read(CallData, item.raw)
            # A command may have changed a great many files: the item says it of those that it shows.
            shown = {change.change_id for change in data.changes}
            ids = [id for each in undone if each.change.item_id == item_id and (id := each.change.id) in shown]
            events.append(ItemUpdated(item_id=item_id, data=patch(CallData, undone=(*data.undone, *ids))))
            if _is_aside(item):
                await self._records.append(conversation_id, [*events, *_put_back(item, report)], None)
                return
        named = _named(report.undone or [each.change.path for each in undone])
        left = f" Left as they are: {_named([each.path for each in report.conflicts])}." if report.conflicts else ""
        told = f"The person undid changes of yours; these files are as they were before: {named}."
        about = patch(NoticeData, level="info", code="undone")
        notice = new_item(conversation_id, "notice", run_id=run_id, text=f"Undone: {named}.{left}", data=about)
        reminded = patch(ReminderData, name="undone")
        reminder = new_item(conversation_id, "reminder", run_id=run_id, text=told, data=reminded)
        for branch in await self._told(owner, run_id):
            told_there = (
                ItemCreated(item=msgspec.structs.replace(item, id=new_id("i"), branch=branch))
                for item in (notice, reminder)
            )
            events += told_there
        await self._records.append(conversation_id, events, None)

    async def _told(self, owner: str, run_id: str) -> Sequence[int]:
        """Return the branches in which it is told: that of the run, and the one that the person looks at it in."""
        run = await self._records.run(owner, run_id)
        chosen = (await self._records.conversation(owner, run.conversation_id)).branch
        if chosen == run.branch:
            return (run.branch,)
        known = {each.number: each for each in await self._records.branches(owner, run.conversation_id)}
        place = dict(path_of(known, chosen)).get(run.branch)
        message = await self._records.item(owner, run.message_item_id)
        return (run.branch, chosen) if place is not None and message.position < place else (run.branch,)


def _is_aside(item: Item) -> bool:
    return item.kind == "notice" and read(NoticeData, item.raw).code == "set_aside"


def _put_back(item: Item, report: UndoReport) -> list[Event]:
    """Return what is told about things that start by themselves and that the person wants."""
    told = f"The person looked at what was set aside and put it back: {_named(report.undone)}."
    reminder = new_item(
        item.conversation_id, "reminder", run_id=item.run_id, text=told, data=patch(ReminderData, name="undone")
    )
    return [ItemCreated(item=reminder)]


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")
