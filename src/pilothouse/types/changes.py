"""What a run did to files, kept so that it can be undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from pilothouse.types.json import Frozen

# What stands for the content of a folder.
FOLDER = "folder"
# With this begins what stands for a folder and everything in it, or for a file that is too large to be read.
TREE = "tree:"


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


# Puts back what nobody changed since, newest change first; returns also the ids of what was put back.
Undo = Callable[[Sequence[KeptChange]], Awaitable[tuple[UndoReport, tuple[str, ...]]]]
