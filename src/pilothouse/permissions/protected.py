"""Knows what needs a word of its own; implements the port `PathGuard`.

A place is recognised by its name, whether or not it exists; and what exists by what it is, so that no second name for
it leads around the guard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pilothouse.permissions.file_aliases import FileAliases
from pilothouse.permissions.git_leads import GitLeads
from pilothouse.permissions.guarded_names import Parts, Rooted, anywhere, brought_along, parts_of
from pilothouse.types.guarded_places import OWN, REPOSITORY_FILE, Place, of_person, of_system
from pilothouse.types.identities import Identity

_PROGRAM = Place((), "starts", "It is where programs are found.")
_ITSELF = Place((), "starts", "It is what Pilothouse runs from.")


class Protected:
    """Guards the data folder, secrets, and whatever starts by itself."""

    def __init__(self, data_folder: Path, home: Path | None = None, environ: Mapping[str, str] = os.environ) -> None:
        mine = str((home or Path.home()).resolve())
        places = [(str(data_folder.resolve()), Place((), "own", OWN)), *of_person(mine, environ)]
        itself = [(os.path.realpath(path), _ITSELF) for path in _itself()]
        self._rooted = Rooted((*places, *of_system(), *itself))
        # Not what the system keeps: nobody has a second name for it whom its own rights do not stop.
        self._aliases = FileAliases(places)
        self._git = GitLeads(mine, environ)
        # Only what is in them by itself is found as a program, nothing deeper.
        self._programs = {parts_of(os.path.realpath(path)) for path in os.get_exec_path() if path.startswith("/")}

    def protects(self, path: str, identity: Identity | None, effect: Literal["reads", "writes"] = "writes") -> str:
        """Return why a path is protected, or nothing; what starts by itself may be read."""
        parts = parts_of(path)
        for place in self._found(path, parts, identity):
            if effect == "writes" or not place.may_be_read:
                return place.why
        return next((place.why for place in self._taken_along(path, parts)), "") if effect == "writes" else ""

    def forbids(self, path: str, identity: Identity | None) -> str:
        found = self._found(path, parts_of(path), identity)
        return next((place.why for place in found if place.kind == "own"), "")

    def git_takes(self, paths: Iterable[str]) -> Mapping[str, str]:
        fresh = self._git.anew()
        found = ((path, next(fresh.found(path, parts_of(path)), None)) for path in paths)
        return {path: place.why for path, place in found if place is not None}

    def _found(self, path: str, parts: Parts, identity: Identity | None) -> Iterator[Place]:
        yield from self._rooted.around(parts)
        yield from anywhere(parts)
        yield from self._aliases.found(path, parts, identity)

    def _taken_along(self, path: str, parts: Parts) -> Iterator[Place]:
        """Yield what a write reaches although its name does not say so."""
        if parts[-1:] == REPOSITORY_FILE.parts:
            yield REPOSITORY_FILE
        if parts[:-1] in self._programs or parts in self._programs:
            yield _PROGRAM
        yield from brought_along(parts)
        yield from self._rooted.beneath(parts)
        yield from self._aliases.beneath(parts)
        yield from self._git.found(path, parts)


def _itself() -> list[str]:
    """Return where this program and what it consists of are installed; the system's own belongs to nobody here."""
    return [str(Path(__file__).parents[1]), *([sys.prefix] if sys.prefix != sys.base_prefix else [])]
