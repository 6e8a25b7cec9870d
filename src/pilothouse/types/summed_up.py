"""What a summary of older turns keeps of them beside its words."""

from __future__ import annotations

import msgspec

from pilothouse.types.json import Frozen


class SeenData(Frozen, frozen=True):
    """What a conversation had seen until a summary."""

    private: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    sent: dict[str, int] = msgspec.field(default_factory=dict)
    sends: dict[str, int] = msgspec.field(default_factory=dict)
    bits: dict[str, int] = msgspec.field(default_factory=dict)


class Facts(Frozen, frozen=True, omit_defaults=True):
    """What the timeline says of older turns, a line each and the newest last."""

    # The person's own words; the very first message stays the first.
    asked: tuple[str, ...] = ()
    # What they decided and allowed.
    decided: tuple[str, ...] = ()
    # What they were asked and did not answer.
    unanswered: tuple[str, ...] = ()
    # What was open on the newest list.
    todos: tuple[str, ...] = ()
    # Files that calls changed, and others that they read.
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    # Results that can be read again, by their ids.
    results: tuple[str, ...] = ()
