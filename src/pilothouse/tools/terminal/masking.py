"""Secrets in what terminals and commands write: covered wherever a piece of it begins or ends."""

from __future__ import annotations

import msgspec

from pilothouse.tools.terminal.output_buffer import HeadTail, Ring
from pilothouse.types import limits
from pilothouse.types.ports import Cover


class Bare:
    """Knows no secrets, so that nothing is covered."""

    reach = 0

    def cover(self, data: bytes) -> bytes:
        return data

    def undecided(self, data: bytes) -> int:
        return 0


class Ends(msgspec.Struct, frozen=True):
    """The beginning and the end of an output without secrets; they join when nothing was left out."""

    head: bytes
    tail: bytes
    total: int
    left_out: bool


def covered_ends(kept: HeadTail, cover: Cover, lead: int = 0) -> Ends:
    """Return what is kept of an output, without its first `lead` bytes; no half of a secret stays at a cut."""
    head, tail = kept.ends
    total = kept.total - lead
    if not kept.left_out:
        return Ends(cover.cover(head + tail)[lead:], b"", total, left_out=False)
    head, tail = cover.cover(head)[lead:], cover.cover(tail)
    # A secret that the cut goes through begins or ends within reach of it.
    return Ends(head[: len(head) - cover.reach], tail[cover.reach :], total, left_out=True)


def covered_piece(ring: Ring, index: int, cover: Cover) -> bytes:
    """Return what a ring has from an index on; a secret that begins before the index is covered too."""
    first = max(index, ring.start)
    begin = max(first - cover.reach, ring.start)
    return cover.cover(ring.read(begin, limits.TERMINAL_BUFFER_MOST))[first - begin :]


def held_back(recent: bytes, cover: Cover) -> int:
    """Return how many bytes at the end wait for what follows: enough of a secret's beginning to mean something."""
    held = cover.undecided(recent)
    return held if held >= limits.SECRET_BEGINNING else 0
