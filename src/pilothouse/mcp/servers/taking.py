"""What becomes of each server of another program's file: added, known already, or refused."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec

from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.entries import parse_entry, written
from pilothouse.mcp.servers.forms import Draft, drafted
from pilothouse.mcp.servers.names import slug
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.servers import ImportedServer, ImportRequest, ManualSource


def taken(
    file: importing.File, body: ImportRequest, there: set[str]
) -> tuple[Sequence[ImportedServer], Sequence[Draft]]:
    """Return what becomes of each server of a file, and what to keep of them."""
    source = ManualSource(imported_from=body.origin[: limits.TITLE_CHARS] or "file")
    outcomes: list[ImportedServer] = []
    drafts: list[Draft] = []
    for each in importing.taken(file, body.answers):
        outcome, draft = _weighed(each, there)
        outcomes.append(outcome)
        if draft is not None:
            there.add(slug(draft.entry.name))
            entry = msgspec.structs.replace(draft.entry, source=source)
            drafts.append(msgspec.structs.replace(draft, entry=entry))
    return outcomes, drafts


def _kept_note(draft: Draft) -> str:
    """Return which keys of a file stood in it as plain text."""
    return f"Kept as a secret, no longer readable in its settings: {', '.join(draft.recognised)}."


def _weighed(found: importing.Found, there: set[str]) -> tuple[ImportedServer, Draft | None]:
    """Return what becomes of a server of another program's file, and what to keep of it."""
    if found.body is None:
        return ImportedServer(name=found.name, outcome="refused", reason=found.problem), None
    try:
        draft = drafted(found.body, str(uuid.uuid4()))
        parse_entry(written(draft.entry))
    except (PilothouseError, BadField) as error:
        return ImportedServer(name=found.name, outcome="refused", reason=error.message), None
    if slug(draft.entry.name) in there:
        reason = "A server of this name is in the list."
        return ImportedServer(name=found.name, outcome="known", reason=reason), None
    reason = "" if draft.entry.enabled else "It is switched off until you switch it on."
    notes = (*found.notes, _kept_note(draft)) if draft.recognised else found.notes
    outcome = ImportedServer(
        name=found.name, outcome="added", reason=reason, id=draft.entry.id, notes=notes, was_off=found.was_off
    )
    return outcome, draft
