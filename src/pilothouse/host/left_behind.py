"""What a new branch leaves behind: answers at work, and what was done since the place where it begins."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.types import limits
from pilothouse.types.branch_views import LeftBehind
from pilothouse.types.changes import UndoConflict, UndoReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Changes
from pilothouse.types.item_data import CallData
from pilothouse.types.items import is_a
from pilothouse.types.records import Records
from pilothouse.types.runs import ACTIVE, Run

# What a call does beyond reading and writing files.
_BEYOND = {"runs", "sends"}


async def look(records: Records, owner: str, run_id: str, *, itself: bool) -> LeftBehind:
    """Return what a branch in the place of a run, or after it, would leave behind: in whichever branch it was done."""
    done = await records.done_since(owner, run_id, itself=itself)
    lasting = [_words(item.data) for item in done.calls if is_a(item, CallData) and _lasts(item.data)]
    few = limits.LEFT_BEHIND_SHOWN
    return LeftBehind(
        runs_count=len(done.runs),
        at_work=tuple(run.id for run in done.runs if run.status in ACTIVE),
        files=tuple(done.files)[:few],
        files_count=len(done.files),
        lasting=tuple(lasting[:few]),
        lasting_count=len(lasting),
    )


async def put_back(records: Records, changes: Changes, owner: str, run_id: str, *, itself: bool) -> UndoReport:
    """Undo what runs changed since a place, the newest first; what someone else changed since stays."""
    done = await records.done_since(owner, run_id, itself=itself)
    _check_ended(done.runs)
    undone: list[str] = []
    conflicts: list[UndoConflict] = []
    for run in reversed(done.runs):
        if run.id in done.changing:
            report = await changes.undo_run(owner, run.id)
            undone += report.undone
            conflicts += report.conflicts
    return UndoReport(undone=tuple(dict.fromkeys(undone)), conflicts=tuple(conflicts))


def _check_ended(runs: Iterable[Run]) -> None:
    if any(run.status in ("queued", "running") for run in runs):
        raise PilothouseError(
            "conflict",
            "An answer after this place is still at work, so its files cannot be put back yet.",
            fix="Stop it first, or wait until it has ended.",
        )


def _lasts(call: CallData) -> bool:
    if "executing" not in call.phases or call.access is None:
        return False
    command = call.access.command
    if command is not None and command.covered:
        # Its sandbox kept it off the network, and what it changed is kept.
        return False
    return bool(_BEYOND & set(call.access.effects)) or (bool(call.server) and "writes" in call.access.effects)


def _words(call: CallData) -> str:
    return (call.shown.summary if call.shown is not None else call.tool)[: limits.BRANCH_WORDS]
