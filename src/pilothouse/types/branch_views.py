"""Branches as they are asked for and shown."""

from __future__ import annotations

from pilothouse.types.branches import ForkKind, WhenBusy
from pilothouse.types.json import Body, Frozen
from pilothouse.types.runs import RunStatus


class BranchChoice(Body, frozen=True):
    """The branch to go on with; 0 is the first one."""

    branch: int


class BranchNode(Frozen, frozen=True):
    """A branch in the tree: where it begins, how far it goes, and what was asked there in a few words."""

    # Branch 0 has no fork: it begins with the conversation.
    number: int
    parent: int
    before: int
    kind: ForkKind | None
    instead_of: str
    item_id: str
    run_id: str
    repeats: str | None
    created_at: float
    # How many messages of the person it has of its own, what the first and the last of them say, and when that was.
    messages: int
    first_words: str
    last_words: str
    updated_at: float
    # Of its newest run.
    status: RunStatus
    model: str = ""
    # The message after which it leaves its parent, and how that begins; nothing where it begins before the first one.
    left_after: str | None = None
    left_words: str = ""


class BranchTree(Frozen, frozen=True):
    """All branches of a conversation by number, replays too, and the one that the person chose last."""

    branches: tuple[BranchNode, ...]
    chosen: int


class Retry(Body, frozen=True):
    """Asks for another answer to the same message: by the same model or another, at the same temperature or another."""

    model_id: str | None = None
    temperature: float | None = None
    thinking: bool | None = None
    when_busy: WhenBusy = "finish"
    unattended: bool = False
    idempotency_key: str | None = None


class LeftBehind(Frozen, frozen=True):
    """What a new branch would leave behind: answers that are at work, and what was done to files."""

    # How many runs came after the place, and which of them are not at their end, oldest first.
    runs_count: int
    at_work: tuple[str, ...]
    # The files that can be put back, at most so many by name, and how many there are.
    files: tuple[str, ...]
    files_count: int
    # Commands and calls whose effects nobody can put back, in words; at most so many, and how many there are.
    lasting: tuple[str, ...]
    lasting_count: int


class FilesBack(Body, frozen=True):
    """Says how far files are put back: with what the run itself changed, or without."""

    itself: bool = True


class NewCopy(Body, frozen=True):
    """Makes a new conversation of everything up to a run and with it; without a title it has the old one."""

    title: str | None = None


class Hidden(Frozen, frozen=True):
    """The items that were hidden or shown: a message, or the pieces of an answer."""

    item_ids: tuple[str, ...]
    hidden: bool
