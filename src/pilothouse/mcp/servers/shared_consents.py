"""Consents that several processes on one database share: given or withdrawn at one, they are so at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pilothouse.mcp.servers.consent import Consents, Records
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, convert, plain
from pilothouse.types.ports import JsonStore, Secrets
from pilothouse.types.shared import OpenJson


class SharedConsents(Consents):
    """The same consents, sealed in the same way, in a row of the database; none of it is for the event loop."""

    def __init__(self, file: Path, secrets: Secrets, open_json: OpenJson) -> None:
        super().__init__(file, secrets)
        self._kept: JsonStore[Records] = open_json(file, _parsed, dict)

    def _load(self) -> Records:
        # Before anything starts: it may have been withdrawn a moment ago, elsewhere.
        self._kept.refresh()
        records, problem = self._kept.look()
        if problem is not None:
            message = f"What you agreed to cannot be read: {problem.message}"
            raise PilothouseError("conflict", message, fix="Upgrade this replica, or agree anew.")
        return records

    def _change(self, change: Callable[[Records], Records]) -> None:
        def changed(raw: JsonObject) -> None:
            after = change(_parsed(raw))
            raw.clear()
            raw.update({name: plain(record) for name, record in after.items()})

        self._kept.update(changed)


def _parsed(raw: JsonObject) -> Records:
    return convert(raw, Records)
