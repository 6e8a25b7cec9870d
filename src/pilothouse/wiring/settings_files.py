"""The settings that are rows of PostgreSQL, written to files and taken over from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pilothouse.models.models_file import parse_models
from pilothouse.permissions.policy_file import parse_policy
from pilothouse.settings import json_text
from pilothouse.settings.config import parse_config
from pilothouse.settings.shared_json import encoded, read_file
from pilothouse.store import backup
from pilothouse.store.database import Database
from pilothouse.store.faults import translate
from pilothouse.store.shared_rows import PostgresSharedRows
from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.wiring.backups import database_url

_PARSERS: dict[str, Callable[[JsonObject], object]] = {
    "config.json": parse_config,
    "models.json": parse_models,
    "policy.json": parse_policy,
}


def export_settings(folder: Path) -> list[Path]:
    """Write what the database has; return the files."""
    with _rows() as rows:
        found = rows.rows(list(_PARSERS))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, row in found.items():
            durable_files.replace(folder / name, row.body.encode())
    except OSError as error:
        raise translate(error) from error
    return [folder / name for name in sorted(found)]


def import_settings(folder: Path) -> list[str]:
    """Take over the files that are there, all or none; running processes follow at once. Return their names."""
    taken: dict[str, JsonObject] = {}
    for name, parse in _PARSERS.items():
        try:
            raw = read_file(folder / name, parse)
        except json_text.BadJson as error:
            where = f"line {error.line} of {folder / name}" if error.line else str(folder / name)
            raise PilothouseError("bad_request", f"Nothing was taken over: {where}: {error.message}") from None
        if raw is not None:
            taken[name] = raw
    if not taken:
        message = f"There is nothing to take over in {folder}."
        raise PilothouseError("not_found", message, fix=f"It has one of: {', '.join(_PARSERS)}.")
    with _rows() as rows:
        for name, raw in taken.items():
            rows.put(name, encoded(raw))
    return list(taken)


@contextmanager
def _rows() -> Iterator[PostgresSharedRows]:
    url = database_url()
    if url is None:
        message = "The settings are files in the data folder already."
        raise PilothouseError("bad_request", message, fix="With PostgreSQL, set PILOTHOUSE_DATABASE_URL.")
    with closing(Database(url)) as database:
        database.check()
        # Raises where there is nothing yet, or of another version.
        database.read_now(backup.current_schema)
        yield PostgresSharedRows(database)
