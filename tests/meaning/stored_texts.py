"""Memories and passages put into the tables as their parts keep them, for tests of finding by meaning."""

from __future__ import annotations

import hashlib
import secrets
import struct
import time
from collections.abc import Sequence

from pilothouse.store.database import Database
from pilothouse.store.statements import Statement, inserting
from pilothouse.types.scopes import EVERYWHERE, Scope
from tests.support.records import OWNER

_MEMORY = inserting(
    "memories",
    *("key", "owner", "scope_kind", "scope", "text", "digest", "body", "origin", "created_at", "updated_at"),
)
_DOCUMENT = inserting("documents", "id", "owner", "scope_kind", "scope", "name", "digest", "body", "created_at")
_PASSAGE = inserting("passages", "document_id", "position", "line", "section", "text")
_PASSAGES = Statement("SELECT id FROM passages WHERE document_id = :id ORDER BY position")


def unit_vector(*numbers: float) -> bytes:
    """Return a vector of length 1."""
    length = sum(number * number for number in numbers) ** 0.5
    return struct.pack(f"<{len(numbers)}e", *(number / length for number in numbers))


async def keep_memories(database: Database, *texts: str, owner: str = OWNER, scope: Scope = EVERYWHERE) -> list[str]:
    """Keep memories and return their keys."""
    rows: list[dict[str, object]] = [
        {
            "key": f"m_{secrets.token_hex(8)}",
            "owner": owner,
            "scope_kind": scope.kind,
            "scope": scope.id,
            "text": text,
            "digest": digest(text),
            "body": b"{}",
            "origin": "",
            "created_at": time.time(),
            "updated_at": time.time(),
        }
        for text in texts
    ]
    await database.write(lambda connection: _MEMORY.many(connection, rows))
    return [str(row["key"]) for row in rows]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def execute(database: Database, sql: str, **values: object) -> None:
    """Run a statement with values by name."""
    await database.write(lambda connection: Statement(sql).run(connection, values))


async def import_document(
    database: Database, texts: Sequence[str], *, owner: str = OWNER, scope: Scope = EVERYWHERE, section: str = ""
) -> tuple[str, list[str]]:
    """Keep a document and return its id and the keys of its passages."""
    document_id = f"d_{secrets.token_hex(8)}"
    document: dict[str, object] = {
        "id": document_id,
        "owner": owner,
        "scope_kind": scope.kind,
        "scope": scope.id,
        "name": "notes.md",
        "digest": digest("".join(texts)),
        "body": b"{}",
        "created_at": time.time(),
    }
    passages: list[dict[str, object]] = [
        {"document_id": document_id, "position": place, "line": 1, "section": section, "text": text}
        for place, text in enumerate(texts)
    ]
    await database.write(lambda connection: _DOCUMENT.run(connection, document))
    await database.write(lambda connection: _PASSAGE.many(connection, passages))
    found = await database.read(lambda connection: _PASSAGES.column(connection, {"id": document_id}))
    return document_id, [str(number) for number in found]
