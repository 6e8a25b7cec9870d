"""What a conversation has seen, folded from its timeline: where private data and strangers' text came from, what left.

A call counts from the moment it began: what it brought is in the conversation whatever became of it. Why one could not
begin may tell what is in files, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

from pilothouse.types.access import Access
from pilothouse.types.authority import HERE, PIPED, SERVER, Seen
from pilothouse.types.item_data import Brought, CallData, CompactionData, MessageData, ReminderData
from pilothouse.types.items import CLOSED, Call, Item, is_a
from pilothouse.types.summed_up import SeenData


def seen(items: Sequence[Item], run_id: str) -> Seen:
    """Return what the conversation has seen so far, and what this run sent."""
    done = (item for item in reversed(items) if is_a(item, CompactionData) and item.status == "completed")
    summary = next(done, None)
    kept = (summary.data.seen if summary is not None else None) or SeenData()
    since = summary.position if summary is not None else -1
    private = set(kept.private)
    # A summary from before this was kept says of servers only that they told something private.
    untrusted = {*kept.untrusted, *(source for source in private if source.startswith(SERVER))}
    mine = kept if summary is not None and summary.run_id == run_id else SeenData()
    sent, sends, bits = Counter[str](mine.sent), Counter[str](mine.sends), Counter[str](kept.bits)
    for item in items:
        private |= _private(item)
        untrusted |= _untrusted(item)
        if item.position <= since or not _began(item):
            continue
        if (access := item.data.access) is None or not access.destination:
            continue
        if item.data.decision is not None and item.data.decision.bits:
            bits[access.destination] += item.data.decision.bits
        if item.run_id == run_id:
            sent[access.destination] += access.payload_bytes
            sends[access.destination] += 1
    return Seen(frozenset(private), dict(sent), dict(sends), dict(bits), frozenset(untrusted))


def sending(access: Access, bits: int) -> Seen:
    """Return what a call sends, as if it had been carried out."""
    to = access.destination
    return Seen(sent={to: access.payload_bytes}, sends={to: 1}, bits={to: bits}) if to else Seen()


def joined(one: Seen, other: Seen) -> Seen:
    """Return both together."""
    counts = ((one.sent, other.sent), (one.sends, other.sends), (one.bits, other.bits))
    sent, sends, bits = (_added(*each) for each in counts)
    return Seen(one.private | other.private, sent, sends, bits, one.untrusted | other.untrusted)


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {to: one.get(to, 0) + other.get(to, 0) for to in one.keys() | other.keys()} if other else one


def kept_of(told: Seen) -> SeenData:
    """Return what a summary keeps of what the conversation had seen before it."""
    return SeenData(
        private=tuple(sorted(told.private)),
        sent=told.sent,
        sends=told.sends,
        bits=told.bits,
        untrusted=tuple(sorted(told.untrusted)),
    )


def brings(access: Access) -> Brought:
    """Return what a call brings along, as its item keeps it."""
    return Brought(private="private" in access.brings, untrusted="untrusted" in access.brings, source=access.source)


def _began(item: Item) -> TypeGuard[Call]:
    return is_a(item, CallData) and "executing" in item.data.phases


def _private(item: Item) -> set[str]:
    """Return whose private data an item brought, as the name of its source."""
    if is_a(item, MessageData) and (item.data.content or item.data.documents or item.data.typed_chars is not None):
        # A picture or a document of the person's, or what was piped in; what is in it they did not type.
        return {HERE}
    if is_a(item, ReminderData):
        return set(item.data.private)
    call = _brought_by(item)
    if call is None:
        return set()
    if call.brings is None:
        # Of a call from before this was kept: a server's tool may have brought anything.
        return {f"server:{call.server}"} if call.server else set()
    return {call.brings.source or call.tool, *call.recalled} if call.brings.private else set()


def _untrusted(item: Item) -> set[str]:
    """Return where text came from that an item brought and strangers may have written, as the name of its source."""
    if is_a(item, MessageData):
        # What was piped in may be anyone's.
        return {PIPED} if item.data.typed_chars is not None else set()
    call = _brought_by(item)
    if call is None or (call.brings is None and not call.server):
        return set()
    if call.brings is None:
        return {f"server:{call.server}"}
    return {call.brings.source or call.tool} if call.brings.untrusted else set()


def _brought_by(item: Item) -> CallData | None:
    """Return a call that brought along what it brings."""
    if not is_a(item, CallData):
        return None
    return item.data if _began(item) or (item.data.brings is not None and item.status in CLOSED) else None
