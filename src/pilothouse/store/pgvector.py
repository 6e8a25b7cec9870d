"""Vectors compared by PostgreSQL itself, where it has the extension pgvector or may have it.

The column and its indexes are made when someone first asks for meaning, beside the migrations: a server without the
extension has the same schema in all else, and vectors are then compared with a file.
"""

from __future__ import annotations

import hashlib
import logging
import re
import struct
from collections.abc import Sequence

from pilothouse.store.faults import database_errors
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.vectors import Asked

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,199}")
_MAKE = (
    # Its types and its operators must be where names are looked for; `public` is, unless someone wanted otherwise.
    "CREATE EXTENSION IF NOT EXISTS vector",
    "ALTER TABLE vectors ADD COLUMN IF NOT EXISTS near halfvec",
)
_HAS = Statement(
    "SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() "
    "AND table_name = 'vectors' AND column_name = 'near' AND udt_name = 'halfvec'"
)
_LOCK = Statement("SELECT pg_advisory_xact_lock(:id)")
_PREPARE_LOCK = 7_420_003
_UNFILLED = Statement("SELECT id, vector FROM vectors WHERE near IS NULL LIMIT 500")
_FILL = Statement("UPDATE vectors SET near = CAST(:near AS halfvec) WHERE id = :id")
_ADD = Statement(
    "INSERT INTO vectors (kind, key, model, owner, scope_kind, scope, version, vector, near) VALUES "
    "(:kind, :key, :model, :owner, :scope_kind, :scope, :version, :vector, CAST(:near AS halfvec))"
)
_SETTINGS = Statement(
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :looked, true)"
)


def prepared(connection: Connection) -> bool:
    """Make ready what comparing needs; return whether this database compares vectors."""
    _LOCK.run(connection, {"id": _PREPARE_LOCK})
    if _HAS.first(connection, {}):
        return True
    try:
        with connection.begin_nested():
            for statement in _MAKE:
                connection.exec_driver_sql(statement)
    except database_errors() as error:
        _log.info("vectors are compared with a file, not by PostgreSQL: %s", str(error).splitlines()[0])
        return False
    return True


def fill(connection: Connection) -> bool:
    """Take over some vectors from before the column was there; return whether there were any."""
    rows = _UNFILLED.rows(connection, {})
    _FILL.many(connection, [{"id": number, "near": written(bytes(vector))} for number, vector in rows])
    return bool(rows)


def index(connection: Connection, model: str, dimension: int) -> None:
    """Have an index for the vectors of a model, where they are not too long for one."""
    if dimension > limits.PGVECTOR_DIMENSIONS:
        return
    name = f"vectors_near_{hashlib.blake2b(model.encode(), digest_size=8).hexdigest()}"
    connection.exec_driver_sql(
        f"CREATE INDEX IF NOT EXISTS {name} ON vectors USING hnsw ((near::halfvec({dimension})) halfvec_cosine_ops) "
        f"WHERE model = {_quoted(model)}"
    )


def in_order(connection: Connection, lock: int) -> None:
    """Wait for whoever keeps vectors right now: numbers are given in the order in which others see them."""
    _LOCK.run(connection, {"id": lock})


def add(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    """Keep vectors as both forms."""
    _ADD.many(connection, [row | {"near": written(_bytes(row["vector"]))} for row in rows])


def nearest(connection: Connection, asked: Asked) -> list[int]:
    """Return the numbers of the nearest vectors, nearest first."""
    dimension = len(asked.query) // 2
    values: dict[str, object] = {"owner": asked.owner, "kind": asked.kind, "near": written(asked.query)}
    where = ""
    if asked.scopes is not None:
        pairs = []
        for place, scope in enumerate(asked.scopes):
            values |= {f"kind{place}": scope.kind, f"scope{place}": scope.id}
            pairs.append(f"(scope_kind = :kind{place} AND scope = :scope{place})")
        where = f"AND ({' OR '.join(pairs) or 'false'})"
    # The model stands in the text: its index is found by that.
    statement = Statement(
        f"SELECT id FROM vectors WHERE model = {_quoted(asked.model)} AND kind = :kind AND owner = :owner {where} "  # noqa: S608
        f"ORDER BY CAST(near AS halfvec({dimension})) <=> CAST(:near AS halfvec({dimension})) LIMIT :most"
    )
    _SETTINGS.rows(connection, {"looked": str(limits.PGVECTOR_LOOKED_AT)})
    return statement.column(connection, values | {"most": asked.most + limits.VECTOR_MORE})


def written(vector: bytes) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, struct.unpack(f'<{len(vector) // 2}e', vector)))}]"


def _quoted(model: str) -> str:
    """Return a model's name as it stands in a statement; names that could be anything else are none of ours."""
    if not _NAME.fullmatch(model):
        raise ValueError(model)
    return f"'{model}'"


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
