"""Finding words in conversations: full-text tables on SQLite, tsvector on PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.store.statements import Statement
from pilothouse.types import limits
from pilothouse.types.api import Range, SearchHit, SearchResult
from pilothouse.types.items import Item

SEARCHED_KINDS = frozenset({"user_message", "response", "compaction"})
SNIPPET_CHARS = 160
# The least that a trigram index can look for inside words.
_LEAST_PART = 3
# PostgreSQL refuses an index entry above a megabyte of distinct words; the beginning is searched.
INDEXED_CHARS = 200_000

SQLITE_TABLES = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "body, content='search_texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE search_parts USING fts5("
    "body, content='search_texts', content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER search_added AFTER INSERT ON search_texts BEGIN "
    "INSERT INTO search_words(rowid, body) VALUES (new.id, new.body); "
    "INSERT INTO search_parts(rowid, body) VALUES (new.id, new.body); END",
    "CREATE TRIGGER search_removed AFTER DELETE ON search_texts BEGIN "
    "INSERT INTO search_words(search_words, rowid, body) VALUES ('delete', old.id, old.body); "
    "INSERT INTO search_parts(search_parts, rowid, body) VALUES ('delete', old.id, old.body); END",
)
POSTGRESQL_TABLES = ("CREATE INDEX search_words ON search_texts USING gin (to_tsvector('simple', body))",)

_SQLITE_QUERY = """
SELECT t.conversation_id, t.item_id, t.at, t.body, c.title, min(m.rank) AS score FROM (
  SELECT rowid, rank FROM search_words WHERE search_words MATCH :words
  {parts}
) AS m JOIN search_texts t ON t.id = m.rowid JOIN conversations c ON c.id = t.conversation_id
WHERE c.owner = :owner AND c.deleted_at IS NULL
GROUP BY t.id ORDER BY score, t.at DESC LIMIT :limit
"""
_SQLITE_PARTS = "UNION ALL SELECT rowid, rank + 1000 FROM search_parts WHERE search_parts MATCH :parts"
_SQLITE_WORDS = sa.text(_SQLITE_QUERY.format(parts=""))
_SQLITE_WORDS_AND_PARTS = sa.text(_SQLITE_QUERY.format(parts=_SQLITE_PARTS))

_POSTGRESQL_QUERY = """
SELECT t.conversation_id, t.item_id, t.at, t.body, c.title,
  -ts_rank(to_tsvector('simple', t.body), to_tsquery('simple', :words)) AS score
FROM search_texts t JOIN conversations c ON c.id = t.conversation_id
WHERE c.owner = :owner AND c.deleted_at IS NULL
  AND to_tsvector('simple', t.body) @@ to_tsquery('simple', :words)
ORDER BY score, t.at DESC LIMIT :limit
"""
# No index serves this one; it looks through one owner's texts, and only when the words leave room.
_POSTGRESQL_PARTS = """
SELECT t.conversation_id, t.item_id, t.at, t.body, c.title, 0 AS score
FROM search_texts t JOIN conversations c ON c.id = t.conversation_id
WHERE c.owner = :owner AND c.deleted_at IS NULL AND strpos(lower(t.body), lower(:part)) > 0
  AND NOT to_tsvector('simple', t.body) @@ to_tsquery('simple', :words)
ORDER BY t.at DESC LIMIT :limit
"""


_ADD = Statement(
    "INSERT INTO search_texts (conversation_id, item_id, at, body) VALUES (:conversation_id, :item_id, :at, :body)"
)


def index_item(connection: sa.Connection, item: Item) -> None:
    """Make a finished message findable; an attempt that broke off is said again by the next one."""
    if item.kind in SEARCHED_KINDS and item.text and not item.data.get("cutOff"):
        _add(connection, item.conversation_id, item.id, item.updated_at, item.text)


def index_title(connection: sa.Connection, conversation_id: str, title: str, at: float) -> None:
    """Make a conversation's title findable, instead of the one before."""
    table = schema.search_texts
    connection.execute(sa.delete(table).where(table.c.conversation_id == conversation_id, table.c.item_id.is_(None)))
    if title:
        _add(connection, conversation_id, None, at, title)


def _add(connection: sa.Connection, conversation_id: str, item_id: str | None, at: float, text: str) -> None:
    # PostgreSQL's text type has no NUL; nobody searches for one.
    body = text[:INDEXED_CHARS].replace("\x00", " ")
    _ADD.run(connection, {"conversation_id": conversation_id, "item_id": item_id, "at": at, "body": body})


def find(connection: sa.Connection, owner: str, query: str, limit: int) -> SearchResult:
    """Return the messages and titles with all the words, each word as a beginning, best first."""
    words = re.findall(r"\w+", query)
    if not words:
        return SearchResult(query=query, hits=())
    values: dict[str, object] = {"owner": owner, "limit": min(limit, limits.SEARCH_HITS)}
    if connection.dialect.name == "sqlite":
        found = _find_in_sqlite(connection, query.strip(), words, values)
    else:
        found = _find_in_postgresql(connection, query.strip(), words, values)
    return SearchResult(query=query, hits=tuple(_hit(row, words) for row in found))


def _find_in_sqlite(
    connection: sa.Connection, query: str, words: list[str], values: dict[str, object]
) -> Sequence[sa.Row[tuple[object, ...]]]:
    values |= {"words": " ".join(f'"{word}"*' for word in words)}
    found = connection.execute(_SQLITE_WORDS, values).all()
    # Hits inside words come after all others, so they are looked for only when there is room for them.
    if len(query) < _LEAST_PART or len(found) == values["limit"]:
        return found
    values |= {"parts": '"' + query.replace('"', '""') + '"'}
    return connection.execute(_SQLITE_WORDS_AND_PARTS, values).all()


def _find_in_postgresql(
    connection: sa.Connection, query: str, words: list[str], values: dict[str, object]
) -> Sequence[sa.Row[tuple[object, ...]]]:
    values |= {"words": " & ".join(f"{word}:*" for word in words), "part": query}
    found = connection.execute(sa.text(_POSTGRESQL_QUERY), values).all()
    room = min(limits.SEARCH_HITS, int(str(values["limit"]))) - len(found)
    if len(query) < _LEAST_PART or room <= 0:
        return found
    return [*found, *connection.execute(sa.text(_POSTGRESQL_PARTS), values | {"limit": room})]


def _hit(row: sa.Row[tuple[object, ...]], words: list[str]) -> SearchHit:
    snippet, ranges = excerpt(str(row.body), words)
    return SearchHit(
        conversation_id=row.conversation_id,
        title=row.title,
        item_id=row.item_id,
        snippet=snippet,
        ranges=ranges,
        at=row.at,
    )


def excerpt(text: str, words: list[str]) -> tuple[str, tuple[Range, ...]]:
    """Return the text around the first hit, and where the words stand in it."""
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, (first.start() if first else 0) - SNIPPET_CHARS // 3)
    if start:
        # Begin at a word, not inside one.
        space = text.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    snippet = re.sub(r"\s", " ", text[start : start + SNIPPET_CHARS])
    if start:
        snippet = "…" + snippet
    ranges = tuple(Range(start=hit.start(), end=hit.end()) for hit in pattern.finditer(snippet))
    return snippet, ranges
