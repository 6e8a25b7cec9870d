"""Changes of files as people see them: a diff each, and one line for the model."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pilothouse.tools.files.contents import as_text, is_binary
from pilothouse.tools.files.diffs import Diff, diff
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.steps import (
    Change,
    ChangeMode,
    MakeFolder,
    MakeLink,
    MakeTree,
    Move,
    RemoveFile,
    RemoveFolder,
    RemoveLink,
    WriteFile,
)
from pilothouse.types import limits
from pilothouse.types.json import JsonObject


def shown_changes(steps: Sequence[Change], ids: Sequence[str] = ()) -> JsonObject:
    """Return the changes that a card draws; folders that are made on the way go without saying."""
    changes: list[JsonObject] = []
    room, seen = limits.DIFFS_CHARS, 0
    for number, step in enumerate(steps):
        if isinstance(step, MakeFolder):
            continue
        seen += 1
        if len(changes) < limits.PATCH_FILES:
            change = _shown(step, min(room, limits.DIFF_CHARS))
            room -= len(change["diff"])
            changes.append(change | ({"changeId": ids[number]} if ids else {}))
    more = seen - len(changes)
    return {"changes": changes} | ({"moreChanges": more} if more else {})


def joined_changes(first: JsonObject, then: JsonObject) -> JsonObject:
    """Return two lists of changes as one."""
    changes = [*first.get("changes", ()), *then.get("changes", ())]
    more = first.get("moreChanges", 0) + then.get("moreChanges", 0)
    return ({"changes": changes} if changes else {}) | ({"moreChanges": more} if more else {})


def _shown(step: Change, room: int) -> JsonObject:
    place = step.place
    if isinstance(step, Move):
        return {"path": place.name, "kind": "renamed", "from": step.source.name, "diff": "", "added": 0, "removed": 0}
    kind, before, after = _sides(step)
    rights = f"{step.before & 0o7777:o} → {step.after & 0o7777:o}\n" if isinstance(step, ChangeMode) else ""
    found = Diff(f"Rights: {rights}") if rights else _diff(before, after, place, room)
    is_folder = isinstance(step, RemoveFolder) or (isinstance(step, MakeTree) and step.is_folder)
    return {
        "path": place.name + ("/" if is_folder else ""),
        "kind": kind,
        "diff": found.text,
        "added": found.added,
        "removed": found.removed,
    }


def _sides(step: Change) -> tuple[str, bytes | None, bytes | None]:
    if isinstance(step, WriteFile):
        if step.before is None:
            return "created", None, step.after
        return "modified", step.before.content, step.after
    if isinstance(step, RemoveFile):
        return "deleted", step.before.content, None
    if isinstance(step, MakeLink):
        return "created", None, os.fsencode(step.target)
    if isinstance(step, MakeTree | ChangeMode):
        return "created" if isinstance(step, MakeTree) else "modified", None, None
    return "deleted", os.fsencode(step.target) if isinstance(step, RemoveLink) else None, None


def _diff(before: bytes | None, after: bytes | None, place: Place, room: int) -> Diff:
    if any(content is not None and is_binary(content) for content in (before, after)):
        return Diff("Binary files differ\n")
    old, new = (None if content is None else as_text(content, place).text for content in (before, after))
    if room <= 0:
        return Diff("… this difference is left out\n")
    return diff(old, new, f"a/{place.name}", f"b/{place.name}", room)


def counts(changes: JsonObject) -> str:
    """Return how many lines came and went, as people write it."""
    added = sum(change["added"] for change in changes["changes"])
    removed = sum(change["removed"] for change in changes["changes"])
    return f"+{added} −{removed}"
