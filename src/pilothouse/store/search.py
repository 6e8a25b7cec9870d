"""Finding words in conversations: full-text tables on SQLite, tsvector on PostgreSQL."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from pilothouse.store import paths, rows
from pilothouse.store.excerpts import excerpt
from pilothouse.store.packed_text import packed_text, plain_text
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types import limits
from pilothouse.types.api import FoundKind, SearchHit, SearchResult
from pilothouse.types.item_data import CallData
from pilothouse.types.items import CLOSED, Call, Item, is_a, is_cut_off, is_hidden

SEARCHED_KINDS = frozenset({"user_message", "response", "compaction", "tool_call"})
_MARKDOWN = frozenset({"response", "compaction"})
# The least that a trigram index can look for inside words.
_LEAST_PART = 3
# Few texts have the first of them and not the others; those are looked at.
_MOST_GROUPS = 40
# PostgreSQL refuses an index entry above a megabyte of distinct words; the beginning is searched.
INDEXED_CHARS = 200_000
# What a tool gave can be data without end; who remembers a word of it remembers one near its beginning.
INDEXED_CALL_CHARS = 20_000

# For a hit inside a word it is enough to know which texts have all its groups of three letters: whether they stand
# next to each other is looked up in those few texts. Their places would take more room than everything else here.
SEARCH_PARTS = (
    "CREATE VIRTUAL TABLE search_parts USING fts5(body, content='', columnsize=0, detail=none, tokenize='trigram')"
)
# `plain_text` is ours; see `database`. A text that an earlier version kept, and is not packed yet, has no parts.
SQLITE_TRIGGERS = (
    "CREATE TRIGGER search_added AFTER INSERT ON search_texts BEGIN "
    "INSERT INTO search_words(rowid, body) VALUES (new.id, plain_text(new.body)); "
    "INSERT INTO search_parts(rowid, body) VALUES (new.id, plain_text(new.body)); END",
    "CREATE TRIGGER search_removed AFTER DELETE ON search_texts BEGIN "
    "INSERT INTO search_words(search_words, rowid, body) VALUES ('delete', old.id, plain_text(old.body)); "
    "INSERT INTO search_parts(search_parts, rowid, body) "
    "SELECT 'delete', old.id, plain_text(old.body) WHERE typeof(old.body) = 'blob'; END",
)
SQLITE_TABLES = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "body, content='search_texts', content_rowid='id', tokenize='unicode61 remove_diacritics 2')",
    SEARCH_PARTS,
    *SQLITE_TRIGGERS,
)
POSTGRESQL_TABLES = ("CREATE INDEX search_words ON search_texts USING gin (to_tsvector('simple', body))",)

# Every text with the words once, with its best score: less is better. What a tool gave comes after what was said, and
# hits inside words after all others.
_SQLITE_FOUND = """
SELECT t.id, t.conversation_id, t.at, min(m.rank) + CASE WHEN i.kind = 'tool_call' THEN 500 ELSE 0 END AS score FROM (
  SELECT rowid, rank FROM search_words WHERE search_words MATCH :words
  {parts}
) AS m JOIN search_texts t ON t.id = m.rowid JOIN conversations c ON c.id = t.conversation_id
LEFT JOIN items i ON i.id = t.item_id
WHERE c.owner = :owner AND c.deleted_at IS NULL
GROUP BY t.id
"""
_SQLITE_PARTS = (
    "UNION ALL SELECT p.rowid, 1000 FROM search_parts p JOIN search_texts s ON s.id = p.rowid "
    "WHERE search_parts MATCH :parts AND (:is_sure OR has_part(s.body, :part))"
)
_POSTGRESQL_FOUND = """
SELECT t.id, t.conversation_id, t.at, CASE WHEN i.kind = 'tool_call' THEN 500 ELSE 0 END
  - ts_rank(to_tsvector('simple', t.body), to_tsquery('simple', :words)) AS score
FROM search_texts t JOIN conversations c ON c.id = t.conversation_id LEFT JOIN items i ON i.id = t.item_id
WHERE c.owner = :owner AND c.deleted_at IS NULL
  AND to_tsvector('simple', t.body) @@ to_tsquery('simple', :words)
  {parts}
"""
# No index serves this one; it looks through one owner's texts, and only when the words leave room.
_POSTGRESQL_PARTS = """
UNION ALL
SELECT t.id, t.conversation_id, t.at, 1000 AS score
FROM search_texts t JOIN conversations c ON c.id = t.conversation_id
WHERE c.owner = :owner AND c.deleted_at IS NULL AND strpos(lower(t.body), lower(:part)) > 0
  AND NOT to_tsvector('simple', t.body) @@ to_tsquery('simple', :words)
"""
# The best of each conversation, the conversation with the best of all first.
_GROUPED = """
WITH found AS ({found}), ranked AS (
  SELECT found.*, count(*) OVER () AS total,
    row_number() OVER (PARTITION BY conversation_id ORDER BY score, at DESC) AS place,
    count(*) OVER (PARTITION BY conversation_id) AS here,
    min(score) OVER (PARTITION BY conversation_id) AS best,
    max(at) OVER (PARTITION BY conversation_id) AS latest
  FROM found
)
SELECT r.conversation_id, t.item_id, t.at, t.body, c.title, i.kind, r.total, r.here
FROM ranked r JOIN search_texts t ON t.id = r.id JOIN conversations c ON c.id = r.conversation_id
LEFT JOIN items i ON i.id = t.item_id
WHERE r.place <= :each
ORDER BY r.best, r.latest DESC, r.conversation_id, r.place LIMIT :limit
"""
# Where among those columns the number of all hits stands.
_TOTAL = 6
_QUERIES = {
    ("sqlite", False): Statement(_GROUPED.format(found=_SQLITE_FOUND.format(parts=""))),
    ("sqlite", True): Statement(_GROUPED.format(found=_SQLITE_FOUND.format(parts=_SQLITE_PARTS))),
    ("postgresql", False): Statement(_GROUPED.format(found=_POSTGRESQL_FOUND.format(parts=""))),
    ("postgresql", True): Statement(_GROUPED.format(found=_POSTGRESQL_FOUND.format(parts=_POSTGRESQL_PARTS))),
}
# Some items, by as many names as are ever asked for.
_NAMES = tuple(f"item{number}" for number in range(limits.MEANING_MESSAGES))
_SIMILAR = Statement(
    "SELECT t.conversation_id, t.item_id, t.at, t.body, c.title, i.kind, 0, 1 FROM items i "  # noqa: S608 - ours
    "JOIN search_texts t ON t.conversation_id = i.conversation_id AND t.item_id = i.id "
    "JOIN conversations c ON c.id = i.conversation_id "
    f"WHERE c.owner = :owner AND c.deleted_at IS NULL AND i.id IN ({', '.join(f':{name}' for name in _NAMES)})"
)
_PLACE = Statement(
    "SELECT i.branch, c.branch, c.branches, i.body FROM items i JOIN conversations c ON c.id = i.conversation_id "
    "WHERE i.id = :id"
)
_ON_PATH = Statement(
    f"{paths.PATH}SELECT 1 FROM items JOIN path ON items.branch = path.number "  # noqa: S608 - ours
    f"WHERE items.id = :item AND {paths.ON_PATH}"
)
# Words that are in every text: they are no reason to show one part of it rather than another.
_TELLING = 4

_REMOVE_TITLE = Statement("DELETE FROM search_texts WHERE conversation_id = :id AND item_id IS NULL")
_ADD = inserting("search_texts", "conversation_id", "item_id", "at", "body")


def index_item(connection: Connection, item: Item) -> None:
    """Make a message or call findable once it has ended; an attempt that broke off is said again by the next one."""
    if item.status not in CLOSED or item.kind not in SEARCHED_KINDS or is_cut_off(item):
        return
    text = _words_of_call(item) if is_a(item, CallData) else item.text
    if text:
        _add(connection, item.conversation_id, item.id, item.updated_at, text)


def _words_of_call(item: Call) -> str:
    """Return what a call was asked and what it gave, as text."""
    words: list[str] = []
    waiting: list[object] = [item.data.arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
        elif value is not None and not isinstance(value, bool):
            words.append(str(value))
    return "\n".join([*words, item.text])[:INDEXED_CALL_CHARS].strip()


def index_title(connection: Connection, conversation_id: str, title: str, at: float) -> None:
    """Make a conversation's title findable, instead of the one before."""
    _REMOVE_TITLE.run(connection, {"id": conversation_id})
    if title:
        _add(connection, conversation_id, None, at, title)


def _add(connection: Connection, conversation_id: str, item_id: str | None, at: float, text: str) -> None:
    # PostgreSQL's text type has no NUL; nobody searches for one. It packs long texts by itself.
    words = text[:INDEXED_CHARS].replace("\x00", " ")
    body = packed_text(words) if connection.dialect.name == "sqlite" else words
    _ADD.run(connection, {"conversation_id": conversation_id, "item_id": item_id, "at": at, "body": body})


def find(connection: Connection, owner: str, query: str, limit: int) -> SearchResult:
    """Return what has all the words, each word as a beginning: the best of each conversation, best first."""
    # No text here has a NUL, and PostgreSQL would not hear of one.
    query = query.replace("\x00", " ").strip()
    words = re.findall(r"\w+", query)
    if not words:
        return SearchResult(query=query, hits=())
    dialect, limit = connection.dialect.name, min(limit, limits.SEARCH_HITS)
    values: dict[str, object] = {"owner": owner, "limit": limit, "each": limits.SEARCH_HITS_EACH}
    if dialect == "sqlite":
        values |= {"words": " ".join(f'"{word}"*' for word in words), "part": query, **_parts(query)}
    else:
        values |= {"words": " & ".join(f"{word}:*" for word in words), "part": query}
    found = _QUERIES[dialect, False].rows(connection, values)
    # Hits inside words come after all others, so they are looked for only when there is room for them.
    if len(query) >= _LEAST_PART and (not found or found[0][_TOTAL] < limit):
        found = _QUERIES[dialect, True].rows(connection, values)
    return SearchResult(query=query, hits=tuple(_placed(connection, _hit(row, words)) for row in found))


def similar(connection: Connection, owner: str, item_ids: Sequence[str], query: str) -> list[SearchHit]:
    """Return those of some items that are an owner's, in this order, each with what it has of the words if any."""
    asked = dict(zip(_NAMES, [*item_ids, *[""] * len(_NAMES)], strict=False))
    found = {row[1]: row for row in _SIMILAR.rows(connection, {"owner": owner, **asked})}
    words = [word for word in re.findall(r"\w+", query) if len(word) >= _TELLING]
    hits = (_hit(found[item_id], words, similar=True) for item_id in dict.fromkeys(item_ids) if item_id in found)
    return [_placed(connection, hit) for hit in hits]


def _placed(connection: Connection, hit: SearchHit) -> SearchHit:
    """Return a hit that says in which branch it stands, and whether models are sent it."""
    found = _PLACE.rows(connection, {"id": hit.item_id}) if hit.item_id is not None else []
    if not found:
        return hit
    branch, chosen, branches, body = found[0]
    item = rows.kept_item(body)
    hit = msgspec.structs.replace(hit, hidden=is_hidden(item), position=item.position)
    if not branches:
        return hit
    asked = {"id": hit.conversation_id, "branch": chosen, "most": sys.maxsize, "item": hit.item_id}
    off_path = _ON_PATH.first(connection, asked) is None
    return msgspec.structs.replace(hit, branch=branch, off_path=off_path)


def _parts(query: str) -> dict[str, object]:
    """Return what the trigram index is asked for: texts with every group of three letters, wherever they stand."""
    groups = dict.fromkeys(query[at : at + _LEAST_PART] for at in range(len(query) - _LEAST_PART + 1))
    asked = [group.replace('"', '""') for group in groups][:_MOST_GROUPS]
    return {"parts": " AND ".join(f'"{group}"' for group in asked), "is_sure": len(query) == _LEAST_PART}


def _hit(row: tuple[Any, ...], words: Sequence[str], *, similar: bool = False) -> SearchHit:
    conversation_id, item_id, at, body, title, kind, _, here = row
    kind = cast(FoundKind, kind or "title")
    snippet, ranges = excerpt(plain_text(body), words, markdown=kind in _MARKDOWN)
    return SearchHit(
        conversation_id=conversation_id,
        title=title,
        item_id=item_id,
        kind=kind,
        snippet=snippet,
        ranges=ranges,
        at=at,
        found_here=here,
        similar=similar,
    )
