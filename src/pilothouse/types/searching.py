"""The index of a working directory, as people see it."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

IndexState = Literal["none", "building", "fresh", "failed"]


class IndexView(Frozen, frozen=True):
    """How the index of a working directory stands."""

    working_directory: str
    # "none": nobody searched in it yet.
    state: IndexState
    files: int = 0
    symbols: int = 0
    # Of the files that are being taken up, how many are done.
    done: int = 0
    total: int = 0
    # Whether the system tells of changes; else every question looks at every file.
    watched: bool = False
    problem: str = ""
