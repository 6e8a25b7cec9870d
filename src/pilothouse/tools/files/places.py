"""Where a path that a model wrote leads: text in, components out, nothing touched but names."""

from __future__ import annotations

import os
import re
import stat

import msgspec

from pilothouse.tools.arguments import BadArgument

_PARENT = ".."
_SCHEME = re.compile(r"^(file:|[A-Za-z][A-Za-z0-9+.-]+://)")
_DRIVE = re.compile(r"^[A-Za-z]:([\\/]|$)")
_HOME = re.compile(r"^~[A-Za-z0-9_.-]*(/|$)")
_DEVICE = re.compile(r"^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
# What a file system takes as one name; longer ones fail everywhere in their own way.
_NAME_BYTES = 255


class PathRefused(BadArgument):
    """A path that cannot be used, and why in one sentence."""

    def __init__(self, message: str, code: str = "PATH_REFUSED") -> None:
        super().__init__(message, code)


class Place(msgspec.Struct, frozen=True):
    """A file or folder by its way down from a folder that is opened first: the working directory, or `/`."""

    # Absolute, without links when it was looked at.
    root: str
    parts: tuple[str, ...]
    inside: bool

    @property
    def path(self) -> str:
        """Return it as one absolute path."""
        return os.path.join(self.root, *self.parts)

    @property
    def name(self) -> str:
        """Return what people call it: the way from the working directory, or the whole path."""
        return "/".join(self.parts) or "." if self.inside else self.path

    @property
    def last(self) -> str:
        """Return the last component; empty for the root itself."""
        return self.parts[-1] if self.parts else ""

    @property
    def parent(self) -> Place:
        return Place(self.root, self.parts[:-1], self.inside)

    def below(self, *parts: str) -> Place:
        """Return what is further down."""
        return Place(self.root, self.parts + parts, self.inside)


def components(path: str) -> tuple[str, ...]:
    """Return the components of an absolute path, `.` and `..` taken out."""
    return tuple(part for part in os.path.normpath(path).split("/") if part)


def contains(folder: str, path: str) -> bool:
    """Return whether an absolute path is a folder or lies in it: whole components, never a mere prefix."""
    outer, inner = components(folder), components(path)
    return inner[: len(outer)] == outer


def resolved(path: str) -> str:
    """Return a path with every link on its way resolved, as it is now."""
    try:
        real = os.path.realpath(path)
    except OSError:
        # What was a link a moment ago is none any more.
        raise PathRefused(f"{path} is being changed by someone else; try again.", "CONFLICT") from None
    if not is_text(real):
        raise PathRefused(f"{path} leads to a name that is no text.")
    return real


def working_root(working_directory: str | None) -> str:
    """Return the working directory without links; raise when a conversation has none."""
    if not working_directory:
        raise PathRefused("This conversation has no working directory; give an absolute path.", "NO_WORKING_DIRECTORY")
    return resolved(working_directory)


def find_place(text: str, working_directory: str | None) -> Place:
    """Return where a path leads.

    What lies in the working directory by its text stays there: links on the way are for `followed`, or refused by the
    walk. Anything else is resolved once, here, so that the person is shown where it really is.
    """
    _refuse_forms(text)
    if not text.startswith("/"):
        return Place(working_root(working_directory), _inner(text), True)
    if working_directory:
        root = resolved(working_directory)
        for outer in (components(working_directory), components(root)):
            inner = components(text)
            if inner[: len(outer)] == outer:
                return Place(root, inner[len(outer) :], True)
        real = resolved(text)
        if contains(root, real):
            return Place(root, components(real)[len(components(root)) :], True)
    return Place("/", components(resolved(text)), False)


def followed(place: Place, *, last: bool = True) -> Place:
    """Return a place with the links on its way resolved that lead to something in the working directory.

    The others stay as they are, and the walk refuses them. Without `last`, a link at the end stands for itself.
    """
    way: tuple[str, ...] = ()
    for number, part in enumerate(place.parts, 1):
        here = os.path.join(place.root, *way, part)
        kind = _kind(here) if last or number < len(place.parts) else None
        if kind is None:
            # Behind what is not there, nothing is.
            return Place(place.root, way + place.parts[number - 1 :], place.inside)
        way += (part,)
        if stat.S_ISLNK(kind):
            real = _existing(here)
            if real is None or not contains(place.root, real):
                return place
            way = components(real)[len(components(place.root)) :]
    return Place(place.root, way, place.inside)


def _kind(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return None


def _existing(path: str) -> str | None:
    try:
        real = os.path.realpath(path, strict=True)
    except OSError:
        return None
    return real if is_text(real) else None


def is_text(name: str) -> bool:
    """Return whether a name can be written down; the system takes others too."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def odd_name(name: str) -> str:
    """Return what another system would take a name for; such a name is used only where it exists already."""
    if "\\" in name:
        return "has a backslash; write `/` between folders"
    if ":" in name:
        return "has a colon, which means a stream or a drive elsewhere"
    if name.endswith((".", " ")):
        return "ends in a dot or a space, which other systems drop"
    return "is the name of a device elsewhere" if _DEVICE.match(name) else ""


def _refuse_forms(text: str) -> None:
    if not text.strip():
        raise PathRefused("The path is empty.")
    if "\0" in text:
        raise PathRefused("The path has a NUL character in it.")
    if not is_text(text):
        raise PathRefused("The path has characters in it that are no text.")
    if _SCHEME.match(text):
        raise PathRefused(f"{text} is an address; give the path of a file.")
    if _DRIVE.match(text) or text.startswith(("\\\\", "//")):
        raise PathRefused(f"{text} names a drive or another machine; give a path below the working directory.")
    if _HOME.match(text):
        raise PathRefused(f"{text}: `~` is not expanded; write the whole path.")
    if any(len(part.encode()) > _NAME_BYTES for part in text.split("/")):
        raise PathRefused("A name in the path is longer than a file system takes.")


def _inner(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    for part in text.split("/"):
        if part == _PARENT:
            if not parts:
                raise PathRefused(f"{text} leaves the working directory; give an absolute path if that is meant.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)
