"""Searching the copy: which servers fit, in which order, each once, and which of them look like another one.

The order has steps, which come before everything else: the name itself, all words in name and title, all words
anywhere, some of them, words that are only spelled alike. Within a step those that look like a better known one come
last, verified ones first, then those that are used most, then those that fit best.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from pilothouse.mcp.registry.likeness import looks, near, plain_words, same_publisher, skeleton, tail, without_a_letter
from pilothouse.mcp.registry.local_copy import Kept, LocalCopy, kept
from pilothouse.mcp.registry.merging import Group, merged
from pilothouse.mcp.servers.names import mixes_scripts
from pilothouse.types import limits
from pilothouse.types.registries import FoundServer, FoundStatus

# Words that every server has about it, and those that say nothing.
_EMPTY = frozenset({"mcp", "server", "servers", "the", "a", "an", "and", "or", "for", "of", "to", "in", "on", "with"})
_STATUS: dict[FoundStatus, int] = {"active": 0, "deprecated": 1, "deleted": 2}
_HIDDEN = re.compile(r"\\u\{[0-9a-f]{4,6}\}")
_WHOLE, _NAMED, _ALL, _SOME, _SPELLED = range(5)

# The rows themselves are fetched only of the best: sorting them all would take longer than finding them.
_SEARCH = """
SELECT server.id, server.registry, known, seen_at, server.name, server.title, server.description, version, verified,
    uses, updated_at, published_at, status, status_note, licence, runs, keys, best.fit
FROM (
    SELECT server.id AS id, bm25(words, 10.0, 8.0, 6.0, 2.0) - weight AS fit
    FROM words JOIN server INDEXED BY server_weight ON server.id = words.rowid
    WHERE words MATCH ? AND server.registry IN (SELECT value FROM json_each(?)) ORDER BY fit LIMIT ?
) AS best JOIN server ON server.id = best.id ORDER BY best.fit
"""
_COUNT = """
SELECT count(*) FROM words JOIN server INDEXED BY server_weight ON server.id = words.rowid
WHERE words MATCH ? AND server.registry IN (SELECT value FROM json_each(?))
"""
_SPELLED_ALIKE = "SELECT DISTINCT word FROM spelling WHERE key IN (SELECT value FROM json_each(?))"
_LIKE = """
SELECT look.key, server.id, server.name, server.known, server.uses, server.published_at FROM look
JOIN server ON server.id = look.server WHERE look.key IN (SELECT value FROM json_each(?))
"""


class Hit(msgspec.Struct, frozen=True):
    """A server that fits: in which step, and how well."""

    server: Kept
    step: int
    fit: float


class Search(msgspec.Struct, frozen=True):
    """What was asked for: the words that count, and the registries to look in."""

    words: tuple[str, ...]
    registries: tuple[str, ...]


class Results(msgspec.Struct, frozen=True):
    """The best hits, and how many there are in all."""

    servers: tuple[FoundServer, ...]
    total: int


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text that count, in small letters; all of them where none does."""
    found = tuple(dict.fromkeys(plain_words(text)))[: limits.REGISTRY_WORDS]
    return tuple(word for word in found if word not in _EMPTY) or found


def search(copy: LocalCopy, asked: Search) -> Results:
    """Return what fits, the best first."""
    return copy.work(lambda connection: _search(connection, asked))


def _search(connection: sqlite3.Connection, asked: Search) -> Results:
    hits, total = _hits(connection, asked)
    steps = {hit.server.id: hit for hit in hits}
    groups = merged([hit.server for hit in hits])
    best = sorted(groups, key=lambda group: _order(group, steps))[: limits.REGISTRY_HITS]
    warned = _warnings(connection, best)
    order = sorted(range(len(best)), key=lambda at: _order(best[at], steps, bool(warned[at])))
    shown = tuple(_found(best[at], warned[at]) for at in order)
    # Beyond the candidates nobody looked which of them are the same.
    return Results(shown, total - (len(hits) - len(groups)))


def _hits(connection: sqlite3.Connection, asked: Search) -> tuple[list[Hit], int]:
    """Return the servers that fit, at first those with all words, and others where these are few."""
    if not asked.words:
        return [], 0
    everything = " AND ".join(_beginning(word) for word in asked.words)
    rows, total = _matching(connection, everything, asked)
    hits = [Hit(server, _step(server, asked.words), fit) for server, fit in rows]
    if total < limits.REGISTRY_FEW and len(asked.words) > 1:
        some = " OR ".join(_beginning(word) for word in asked.words)
        more, total = _matching(connection, some, asked)
        hits += _new(hits, [Hit(server, _SOME, fit) for server, fit in more])
    if total < limits.REGISTRY_HARDLY_ANY:
        spelled = _new(hits, _spelled_alike(connection, asked))
        hits, total = [*hits, *spelled], total + len(spelled)
    return hits, total


def _new(hits: Iterable[Hit], more: Iterable[Hit]) -> list[Hit]:
    known = {hit.server.id for hit in hits}
    return [hit for hit in more if hit.server.id not in known]


def _beginning(word: str) -> str:
    # Words are letters and digits: no quotation mark can end it. A single letter begins everything, and is a word.
    return f'"{word}" *' if len(word) > 1 else f'"{word}"'


def _matching(connection: sqlite3.Connection, match: str, asked: Search) -> tuple[list[tuple[Kept, float]], int]:
    where = msgspec.json.encode(asked.registries).decode()
    most = limits.REGISTRY_CANDIDATES
    # What a name or title has comes first anyway; only where that is not enough descriptions are looked at.
    rows = connection.execute(_SEARCH, (f"{{name title packages}} : ({match})", where, most)).fetchall()
    if len(rows) < most:
        rows = connection.execute(_SEARCH, (match, where, most)).fetchall()
    total = len(rows)
    if total == most:
        (total,) = connection.execute(_COUNT, (match, where)).fetchone()
    return [(kept(row), float(row[-1])) for row in rows], total


def _step(server: Kept, words: Sequence[str]) -> int:
    entry = server.entry
    wanted = skeleton(" ".join(words))
    if wanted in (skeleton(tail(entry.name)), skeleton(entry.title), skeleton(entry.name)):
        return _WHOLE
    named = plain_words(f"{entry.name.removeprefix('io.github.')} {entry.title}")
    return _NAMED if all(any(each.startswith(word) for each in named) for word in words) else _ALL


def _spelled_alike(connection: sqlite3.Connection, asked: Search) -> list[Hit]:
    """Return servers that have words in name or title that are spelled like those asked for."""
    meant = []
    for word in asked.words:
        keys = msgspec.json.encode(sorted({word, *without_a_letter(word)})).decode()
        found = [each for (each,) in connection.execute(_SPELLED_ALIKE, (keys,))]
        alike = [each for each in found if each != word and distance(word, each) <= (1 if len(word) < 8 else 2)]
        if alike:
            meant.append("(" + " OR ".join(f'"{each}"' for each in [word, *alike]) + ")")
        else:
            meant.append(_beginning(word))
    for match in (" AND ".join(meant), " OR ".join(meant)):
        rows, _total = _matching(connection, match, asked)
        if rows:
            return [Hit(server, _SPELLED, fit) for server, fit in rows]
    return []


def distance(one: str, other: str) -> int:
    """Return how many letters are other, more, less or swapped with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        now = [at]
        for to, each in enumerate(other, 1):
            cost = min(last[to] + 1, now[-1] + 1, last[to - 1] + (letter != each))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == each:
                cost = min(cost, before[to - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


def _order(group: Group, hits: dict[int, Hit], is_warned: bool = False) -> tuple[int, int, bool, bool, int, float]:
    of = [hits[server.id] for server in group.servers]
    return (
        _STATUS[group.first.entry.status],
        min(hit.step for hit in of),
        is_warned,
        not group.verified,
        -(group.uses or 0),
        min(hit.fit for hit in of),
    )


def _found(group: Group, warned: tuple[str, ...]) -> FoundServer:
    entry, others = group.first.entry, group.servers[1:]
    more = [each.entry for each in others]
    return FoundServer(
        registries=tuple(dict.fromkeys(each.registry for each in group.servers)),
        name=entry.name,
        title=entry.title,
        description=entry.description or next((each.description for each in more if each.description), ""),
        version=entry.version or next((each.version for each in more if each.version), ""),
        verified=group.verified,
        uses=group.uses,
        updated_at=entry.updated_at or next((each.updated_at for each in more if each.updated_at), ""),
        status=entry.status,
        status_note=entry.status_note,
        licence=entry.licence or next((each.licence for each in more if each.licence), ""),
        runs=entry.runs or next((each.runs for each in more if each.runs), ()),
        warnings=warned,
    )


# --- those that look like others ------------------------------------------------------------------


def warnings_about(copy: LocalCopy, server: Kept) -> tuple[str, ...]:
    """Return what a careful reader would notice about a server's name."""
    return copy.work(lambda connection: _warnings(connection, [Group((server,))]))[0]


def _warnings(connection: sqlite3.Connection, groups: Sequence[Group]) -> list[tuple[str, ...]]:
    looked = [_looks(group) for group in groups]
    known = _known_looks(connection, {key for keys in looked for key in keys})
    return [
        tuple(_about(group, [each for key in keys for each in known.get(key, ())]))
        for group, keys in zip(groups, looked, strict=True)
    ]


class _Known(msgspec.Struct, frozen=True, order=True):
    """A server that others may be taken for; the better known is the greater."""

    level: int
    uses: int
    name: str
    id: int
    published_at: str


def _known_looks(connection: sqlite3.Connection, keys: Collection[str]) -> dict[str, list[_Known]]:
    """Return the known servers by how they look, those that look so."""
    found: dict[str, list[_Known]] = {}
    rows = connection.execute(_LIKE, (msgspec.json.encode(sorted(keys)).decode(),))
    for key, server, name, known, uses, published in rows:
        found.setdefault(key, []).append(_Known(known, uses or 0, name, server, published))
    return found


def _looks(group: Group) -> list[str]:
    entry = group.first.entry
    return [key for look in looks(entry.name, entry.title) for key in near(look)]


def _about(group: Group, known: Iterable[_Known]) -> Iterator[str]:
    entry = group.first.entry
    if _HIDDEN.search(f"{entry.name} {entry.title}"):
        yield "Its name has characters that cannot be seen; they are written out here."
    if mixes_scripts(entry.name) or mixes_scripts(entry.title):
        yield "Its name mixes letters of scripts that look alike."
    own = {each.id for each in group.servers}
    others = {each.id: each for each in known if each.id not in own}
    like = [
        each
        for each in others.values()
        if _is_before(each, group) and not any(same_publisher(each.name, mine.entry.name) for mine in group.servers)
    ]
    if like:
        yield f"It looks like {max(like).name}, and is another one."


def _is_before(known: _Known, group: Group) -> bool:
    """Return whether a known server is the one that people mean: the better known, else the earlier one."""
    level = (max(each.known for each in group.servers), group.uses or 0)
    if (known.level, known.uses) != level:
        return (known.level, known.uses) > level
    return "" < known.published_at < group.first.entry.published_at
