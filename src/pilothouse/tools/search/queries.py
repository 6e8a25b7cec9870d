"""Questions to an index: which files may contain a text, what is about something, where names are defined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from sqlite3 import Connection

import msgspec

from pilothouse.tools.nearest import nearest
from pilothouse.tools.search.index_file import LIKELIEST, model_of
from pilothouse.tools.search.words import parts_of, query_words
from pilothouse.types import limits
from pilothouse.types.ranking import fused

# Letters of a search that are looked up; more narrow it no further.
_GRAMS = 24
_RANKED = 100
# The part of a question's words that a passage has, to count beside what is alike in meaning.
_COVERED = 0.5
_QUOTED = re.compile(r'"([^"]*)"|(\S+)')
# Passages are ranked by the words in them, by the names that they define, and by where they are.
_MEASURES = ("body", "names", "path")


class Location(msgspec.Struct, frozen=True):
    """A passage of a file."""

    path: str
    first: int
    last: int


class Alike(msgspec.Struct, frozen=True):
    """The passages that mean about the same as a question, nearest first, among those whose meaning is known."""

    passages: tuple[int, ...] = ()
    known: int = 0
    total: int = 0


class Definition(msgspec.Struct, frozen=True):
    """A symbol and where it is defined."""

    path: str
    line: int
    last: int
    name: str
    kind: str
    container: str


def files_with(connection: Connection, literals: Sequence[str]) -> list[str] | None:
    """Return the files that may contain all these texts; None when that cannot be said."""
    grams = {text[at : at + 3]: None for text in literals for at in range(len(text) - 2)}
    if not grams:
        return None
    match = " AND ".join(_quoted(gram) for gram in list(grams)[:_GRAMS])
    rows = connection.execute(
        "SELECT files.path FROM grams JOIN files ON files.id = grams.rowid WHERE grams MATCH ?", (match,)
    )
    return [path for (path,) in rows]


def files_with_word(connection: Connection, word: str) -> list[str]:
    """Return the files that have a word by itself."""
    rows = connection.execute(
        "SELECT DISTINCT files.path FROM words JOIN passages ON passages.id = words.rowid "
        "JOIN files ON files.id = passages.file WHERE words MATCH ?",
        (f"body : {_quoted(word)}",),
    )
    return [path for (path,) in rows]


def alike(connection: Connection, model: str, question: bytes) -> Alike:
    """Return the passages that are nearest to a question, by vectors of this model; takes the question's vector."""
    (total,) = connection.execute("SELECT count(*) FROM passages").fetchone()
    if model_of(connection) != model:
        return Alike(total=total)
    rows = connection.execute(
        f"SELECT p.id, meanings.vector FROM ({LIKELIEST}) p JOIN meanings ON meanings.digest = p.digest",  # noqa: S608
        (limits.MEANING_PASSAGES,),
    ).fetchall()
    places = nearest(question, [vector for _, vector in rows], _RANKED, limits.MEANING_FILE_LIKENESS)
    return Alike(tuple(rows[place][0] for place in places), len(rows), total)


def about(connection: Connection, question: str, near: Sequence[int], most: int) -> list[Location]:
    """Return the passages that several measures of words, and their meanings, together put first."""
    words = fused(*(_ranked(connection, column, question) for column in _MEASURES))
    if near:
        words = _covering(connection, words, query_words(question))
    best = fused(words, near)[:most]
    found = {ident: Location(path, first, last) for ident, path, first, last in _located(connection, best)}
    return [found[ident] for ident in best if ident in found]


def passages_with(connection: Connection, query: str, most: int) -> list[Location]:
    """Return the passages that have all words of a query; words in quotation marks must stand together."""
    terms = [_quoted(phrase or word) for phrase, word in _QUOTED.findall(query) if re.search(r"\w", phrase or word)]
    if not terms:
        return []
    rows = connection.execute(
        "SELECT files.path, passages.first, passages.last FROM words JOIN passages ON passages.id = words.rowid "
        "JOIN files ON files.id = passages.file WHERE words MATCH ? ORDER BY bm25(words, 2.0, 4.0, 1.0) LIMIT ?",
        (" AND ".join(terms), most),
    )
    return [Location(*row) for row in rows]


def definitions_of(connection: Connection, name: str) -> list[Definition]:
    """Return where exactly this name is defined."""
    return _definitions(connection, "symbols.name = ? COLLATE NOCASE AND symbols.name = ?", (name, name), 500)


def symbols_like(connection: Connection, query: str, most: int) -> list[Definition]:
    """Return definitions whose name has the query in it, the closest names first."""
    text = query.strip()
    if not text or any(character.isspace() for character in text):
        return []
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return _definitions(connection, "symbols.name LIKE ? ESCAPE '\\'", (f"%{escaped}%",), most)


def paths_like(connection: Connection, query: str, most: int) -> list[str]:
    """Return files whose path has every word of the query in it, the shortest first."""
    words = [word for word in query.split() if word]
    if not words:
        return []
    where = " AND ".join("instr(lower(path), ?)" for _ in words)
    rows = connection.execute(
        f"SELECT path FROM files WHERE {where} ORDER BY length(path), path LIMIT ?",  # noqa: S608
        (*[word.lower() for word in words], most),
    )
    return [path for (path,) in rows]


def count_symbols(connection: Connection) -> int:
    """Return how many definitions there are."""
    (count,) = connection.execute("SELECT count(*) FROM symbols").fetchone()
    return int(count)


def _ranked(connection: Connection, column: str, question: str) -> list[int]:
    words = query_words(question)
    if not words:
        return []
    match = f"{column} : ({' OR '.join(_quoted(word) for word in words)})"
    # Rows that replaced files left behind have no passage any more.
    rows = connection.execute(
        "SELECT words.rowid FROM words JOIN passages ON passages.id = words.rowid WHERE words MATCH ? "
        "ORDER BY words.rank LIMIT ?",
        (match, _RANKED),
    )
    return [ident for (ident,) in rows]


def _covering(connection: Connection, passages: Sequence[int], words: Sequence[str]) -> list[int]:
    """Return the passages that have enough of the words: one of many, and any text may have it by chance."""
    marks = ", ".join("?" for _ in passages)
    having: Counter[int] = Counter()
    for word in words:
        rows = connection.execute(
            f"SELECT rowid FROM words WHERE words MATCH ? AND rowid IN ({marks})",  # noqa: S608
            (_quoted(word), *passages),
        )
        having.update(ident for (ident,) in rows)
    return [passage for passage in passages if having[passage] >= _COVERED * len(words)]


def _located(connection: Connection, passages: Sequence[int]) -> list[tuple[int, str, int, int]]:
    marks = ", ".join("?" for _ in passages)
    return connection.execute(
        "SELECT passages.id, files.path, passages.first, passages.last FROM passages "  # noqa: S608
        f"JOIN files ON files.id = passages.file WHERE passages.id IN ({marks})",
        tuple(passages),
    ).fetchall()


def _definitions(connection: Connection, where: str, values: tuple[str, ...], most: int) -> list[Definition]:
    rows = connection.execute(
        "SELECT files.path, symbols.line, symbols.last, symbols.name, symbols.kind, symbols.container "  # noqa: S608
        f"FROM symbols JOIN files ON files.id = symbols.file WHERE {where} "
        "ORDER BY length(symbols.name), symbols.name, files.path, symbols.line LIMIT ?",
        (*values, most),
    )
    return [Definition(*row) for row in rows]


def _quoted(text: str) -> str:
    """Return a text that the query language takes as nothing but text."""
    return '"' + text.replace('"', '""').replace("\0", "") + '"'


def question_words(question: str) -> frozenset[str]:
    """Return the words of a question in small letters, to find the lines that have most of them."""
    found = set(query_words(question))
    return frozenset(found | {part for word in found for part in parts_of(word).lower().split()})
