"""Branches: ways on from a place in a conversation, beside the one that was gone first.

A conversation begins as branch 0. Whoever edits a message, asks for another answer or goes on from an earlier place
makes a branch: a message that stands in the place of another, and everything that follows it. Nothing is rewritten.
A branch's path is what comes before that place, and then its own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import Frozen

# How a branch was made. A replay is looked at and compared; it is no way on, and no arrow leads to it.
ForkKind = Literal["edit", "retry", "branch", "compare", "replay"]
# How a branch was made, in words.
BRANCH_KINDS: dict[ForkKind, str] = {
    "edit": "an edited message",
    "retry": "another answer",
    "branch": "another way on",
    "compare": "another model's answer",
    "replay": "a replay",
}
# What becomes of answers at work that a new branch leaves behind: they are stopped, or finished first.
WhenBusy = Literal["finish", "stop"]
# The kinds of branches that stand beside each other, to be gone on with.
WAYS_ON: frozenset[ForkKind] = frozenset({"edit", "retry", "branch", "compare"})


class Fork(Frozen, frozen=True):
    """Where a branch begins; the first message of each branch carries it."""

    # The branch that it leaves, and the place there: what belongs to messages before this position is shared.
    parent: int
    before: int
    # The run in whose place it stands. All that stand in the place of the same run are siblings, with that run.
    instead_of: str
    kind: ForkKind
    # The message whose words it repeats: it is another answer to that, and no other message.
    repeats: str | None = None


class Branch(Frozen, frozen=True):
    """A branch of a conversation, by its number; the message and the run that it begins with."""

    number: int
    parent: int
    before: int
    instead_of: str
    kind: ForkKind
    item_id: str
    run_id: str
    repeats: str | None = None
    created_at: float = 0.0


class ForkWish(msgspec.Struct, frozen=True):
    """Where a new branch is to begin: in the place of a run, or after one."""

    kind: ForkKind
    instead_of: str | None = None
    after: str | None = None
    # The message whose words and attachments are taken over.
    repeats: str | None = None
    # Whether the person goes on there: what they open next time is this branch.
    chosen: bool = True


def check_branch(count: int, number: int) -> int:
    """Return the number of a branch of a conversation that has so many beside its first; raise for another."""
    if not 0 <= number <= count:
        raise PilothouseError("not_found", "There is no such branch.", fix="Reload the conversation.")
    return number


def path_of(branches: dict[int, Branch], number: int) -> list[tuple[int, int | None]]:
    """Return the branches that lead to one, itself first, each with the position before which it is shared."""
    path: list[tuple[int, int | None]] = [(number, None)]
    # A branch leaves one that was there before it.
    while (branch := branches.get(path[-1][0])) is not None and branch.parent < branch.number:
        path.append((branch.parent, branch.before))
    return path


def no_way_on() -> PilothouseError:
    """Return why nobody goes on with a replay: what its model was told was done is not done."""
    return PilothouseError(
        "conflict",
        "A replay is there to be looked at; nobody goes on with it.",
        fix="Go on with another branch, or ask for another answer to the message.",
    )


def place_of(conversation_id: str, number: int) -> str:
    """Return by what the todos of a branch are kept: those of branch 0 by the conversation itself."""
    return f"{conversation_id}~{number}" if number else conversation_id


def place_from(place: str) -> tuple[str, int]:
    """Return the conversation and the branch that a place names."""
    conversation_id, _, number = place.partition("~")
    return conversation_id, int(number or 0)
