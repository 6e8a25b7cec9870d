"""Memories: one row each, found by their words. Every statement names the owner, and the scopes where there are any."""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

import msgspec

from pilothouse.store.glance import ALL, BODIES, SEEN
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.memories import SHORT, Memory, MemoryCollection, MemoryFilter, MemoryPage
from pilothouse.types.paging import Page, cursor_of, place_of
from pilothouse.types.scopes import Scope

decoded = msgspec.json.Decoder(Memory).decode
_DAY = 86_400.0
_SHORT_KEY = re.compile(f"[0-9a-f]{{{SHORT}}}")
_ADD = inserting(
    "memories",
    *("key", "owner", "scope_kind", "scope", "text", "digest", "body", "origin"),
    *("created_at", "updated_at", "forgotten_at"),
)
_PUT = Statement(
    "UPDATE memories SET scope_kind = :scope_kind, scope = :scope, digest = :digest, body = :body, "
    "updated_at = :updated_at, forgotten_at = :forgotten_at WHERE key = :key AND owner = :owner"
)
# Of its own: the index of words is written anew only when there are others.
_PUT_TEXT = Statement("UPDATE memories SET text = :text WHERE key = :key AND text <> :text")
_BY_KEY = Statement(f"{BODIES} m.owner = :owner AND m.key = :key")
_BY_SHORT = Statement(f"{BODIES} m.owner = :owner AND m.key LIKE :short LIMIT 2")
_SAME = Statement(
    f"{BODIES} m.owner = :owner AND m.scope_kind = :scope_kind AND m.scope = :scope "
    "AND m.digest = :digest AND m.forgotten_at IS NULL AND m.key <> :key LIMIT 1"
)
_IN_SCOPE = Statement(f"{ALL} m.owner = :owner AND m.scope_kind = :scope_kind AND m.scope = :scope")
_COUNT = Statement("SELECT count(*) FROM memories WHERE owner = :owner AND forgotten_at IS NULL")
_COUNT_HERE = Statement(
    "SELECT count(*) FROM memories WHERE owner = :owner AND scope_kind = :scope_kind AND scope = :scope "
    "AND forgotten_at IS NULL"
)
_LOCK = Statement("SELECT pg_advisory_xact_lock(hashtextextended(:owner, 11))")
_TOPIC = Statement("SELECT 1 FROM topics WHERE id = :scope AND owner = :owner AND deleted_at IS NULL")
_CONVERSATION = Statement("SELECT 1 FROM conversations WHERE id = :scope AND owner = :owner AND deleted_at IS NULL")
_LISTED = (
    BODIES + " m.owner = :owner AND {state} {scopes} AND (m.updated_at < :at "
    "OR (m.updated_at = :at AND m.key < :key)) ORDER BY m.updated_at DESC, m.key DESC LIMIT :limit"
)
_STATES = {False: "m.forgotten_at IS NULL", True: "m.forgotten_at IS NOT NULL"}
_FOUND = {
    # Only of the best the whole row is read.
    "sqlite": "SELECT b.body FROM (SELECT m.id AS id, memory_words.rank AS rank FROM memory_words "
    "JOIN memories m ON m.id = memory_words.rowid "
    "WHERE memory_words MATCH :words AND m.owner = :owner AND m.forgotten_at IS NULL AND {seen} {scopes} "
    "ORDER BY memory_words.rank LIMIT :limit) AS found JOIN memories b ON b.id = found.id ORDER BY found.rank",
    "postgresql": "SELECT m.body FROM memories m WHERE to_tsvector('simple', m.text) @@ to_tsquery('simple', :words) "
    "AND m.owner = :owner AND m.forgotten_at IS NULL AND {seen} {scopes} "
    "ORDER BY ts_rank(to_tsvector('simple', m.text), to_tsquery('simple', :words)) DESC, m.key LIMIT :limit",
}
_SIZES = (
    "SELECT m.scope_kind, m.scope, COALESCE(c.title, t.name, m.scope), count(*), sum(length(m.body)), "
    "max(m.updated_at) FROM memories m "
    "LEFT JOIN conversations c ON m.scope_kind = 'conversation' AND c.id = m.scope AND c.owner = m.owner "
    "LEFT JOIN topics t ON m.scope_kind = 'topic' AND t.id = m.scope AND t.owner = m.owner "
    "WHERE m.owner = :owner AND m.forgotten_at IS NULL AND {seen} {scopes} "
    "GROUP BY m.scope_kind, m.scope, c.title, t.name ORDER BY count(*) DESC, m.scope_kind, m.scope LIMIT :limit"
)
_GONE = Statement("SELECT key FROM memories WHERE forgotten_at < :before")
_OF_CONVERSATION = Statement("SELECT key FROM memories WHERE scope_kind = 'conversation' AND scope = :id")
_REMOVE = Statement("DELETE FROM memories WHERE key = :key")
_REMOVE_VECTORS = Statement("DELETE FROM vectors WHERE kind = 'memory' AND key = :key")


def digest_of(text: str) -> str:
    """Return what is the same for texts that differ only in case and spaces."""
    plain = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.sha256(plain.encode()).hexdigest()


def add(connection: Connection, owner: str, memory: Memory) -> tuple[Memory, bool]:
    """Keep one, unless its scope has the same text; raise one sentence where there is no room for it."""
    _take_turns(connection, owner)
    same = _same(connection, owner, memory)
    if same is not None:
        return same, False
    _check_scope(connection, owner, memory.scope)
    _check_room(connection, owner, memory.scope)
    _ADD.run(connection, _values(owner, memory) | {"created_at": memory.created_at, "origin": _origin(memory)})
    return memory, True


def get(connection: Connection, owner: str, key: str, *, forgotten: bool = False) -> Memory:
    """Return one by its key or its short id; to anyone but its owner it does not exist."""
    bodies = _BY_KEY.column(connection, {"owner": owner, "key": key})
    if not bodies and _SHORT_KEY.fullmatch(key):
        bodies = _BY_SHORT.column(connection, {"owner": owner, "short": f"%{key}"})
    found = decoded(bodies[0]) if len(bodies) == 1 else None
    if found is None or (found.forgotten_at is not None and not forgotten):
        raise PilothouseError("not_found", "There is no such memory.", fix="It may have been forgotten; search again.")
    return found


def change(
    connection: Connection, owner: str, key: str, changed: Callable[[Memory], Memory], *, forgotten: bool = False
) -> Memory:
    """Change one by a pure function of what it is now."""
    _take_turns(connection, owner)
    before = get(connection, owner, key, forgotten=forgotten)
    after = changed(before)
    if after.forgotten_at is None:
        if (same := _same(connection, owner, after)) is not None:
            message = f"“{same.title}” says the same there already."
            raise PilothouseError("conflict", message, fix="Forget one of them, or merge them.")
        if after.scope != before.scope:
            _check_scope(connection, owner, after.scope)
        if after.scope != before.scope or before.forgotten_at is not None:
            _check_room(connection, owner, after.scope)
    _put(connection, owner, after)
    return after


def merge(connection: Connection, owner: str, memory: Memory, keys: Sequence[str], at: float) -> None:
    """Forget these and keep one in their place, all or nothing."""
    _take_turns(connection, owner)
    gone = [get(connection, owner, key) for key in keys]
    for one in gone:
        _put(connection, owner, msgspec.structs.replace(one, forgotten_at=at))
    for scope in {one.scope for one in gone}:
        _doubt_instead(connection, owner, scope, frozenset(one.key for one in gone), memory)
    _, new = add(connection, owner, memory)
    if not new:
        raise PilothouseError("conflict", "Another memory says the same there already.", fix="Merge that one, too.")


def _doubt_instead(connection: Connection, owner: str, scope: Scope, gone: frozenset[str], memory: Memory) -> None:
    """Let what may contradict these say so of the one in their place, unless that one says so itself."""
    for body in _IN_SCOPE.column(connection, {"owner": owner, "scope_kind": scope.kind, "scope": scope.id}):
        if not any(key.encode() in body for key in gone):
            continue
        one = decoded(body)
        if one.key in gone or not gone & set(one.doubts):
            continue
        others = [key for key in one.doubts if key not in gone]
        doubts = others if one.key in memory.doubts else [*others, memory.key]
        _put(connection, owner, msgspec.structs.replace(one, doubts=tuple(doubts)))


def used(connection: Connection, owner: str, keys: Sequence[str], at: float) -> None:
    """Count that these were recalled; what is gone meanwhile is left out."""
    for key in keys:
        body = _BY_KEY.first(connection, {"owner": owner, "key": key})
        if body is not None:
            one = decoded(body)
            _put(connection, owner, msgspec.structs.replace(one, uses=one.uses + 1, used_at=at))


def listed(connection: Connection, owner: str, wanted: MemoryFilter, page: Page) -> MemoryPage:
    """Return a part of the list, the newest first."""
    at, key = place_of(page.cursor, float, str) if page.cursor is not None else (float("inf"), "")
    values: dict[str, object] = {"owner": owner, "at": at, "key": key, "limit": page.limit + 1}
    scopes = ""
    if wanted.kind is not None:
        scopes, values = "AND m.scope_kind = :kind", values | {"kind": wanted.kind}
        if wanted.scope:
            scopes, values = f"{scopes} AND m.scope = :scope", values | {"scope": wanted.scope}
    bodies = _statement(_LISTED.format(state=_STATES[wanted.forgotten], scopes=scopes)).column(connection, values)
    found = [decoded(body) for body in bodies[: page.limit]]
    more = cursor_of(found[-1].updated_at, found[-1].key) if len(bodies) > page.limit else None
    return MemoryPage(memories=tuple(found), next=more)


def find(
    connection: Connection, owner: str, words: Sequence[str], scopes: Sequence[Scope] | None, most: int
) -> Sequence[Memory]:
    """Return those that have any of these words, each as a beginning; best first."""
    dialect = connection.dialect.name
    asked = " OR ".join(f'"{word}"*' for word in words) if dialect == "sqlite" else " | ".join(f"{w}:*" for w in words)
    if not asked:
        return ()
    condition, values = _in_scopes(scopes)
    values |= {"owner": owner, "words": asked, "limit": most}
    statement = _statement(_FOUND[dialect].format(seen=SEEN, scopes=condition))
    return [decoded(body) for body in statement.column(connection, values)]


def by_key(
    connection: Connection, owner: str, keys: Sequence[str], scopes: Sequence[Scope] | None
) -> dict[str, Memory]:
    """Return those that are remembered in these scopes, by their keys."""
    found = {}
    for key in keys:
        body = _BY_KEY.first(connection, {"owner": owner, "key": key})
        memory = decoded(body) if body is not None else None
        if memory is not None and memory.forgotten_at is None and (scopes is None or memory.scope in scopes):
            found[key] = memory
    return found


def sizes(connection: Connection, owner: str, scopes: Sequence[Scope] | None) -> Sequence[MemoryCollection]:
    """Count what is remembered by scope, the largest first."""
    condition, values = _in_scopes(scopes)
    values |= {"owner": owner, "limit": limits.MEMORY_COLLECTIONS}
    return [
        MemoryCollection(
            scope=Scope(kind=kind, id=scope), name=name, memories=count, bytes=int(size), updated_at=updated
        )
        for kind, scope, name, count, size, updated in _statement(_SIZES.format(seen=SEEN, scopes=condition)).rows(
            connection, values
        )
    ]


def forget(connection: Connection) -> None:
    """Remove for good what was forgotten long enough ago."""
    before = time.time() - limits.MEMORY_UNDO_DAYS * _DAY
    _remove(connection, _GONE.column(connection, {"before": before}))


def leave_with(connection: Connection, conversation_ids: Sequence[str]) -> None:
    """Remove for good what only these conversations see."""
    for each in conversation_ids:
        _remove(connection, _OF_CONVERSATION.column(connection, {"id": each}))


def _remove(connection: Connection, keys: Sequence[str]) -> None:
    rows = [{"key": key} for key in keys]
    _REMOVE.many(connection, rows)
    _REMOVE_VECTORS.many(connection, rows)


def _take_turns(connection: Connection, owner: str) -> None:
    """Let nobody else count or compare this owner's memories until the transaction ends."""
    if connection.dialect.name != "sqlite":
        _LOCK.first(connection, {"owner": owner})


def _check_room(connection: Connection, owner: str, scope: Scope) -> None:
    values: dict[str, object] = {"owner": owner, "scope_kind": scope.kind, "scope": scope.id}
    if _COUNT.first(connection, values) >= limits.MEMORIES_OF_OWNER:
        most = f"{limits.MEMORIES_OF_OWNER:,}"
        raise PilothouseError("too_many", f"There are {most} memories, and no more fit.", fix="Forget or merge some.")
    if _COUNT_HERE.first(connection, values) >= limits.MEMORIES_IN_SCOPE:
        most = f"{limits.MEMORIES_IN_SCOPE:,}"
        message = f"There are {most} memories in this place, and no more fit there."
        raise PilothouseError("too_many", message, fix="Forget or merge some, or take another scope.")


def _check_scope(connection: Connection, owner: str, scope: Scope) -> None:
    """Raise unless this is a place of this owner's."""
    values: dict[str, object] = {"owner": owner, "scope": scope.id}
    if scope.kind == "conversation" and _CONVERSATION.first(connection, values) is None:
        raise PilothouseError("not_found", "There is no such conversation.")
    if scope.kind == "topic" and _TOPIC.first(connection, values) is None:
        raise PilothouseError("not_found", "There is no such topic.")


def _same(connection: Connection, owner: str, memory: Memory) -> Memory | None:
    values: dict[str, object] = {"owner": owner, "key": memory.key, "digest": digest_of(memory.text)}
    body = _SAME.first(connection, values | {"scope_kind": memory.scope.kind, "scope": memory.scope.id})
    return decoded(body) if body is not None else None


def _put(connection: Connection, owner: str, memory: Memory) -> None:
    values = _values(owner, memory)
    _PUT.run(connection, {name: value for name, value in values.items() if name != "text"})
    _PUT_TEXT.run(connection, {"key": memory.key, "text": values["text"]})


def _values(owner: str, memory: Memory) -> dict[str, object]:
    return {
        "key": memory.key,
        "owner": owner,
        "scope_kind": memory.scope.kind,
        "scope": memory.scope.id,
        "text": f"{memory.title}\n{memory.text}",
        "digest": digest_of(memory.text),
        "body": encode(memory),
        "updated_at": memory.updated_at,
        "forgotten_at": memory.forgotten_at,
    }


def _origin(memory: Memory) -> str:
    return memory.origin.conversation_id


def _in_scopes(scopes: Sequence[Scope] | None) -> tuple[str, dict[str, object]]:
    """Return the condition that a memory is in one of these scopes, and its values; none of them finds nothing."""
    if scopes is None:
        return "", {}
    values: dict[str, object] = {}
    tests = []
    for number, scope in enumerate(scopes):
        tests.append(f"(m.scope_kind = :kind{number} AND m.scope = :scope{number})")
        values |= {f"kind{number}": scope.kind, f"scope{number}": scope.id}
    return f"AND ({' OR '.join(tests) or '1 = 0'})", values


@cache
def _statement(sql: str) -> Statement:
    return Statement(sql)
