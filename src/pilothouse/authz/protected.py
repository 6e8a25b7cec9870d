"""Knows what needs a word of its own; implements the port `PathGuard`.

A place is recognised by its name, component by component, in any letter case and spelling, whether or not it
exists; and what exists by its device and inode, so that no second name for it leads around the guard.
"""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pilothouse.authz.places import ANYWHERE, HOME, ITSELF, OWN, PROGRAM, REPOSITORY_FILE, SYSTEM, Parts, Place
from pilothouse.types import limits

Identity = tuple[int, int]


class Protected:
    """Guards the data folder, secrets, and whatever starts by itself."""

    def __init__(self, data_folder: Path, home: Path | None = None) -> None:
        mine, own = (home or Path.home()).resolve(), data_folder.resolve()
        # Not what the system keeps: nobody has a second name for it whom its own rights do not stop.
        self._folders = ((own, "own", OWN), *((mine.joinpath(*each.parts), each.kind, each.why) for each in HOME))
        system = ((Path("/").joinpath(*each.parts), each.kind, each.why) for each in SYSTEM)
        rooted = [Place(_parts(str(path)), kind, why) for path, kind, why in (*self._folders, *system)]
        rooted += [Place(_parts(os.path.realpath(path)), "starts", ITSELF) for path in _itself()]
        self._rooted = {place.parts: place for place in reversed(rooted)}
        # Only what is in them by itself is found as a program, nothing deeper.
        self._programs = {_parts(os.path.realpath(path)) for path in os.get_exec_path() if path.startswith("/")}
        self._named: dict[str, list[Place]] = {}
        for each in ANYWHERE:
            place = Place(_normal(each.parts), each.kind, each.why)
            self._named.setdefault(place.parts[0], []).append(place)
        self._known: dict[Identity, Place] = {}
        self._looked = -limits.GUARD_FRESH

    def protects(self, path: str, identity: Identity | None, effect: Literal["reads", "writes"] = "writes") -> str:
        """Return why a path is protected, or nothing; what starts by itself may be read."""
        for place in self._found(path, identity):
            if effect == "writes" or place.kind != "starts":
                return place.why
        return next((place.why for place in self._taken_along(path, identity)), "") if effect == "writes" else ""

    def forbids(self, path: str, identity: Identity | None) -> str:
        """Return why nobody's word lets a tool touch a path; or nothing."""
        return next((place.why for place in self._found(path, identity) if place.kind == "own"), "")

    def _found(self, path: str, identity: Identity | None) -> Iterator[Place]:
        parts = _parts(path)
        for end in range(2, len(parts) + 1):
            if place := self._rooted.get(parts[:end]):
                yield place
        for at, name in enumerate(parts):
            for place in self._named.get(name, ()):
                if parts[at : at + len(place.parts)] == place.parts:
                    yield place
        if identity is not None and (place := self._identities().get(identity)):
            yield place

    def _taken_along(self, path: str, identity: Identity | None) -> Iterator[Place]:
        """Yield what a write reaches although its name does not say so."""
        parts, known = _parts(path), self._identities()
        if parts[-1:] == REPOSITORY_FILE.parts:
            yield REPOSITORY_FILE
        if parts[:-1] in self._programs or parts in self._programs:
            yield Place(parts, "starts", PROGRAM)
        # A folder that gets such a name, or loses it, brings its content along.
        for at in range(1, len(parts)):
            for place in self._named.get(parts[at], ()):
                if parts[at:] == place.parts[: len(parts) - at]:
                    yield place
        yield from (place for place in self._rooted.values() if len(parts) > 1 and place.parts[: len(parts)] == parts)
        # A new file in a protected folder that has a second name.
        yield from (known[one] for one in _identities(_ancestors(path), follow=True) if one in known)
        yield from self._linked(path, identity)

    def _linked(self, path: str, identity: Identity | None) -> Iterator[Place]:
        """Yield the place of a project that a file with several names is one name of."""
        if identity is None or _links(path) < 2:
            return
        for folder in _ancestors(path):
            for place in ANYWHERE:
                there = Path(folder).joinpath(*place.parts)
                if any(one == identity for one in _identities(_files(there))):
                    yield place

    def _identities(self) -> dict[Identity, Place]:
        now = time.monotonic()
        if now - self._looked >= limits.GUARD_FRESH:
            self._looked = now
            self._known = {one: place for path, place in self._existing() for one in _identities([path])}
        return self._known

    def _existing(self) -> Iterator[tuple[str, Place]]:
        for path, kind, why in self._folders:
            place = Place((), kind, why)
            yield from ((file, place) for file in _files(path))


def _itself() -> list[str]:
    """Return where this program and what it consists of are installed; the system's own belongs to nobody here."""
    return [str(Path(__file__).parents[1]), *([sys.prefix] if sys.prefix != sys.base_prefix else [])]


def _parts(path: str) -> Parts:
    return _normal(tuple(path.split("/")))


def _normal(parts: Iterable[str]) -> Parts:
    """Return names as the most forgiving file system compares them."""
    return tuple(_plain(part) for part in parts)


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Some file systems pass over characters that nobody sees, some over dots and spaces at the end.
    seen = folded if folded.isascii() else "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return seen.rstrip(". ") or seen


def _ancestors(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents]


def _identities(paths: Iterable[str], *, follow: bool = False) -> Iterator[Identity]:
    for path in paths:
        try:
            facts = os.stat(path, follow_symlinks=follow)
        except (OSError, ValueError):
            continue
        yield facts.st_dev, facts.st_ino


def _links(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_nlink
    except (OSError, ValueError):
        return 0


def _files(path: Path) -> Iterator[str]:
    """Yield a file, or a folder with what is in it, up to a bound."""
    yield str(path)
    if path.is_symlink() or not path.is_dir():
        return
    count = 0
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            count += 1
            if count > limits.GUARD_FILES:
                return
            yield os.path.join(folder, name)
