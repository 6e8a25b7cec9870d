"""The MCP servers' part of `config.json`, read and changed without touching the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilothouse.settings.config import ConfigService
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem


class ServersFile:
    """The raw entries of `mcps`; what they mean is for whoever runs the servers."""

    def __init__(self, config: ConfigService) -> None:
        self._config = config

    def entries(self) -> Sequence[JsonObject]:
        """Return the entries as they are now."""
        return self._config.config.mcps

    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file, if anything is."""
        return self._config.file.problem

    async def change(self, change: Callable[[list[JsonObject]], None]) -> None:
        """Change the list on disk, whatever else is in the file kept."""

        def changed(raw: JsonObject) -> None:
            entries = list(raw.get("mcps") or [])
            change(entries)
            raw["mcps"] = entries

        await asyncio.to_thread(self._config.file.update, changed)
