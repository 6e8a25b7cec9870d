"""The documents of a conversation in a copy of it: models name them as before, by the end of their ids."""

from __future__ import annotations

import msgspec

from pilothouse.store.statements import Connection, Statement
from pilothouse.types.documents import SHORT_ID, Document
from pilothouse.types.ids import new_id
from pilothouse.types.json import encode
from pilothouse.types.scopes import Scope

_decoder = msgspec.json.Decoder(Document)
_OF = Statement(
    "SELECT id FROM documents WHERE owner = :owner AND scope_kind = 'conversation' AND scope = :conversation "
    "AND deleted_at IS NULL"
)
_BODY = Statement("SELECT body FROM documents WHERE id = :id")
_COPY = Statement(
    "INSERT INTO documents (id, owner, scope_kind, scope, name, digest, body, file, created_at, deleted_at) "
    "SELECT :id, owner, scope_kind, :scope, name, digest, :body, file, created_at, NULL FROM documents WHERE id = :old"
)
_COPY_PASSAGES = Statement(
    "INSERT INTO passages (document_id, position, page, line, section, text) "
    "SELECT :id, position, page, line, section, text FROM passages WHERE document_id = :old ORDER BY position"
)


def of(connection: Connection, owner: str, conversation_id: str) -> dict[str, str]:
    """Return the documents of a conversation, each with the id that it gets in a copy."""
    found = _OF.column(connection, {"owner": owner, "conversation": conversation_id})
    return {str(old): f"{new_id('d')[:-SHORT_ID]}{str(old)[-SHORT_ID:]}" for old in found}


def copy(connection: Connection, old: str, new: str, conversation_id: str) -> None:
    """Keep a document once more, for another conversation; one that is gone meanwhile is left out."""
    body = _BODY.first(connection, {"id": old})
    if body is None:
        return
    scope = Scope(kind="conversation", id=conversation_id)
    made = msgspec.structs.replace(_decoder.decode(body), id=new, scope=scope)
    _COPY.run(connection, {"id": new, "old": old, "scope": conversation_id, "body": encode(made)})
    _COPY_PASSAGES.run(connection, {"id": new, "old": old})
