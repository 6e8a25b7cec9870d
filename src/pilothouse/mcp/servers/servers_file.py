"""The servers' part of `config.json`, read and changed without touching the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import JsonStore


class ServersFile:
    """The raw entries of `mcps`; `read` returns them as they are now."""

    def __init__(self, file: JsonStore[object], read: Callable[[], Sequence[JsonObject]]) -> None:
        self._file = file
        self.entries = read

    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file, if anything is."""
        return self._file.problem

    async def change(self, change: Callable[[list[JsonObject]], None]) -> None:
        """Change the list on disk, whatever else is in the file kept."""

        def changed(raw: JsonObject) -> None:
            entries = list(raw.get("mcps") or [])
            change(entries)
            raw["mcps"] = entries

        await asyncio.to_thread(self._file.update, changed)
