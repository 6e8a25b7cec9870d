"""What runs did to files, over HTTP."""

from __future__ import annotations

from pilothouse.server.paging import ListQuery
from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types.changes import ChangeList, UndoReport


async def run_changes(call: Call[None, ListQuery]) -> ChangeList:
    """Return them."""
    return await call.host.changes(call.owner, call.id, call.query.page)


async def undo_run(call: Call[None, NoQuery]) -> UndoReport:
    """Put a run's changes back."""
    return await call.host.undo_run(call.owner, call.id)


async def undo_call(call: Call[None, NoQuery]) -> UndoReport:
    """Put a call's changes back."""
    return await call.host.undo_call(call.owner, call.id)


CHANGE_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/runs/{id}/changes",
        handler=run_changes,
        query=ListQuery,
        reply=ChangeList,
        summary="The files that a run changed and nobody put back, in order.",
    ),
    Route(
        method="POST",
        path="/api/runs/{id}/undo",
        handler=undo_run,
        reply=UndoReport,
        summary="Put back what a run changed; files that someone touched since are listed and left alone.",
    ),
    Route(
        method="POST",
        path="/api/calls/{id}/undo",
        handler=undo_call,
        reply=UndoReport,
        summary="Put back what one tool call changed.",
    ),
)
