"""The real `pilothouse serve`, except that it kills itself with SIGKILL at a given event.

    python -m tests.faults.dying_server before|after NUMBER serve …

"before" dies with the transaction of that event open, "after" when it is committed and nobody has heard of it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from pilothouse.cli.main import main
from pilothouse.store import schema, writer
from pilothouse.types.events import Event
from pilothouse.types.feed import FeedEvent, Guard
from tests.faults import mine


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


def is_meant(transaction: writer.Transaction, conversation_id: str, number: int) -> bool:
    """Return whether this is the conversation of this kill; those of earlier kills are left to recover."""
    query = sa.select(schema.conversations.c.title).where(schema.conversations.c.id == conversation_id)
    return bool(transaction.connection.execute(query).scalar() == f"kill {number}")


def die_before(number: int) -> None:
    append = writer.Transaction.append

    def dying(
        self: writer.Transaction, conversation_id: str, drafts: Sequence[Event], guard: Guard | None = None
    ) -> list[Event]:
        kept = append(self, conversation_id, drafts, guard)
        if any(event.seq == number for event in kept) and is_meant(self, conversation_id, number):
            die()
        return kept

    writer.Transaction.append = dying  # type: ignore[method-assign]


def die_after(number: int) -> None:
    append, deliver = writer.Transaction.append, writer.Writer._deliver
    reached: set[str] = set()

    def noting(
        self: writer.Transaction, conversation_id: str, drafts: Sequence[Event], guard: Guard | None = None
    ) -> list[Event]:
        kept = append(self, conversation_id, drafts, guard)
        if any(event.seq == number for event in kept) and is_meant(self, conversation_id, number):
            reached.add(conversation_id)
        return kept

    def dying(
        self: writer.Writer,
        group: list[writer._Waiting[object]],
        outcomes: list[object],
        published: list[tuple[str, list[FeedEvent]]],
    ) -> None:
        if reached:
            die()
        deliver(self, group, outcomes, published)

    writer.Transaction.append = noting  # type: ignore[method-assign]
    writer.Writer._deliver = dying  # type: ignore[method-assign]


if __name__ == "__main__":
    when, number = sys.argv[1], int(sys.argv[2])
    (die_before if when == "before" else die_after)(number)
    mine.open_mine(Path(os.environ["PILOTHOUSE_HOME"]) / mine.FILE)
    sys.argv = ["pilothouse", *sys.argv[3:]]
    main()
