"""What was done, on whose word, and whether the record of it is as it was written: all from the events alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from pilothouse.store import hash_chain, packed_range, packing, parts, rows
from pilothouse.store.packed_range import Kept
from pilothouse.store.packing import as_bytes
from pilothouse.store.statements import Connection, Statement
from pilothouse.types.authority import AuditCheck, AuditEntry
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated, event_decoder
from pilothouse.types.folding import changed
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Call, is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.parts import digest

_CONVERSATIONS = Statement("SELECT id FROM conversations WHERE owner = :owner ORDER BY id DESC")
_ALL = Statement("SELECT id, last_seq FROM conversations")
_ABOUT_ITEMS = frozenset({"item.created", "item.updated", "item.completed"})


def conversations(connection: Connection, owner: str) -> list[str]:
    """Return all conversations of an owner, deleted ones too, newest first: in an order that no use changes."""
    return [str(each) for each in _CONVERSATIONS.column(connection, {"owner": owner})]


def unsound(connection: Connection) -> list[str]:
    """Return the conversations whose events or parts are not as they were written, of all owners."""
    found = []
    for conversation_id, last in _ALL.rows(connection, {}):
        check, contents = _Check(conversation_id, sys.maxsize), _Contents(conversation_id)
        for event in _about_items(connection, check):
            contents.take(event)
        if not check.result(last, contents.first_bad(connection)).sound:
            found.append(str(conversation_id))
    return found


def report(
    connection: Connection, owner: str, conversation_id: str, until: int | None = None
) -> tuple[list[AuditEntry], AuditCheck]:
    """Return the calls of a conversation in order, and whether its events are whole; of all, or of the first ones."""
    conversation = rows.owned_conversation(connection, owner, conversation_id, deleted=True)
    calls: dict[str, Call] = {}
    last = conversation.last_seq if until is None else min(until, conversation.last_seq)
    check = _Check(conversation_id, sys.maxsize if until is None else until)
    contents = _Contents(conversation_id)
    for event in _about_items(connection, check):
        _fold(calls, event)
        contents.take(event)
    return [_entry(call) for call in calls.values()], check.result(last, contents.first_bad(connection))


def _about_items(connection: Connection, check: _Check) -> Iterator[Event]:
    """Have all events of a conversation checked, and return those about items."""
    for row in packing.rows_after(connection, check.id, -1):
        for event in check.take(row):
            if event.kind in _ABOUT_ITEMS:
                # What someone else wrote may be no event at all; that it is not ours was found before.
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    yield event_decoder.decode(event.body)
        if row[0] >= check.until:
            break


class _Check:
    """Follows the seals from the first event on, up to a number."""

    def __init__(self, conversation_id: str, until: int) -> None:
        self.id = conversation_id
        self.until = until
        self._seal = hash_chain.beginning(conversation_id)
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
            newest = hash_chain.link(newest, event)
            if event.seq <= self.until:
                self._events += 1
                self._seal = newest
        if self._first_bad is None and (not fits or as_bytes(seal) != newest):
            self._first_bad = min([first, *numbers])
        return [event for event in events if event.seq <= self.until]

    def result(self, last_seq: int, bad_content: int | None) -> AuditCheck:
        """Return what was found, once all were looked at; an event is not whole without the very parts it names."""
        if self._first_bad is None and self._events != last_seq:
            self._first_bad = min(self._events, last_seq) + 1
        if bad_content is not None:
            self._first_bad = min(bad_content, self._first_bad or bad_content)
        return AuditCheck(
            conversation_id=self.id,
            events=self._events,
            sound=self._first_bad is None,
            head=self._seal.hex(),
            first_bad=self._first_bad,
        )


class _Contents:
    """Which parts are kept beside the timeline, by what the events say of them."""

    def __init__(self, conversation_id: str) -> None:
        self._id = conversation_id
        # By item: which event says so, and what it says of each part.
        self._told: dict[str, tuple[int, list[Any]]] = {}

    def take(self, event: Event) -> None:
        """Look at the next event; of an item, what the last one says counts."""
        if isinstance(event, ItemCreated):
            self._note(event.seq, event.item.id, event.item.raw)
        elif isinstance(event, ItemUpdated | ItemCompleted):
            self._note(event.seq, event.item_id, event.data)

    def _note(self, seq: int, item_id: str, told: JsonObject) -> None:
        if isinstance(content := told.get("content"), list):
            self._told[item_id] = (seq, [part for part in content if isinstance(part, dict) and part.get("digest")])

    def first_bad(self, connection: Connection) -> int | None:
        """Return the first event one of whose parts is gone, or is not what it was."""
        told = sorted((seq, item_id, content) for item_id, (seq, content) in self._told.items() if content)
        for seq, item_id, content in told:
            for part in content:
                body = parts.kept(connection, self._id, item_id, part.get("index"))
                if body is None or digest(as_bytes(body)) != part["digest"]:
                    return seq
        return None


def _fold(calls: dict[str, Call], event: Event) -> None:
    if isinstance(event, ItemCreated):
        if is_a(event.item, CallData):
            calls[event.item.id] = event.item
    elif isinstance(event, ItemUpdated | ItemCompleted) and event.item_id in calls:
        calls[event.item_id] = changed(calls[event.item_id], event)


def _entry(call: Call) -> AuditEntry:
    data = call.data
    tool = data.server_tool or data.tool
    return AuditEntry(
        conversation_id=call.conversation_id,
        run_id=call.run_id or "",
        item_id=call.id,
        at=call.created_at,
        tool=tool,
        operation=(data.access.operation if data.access is not None else "") or tool,
        arguments=data.arguments or {},
        status=call.status,
        decision=data.decision,
        error=data.error.message if data.error is not None else "",
    )
