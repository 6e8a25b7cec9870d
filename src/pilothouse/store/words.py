"""The full-text tables of memories and of passages of documents: FTS5 on SQLite, tsvector on PostgreSQL."""

from __future__ import annotations

_SEARCHED = {"memories": "memory_words", "passages": "passage_words"}


def _sqlite(table: str, words: str) -> tuple[str, ...]:
    removed = f"INSERT INTO {words}({words}, rowid, text) VALUES ('delete', old.id, old.text);"  # noqa: S608 - our own names
    added = f"INSERT INTO {words}(rowid, text) VALUES (new.id, new.text);"  # noqa: S608
    return (
        f"CREATE VIRTUAL TABLE {words} USING fts5("
        f"text, content='{table}', content_rowid='id', tokenize='unicode61 remove_diacritics 2')",
        f"CREATE TRIGGER {words}_added AFTER INSERT ON {table} BEGIN {added} END",
        f"CREATE TRIGGER {words}_removed AFTER DELETE ON {table} BEGIN {removed} END",
        f"CREATE TRIGGER {words}_changed AFTER UPDATE OF text ON {table} BEGIN {removed} {added} END",
    )


SQLITE_TABLES = tuple(statement for table, words in _SEARCHED.items() for statement in _sqlite(table, words))
POSTGRESQL_TABLES = tuple(
    f"CREATE INDEX {words} ON {table} USING gin (to_tsvector('simple', text))" for table, words in _SEARCHED.items()
)
