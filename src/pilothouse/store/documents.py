"""Documents and their passages: one set of statements for both databases."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from pilothouse.store import rows
from pilothouse.store.database import Database
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types import limits
from pilothouse.types.documents import (
    PENDING,
    SHORT_ID,
    Document,
    DocumentPage,
    DocumentPatch,
    DocumentQuestion,
    Passage,
    TakenDocument,
    query_words,
)
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.json import encode
from pilothouse.types.paging import cursor_of, place_of
from pilothouse.types.scopes import Scope, scopes_seen

_decoder = msgspec.json.Decoder(Document)
_Done = TypeVar("_Done")
# Of what a deleted conversation or topic has nothing is seen, as of the conversation or topic itself.
_SEEN = (
    "d.deleted_at IS NULL AND NOT (d.scope_kind = 'conversation' AND d.scope IN "
    "(SELECT id FROM conversations WHERE deleted_at IS NOT NULL)) AND NOT (d.scope_kind = 'topic' AND d.scope IN "
    "(SELECT id FROM topics WHERE deleted_at IS NOT NULL))"
)
_ADD = inserting(
    "documents", "id", "owner", "scope_kind", "scope", "name", "digest", "body", "file", "created_at", "deleted_at"
)
_ADD_PASSAGE = inserting("passages", "document_id", "position", "page", "line", "section", "text")
_ALIKE = (
    "SELECT d.body FROM documents d WHERE d.owner = :owner AND d.scope_kind = :kind AND d.scope = :scope "
    "AND d.digest = :digest AND {seen} ORDER BY d.created_at LIMIT 1"
)
_ONE = "SELECT d.body FROM documents d WHERE d.owner = :owner AND d.id = :id AND {seen}"
_BY_END = (
    "SELECT d.body FROM documents d WHERE d.owner = :owner AND d.id LIKE :end AND {seen} "
    "ORDER BY d.created_at DESC, d.id DESC LIMIT 200"
)
_SEEN_ALIKE = Statement(_ALIKE.format(seen=_SEEN))
# Each query of those that are seen, and of those that may be brought back.
_ONES = {
    deleted: [Statement(each.format(seen="1 = 1" if deleted else _SEEN)) for each in (_ONE, _BY_END)]
    for deleted in (False, True)
}
_FILE = Statement("SELECT file FROM documents WHERE owner = :owner AND id = :id")
_CHANGE = Statement(
    "UPDATE documents SET scope_kind = :kind, scope = :scope, name = :name, body = :body, deleted_at = :deleted_at "
    "WHERE id = :id"
)
_COPY = Statement(
    "INSERT INTO documents (id, owner, scope_kind, scope, name, digest, body, file, created_at, deleted_at) "
    "SELECT :id, owner, :kind, :scope, :name, digest, :body, file, :created_at, :deleted_at "
    "FROM documents WHERE id = :old"
)
_COPY_PASSAGES = Statement(
    "INSERT INTO passages (document_id, position, page, line, section, text) "
    "SELECT :id, position, page, line, section, text FROM passages WHERE document_id = :old ORDER BY position"
)
_PASSAGES = Statement(
    "SELECT position, page, line, section, text FROM passages WHERE document_id = :id AND position >= :first "
    "ORDER BY position LIMIT :limit"
)
_AT_PAGE = Statement(
    "SELECT position FROM passages WHERE document_id = :id AND (page < :page OR (page = :page AND line <= :line)) "
    "ORDER BY position DESC LIMIT 1"
)
_AT_LINE = Statement(
    "SELECT position FROM passages WHERE document_id = :id AND line <= :line ORDER BY position DESC LIMIT 1"
)
_MOVE_VECTORS = Statement(
    "UPDATE vectors SET scope_kind = :kind, scope = :scope WHERE kind = 'passage' AND key IN "
    "(SELECT CAST(id AS TEXT) FROM passages WHERE document_id = :id)"
)
_TOPIC = Statement("SELECT 1 FROM topics WHERE id = :id AND owner = :owner AND deleted_at IS NULL")
_CONVERSATION = Statement(f"{rows.CONVERSATIONS} WHERE id = :id")
_WORDS = {
    "sqlite": "SELECT p.id FROM passage_words w JOIN passages p ON p.id = w.rowid "
    "JOIN documents d ON d.id = p.document_id WHERE passage_words MATCH :words AND {where} "
    "ORDER BY w.rank LIMIT :most",
    "postgresql": "SELECT p.id FROM passages p JOIN documents d ON d.id = p.document_id "
    "WHERE to_tsvector('simple', p.text) @@ to_tsquery('simple', :words) AND {where} "
    "ORDER BY ts_rank(to_tsvector('simple', p.text), to_tsquery('simple', :words)) DESC, p.id LIMIT :most",
}
_GONE = (
    "DELETE FROM vectors WHERE kind = 'passage' AND key IN (SELECT CAST(p.id AS TEXT) FROM passages p "
    "JOIN documents d ON d.id = p.document_id WHERE {where})",
    "DELETE FROM passages WHERE document_id IN (SELECT d.id FROM documents d WHERE {where})",
    "DELETE FROM documents WHERE id IN (SELECT d.id FROM documents d WHERE {where})",
)
_REMOVE_OLD = tuple(
    Statement(
        each.format(
            where="d.deleted_at < :before OR "
            "(d.scope_kind = 'conversation' AND d.scope = '' AND d.created_at < :before)"
        )
    )
    for each in _GONE
)
_REMOVE_OF = tuple(
    Statement(each.format(where="d.scope_kind = 'conversation' AND d.scope = :conversation")) for each in _GONE
)


class StoredDocuments:
    """Documents in the database; implements the port `DocumentRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changes = 0

    @property
    def changes(self) -> int:
        return self._changes

    async def _write(self, work: Callable[[Connection], _Done]) -> _Done:
        done = await self._database.write(work)
        self._changes += 1
        return done

    async def add(self, owner: str, document: Document, file: bytes, passages: Sequence[Passage]) -> TakenDocument:
        return await self._write(partial(_add, owner=owner, document=document, file=file, passages=passages))

    async def alike(self, owner: str, scope: Scope, digest: str) -> Document | None:
        return await self._database.look(partial(_alike, owner=owner, scope=scope, digest=digest))

    async def listed(self, owner: str, scopes: Sequence[Scope] | None, limit: int, cursor: str | None) -> DocumentPage:
        return await self._database.look(lambda c: _listed(c, owner, scopes, limit, cursor))

    async def one(
        self, owner: str, document_id: str, *, seen_by: Sequence[Scope] = (), alone: bool = False
    ) -> Document:
        found = await self._database.look(lambda c: _named(c, owner, document_id, deleted=False))
        return _chosen(found, document_id, seen_by, alone=alone)

    async def passages(self, document_id: str, first: int, limit: int) -> Sequence[Passage]:
        asked = {"id": document_id, "first": first, "limit": limit}
        return await self._database.look(lambda c: [_passage(row) for row in _PASSAGES.rows(c, asked)])

    async def position_of(self, document_id: str, page: int, line: int) -> int:
        query = _AT_PAGE if page else _AT_LINE
        asked = {"id": document_id, "page": page, "line": max(1, line)}
        return int(await self._database.look(lambda c: query.first(c, asked)) or 0)

    async def words(self, owner: str, asked: DocumentQuestion, most: int) -> Sequence[int]:
        return await self._database.slow.run(
            lambda c: _words(c, owner, asked, most),
            limits.SEARCH_SECONDS,
            "This search takes too long. Search for a rarer word.",
        )

    async def found(
        self, owner: str, asked: DocumentQuestion, keys: Sequence[int]
    ) -> dict[int, tuple[Document, Passage]]:
        return await self._database.look(lambda c: _found(c, owner, asked, keys))

    async def seen_in(self, conversation_id: str, limit: int) -> tuple[Sequence[Document], int]:
        return await self._database.look(lambda c: _seen_in(c, conversation_id, limit))

    async def change(self, owner: str, document_id: str, change: DocumentPatch) -> Document:
        return await self._write(lambda c: _change(c, owner, document_id, change))

    async def copy(self, owner: str, document_id: str, scope: Scope) -> Document:
        return await self._write(lambda c: _copy(c, owner, document_id, scope))

    async def delete(self, owner: str, document_id: str) -> None:
        await self._write(lambda c: _mark(c, owner, document_id, time.time()) and None)

    async def restore(self, owner: str, document_id: str) -> Document:
        return await self._write(lambda c: _mark(c, owner, document_id, None))

    async def file(self, owner: str, document_id: str) -> bytes | None:
        found = await self._database.look(lambda c: _FILE.first(c, {"owner": owner, "id": document_id}))
        return bytes(found) if found is not None else None


def _add(
    connection: Connection, owner: str, document: Document, file: bytes, passages: Sequence[Passage]
) -> TakenDocument:
    there = _alike(connection, owner, document.scope, document.digest)
    if there is not None:
        return TakenDocument(document=there, already=True)
    _check_scope(connection, owner, document.scope)
    values = _row(document) | {"owner": owner, "digest": document.digest, "created_at": document.created_at}
    _ADD.run(connection, values | {"scope_kind": document.scope.kind, "file": file})
    _ADD_PASSAGE.many(
        connection,
        [
            {
                "document_id": document.id,
                "position": each.position,
                "page": each.page,
                "line": each.line,
                "section": _storable(each.section),
                "text": _storable(each.text),
            }
            for each in passages
        ],
    )
    return TakenDocument(document=document)


def _row(document: Document) -> dict[str, object]:
    return {
        "id": document.id,
        "kind": document.scope.kind,
        "scope": document.scope.id,
        "name": _storable(document.name),
        "body": encode(document),
        "deleted_at": document.deleted_at,
    }


def _storable(text: str) -> str:
    # PostgreSQL's text has no NUL, and neither database takes half of a character.
    return text.replace("\x00", "").encode(errors="replace").decode()


def _alike(connection: Connection, owner: str, scope: Scope, digest: str) -> Document | None:
    asked = {"owner": owner, "kind": scope.kind, "scope": scope.id, "digest": digest}
    body = _SEEN_ALIKE.first(connection, asked)
    return _decoder.decode(body) if body is not None else None


def _check_scope(connection: Connection, owner: str, scope: Scope) -> None:
    """Raise for a place that the owner does not have."""
    if scope.kind == "conversation" and scope != PENDING:
        rows.owned_conversation(connection, owner, scope.id)
    elif scope.kind == "topic" and _TOPIC.first(connection, {"id": scope.id, "owner": owner}) is None:
        raise PilothouseError("not_found", "There is no such topic.")
    elif scope.kind == "folder" and not scope.id.startswith("/"):
        raise PilothouseError("bad_request", "A folder is named by its whole path.")


def _where(scopes: Sequence[Scope] | None, document_id: str = "") -> tuple[str, dict[str, object]]:
    """Return what the documents of an owner in these scopes have in common, and its values."""
    parts, values = ["d.owner = :owner", _SEEN], dict[str, object]()
    if scopes is None:
        parts.append("NOT (d.scope_kind = 'conversation' AND d.scope = '')")
    else:
        each = [f"(d.scope_kind = :kind{at} AND d.scope = :scope{at})" for at in range(len(scopes))]
        parts.append(f"({' OR '.join(each) or '1 = 0'})")
        values |= {f"kind{at}": scope.kind for at, scope in enumerate(scopes)}
        values |= {f"scope{at}": scope.id for at, scope in enumerate(scopes)}
    if document_id:
        parts.append("d.id = :document")
        values["document"] = document_id
    return " AND ".join(parts), values


def _listed(
    connection: Connection, owner: str, scopes: Sequence[Scope] | None, limit: int, cursor: str | None
) -> DocumentPage:
    where, values = _where(scopes)
    values |= {"owner": owner, "limit": limit + 1}
    if cursor is not None:
        at, last = place_of(cursor, float, str)
        where += " AND (d.created_at, d.id) < (:at, :last)"
        values |= {"at": at, "last": last}
    order = "ORDER BY d.created_at DESC, d.id DESC LIMIT :limit"
    sql = f"SELECT d.body FROM documents d WHERE {where} {order}"  # noqa: S608 - all of it is ours
    found = Statement(sql).column(connection, values)
    page = tuple(map(_decoder.decode, found[:limit]))
    more = cursor_of(repr(page[-1].created_at), page[-1].id) if len(found) > limit else None
    return DocumentPage(documents=page, next=more)


def _one(connection: Connection, owner: str, document_id: str, *, deleted: bool) -> Document:
    return _chosen(_named(connection, owner, document_id, deleted=deleted), document_id, (), alone=True)


def _named(connection: Connection, owner: str, document_id: str, *, deleted: bool) -> Sequence[Document]:
    """Return the documents that an id, or the end of one, names."""
    named = document_id.strip()
    by_id, by_end = _ONES[deleted]
    bodies = by_id.column(connection, {"owner": owner, "id": named})
    if not bodies and re.fullmatch(rf"[0-9a-f]{{{SHORT_ID},}}", named):
        bodies = by_end.column(connection, {"owner": owner, "end": f"%{named}"})
    return list(map(_decoder.decode, bodies))


def _chosen(found: Sequence[Document], named: str, seen_by: Sequence[Scope], *, alone: bool) -> Document:
    """Return the one that is meant; a conversation that is a copy has the same documents under the same short ids."""
    seen = [document for document in found if document.scope in seen_by] or found
    if not seen:
        raise PilothouseError("not_found", "There is no such document.", fix="List the documents to see their ids.")
    if len(seen) > 1 and (alone or len({document.digest for document in seen}) > 1):
        fix = "Name it by its whole id; --json lists those."
        raise PilothouseError("conflict", f"There are {len(seen)} documents whose ids end in {named}.", fix=fix)
    return seen[0]


def _passage(row: tuple[Any, ...]) -> Passage:
    position, page, line, section, text = row
    return Passage(position=position, page=page, line=line, section=section, text=text)


def _words(connection: Connection, owner: str, asked: DocumentQuestion, most: int) -> list[int]:
    """Return passages that have any of the words; those with more and rarer ones come first."""
    words = query_words(asked.query)
    if not words:
        return []
    # The beginning of a short word is that of too many others.
    begun = {word: len(word) > 2 for word in words}
    where, values = _where(asked.scopes, asked.document_id)
    dialect = connection.dialect.name
    if dialect == "sqlite":
        values["words"] = " OR ".join(f'"{word}"{"*" * is_part}' for word, is_part in begun.items())
    else:
        values["words"] = " | ".join(f"{word}{':*' * is_part}" for word, is_part in begun.items())
    statement = Statement(_WORDS[dialect].format(where=where))
    return statement.column(connection, values | {"owner": owner, "most": most})


def _found(
    connection: Connection, owner: str, asked: DocumentQuestion, keys: Sequence[int]
) -> dict[int, tuple[Document, Passage]]:
    if not keys:
        return {}
    where, values = _where(asked.scopes, asked.document_id)
    named = ", ".join(f":n{at}" for at in range(len(keys)))
    values |= {"owner": owner} | {f"n{at}": key for at, key in enumerate(keys)}
    columns = "p.id, d.body, p.position, p.page, p.line, p.section, p.text"
    sql = (
        f"SELECT {columns} FROM passages p JOIN documents d ON d.id = p.document_id WHERE p.id IN ({named}) AND {where}"  # noqa: S608 - all of it is ours
    )
    found = Statement(sql).rows(connection, values)
    return {row[0]: (_decoder.decode(row[1]), _passage(row[2:])) for row in found}


def _seen_in(connection: Connection, conversation_id: str, limit: int) -> tuple[Sequence[Document], int]:
    found = _CONVERSATION.rows(connection, {"id": conversation_id})
    if not found:
        return (), 0
    conversation = rows.conversation_from(found[0])
    where, values = _where(scopes_seen(conversation))
    values |= {"owner": conversation.owner}
    count = Statement(f"SELECT count(*) FROM documents d WHERE {where}").first(connection, values)  # noqa: S608
    if not count:
        return (), 0
    return _listed(connection, conversation.owner, scopes_seen(conversation), limit, None).documents, int(count)


def _change(connection: Connection, owner: str, document_id: str, change: DocumentPatch) -> Document:
    document = _one(connection, owner, document_id, deleted=False)
    scope = change.scope or document.scope
    if scope != document.scope:
        _check_scope(connection, owner, scope)
        there = _alike(connection, owner, scope, document.digest)
        if there is not None:
            # The same file is there already; this one is not needed any more.
            _mark(connection, owner, document.id, time.time())
            return there
    changed = msgspec.structs.replace(document, scope=scope, name=change.name or document.name)
    _CHANGE.run(connection, _row(changed))
    if scope != document.scope:
        _MOVE_VECTORS.run(connection, {"kind": scope.kind, "scope": scope.id, "id": document.id})
    return changed


def _copy(connection: Connection, owner: str, document_id: str, scope: Scope) -> Document:
    document = _one(connection, owner, document_id, deleted=False)
    there = _alike(connection, owner, scope, document.digest)
    if there is not None:
        return there
    _check_scope(connection, owner, scope)
    made = msgspec.structs.replace(document, id=new_id("d"), scope=scope, created_at=time.time())
    _COPY.run(connection, _row(made) | {"created_at": made.created_at, "old": document.id})
    _COPY_PASSAGES.run(connection, {"id": made.id, "old": document.id})
    return made


def _mark(connection: Connection, owner: str, document_id: str, deleted_at: float | None) -> Document:
    document = _one(connection, owner, document_id, deleted=deleted_at is None)
    if deleted_at is None:
        _check_scope(connection, owner, document.scope)
        there = _alike(connection, owner, document.scope, document.digest)
        if there is not None:
            return there
    changed = msgspec.structs.replace(document, deleted_at=deleted_at)
    _CHANGE.run(connection, _row(changed))
    return changed


def remove_old(connection: Connection, before: float) -> None:
    """Remove for good what was deleted before a time, and what waited since then for a message that never came."""
    for statement in _REMOVE_OLD:
        statement.run(connection, {"before": before})


def remove_of(connection: Connection, conversation_ids: Sequence[str]) -> None:
    """Remove for good the documents of conversations that are gone."""
    for conversation_id in conversation_ids:
        for statement in _REMOVE_OF:
            statement.run(connection, {"conversation": conversation_id})
