"""Applying a unified diff: several files, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument, require_string
from pilothouse.tools.files.contents import Text, as_text
from pilothouse.tools.files.hunks import patched
from pilothouse.tools.files.operation import WriteOperation
from pilothouse.tools.files.patches import BadPatch, FilePatch, read_patch
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.shown_changes import counts
from pilothouse.tools.files.steps import MakeFolder, Move, RemoveFile, Step, WriteFile
from pilothouse.tools.files.walk import look
from pilothouse.tools.files.workspace import missing_folders
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext


class _Located(msgspec.Struct, frozen=True):
    """A file of a patch with the places that it has; one of both sides may be missing."""

    patch: FilePatch
    old: Place | None
    new: Place | None


class ApplyPatch(WriteOperation):
    """Applies a unified diff."""

    name = "apply_patch"
    doing = "Applying patch"
    properties: ClassVar[JsonObject] = {
        "patch": {"type": "string", "description": "A unified diff; may touch, create, delete and rename files."},
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        """Return every path of the patch, both sides of a rename."""
        located = self._located(arguments, context)
        places = (place for each in located for place in (each.old, each.new) if place is not None)
        return list({place.path: place for place in places}.values())

    def about(self, arguments: Mapping[str, object]) -> str:
        try:
            files = read_patch(str(arguments.get("patch") or ""))
        except BadArgument:
            return ""
        return ", ".join(file.path.rpartition("/")[2] for file in files)

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        try:
            return [f"File: {file.path}" for file in read_patch(str(arguments.get("patch") or ""))]
        except BadArgument:
            return []

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the files as the patch makes them, and the folders that they need."""
        steps: list[Step] = []
        for each in self._located(arguments, context):
            made = {step.place.path for step in steps if isinstance(step, MakeFolder)}
            steps += [
                step
                for step in self._steps(each, context)
                if not (isinstance(step, MakeFolder) and step.place.path in made)
            ]
        return steps

    def _steps(self, located: _Located, context: CallContext) -> list[Step]:
        patch, old, new = located.patch, located.old, located.new
        if old is None:
            if new is None:
                return []
            return _created(patch, new)
        before = self.workspace.read(old, context)
        text = as_text(before.content, old)
        after = text.encoded(patched(text, patch))
        if new is None:
            if after.removeprefix(text.mark):
                raise BadPatch(f"The patch deletes {old.name}, but lines of it would remain.")
            return [RemoveFile(old, before)]
        steps: list[Step] = []
        if new.path != old.path:
            if look(new) is not None:
                raise PathRefused(f"{new.name} exists already; nothing is written over it.", "EXISTS")
            steps = [*missing_folders(new), Move(old, new, before)]
        return steps if after == before.content else [*steps, WriteFile(new, before, after)]

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        """Return which files were changed."""
        names = ", ".join(dict.fromkeys(change["path"] for change in changes["changes"]))
        return f"Applied the patch to {names} ({counts(changes)})."

    def _located(self, arguments: JsonObject, context: CallContext) -> list[_Located]:
        return [self._locate(patch, context) for patch in read_patch(require_string(arguments, "patch"))]

    def _locate(self, patch: FilePatch, context: CallContext) -> _Located:
        stays = patch.old is not None and patch.new is not None and not patch.renames
        find = self.workspace.place if stays else self.workspace.entry
        # A name that the patch only compares with is none that the call was allowed to touch.
        fresh = msgspec.structs.replace(context, access=None)
        old, new = (None if path is None else find(path, fresh) for path in (patch.old, patch.new))
        if old is not None and new is not None and stays:
            # Two names without a word about renaming are one file: plain diffs often compare with a copy.
            old = new = old if old.path != new.path and _is_there(old) and not _is_there(new) else new
        for place in filter(None, (old, new)):
            self.workspace.held(place, context)
        return _Located(patch, old, new)


def _is_there(place: Place) -> bool:
    try:
        return look(place) is not None
    except PathRefused:
        return False


def _created(patch: FilePatch, place: Place) -> list[Step]:
    if look(place) is not None:
        raise PathRefused(f"{place.name} exists already; the patch would create it.", "EXISTS")
    content = patched(Text(""), patch).encode(errors="replace")
    return [*missing_folders(place), WriteFile(place, None, content, patch.mode)]
