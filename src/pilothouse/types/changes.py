"""What a run did to files, kept so that it can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from pilothouse.types.json import Frozen
from pilothouse.types.paging import Page

# What stands for the content of a folder.
FOLDER = "folder"


class FileChange(Frozen, frozen=True):
    """One file before and after a call; contents are known by their SHA-256, None where there was no file."""

    id: str
    conversation_id: str
    run_id: str
    item_id: str
    path: str
    before: str | None
    after: str | None
    # Its kind (a file, a folder, a link whose content is where it leads) and permission bits before, to be put back.
    mode: int | None
    at: float
    undone_at: float | None = None
    # Where it was before it was moved here; empty for every other change.
    moved_from: str = ""


class UndoConflict(Frozen, frozen=True):
    """A file that someone changed since; it is left as it is."""

    path: str
    why: str
    # From what putting it back would bring to what is there now, as a unified diff; empty for what is not text.
    diff: str = ""


class UndoReport(Frozen, frozen=True):
    """What was put back, and what was not."""

    undone: tuple[str, ...]
    conflicts: tuple[UndoConflict, ...] = ()


class ChangeList(Frozen, frozen=True):
    """The changes of a run, in order; `next` is the cursor for the rest."""

    changes: tuple[FileChange, ...]
    next: str | None = None


class KeptChange(msgspec.Struct, frozen=True):
    """A change with the content that it replaced."""

    change: FileChange
    content: bytes | None


class ChangeKeeper(Protocol):
    """Keeps what files were before they were changed."""

    async def keep_changes(self, kept: Sequence[KeptChange]) -> None:
        """Keep what files were, before any of them is changed: all or nothing."""
        ...

    async def drop_changes(self, change_ids: Sequence[str]) -> None:
        """Forget changes that did not happen after all."""
        ...

    async def changes(self, owner: str, *, run_id: str | None = None, item_id: str | None = None) -> list[KeptChange]:
        """Return the changes of a run or of a call that are not undone, oldest first."""
        ...

    async def changes_of_run(self, owner: str, run_id: str, page: Page) -> ChangeList:
        """Return what a run changed and nobody undid, oldest first, without what was there before."""
        ...

    async def mark_undone(self, change_ids: Sequence[str], at: float) -> None:
        """Remember that these were put back."""
        ...


class Undoing(Protocol):
    """Puts files back as they were."""

    async def undo(self, changes: list[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
        """Put back what nobody changed since, newest change first; return also the ids of what was put back."""
        ...
