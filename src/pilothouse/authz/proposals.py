"""The narrowest pattern that spares the person the next question of the same kind."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from pilothouse.authz.case import Case
from pilothouse.authz.matching import Subject
from pilothouse.types.authority import Pattern

_WILD = frozenset("*?")
# A pattern with more paths than these is no rule that anyone reads.
_PATHS = 5


def propose(case: Case) -> Pattern | None:
    """Return the pattern that a lasting permission would have; None where no narrow one is useful."""
    access, tool = case.access, case.tool
    if tool.server:
        return Pattern(tool=tool.qualified_name, definition=tool.grant_key)
    folder = case.context.working_directory or ""
    if access.command is not None:
        words = Subject(access, tool.grant_key, folder).words
        # A last word that is a star would stand for more than itself.
        if not words or words[-1] == "*":
            return None
        return Pattern(tool=access.operation, command=words, destination=access.destination, folder=folder)
    paths = _paths(case)
    if paths is None:
        return None
    return Pattern(
        tool=access.operation, paths=paths, destination=access.destination, folder=folder if access.paths else ""
    )


def _paths(case: Case) -> tuple[str, ...] | None:
    """Return the folders of what lies inside, and exactly what lies outside; None where whole folders go along."""
    if any(use.whole for use in case.access.paths):
        return None
    outside, root = set(case.outside), os.path.realpath(case.context.working_directory or "/")
    exact = outside.union(use.path for use in case.access.paths if use.belongs)
    found = {use.path if use.path in exact else _beside(use.path, root) for use in case.access.paths}
    if len(found) > _PATHS or any(set(path.removesuffix("/*")) & _WILD for path in found if path != "*"):
        return None
    return tuple(sorted(found))


def _beside(path: str, root: str) -> str:
    if path == root:
        return "."
    relative = os.path.relpath(PurePosixPath(path).parent, root)
    return "*" if relative == "." else f"{relative}/*"
