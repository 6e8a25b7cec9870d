"""Packs the events of finished runs, range by range, beside everything else that the database does.

A range becomes one row: in the place of its last event, with that event's seal, so that whatever is appended is sealed
to it as before. Nothing is lost: before a range is replaced, every event is rebuilt from the record and compared, and
its seals are followed. A range that does not come out the same is left as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from pilothouse.store import hash_chain, packed_range
from pilothouse.store.packed_range import Kept
from pilothouse.store.packed_text import packed_body
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_NEXT = Statement(
    "SELECT b.conversation_id, b.seq, c.last_seq FROM packing_backlog b JOIN conversations c "
    "ON c.id = b.conversation_id WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.conversation_id = b.conversation_id "
    "AND r.status IN ('queued', 'running', 'waiting')) ORDER BY b.conversation_id DESC LIMIT :limit"
)
_HOLD = Statement("SELECT id FROM conversations WHERE id = :id FOR UPDATE")
_LAST_PACKED = Statement(
    "SELECT seq FROM events WHERE conversation_id = :id AND kind = 'packed' ORDER BY seq DESC LIMIT 1"
)
_FIRST_OPEN = Statement(
    "SELECT min(position) FROM items WHERE conversation_id = :id AND position > :after "
    "AND status IN ('streaming', 'waiting')"
)
_SIZES = Statement(
    "SELECT seq, kind, length(body) FROM events WHERE conversation_id = :id AND seq > :after AND seq < :before "
    "ORDER BY seq LIMIT :limit"
)
_EVENTS = Statement(
    "SELECT seq, kind, item_id, body, chain FROM events WHERE conversation_id = :id AND seq >= :first "
    "AND seq <= :last ORDER BY seq"
)
_ITEMS = Statement(
    "SELECT id, body FROM items WHERE conversation_id = :id AND position >= :first AND position <= :last "
    "AND length(body) <= :most"
)
_PACK_ITEM = Statement("UPDATE items SET body = :small WHERE id = :item AND body = :body")
# SQLite: what shrinks where it stands leaves half of its page empty, so that it goes to the end of the table instead.
_MOVE_ITEM = Statement(
    "UPDATE items SET body = :small, rowid = (SELECT max(rowid) + 1 FROM items) WHERE id = :item AND body = :body"
)
_SEAL = Statement("SELECT chain FROM events WHERE conversation_id = :id AND seq = :seq")
_LAST_SEQ = Statement("SELECT last_seq FROM conversations WHERE id = :id")
_REMOVE = Statement("DELETE FROM events WHERE conversation_id = :id AND seq >= :first AND seq <= :last")
_ADD = Statement(
    "INSERT INTO events (conversation_id, seq, kind, item_id, body, chain) "
    "VALUES (:id, :last, 'packed', NULL, :body, :chain)"
)
_DUE = Statement("INSERT INTO packing_backlog (conversation_id, seq) VALUES (:id, NULL) ON CONFLICT DO NOTHING")
_GO_ON = Statement("UPDATE packing_backlog SET seq = :seq WHERE conversation_id = :id")
_DONE = Statement("DELETE FROM packing_backlog WHERE conversation_id = :id")
_ROW_SIZES = Statement(
    "SELECT seq, length(body) FROM events WHERE conversation_id = :id AND seq > :after ORDER BY seq LIMIT :limit"
)


class Plan(NamedTuple):
    """What is to be done in one short transaction."""

    conversation_id: str
    # How far the conversation is gone through, whether that is all that can be, and its newest event at that time.
    seq: int
    is_last: bool
    last_seq: int
    # The events that a record replaces, if any do: the first and last number, the record and the last seal.
    replace: tuple[int, int, bytes, bytes] | None = None
    # Items that become smaller: each with the body it had and the one it gets.
    items: tuple[tuple[str, bytes, bytes], ...] = ()
    # How many bytes of events were gone through.
    size: int = 0


def note(connection: Connection, conversation_id: str) -> None:
    """Remember that a run is over, and that its events can be packed."""
    _DUE.run(connection, {"id": conversation_id})


def plans(connection: Connection) -> list[Plan]:
    """Return the next ranges that can be packed, one of each conversation; nothing when nothing is left.

    They are as much work together as one range of a long conversation: most conversations are short.
    """
    found: list[Plan] = []
    for conversation_id, after, last_seq in _NEXT.rows(connection, {"limit": limits.PACKED_TOGETHER}):
        found.append(_plan(connection, conversation_id, after, last_seq))
        if sum(planned.size for planned in found) >= limits.PACKED_BYTES:
            break
    return found


def _plan(connection: Connection, conversation_id: str, after: int | None, last_seq: int) -> Plan:
    """Return the next range of a conversation, or that there is none."""
    if after is None:
        after = _LAST_PACKED.first(connection, {"id": conversation_id}) or 0
    about = {"id": conversation_id, "after": after}
    before = _FIRST_OPEN.first(connection, about) or last_seq + 1
    sizes = _SIZES.rows(connection, about | {"before": before, "limit": limits.PACKED_EVENTS})
    if not sizes:
        return Plan(conversation_id, after, True, last_seq)
    first, last = _range(sizes)
    items = tuple(_smaller_items(connection, conversation_id, first, last))
    size = sum(int(size) for seq, _, size in sizes if seq <= last)
    planned = Plan(conversation_id, last, last + 1 >= before, last_seq, items=items, size=size)
    if first == last:
        return planned
    rows = _EVENTS.rows(connection, {"id": conversation_id, "first": first, "last": last})
    return planned._replace(replace=_record(connection, conversation_id, rows))


def _smaller_items(
    connection: Connection, conversation_id: str, first: int, last: int
) -> Iterator[tuple[str, bytes, bytes]]:
    """Return the items that begin in a range, where packing makes them smaller."""
    place = {"id": conversation_id, "first": first, "last": last}
    for item_id, body in _ITEMS.rows(connection, place | {"most": limits.PACKED_BYTES}):
        small = packed_body(bytes(body))
        if small is not body and len(small) < len(body):
            yield item_id, bytes(body), small


def _range(sizes: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
    """Return the first and the last of the events that fit into one record, all next to each other."""
    first = last = int(sizes[0][0])
    if sizes[0][1] == packed_range.KIND:
        return first, last
    total = int(sizes[0][2])
    for seq, kind, size in sizes[1:]:
        total += size
        if seq != last + 1 or kind == packed_range.KIND or total > limits.PACKED_BYTES:
            break
        last = int(seq)
    return first, last


def _record(
    connection: Connection, conversation_id: str, rows: Sequence[tuple[Any, ...]]
) -> tuple[int, int, bytes, bytes] | None:
    """Return the record of a range, if all of it can be rebuilt and was sealed as it is."""
    events = [Kept(int(seq), str(kind), item_id, as_bytes(body)) for seq, kind, item_id, body, _ in rows]
    first, last = events[0].seq, events[-1].seq
    if first == 1:
        before: bytes | None = hash_chain.beginning(conversation_id)
    else:
        before = _SEAL.first(connection, {"id": conversation_id, "seq": first - 1})
    if before is None:
        return None
    seal = bytes(before)
    for event, row in zip(events, rows, strict=True):
        seal = hash_chain.link(seal, event)
        if row[4] is None or as_bytes(row[4]) != seal:
            return None
    body = packed_range.packed(events, bytes(before))
    is_smaller = len(body) < sum(len(event.body) for event in events)
    with contextlib.suppress(packed_range.NotPacked):
        if is_smaller and packed_range.unpacked(body) == (bytes(before), events):
            return first, last, body, seal
    return None


def carry_out(connection: Connection, planned: Plan) -> None:
    """Replace the range, unless someone else has meanwhile, and note how far this conversation is."""
    about: dict[str, object] = {"id": planned.conversation_id}
    if connection.dialect.name != "sqlite":
        # Whoever deletes the conversation or ends a run in it holds its row; so do we, and before any other.
        _HOLD.run(connection, about)
    if planned.replace is not None:
        first, last, body, seal = planned.replace
        if _REMOVE.count(connection, about | {"first": first, "last": last}) != last - first + 1:
            raise Overtaken
        _ADD.run(connection, about | {"last": last, "body": body, "chain": seal})
    pack = _MOVE_ITEM if connection.dialect.name == "sqlite" else _PACK_ITEM
    for item_id, body, small in planned.items:
        pack.run(connection, {"item": item_id, "body": body, "small": small})
    # What a run wrote since is looked at in the next step.
    if planned.is_last and _LAST_SEQ.first(connection, about) in (None, planned.last_seq):
        _DONE.run(connection, about)
    else:
        _GO_ON.run(connection, about | {"seq": planned.seq})


class Overtaken(Exception):
    """Another process packed the same events first; what this one did is taken back."""


def rows_after(connection: Connection, conversation_id: str, after: int) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a conversation's events after a number, in order, packed ones as they are."""
    place: dict[str, object] = {"id": conversation_id}
    while sizes := _ROW_SIZES.rows(connection, place | {"after": after, "limit": limits.PACKED_ROWS}):
        # The first of them, and as many more as memory easily takes.
        totals = accumulate(size for _, size in sizes)
        few = [seq for (seq, _), total in zip(sizes, totals, strict=True) if total <= limits.PACKED_BYTES]
        last = few[-1] if few else sizes[0][0]
        yield from _EVENTS.rows(connection, place | {"first": sizes[0][0], "last": last})
        after = last


def events_after(connection: Connection, conversation_id: str, after: int) -> Iterator[Kept]:
    """Return the events after a number, in order, each as it was written."""
    for seq, kind, item_id, body, _ in rows_after(connection, conversation_id, after):
        if kind == packed_range.KIND:
            yield from (event for event in _unpacked(seq, bytes(body)) if event.seq > after)
        else:
            yield Kept(seq, kind, item_id, bytes(body))


def _unpacked(seq: int, body: bytes) -> list[Kept]:
    try:
        return packed_range.unpacked(body)[1]
    except packed_range.NotPacked:
        raise PilothouseError(
            "database_corrupt",
            f"The record of this conversation is damaged before its event {seq}.",
            fix="Restore the database from a backup; `pilothouse audit verify` says which conversations are whole.",
        ) from None


def as_bytes(kept: object) -> bytes:
    """Return what a column holds: SQLite keeps whatever it was given, also where bytes belong."""
    return bytes(kept) if isinstance(kept, bytes | bytearray | memoryview) else str(kept).encode(errors="replace")
