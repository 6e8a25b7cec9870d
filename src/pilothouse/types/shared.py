"""What several processes on one database share of the settings: rows with a version that grows with each change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pilothouse.types.json import JsonObject
from pilothouse.types.ports import JsonStore

T = TypeVar("T")


class SharedRow(NamedTuple):
    """The content of one settings file, as the database has it."""

    version: int
    body: str


class SharedRows(Protocol):
    """The rows; all but `versions` wait for the database: not for the event loop."""

    async def versions(self) -> Mapping[str, int]:
        """Return the version of every row as it is now."""

    def versions_now(self) -> Mapping[str, int]:
        """Return the same to a thread that may wait."""

    def rows(self, names: Collection[str]) -> Mapping[str, SharedRow]:
        """Return those of the named rows that there are."""

    def first(self, name: str, make: Callable[[], str]) -> SharedRow:
        """Return a row; one that is not there is made, and of several who make it at once one wins."""

    def change(self, name: str, change: Callable[[SharedRow], str]) -> SharedRow:
        """Change a row that is there in one transaction, in which nobody else changes it; return what it is then."""

    def put(self, name: str, body: str) -> None:
        """Put a row in the place of what there is, if anything."""


class SharedEntries(Protocol):
    """The sealed secrets of all processes; none of it is for the event loop."""

    def entries(self) -> tuple[int, Mapping[str, bytes]]:
        """Return all of them, and their common version; it is 0 until they were first made."""

    def begin(self, entries: Mapping[str, bytes]) -> None:
        """Make them, with these, unless someone did already."""

    def put(self, name: str, entry: bytes, *, unless_there: bool = False) -> int:
        """Keep one, in the place of another or only where there is none; return the version then."""

    def remove(self, name: str) -> int:
        """Drop one; return the version then."""


class OpenJson(Protocol):
    """Opens settings: as files of their own, or as rows that others share."""

    def __call__(
        self,
        path: Path,
        parse: Callable[[JsonObject], T],
        initial: Callable[[], JsonObject],
        *,
        fallback: Callable[[], JsonObject] | None = None,
        is_empty: Callable[[JsonObject], bool] = ...,
        backup: Path | None = None,
    ) -> JsonStore[T]:
        """Return the settings that have this path in the data folder."""


class SharedParts(NamedTuple):
    """What a part needs that keeps something in common with other processes."""

    open_json: OpenJson
    # Keeps every other process out of what a name stands for.
    alone: Callable[[str], AbstractAsyncContextManager[None]]
    # Brings what is known here in step with the database, once; raises while it is away.
    confirm: Callable[[], Awaitable[None]]
