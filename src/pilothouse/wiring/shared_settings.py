"""The settings and secrets of a host whose PostgreSQL others share: one truth for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pilothouse.models.keys import Keys
from pilothouse.models.models_file import ModelsFile, parse_models
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.shared_store import SharedSecretStore
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.home import Home
from pilothouse.settings.shared_json import SharedSettings
from pilothouse.store.connections import Connections
from pilothouse.store.database import Database
from pilothouse.store.shared_rows import SECRETS, PostgresSharedEntries, PostgresSharedRows
from pilothouse.store.shared_turns import SharedTurns
from pilothouse.store.shared_watch import SharedWatch
from pilothouse.types.json import JsonObject
from pilothouse.types.shared import SharedParts


class Shared(NamedTuple):
    """What all processes on a database have in common."""

    settings: SharedSettings
    secrets: SharedSecretStore

    def parts(self, url: str, connections: Connections) -> SharedParts:
        """Return what other parts need of them."""
        return SharedParts(self.settings.open_json, SharedTurns(url, connections).alone, self.settings.confirm)


def open_shared(home: Home, database: Database, own: SecretStore, redactor: Redactor) -> Shared:
    """Return them; what this folder kept by itself is taken over where nobody's was. Not for the event loop."""
    rows = PostgresSharedRows(database)
    secrets = SharedSecretStore(
        home.secrets,
        PostgresSharedEntries(database),
        lambda: rows.versions_now().get(SECRETS, 0),
        learn=redactor.learn,
    )
    secrets.open(own)
    settings = SharedSettings(rows, home.path)
    settings.follow(SECRETS, lambda: secrets.version, secrets.load)
    settings.prepare(home.secrets / "consents.json", dict)
    settings.prepare(home.path / "tools.json", partial(_approved, home.cache / "mcp"))
    settings.prepare(home.path / "lists.json", dict)
    return Shared(settings, secrets)


def _approved(folder: Path) -> JsonObject:
    from pilothouse.mcp.servers.shared_catalogue import approvals_in

    return approvals_in(folder)


async def share_settings(
    stack: AsyncExitStack, url: str, connections: Connections, opening: Callable[[], Shared]
) -> Shared:
    """Open them, and keep what is in memory in step with the database for as long as the host is open."""
    shared = await asyncio.to_thread(opening)
    watch = SharedWatch(url, connections, shared.settings.confirm)
    watch.begin()
    stack.push_async_callback(watch.end)
    return shared


def seeing(keys: Keys) -> Callable[[JsonObject], ModelsFile]:
    """Return what reads models and binds keys that are seen for the first time: in the thread that reads them."""

    def parse(raw: JsonObject) -> ModelsFile:
        models = parse_models(raw)
        keys.see(models.models.values())
        return models

    return parse
