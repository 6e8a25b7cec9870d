"""Writes src/pilothouse/store/schema.sqlite.sql: what an empty SQLite file is given, without importing what made it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pilothouse.store import schema, search, upgrade, words


def statements() -> list[str]:
    """Return what makes every table, index and trigger on SQLite, in order."""
    made: list[str] = []

    def note(statement: Any, *_: object, **__: object) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)).strip())

    engine = sa.create_mock_engine("sqlite://", note)
    schema.metadata.create_all(engine, checkfirst=False)
    # The indexes of a table come in any order.
    made.sort(key=lambda statement: (statement.startswith("CREATE INDEX"), statement))
    return [*made, *search.SQLITE_TABLES, *words.SQLITE_TABLES, upgrade.VERSION_TABLE]


def text() -> str:
    """Return the whole file."""
    return "".join(statement + upgrade.STATEMENT_END for statement in statements())


if __name__ == "__main__":
    upgrade.SQLITE_SCHEMA.write_text(text(), encoding="utf-8")
