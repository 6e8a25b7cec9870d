"""What was done, on whose word, and whether the record of it is as it was written: all from the events alone."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import msgspec
import sqlalchemy as sa

from pilothouse.store import chain, packed_range, packing, rows
from pilothouse.store.packed_range import Kept
from pilothouse.store.packing import as_bytes
from pilothouse.store.statements import Statement
from pilothouse.types.authority import AuditCheck, AuditEntry, Decision
from pilothouse.types.errors import BadField
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated, event_decoder
from pilothouse.types.folding import changed
from pilothouse.types.items import Item
from pilothouse.types.json import convert

_CONVERSATIONS = Statement("SELECT id FROM conversations WHERE owner = :owner ORDER BY updated_at DESC, id")
_ABOUT_CALLS = frozenset({"item.created", "item.updated", "item.completed"})


def conversations(connection: sa.Connection, owner: str) -> list[str]:
    """Return all conversations of an owner, deleted ones too, most recently used first."""
    return [str(each) for each in _CONVERSATIONS.column(connection, {"owner": owner})]


def unsound(connection: sa.Connection) -> list[str]:
    """Return the conversations whose events are not as they were written, of all owners."""
    found = []
    for conversation_id, last in connection.execute(sa.text("SELECT id, last_seq FROM conversations")).all():
        check = _Check(conversation_id, sys.maxsize)
        for row in packing.rows_after(connection, conversation_id, -1):
            check.take(row)
        if not check.result(last).sound:
            found.append(str(conversation_id))
    return found


def report(
    connection: sa.Connection, owner: str, conversation_id: str, until: int | None = None
) -> tuple[list[AuditEntry], AuditCheck]:
    """Return the calls of a conversation in order, and whether its events are whole; of all, or of the first ones."""
    conversation = rows.owned_conversation(connection, owner, conversation_id, deleted=True)
    calls: dict[str, Item] = {}
    last = conversation.last_seq if until is None else min(until, conversation.last_seq)
    check = _Check(conversation_id, sys.maxsize if until is None else until)
    for row in packing.rows_after(connection, conversation_id, -1):
        for event in check.take(row):
            if event.kind in _ABOUT_CALLS:
                # What someone else wrote may be no event at all; that it is not ours was found before.
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    _fold(calls, event_decoder.decode(event.body))
        if until is not None and row[0] >= until:
            break
    return [_entry(call) for call in calls.values()], check.result(last)


class _Check:
    """Follows the seals from the first event on, up to a number."""

    def __init__(self, conversation_id: str, until: int) -> None:
        self._id = conversation_id
        self._until = until
        self._seal = chain.beginning(conversation_id)
        self._events = 0
        self._first_bad: int | None = None

    def take(self, row: tuple[Any, ...]) -> list[Kept]:
        """Look at the next row, and return the events that it holds."""
        seq, kind, item_id, body, seal = row
        before, events = self._seal, [Kept(int(seq), str(kind), item_id, as_bytes(body))]
        if kind == packed_range.KIND:
            with suppress(packed_range.NotPacked):
                before, events = packed_range.unpacked(events[0].body)
        first = self._events + 1
        numbers = [event.seq for event in events]
        fits = before == self._seal and numbers == list(range(first, int(seq) + 1))
        newest = self._seal
        for event in events:
            newest = chain.link(newest, event)
            if event.seq <= self._until:
                self._events += 1
                self._seal = newest
        if self._first_bad is None and (not fits or as_bytes(seal) != newest):
            self._first_bad = min([first, *numbers])
        return [event for event in events if event.seq <= self._until]

    def result(self, last_seq: int) -> AuditCheck:
        """Return what was found, once all were looked at."""
        if self._first_bad is None and self._events != last_seq:
            self._first_bad = min(self._events, last_seq) + 1
        return AuditCheck(
            conversation_id=self._id,
            events=self._events,
            sound=self._first_bad is None,
            head=self._seal.hex(),
            first_bad=self._first_bad,
        )


def _fold(calls: dict[str, Item], event: Event) -> None:
    if isinstance(event, ItemCreated):
        if event.item.kind == "tool_call":
            calls[event.item.id] = event.item
    elif isinstance(event, ItemUpdated | ItemCompleted) and event.item_id in calls:
        calls[event.item_id] = changed(calls[event.item_id], event)


def _entry(call: Item) -> AuditEntry:
    data = call.data
    access, error, arguments = data.get("access") or {}, data.get("error") or {}, data.get("arguments")
    tool = str(data.get("serverTool") or data.get("tool") or "")
    return AuditEntry(
        conversation_id=call.conversation_id,
        run_id=call.run_id or "",
        item_id=call.id,
        at=call.created_at,
        tool=tool,
        operation=str(access.get("operation") or tool),
        arguments=arguments if isinstance(arguments, dict) else {},
        status=call.status,
        decision=_decision(data.get("decision")),
        error=str(error.get("message") or ""),
    )


def _decision(kept: object) -> Decision | None:
    try:
        return convert(kept, Decision)
    except BadField:
        return None
