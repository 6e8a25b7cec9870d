"""What texts mean: finds texts without a vector, keeps vectors, and says whose they are. Implements `types/vectors`."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import Any

from pilothouse.store import pgvector
from pilothouse.store.database import Database
from pilothouse.store.packed_text import plain_text
from pilothouse.store.statements import Connection, Statement, inserting, together
from pilothouse.types import limits
from pilothouse.types.meaning import MeaningKind, Near
from pilothouse.types.vectors import Asked, KeptVector, Lacking, Look

# Each text of a kind with its key, whose it is, who sees it, its version, and what it is called and says.
_OF = {
    "memory": (
        "memories t",
        "t.key",
        "t.owner, t.scope_kind, t.scope",
        "t.digest",
        "'', t.text",
        "t.forgotten_at IS NULL",
    ),
    "passage": (
        "passages t JOIN documents d ON d.id = t.document_id",
        "CAST(t.id AS TEXT)",
        "d.owner, d.scope_kind, d.scope",
        # Numbers of passages that went are given anew, to those of another document.
        "t.document_id",
        "t.section, t.text",
        "d.deleted_at IS NULL",
    ),
    "message": (
        "search_texts t JOIN items i ON i.id = t.item_id JOIN conversations c ON c.id = t.conversation_id",
        "t.item_id",
        "c.owner, 'conversation', c.id",
        "''",
        "'', t.body",
        "i.kind IN ('user_message', 'response') AND i.status = 'completed' AND c.deleted_at IS NULL",
    ),
}
_TABLE: dict[MeaningKind, str] = {"memory": "memories", "passage": "passages", "message": "search_texts"}
KINDS: tuple[MeaningKind, ...] = ("memory", "passage", "message")
# Any number, the same in every process: PostgreSQL's lock for those who keep vectors, so that their numbers become
# visible in order.
_KEEP_LOCK = 7_420_002


def _differs(kind: MeaningKind) -> str:
    """Return when a text has no vector as it is now."""
    _, _, seen, version, _, _ = _OF[kind]
    owner, scope_kind, scope = seen.split(", ")
    moved = f"v.owner <> {owner} OR v.scope_kind <> {scope_kind} OR v.scope <> {scope}"
    return f"(v.id IS NULL OR v.version <> {version} OR {moved})"


def _joined(kind: MeaningKind) -> str:
    source, key, _, _, _, there = _OF[kind]
    return (
        f"FROM {source} LEFT JOIN vectors v ON v.kind = '{kind}' AND v.key = {key} AND v.model = :model WHERE {there}"
    )


def _lacking_of(kind: MeaningKind) -> Statement:
    _, key, seen, version, words, _ = _OF[kind]
    return Statement(
        f"SELECT t.id, {key}, {seen}, {version}, {words}, "
        f"CASE WHEN v.version = {version} THEN v.vector END {_joined(kind)} "
        f"AND t.id >= :floor AND t.id < :below AND {_differs(kind)} ORDER BY t.id DESC LIMIT :most"
    )


def _count_of(kind: MeaningKind) -> Statement:
    return Statement(f"SELECT count(*) {_joined(kind)} AND {_differs(kind)}")


# The text of a vector: whose it is and who sees it now.
_TEXT_OF: dict[MeaningKind, str] = {
    "memory": "t.owner, t.scope_kind, t.scope FROM vectors v JOIN memories t ON t.key = v.key "
    "WHERE t.forgotten_at IS NULL",
    "passage": "d.owner, d.scope_kind, d.scope FROM vectors v JOIN passages t ON t.id = CAST(v.key AS INTEGER) "
    "JOIN documents d ON d.id = t.document_id WHERE d.deleted_at IS NULL AND v.version = t.document_id",
    "message": "c.owner, 'conversation', c.id FROM vectors v JOIN items i ON i.id = v.key "
    "JOIN conversations c ON c.id = i.conversation_id WHERE c.deleted_at IS NULL",
}
_LACKING = {kind: _lacking_of(kind) for kind in KINDS}
_COUNT = {kind: _count_of(kind) for kind in KINDS}
_TOP = {kind: Statement(f"SELECT max(id) FROM {table}") for kind, table in _TABLE.items()}  # noqa: S608
_FLOOR = {
    kind: Statement(
        f"SELECT min(id) FROM (SELECT id FROM {table} WHERE id < :below AND id > :above "  # noqa: S608
        "ORDER BY id DESC LIMIT :rows) AS looked"
    )
    for kind, table in _TABLE.items()
}
_DONE = Statement("SELECT count(*) FROM vectors WHERE model = :model")
_REMOVE = Statement("DELETE FROM vectors WHERE kind = :kind AND key = :key AND model = :model")
_ADD = inserting("vectors", "kind", "key", "model", "owner", "scope_kind", "scope", "version", "vector")
_AFTER = Statement(
    "SELECT id, owner, scope_kind, scope, vector FROM vectors "
    "WHERE model = :model AND kind = :kind AND id > :number ORDER BY id LIMIT :most"
)
_UP_TO_HERE = Statement("SELECT count(*) FROM vectors WHERE model = :model AND kind = :kind AND id <= :upto")
_UP_TO = Statement("SELECT max(id) FROM (SELECT id FROM vectors WHERE id > :after ORDER BY id LIMIT :rows) AS looked")
# A conversation that is deleted can be brought back for a while; its items go with it.
_ORPHANS = Statement("""
SELECT v.id FROM vectors v WHERE v.id > :after AND v.id <= :upto AND (v.model <> :model OR CASE v.kind
  WHEN 'memory' THEN NOT EXISTS (SELECT 1 FROM memories m WHERE m.key = v.key AND m.forgotten_at IS NULL)
  WHEN 'passage' THEN NOT EXISTS (SELECT 1 FROM passages p JOIN documents d ON d.id = p.document_id
    WHERE p.id = CAST(v.key AS INTEGER) AND d.deleted_at IS NULL)
  ELSE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = v.key) END)
""")
_DELETE = Statement("DELETE FROM vectors WHERE id = :id")
_FORGET = Statement("DELETE FROM vectors WHERE model = :model")
_DIMENSION = Statement("SELECT length(vector) FROM vectors WHERE model = :model LIMIT 1")
_BEYOND = 2**62


class VectorStore:
    """Implements the port `Vectors` on either database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._searches: bool | None = False if database.is_sqlite else None
        # Models whose index was seen to.
        self._indexed: set[str] = set()

    async def searches(self) -> bool:
        if self._searches is None:
            self._searches = await self._database.write(pgvector.prepared)
            while self._searches and await self._database.write(pgvector.fill, promised=False):
                pass
        return self._searches

    async def lacking(self, kind: MeaningKind, model: str, below: int | None, above: int, most: int) -> Look:
        return await self._database.read(lambda c: _look(c, kind, model, (below, above), most))

    async def keep(self, kind: MeaningKind, model: str, texts: Sequence[Lacking], vectors: Sequence[bytes]) -> None:
        searches = await self.searches()
        rows = [_row(kind, model, text, vector) for text, vector in zip(texts, vectors, strict=True)]
        if searches and rows and model not in self._indexed:
            await self._database.write(lambda c: pgvector.index(c, model, len(vectors[0]) // 2), promised=False)
            self._indexed.add(model)
        # What a power cut takes of it is found again as lacking.
        await self._database.write(lambda c: _keep(c, rows, searches=searches), promised=False)

    async def after(self, kind: MeaningKind, model: str, number: int, most: int) -> Sequence[KeptVector]:
        values = {"kind": kind, "model": model, "number": number, "most": most}
        return await self._database.read(lambda c: [KeptVector(*row) for row in _rows(c, _AFTER, values)])

    async def count(self, kind: MeaningKind, model: str, upto: int) -> int:
        values = {"kind": kind, "model": model, "upto": upto}
        found: int = await self._database.read(lambda c: _UP_TO_HERE.first(c, values))
        return found

    async def remove_orphans(self, model: str, after: int) -> tuple[Sequence[int], int]:
        looked = {"after": after, "rows": limits.MEANING_LOOK_ROWS}
        upto = await self._database.read(lambda c: _UP_TO.first(c, looked))
        if upto is None:
            return (), 0
        values = {"after": after, "upto": upto, "model": model}
        gone = await self._database.read(lambda c: _ORPHANS.column(c, values))
        if gone:
            await self._database.write(lambda c: _DELETE.many(c, [{"id": each} for each in gone]), promised=False)
        return gone, upto

    async def forget(self, model: str) -> None:
        await self._database.write(lambda c: _FORGET.run(c, {"model": model}))
        self._indexed.discard(model)

    async def exact(self, asked: Asked, ids: Sequence[int]) -> tuple[Sequence[Near], Sequence[int]]:
        rows = await self._database.read(lambda c: list(_exact(c, asked, ids)))
        there = {row[0] for row in rows}
        return _ranked(asked, rows), [each for each in ids if each not in there]

    async def nearest(self, asked: Asked) -> Sequence[Near]:
        ids = await self._database.read(lambda c: pgvector.nearest(c, asked))
        near, _gone = await self.exact(asked, ids)
        return near

    async def counts(self, model: str) -> tuple[int, int]:
        def count(connection: Connection) -> tuple[int, int]:
            values = {"model": model}
            lacking = sum(_COUNT[kind].first(connection, values) for kind in KINDS)
            return _DONE.first(connection, values), lacking

        return await self._database.read(count)

    async def dimension(self, model: str) -> int:
        size: int | None = await self._database.read(lambda c: _DIMENSION.first(c, {"model": model}))
        return (size or 0) // 2


def _look(connection: Connection, kind: MeaningKind, model: str, span: tuple[int | None, int], most: int) -> Look:
    top = _TOP[kind].first(connection, {}) or 0
    below, above = span
    below = top + 1 if below is None else below
    values: dict[str, object] = {"below": below, "above": above, "rows": limits.MEANING_LOOK_ROWS}
    floor = _FLOOR[kind].first(connection, values)
    if floor is None:
        return Look((), 0, top)
    found = _LACKING[kind].rows(connection, {"model": model, "floor": floor, "below": below, "most": most})
    # Where there may be more in the same rows, the next look begins right below the last one found.
    return Look(tuple(_text(row) for row in found), found[-1][0] if len(found) == most else floor, top)


def _text(row: tuple[Any, ...]) -> Lacking:
    _, key, owner, scope_kind, scope, version, head, body, vector = row
    text = plain_text(body)[: limits.MEANING_TEXT_CHARS]
    return Lacking(
        key=key,
        owner=owner,
        scope_kind=scope_kind,
        scope=scope,
        version=version,
        text=f"{head}\n{text}" if head else text,
        vector=bytes(vector or b""),
    )


def _row(kind: MeaningKind, model: str, text: Lacking, vector: bytes) -> dict[str, object]:
    return {
        "kind": kind,
        "key": text.key,
        "model": model,
        "owner": text.owner,
        "scope_kind": text.scope_kind,
        "scope": text.scope,
        "version": text.version,
        "vector": vector,
    }


def _keep(connection: Connection, rows: Sequence[dict[str, object]], *, searches: bool) -> None:
    if connection.dialect.name != "sqlite":
        pgvector.in_order(connection, _KEEP_LOCK)
    names = ("kind", "key", "model")
    with together(connection):
        _REMOVE.many(connection, [{name: row[name] for name in names} for row in rows])
        if searches:
            pgvector.add(connection, rows)
        else:
            _ADD.many(connection, rows)


def _rows(connection: Connection, statement: Statement, values: dict[str, object]) -> Iterator[tuple[Any, ...]]:
    for *rest, vector in statement.rows(connection, values):
        yield *rest, bytes(vector)


def _exact(connection: Connection, asked: Asked, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for begin in range(0, len(ids), 500):
        part = ids[begin : begin + 500]
        values: dict[str, object] = {f"id{place}": number for place, number in enumerate(part)}
        names = ", ".join(f":{name}" for name in values)
        statement = Statement(
            f"SELECT v.id, v.key, v.vector, {_TEXT_OF[asked.kind]} "
            f"AND v.kind = :kind AND v.model = :model AND v.id IN ({names})"
        )
        yield from statement.rows(connection, values | {"model": asked.model, "kind": asked.kind})


def _ranked(asked: Asked, rows: Iterable[tuple[Any, ...]]) -> list[Near]:
    """Return what may be seen of some rows, by how alike it is to the question."""
    scopes = None if asked.scopes is None else {(scope.kind, scope.id) for scope in asked.scopes}
    query = unpacked(asked.query)
    near = []
    for _, key, vector, owner, scope_kind, scope in rows:
        seen = owner == asked.owner and (scopes is None or (scope_kind, scope) in scopes)
        if seen and len(vector) == len(asked.query):
            near.append(Near(key, sum(map(mul, query, unpacked(bytes(vector))))))
    near.sort(key=lambda each: -each.likeness)
    return near[: asked.most]


def unpacked(vector: bytes) -> tuple[float, ...]:
    """Return the numbers of a vector."""
    return struct.unpack(f"<{len(vector) // 2}e", vector)
