"""Undoing changes: newest first, and only what nobody touched since."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.restoring import Conflict, difference, put_back
from pilothouse.types.changes import FOLDER, KeptChange, UndoConflict, UndoReport


class FileUndo:
    """Puts files back; implements the port `Undoing`."""

    async def undo(self, changes: list[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
        """Put back what nobody changed since, newest change first; return also the ids of what was put back."""
        work = asyncio.ensure_future(asyncio.to_thread(_undo, changes))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # What is being put back is put back as a whole.
            await asyncio.wait([work])
            raise


def _undo(changes: Sequence[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
    undone: list[str] = []
    paths: dict[str, None] = {}
    conflicts: list[UndoConflict] = []
    stay: set[str] = set()
    for kept in reversed(changes):
        change = kept.change
        # What came before a change that stays cannot be put back over it.
        if change.path in stay:
            stay.add(change.moved_from)
            continue
        try:
            put_back(kept)
        except (PathRefused, OSError) as error:
            conflicts.append(_told(kept, error))
            stay |= {change.path, change.moved_from}
        else:
            undone.append(change.id)
            if FOLDER not in (change.before, change.after) or change.moved_from:
                paths[change.path] = None
    return UndoReport(undone=tuple(paths), conflicts=tuple(conflicts)), tuple(undone)


def _told(kept: KeptChange, error: PathRefused | OSError) -> UndoConflict:
    now = error.current if isinstance(error, Conflict) else None
    shown = difference(kept, now) if now is not None else ""
    return UndoConflict(path=kept.change.path, why=str(error), diff=shown)
