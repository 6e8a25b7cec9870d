"""Renaming, moving and deleting."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import optional_bool, require_string
from pilothouse.tools.files.contents import amount
from pilothouse.tools.files.operation import FILE_PATH, WriteOperation
from pilothouse.tools.files.places import PathRefused, Place, contains, is_text
from pilothouse.tools.files.steps import Move, RemoveFile, RemoveFolder, RemoveLink, Step
from pilothouse.tools.files.walk import Folder, Identity, look, open_root, parent_of
from pilothouse.tools.files.workspace import known_root, missing_folders
from pilothouse.types import limits
from pilothouse.types.access import PathUse
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext


class RenameFile(WriteOperation):
    """Gives a file or folder another name or another place."""

    name = "rename_file"
    doing = "Renaming file"
    _tells = False
    _takes_away = True
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "newPath": {"type": "string", "description": "The new name or place; one that ends in / is a folder for it."},
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        """Return both sides."""
        source = self.workspace.entry(require_string(arguments, "filePath"), context)
        text = require_string(arguments, "newPath")
        return [source, self.workspace.entry(f"{text}{source.last}" if text.endswith("/") else text, context)]

    def uses(self, arguments: JsonObject, context: CallContext) -> list[PathUse]:
        """Return both sides, and what needs a word of its own among what moves along, under both of its names."""
        source, target = self.places(arguments, context)
        inside = _inside(source, context)
        uses = [_use(self, place, whole=bool(inside)) for place in (source, target)]
        for each in inside:
            moved = target.below(*each.place.parts[len(source.parts) :])
            uses += _special(self, each.place, each) + _special(self, moved, None)
        return uses

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        return [f"From: {arguments.get('filePath')}", f"To: {arguments.get('newPath')}"]

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        source, target = self.places(arguments, context)
        found = _there(source)
        if contains(source.path, target.path):
            raise PathRefused(f"{source.name} cannot be moved to {target.name}: that is itself or lies in it.")
        if look(target) is not None:
            raise PathRefused(f"{target.name} exists already; nothing is written over it.", "EXISTS")
        before = self.workspace.read(source, context) if stat.S_ISREG(found.st_mode) else None
        return [*missing_folders(target), Move(source, target, before)]

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        """Return both names."""
        change = changes["changes"][-1]
        return f"Renamed {change['from']} to {change['path']}."


class DeleteFile(WriteOperation):
    """Deletes a file, an empty folder, or a folder with all that is in it; undoing brings it back."""

    name = "delete_file"
    doing = "Deleting file"
    icon = "trash"
    _tells = False
    _takes_away = True
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "recursive": {"type": "boolean", "description": "Delete a folder with everything in it."},
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        return [self.workspace.entry(require_string(arguments, "filePath"), context)]

    def uses(self, arguments: JsonObject, context: CallContext) -> list[PathUse]:
        """Return the file or folder, and what needs a word of its own in it."""
        (place,) = self.places(arguments, context)
        inside = _inside(place, context)
        uses = [_use(self, place, whole=bool(inside))]
        for each in inside:
            uses += _special(self, each.place, each)
        return uses

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return everything that goes, what is in a folder first."""
        (place,) = self.places(arguments, context)
        found = _there(place)
        if not stat.S_ISDIR(found.st_mode):
            return [self._step(Found(place, found, _target(place) if stat.S_ISLNK(found.st_mode) else ""), context)]
        tree = below(place, known_root(context))
        if tree and not optional_bool(arguments, "recursive", False):
            raise PathRefused(
                f"{place.name} is a folder with {len(tree)} files and folders in it; pass recursive to delete all.",
                "NOT_EMPTY",
            )
        size = sum(each.status.st_size for each in tree if stat.S_ISREG(each.status.st_mode))
        if size > limits.TREE_BYTES:
            raise PathRefused(
                f"{place.name} holds {amount(size)}, more than could be brought back; use a command for that.",
                "TOO_LARGE",
            )
        return [self._step(each, context) for each in [*tree, Found(place, found)]]

    def _step(self, found: Found, context: CallContext) -> Step:
        if found.is_folder:
            return RemoveFolder(found.place, stat.S_IMODE(found.status.st_mode))
        if found.is_link:
            return RemoveLink(found.place, found.target)
        return RemoveFile(found.place, self.workspace.read(found.place, context))

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        gone = len(changes["changes"]) + changes.get("moreChanges", 0)
        last = changes["changes"][-1]["path"] if gone == 1 else str(arguments["filePath"])
        return f"Deleted {last}" + (f" with {gone - 1} files and folders in it." if gone > 1 else ".")


def _there(place: Place) -> os.stat_result:
    if not place.parts:
        raise PathRefused(f"{place.path} is the working directory itself.")
    found = look(place)
    if found is None:
        raise PathRefused(f"{place.name} does not exist.", "NOT_FOUND")
    return found


def _inside(place: Place, context: CallContext) -> list[Found]:
    """Return what is below a place, if it is a folder that may be looked into."""
    found = look(place) if place.parts else None
    return below(place, known_root(context)) if found is not None and stat.S_ISDIR(found.st_mode) else []


def _use(operation: WriteOperation, place: Place, *, whole: bool) -> PathUse:
    return msgspec.structs.replace(operation.workspace.use(place, "writes"), whole=whole)


def _special(operation: WriteOperation, place: Place, found: Found | None) -> list[PathUse]:
    use = operation.workspace.protected(place, "writes", found.status if found else None)
    return [use] if use else []


def _target(place: Place) -> str:
    with parent_of(place) as folder:
        return os.readlink(place.last, dir_fd=folder.descriptor)


class Found(msgspec.Struct, frozen=True):
    """One thing in a tree; `target` is where a link leads."""

    place: Place
    status: os.stat_result
    target: str = ""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)


def below(place: Place, known: Identity | None = None) -> list[Found]:
    """Return everything below a folder, what is in a folder before the folder itself; refuse what is too much."""
    found: list[Found] = []
    with open_root(place, known) as root, root.descend(place.parts) as folder:
        _gather(folder, place, found, len(place.parts))
    return found


def _gather(folder: Folder, place: Place, found: list[Found], depth: int) -> None:
    with folder.scan() as entries:
        names = [entry.name for entry, _number in zip(entries, range(limits.TREE_ENTRIES + 1), strict=False)]
    if len(place.parts) - depth > limits.TREE_DEPTH or len(found) + len(names) > limits.TREE_ENTRIES:
        most = f"{limits.TREE_ENTRIES:,} files and folders, or folders more than {limits.TREE_DEPTH} deep"
        raise PathRefused(f"{place.name} holds more than {most}; use a command for that.", "TOO_LARGE")
    for name in sorted(names):
        if not is_text(name):
            raise PathRefused(f"{place.name} holds a file whose name is no text; use a command for that.")
        status = folder.stat(name)
        if status is None:
            continue
        one = place.below(name)
        if stat.S_ISDIR(status.st_mode):
            with folder.folder(name) as inner:
                _gather(inner, one, found, depth)
        target = os.readlink(name, dir_fd=folder.descriptor) if stat.S_ISLNK(status.st_mode) else ""
        found.append(Found(one, status, target))
