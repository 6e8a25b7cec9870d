"""`pilothouse changes` and `pilothouse undo`: what runs did to files, and back again."""

from __future__ import annotations

from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.changes import FOLDER, FileChange, UndoReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import whole


async def list_changes(run_id: str, *, as_json: bool) -> int:
    """Print what a run changed and nobody put back."""
    async with connect_host() as api:
        found = await whole(lambda page: api.changes.list(LOCAL_OWNER, run_id, page))
    if as_json:
        output().json(found)
        return 0
    rows = [(change.item_id, _kind(change), _path(change)) for change in found.changes]
    show_table(output(), ("call", "change", "path"), rows, none="Nothing of this run is there to be undone.")
    return 0


async def undo(of: str, *, as_json: bool) -> int:
    """Put back what a run or one call changed; ends with 1 when something was left alone."""
    async with connect_host() as api:
        report = await _undone(api, of)
    if as_json:
        output().json(report)
    else:
        tell_undone(report, output())
    return 1 if report.conflicts else 0


def tell_undone(report: UndoReport, out: Terminal) -> None:
    """Print what was put back, and what was left alone and why."""
    for path in report.undone:
        out.line(f"put back  {one_line(path)}")
    for conflict in report.conflicts:
        messages().line(one_line(conflict.why), "red")
        if conflict.diff:
            messages().line(conflict.diff.rstrip("\n"), "dim")


async def drop(of: str) -> int:
    """Forget what was set aside."""
    async with connect_host() as api:
        await api.changes.drop(LOCAL_OWNER, of)
    return 0


async def _undone(api: ClientApi, of: str) -> UndoReport:
    if of.startswith("r_"):
        return await api.changes.undo_run(LOCAL_OWNER, of)
    if of.startswith("i_"):
        return await api.changes.undo_call(LOCAL_OWNER, of)
    fix = "The ids of calls are in `pilothouse changes RUN`; a run's is printed by `pilothouse run --json`."
    raise PilothouseError("bad_request", f"{of} is neither a run nor a call.", fix=fix)


def _kind(change: FileChange) -> str:
    if change.moved_from:
        return "moved"
    if change.before is None:
        return "made" if change.after == FOLDER else "created"
    return "deleted" if change.after is None else "modified"


def _path(change: FileChange) -> str:
    return f"{change.moved_from} → {change.path}" if change.moved_from else change.path
