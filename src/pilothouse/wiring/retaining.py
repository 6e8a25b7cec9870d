"""What `pilothouse retention` shows and sets."""

from __future__ import annotations

import asyncio

from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.store import retention
from pilothouse.types.api import ConfigPatch
from pilothouse.types.retention import Retention, RetentionView
from pilothouse.wiring.backups import database_url, opened_to_read


def look() -> RetentionView:
    """Return the setting, and what it would remove now; nothing is removed."""
    wanted = _config().config.retention
    with opened_to_read() as database:
        database.check()
        return database.read_now(lambda connection: retention.look(connection, wanted))


def change(wanted: Retention) -> None:
    """Keep another setting; a running server takes it over at once, and acts on it once a day."""
    asyncio.run(_config().patch(ConfigPatch(retention=wanted)))


def current() -> Retention:
    """Return the setting."""
    return _config().config.retention


def _config() -> ConfigService:
    return ConfigService(open_home().path, "postgresql" if database_url() else "sqlite")
