"""Each event is sealed to the one before it, so that whoever edits, removes or inserts one later is found out."""

from __future__ import annotations

from hashlib import sha256


def beginning(conversation_id: str) -> bytes:
    """Return what the first event of a conversation is sealed to."""
    return sha256(conversation_id.encode()).digest()


def link(previous: bytes, row: tuple[int, str, str | None, bytes]) -> bytes:
    """Return the seal of an event, of its number, kind, item and exact bytes, after the seal before it."""
    seq, kind, item_id, body = row
    return sha256(b"%b%d\0%b\0%b\0%b" % (previous, seq, kind.encode(), (item_id or "").encode(), body)).digest()
