"""Reading: a file or some of its lines, and what is in a folder; both bounded, and honest about the rest."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import (
    BadArgument,
    optional_bool,
    optional_int,
    optional_string,
    success,
)
from pilothouse.tools.files.contents import amount, as_text, digest, is_binary, read_up_to
from pilothouse.tools.files.operation import FILE_PATH, ReadOperation
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.walk import identity, open_root, parent_of
from pilothouse.tools.files.workspace import Workspace, folder_identity, known_root
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.json import JsonObject
from pilothouse.types.media import OPAQUE, described, picture_type
from pilothouse.types.ports import CallContext, Part, ToolOutput

START_LINE: JsonObject = {"type": "integer", "description": "The first line, counted from 1."}
END_LINE: JsonObject = {"type": "integer", "description": "The last line, included."}


class _Wanted(msgspec.Struct, frozen=True):
    first: int
    # 0: as far as it goes.
    last: int
    numbered: bool


class ReadFile(ReadOperation):
    """Reads a text file or some of its lines, or shows an image."""

    name = "read_file"
    doing = "Reading file"
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "startLine": START_LINE,
        "endLine": END_LINE,
        "lineNumbers": {"type": "boolean", "description": "Put its number before each line."},
    }

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the file and the lines."""
        first, last = arguments.get("startLine"), arguments.get("endLine")
        lines = [f"Lines: {first or 1} to {last or 'the end'}"] if first or last else []
        return super().details(arguments) + lines

    def read(self, arguments: JsonObject, context: CallContext) -> ToolOutput:
        """Return the text, with a note about what was left out."""
        wanted = _wanted(arguments)
        (place,) = self.places(arguments, context)
        with parent_of(place, known_root(context)) as folder:
            descriptor = folder.open(place.last)
        with os.fdopen(descriptor, "rb", buffering=0):
            found = os.fstat(descriptor)
            self.workspace.hold_opened(context, place, "reads", identity(found))
            if found.st_size <= limits.FILE_EDIT_BYTES:
                content = read_up_to(descriptor, limits.FILE_EDIT_BYTES)
                self.workspace.readings.saw(context.conversation_id, place.path, digest(content))
                return _picture(content, place) or _shown(content, place, wanted)
            return _shown_part(descriptor, found.st_size, place, wanted)


def _wanted(arguments: JsonObject) -> _Wanted:
    first, last = optional_int(arguments, "startLine", 1), optional_int(arguments, "endLine", 0)
    if first < 1 or (last and last < first):
        raise BadArgument("`startLine` counts from 1, and `endLine` must not be before it.")
    return _Wanted(first, last, optional_bool(arguments, "lineNumbers", False))


def _picture(content: bytes, place: Place) -> ToolOutput | None:
    """Return an image to be looked at; None for everything else."""
    kind = picture_type(content)
    # A text may begin like an image.
    if kind == OPAQUE or not is_binary(content):
        return None
    part = Part(kind="image", data=content, media_type=kind, name=place.name)
    return success(f"[image: {described(kind, len(content), place.name)}]", {"path": place.name}, (part,))


def _shown(content: bytes, place: Place, wanted: _Wanted) -> ToolOutput:
    """Return lines of a content that is there as a whole."""
    text = as_text(content, place)
    lines = text.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if wanted.first > max(len(lines), 1):
        raise BadArgument(f"{place.name} has {len(lines)} lines; there is no line {wanted.first}.", "OUT_OF_RANGE")
    chosen = lines[wanted.first - 1 : wanted.last or None]
    shown, notes = _bounded(chosen, wanted)
    last = wanted.first + len(shown) - 1
    if len(shown) < len(chosen):
        notes.append(f"Lines {wanted.first} to {last} of {len(lines)}; read on with startLine={last + 1}.")
    elif len(chosen) < len(lines):
        notes.append(f"Lines {wanted.first} to {last} of {len(lines)}.")
    if not text.certain:
        notes.append("The file is not in UTF-8; bytes that are no ASCII are shown as Latin-1.")
    return _said(shown, notes, {"path": place.name, "startLine": wanted.first, "endLine": last, "lines": len(lines)})


def _shown_part(descriptor: int, size: int, place: Place, wanted: _Wanted) -> ToolOutput:
    """Return lines of a file that is too large to be held: read from its beginning, not further than needed."""
    lines: list[str] = []
    number, seen, rest = 1, 0, b""
    most = wanted.first + limits.FILE_READ_LINES - 1
    last = min(wanted.last or most, most)
    while number <= last and seen < limits.FILE_SCAN_BYTES:
        piece = os.read(descriptor, 1024 * 1024)
        if not piece:
            break
        if seen == 0 and is_binary(piece):
            raise PathRefused(f"{place.name} is a binary file ({amount(size)}); it is not text.", "BINARY")
        seen += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        if number + len(whole) <= wanted.first:
            number += len(whole)
            # Of a line that is passed over, nothing is kept.
            rest = b"" if number < wanted.first else rest
            continue
        for line in whole:
            if wanted.first <= number <= last:
                lines.append(line.decode(errors="replace"))
            number += 1
        rest = rest[: limits.FILE_LINE_CHARS * 4]
        if sum(map(len, lines)) > limits.FILE_READ_CHARS:
            break
    if rest and wanted.first <= number <= last and not lines:
        lines.append(rest.decode(errors="replace"))
    if not lines:
        raise BadArgument(
            f"Line {wanted.first} of {place.name} ({amount(size)}) is not within the first {amount(seen)}; "
            "search in it instead.",
            "OUT_OF_RANGE",
        )
    shown, notes = _bounded(lines, wanted)
    until = wanted.first + len(shown) - 1
    notes.append(f"Lines {wanted.first} to {until} of a file of {amount(size)}; read on with startLine={until + 1}.")
    return _said(shown, notes, {"path": place.name, "startLine": wanted.first, "endLine": until, "bytes": size})


def _bounded(lines: Sequence[str], wanted: _Wanted) -> tuple[list[str], list[str]]:
    """Return as many lines as fit, each within its own bound, and what to say about those that were cut."""
    shown: list[str] = []
    room, cut = limits.FILE_READ_CHARS, 0
    for number, line in enumerate(lines[: limits.FILE_READ_LINES], wanted.first):
        whole = line.removesuffix("\r")
        if len(whole) > limits.FILE_LINE_CHARS:
            cut += 1
            whole = f"{whole[: limits.FILE_LINE_CHARS]}… [{len(whole) - limits.FILE_LINE_CHARS} more characters]"
        whole = f"{number}: {whole}" if wanted.numbered else whole
        room -= len(whole) + 1
        if room < 0:
            break
        shown.append(whole)
    return shown, [f"{cut} long line{' is' if cut == 1 else 's are'} cut."] if cut else []


def _said(lines: Sequence[str], notes: Sequence[str], data: JsonObject) -> ToolOutput:
    text = "\n".join(lines) or "(The file is empty.)"
    return success(f"[{' '.join(notes)}]\n{text}" if notes else text, {"file": data})


class ListDir(ReadOperation):
    """Lists a folder."""

    name = "list_dir"
    doing = "Listing folder"
    icon = "folder"
    properties: ClassVar[JsonObject] = {
        "path": {"type": "string", "description": "A folder; the working directory when it is left out."},
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        return [self.workspace.place(_folder(arguments), context)]

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("path") or arguments.get("filePath") or ".")

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        return []

    def read(self, arguments: JsonObject, context: CallContext) -> ToolOutput:
        """Return what is in the folder: folders first, sizes of files, where links lead."""
        (place,) = self.places(arguments, context)
        with open_root(place, known_root(context)) as root, root.descend(place.parts) as folder:
            self.workspace.hold_opened(context, place, "reads", folder.identity)
            with folder.scan() as entries:
                found, more = _scanned(entries)
        found.sort()
        shown = _fitting([line for _rank, _name, line in found[: limits.FOLDER_SHOWN]])
        left = len(found) - len(shown)
        notes = [f"… and {'at least ' if more else ''}{left} more; use file_search."] if left or more else []
        return success("\n".join(shown + notes) or "(The folder is empty.)", {"entries": len(found)})


def _fitting(lines: list[str]) -> list[str]:
    """Return as many lines as a result takes."""
    room = limits.FILE_READ_CHARS
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return lines[:number]
    return lines


def _folder(arguments: JsonObject) -> str:
    return optional_string(arguments, "path") or optional_string(arguments, "filePath") or "."


def _scanned(entries: Iterator[os.DirEntry[str]]) -> tuple[list[tuple[int, str, str]], bool]:
    found: list[tuple[int, str, str]] = []
    for entry in entries:
        if len(found) == limits.FOLDER_SCANNED:
            return found, True
        found.append(_entry(entry))
    return found, False


def _entry(entry: os.DirEntry[str]) -> tuple[int, str, str]:
    """Return what an entry sorts by, and its line."""
    name = os.fsencode(entry.name).decode(errors="replace")
    if entry.is_dir(follow_symlinks=False):
        return 0, name, f"{name}/"
    if entry.is_symlink():
        return 1, name, f"{name} (a link)"
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return 1, name, name
    kind = amount(status.st_size) if stat.S_ISREG(status.st_mode) else "not a regular file"
    return 1, name, f"{name} ({kind})"


def access_to_file(workspace: Workspace, named: str, context: CallContext, operation: str) -> Access:
    """Return what a call of another tool would touch that reads one whole file."""
    use = workspace.use(workspace.place(named, context), "reads")
    return Access(
        operation=operation,
        effects=frozenset({"reads"}),
        paths=(use,),
        brings=frozenset({"private", "untrusted"}),
        source="files",
        folder_identity=folder_identity(context),
    )


def file_content(workspace: Workspace, named: str, context: CallContext, most: int) -> bytes:
    """Return the whole content of a file, held to what was allowed; refuse one that is larger than that."""
    place = workspace.place(named, context)
    workspace.hold(context, [workspace.use(place, "reads")])
    with parent_of(place, known_root(context)) as folder:
        descriptor = folder.open(place.last)
    with os.fdopen(descriptor, "rb", buffering=0):
        found = os.fstat(descriptor)
        workspace.hold_opened(context, place, "reads", identity(found))
        if found.st_size > most:
            message = f"{place.name} has {amount(found.st_size)}; a document has at most {amount(most)}."
            raise PathRefused(message, "TOO_LARGE")
        return read_up_to(descriptor, most)
