"""Settings that are rows of a database which several processes share: read from memory, changed for all at once.

What is in memory follows the database: whoever watches it says when to look, and who decides by it looks first. A file
of the same name in the data folder is taken over once, by the first process that finds no row; after that it is not
read any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pilothouse.settings import json_text
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import JsonStore
from pilothouse.types.shared import SharedRow, SharedRows

T = TypeVar("T")
_log = logging.getLogger(__name__)


class SharedJson(Generic[T]):
    """One settings file in the database; implements the port `JsonStore`.

    What `parse` refuses (another version may have written it) leaves the last good content in force, and nothing is
    written over it.
    """

    def __init__(
        self, rows: SharedRows, name: str, parse: Callable[[JsonObject], T], fallback: Callable[[], JsonObject]
    ) -> None:
        self._rows = rows
        self.name = name
        self._parse = parse
        self._guard = threading.RLock()
        self._problem: FileProblem | None = None
        self.version = 0
        self._raw: JsonObject = fallback()
        self._value: T = parse(self._raw)

    @property
    def value(self) -> T:
        return self._value

    @property
    def problem(self) -> FileProblem | None:
        return self._problem

    def look(self) -> tuple[T, FileProblem | None]:
        with self._guard:
            return self._value, self._problem

    def refresh(self) -> bool:
        """Look at the database; not for the event loop."""
        before = self.version
        if self._rows.versions_now().get(self.name, 0) > before:
            self.take(self._rows.rows([self.name])[self.name])
        return self.version != before

    def take(self, row: SharedRow) -> None:
        """Take up what the database has, unless something newer is known."""
        with self._guard:
            if row.version <= self.version:
                return
            self.version = row.version
            try:
                raw, value = self._read(row.body)
            except json_text.BadJson as error:
                self._problem = FileProblem(file=self._place, line=error.line, message=error.message)
                _log.error("%s cannot be used: %s", self._place, error.message)
            else:
                self._raw, self._value, self._problem = raw, value, None

    def update(self, change: Callable[[JsonObject], None]) -> T:
        made: list[tuple[JsonObject, T]] = []

        def changed(row: SharedRow) -> str:
            try:
                raw, _ = self._read(row.body)
            except json_text.BadJson as error:
                message = f"{self._place} was left as it is, because this version cannot read it: {error.message}"
                fix = "Upgrade this replica, or take over a good file with `pilothouse settings --import`."
                raise PilothouseError("conflict", message, fix=fix) from None
            raw = copy.deepcopy(raw)
            change(raw)
            made[:] = [(raw, self._parse(raw))]
            return encoded(raw)

        row = self._rows.change(self.name, changed)
        raw, value = made[0]
        with self._guard:
            # Someone may have changed it again meanwhile, and that be known already.
            if row.version > self.version or (row.version == self.version and self._problem is None):
                self.version, self._raw, self._value, self._problem = row.version, raw, value, None
        return value

    @property
    def _place(self) -> str:
        return f"{self.name} in the database"

    def _read(self, body: str) -> tuple[JsonObject, T]:
        data = body.encode()
        raw = json_text.parse(data)
        try:
            return raw, self._parse(raw)
        except BadField as error:
            raise json_text.explain(data, error) from None


class SharedSettings:
    """All settings of a data folder that are in the database, kept in step with it."""

    def __init__(self, rows: SharedRows, home: Path) -> None:
        self._rows = rows
        self._home = home
        # Read together, so that opening one does not wait for the database by itself.
        self._found = dict(rows.rows(rows.versions_now()))
        # Whoever opens a row has its own reading of it, and all of them follow.
        self._files: list[SharedJson[Any]] = []
        # What else changes with a row of this name.
        self._others: dict[str, tuple[Callable[[], int], Callable[[], None]]] = {}

    def open_json(
        self,
        path: Path,
        parse: Callable[[JsonObject], T],
        initial: Callable[[], JsonObject],
        *,
        fallback: Callable[[], JsonObject] | None = None,
        is_empty: Callable[[JsonObject], bool] = lambda raw: not raw,
        backup: Path | None = None,
    ) -> JsonStore[T]:
        """Return the settings that a file of this path would hold; there is no copy to go back to, so no `backup`."""
        name = self._name(path)
        row = self._found.pop(name, None) or self._rows.first(
            name, lambda: self._imported(path, parse, initial, is_empty)
        )
        _note_difference(path, row)
        file = SharedJson(self._rows, name, parse, fallback or initial)
        file.take(row)
        self._files.append(file)
        return file

    def prepare(self, path: Path, initial: Callable[[], JsonObject]) -> None:
        """Make sure that the row of a file is there, so that opening it later need not wait for the database."""
        name = self._name(path)
        if name not in self._found:
            self._found[name] = self._rows.first(name, lambda: self._imported(path, dict, initial, lambda raw: not raw))

    def _name(self, path: Path) -> str:
        return path.relative_to(self._home).as_posix()

    def follow(self, name: str, version: Callable[[], int], load: Callable[[], None]) -> None:
        """Have something else loaded, in a thread, whenever the row of this name is of another version than known."""
        self._others[name] = (version, load)

    async def confirm(self) -> None:
        """Return when everything in memory is as the database had it when this was asked; raise while it is away."""
        stale = self._stale(await self._rows.versions())
        if stale:
            await asyncio.to_thread(self._load, stale)

    def _stale(self, versions: Mapping[str, int]) -> list[str]:
        known = [(file.name, file.version) for file in self._files]
        known += [(name, row.version) for name, row in self._found.items()]
        known += [(name, version()) for name, (version, _) in self._others.items()]
        return [name for name, version in known if versions.get(name, 0) > version]

    def _load(self, stale: list[str]) -> None:
        rows = self._rows.rows([name for name in stale if name not in self._others])
        for file in self._files:
            if file.name in rows:
                file.take(rows[file.name])
        self._found |= {name: row for name, row in rows.items() if name in self._found}
        for name in stale:
            if name in self._others:
                self._others[name][1]()

    def _imported(
        self,
        path: Path,
        parse: Callable[[JsonObject], T],
        initial: Callable[[], JsonObject],
        is_empty: Callable[[JsonObject], bool],
    ) -> str:
        """Return what the file in the data folder holds, if it is there; raise for one that cannot be taken over."""
        try:
            raw = read_file(path, parse)
        except json_text.BadJson as error:
            where = f"line {error.line} of {path}" if error.line else str(path)
            message = f"The settings of this folder cannot be taken over into the database: {where}: {error.message}"
            raise PilothouseError("conflict", message, fix="Mend the file, or move it away.") from None
        if raw is None or is_empty(raw):
            return encoded(initial())
        _log.info("%s was taken over into the database", path)
        return encoded(raw)


def read_file(path: Path, parse: Callable[[JsonObject], object]) -> JsonObject | None:
    """Return what a settings file holds, None when there is none; raise BadJson for what does not fit."""
    try:
        if path.stat().st_size > limits.SETTINGS_FILE_BYTES:
            raise json_text.BadJson(None, "The file is larger than any settings can be.")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise json_text.BadJson(None, f"The file cannot be read: {(error.strerror or str(error)).lower()}.") from None
    if not data.strip():
        return None
    raw = json_text.parse(data)
    try:
        parse(raw)
    except BadField as error:
        raise json_text.explain(data, error) from None
    return raw


def _note_difference(path: Path, row: SharedRow) -> None:
    """Say in the log that a file is not read, where it says something else than the database."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_bytes()) != json.loads(row.body):
            _log.warning(
                "%s is not read: these settings are in the database, and differ from it. "
                "`pilothouse settings --export` writes the file, `--import` takes it over.",
                path,
            )


def encoded(raw: JsonObject) -> str:
    """Return settings as the database has them: as people read them in the file."""
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"
