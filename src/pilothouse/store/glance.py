"""What is asked with every message: are there memories or documents, and what has this conversation stored lately.

Where there are none, what reads them is not loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pilothouse.store.statements import Connection, Statement

if TYPE_CHECKING:
    from pilothouse.types.memories import Memory

# What is in a topic that was deleted is hidden until the topic is brought back, or gone for good.
SEEN = (
    "(m.scope_kind <> 'topic' OR NOT EXISTS (SELECT 1 FROM topics h WHERE h.id = m.scope AND h.deleted_at IS NOT NULL))"
)
ALL = "SELECT m.body FROM memories m WHERE"
BODIES = f"{ALL} {SEEN} AND"
_MEMORY = Statement(f"{BODIES} m.owner = :owner AND m.forgotten_at IS NULL LIMIT 1")
_DOCUMENT = Statement("SELECT 1 FROM documents LIMIT 1")
_STORED_IN = {
    hidden: Statement(
        f"{which} m.origin = :id AND m.created_at > :since AND m.forgotten_at IS NULL ORDER BY m.created_at"
    )
    for hidden, which in ((False, BODIES), (True, ALL))
}


def has_memories(connection: Connection, owner: str) -> bool:
    """Return whether there is anything to find."""
    return _MEMORY.first(connection, {"owner": owner}) is not None


def has_documents(connection: Connection) -> bool:
    """Return whether there is any document, whoever's it is."""
    return _DOCUMENT.first(connection, {}) is not None


def stored_in(connection: Connection, conversation_id: str, since: float, *, hidden: bool = False) -> Sequence[Memory]:
    """Return what a conversation stored since a time, oldest first; what a deleted topic hides on request."""
    bodies = _STORED_IN[hidden].column(connection, {"id": conversation_id, "since": since})
    if not bodies:
        return ()
    from pilothouse.store.memories import decoded

    return [decoded(body) for body in bodies]
