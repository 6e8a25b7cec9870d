"""A run: one answer to one message, however many model requests and tool calls it takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType

from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode
from pilothouse.types.json import Frozen
from pilothouse.types.selection import Selection

# What becomes of a run that the end of its process stopped: it goes on by itself, or waits for the person.
Resume = Literal["auto", "ask"]
# Why an answer is not at its end: the limit of its tokens, the model's window, or a provider that paused too often.
CutReason = Literal["length", "context", "pause"]
RunStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "interrupted"]

# A run in one of these will not change again, unless a person resumes it.
ENDED: frozenset[RunStatus] = frozenset({"completed", "failed", "cancelled", "interrupted"})
ACTIVE: frozenset[RunStatus] = frozenset({"queued", "running", "waiting"})


class RunError(Frozen, frozen=True):
    """Why a run failed: a code, a sentence, and what to do."""

    code: ErrorCode
    message: str
    fix: str = ""


class RunOptions(Frozen, frozen=True):
    """What one message asked for beyond the conversation's settings."""

    model_id: str | None = None
    # True when nobody watches (API, command line without a terminal): never wait for a person.
    unattended: bool = False
    # Replaces the conversation's own selection.
    selection: Selection | None = None
    # Tools that need no question in this run, by the person's explicit word: `server.tool` or `server.*`.
    allow: tuple[str, ...] = ()
    # Whether the model is asked to think first, or not to; replaces what the conversation says.
    thinking: bool | None = None
    # What a summary of older turns is to keep above all, of a run that makes one; not set for one that answers.
    compact: str | UnsetType | None = UNSET
    # Replaces what the conversation says.
    temperature: float | None = None
    # Replaces the conversation's own, in a replay; empty for none at all.
    system_prompt: str | None = None
    # The run whose recorded results the calls of this one get; nothing is executed.
    replay_of: str | None = None
    # Runs of the same comparison are at work side by side; others one after the other.
    beside: str | None = None

    @property
    def is_summary(self) -> bool:
        """Whether the run sums up what was said, and answers nothing."""
        return isinstance(self.compact, str)


class Run(Frozen, frozen=True):
    """The state of a run; `epoch` grows with each process that takes it over."""

    id: str
    conversation_id: str
    owner: str
    status: RunStatus
    message_item_id: str
    options: RunOptions
    created_at: float
    updated_at: float
    epoch: int = 0
    # The process that executes it, while one does.
    process: str | None = None
    cancel_requested: bool = False
    # How often a process died with it that was to go on by itself, since a person last had it begin.
    recoveries: int = 0
    # Why it failed, or why it waits for the person.
    error: RunError | None = None
    # Why its answer is not at its end, although it is completed; resuming it has the model go on.
    cut: CutReason | None = None
    # The branch in which it answers.
    branch: int = 0

    @property
    def is_given_up(self) -> bool:
        """Return whether it took its process down so often that it waits for the person, who may go on meanwhile."""
        return self.status == "interrupted" and self.recoveries >= limits.MAX_RECOVERIES


class About(NamedTuple):
    """A run and its conversation."""

    conversation: str
    run: str


# What this task, and whatever it starts, is at work on.
at_work_on: ContextVar[About | None] = ContextVar("at_work_on", default=None)


@contextmanager
def working_on(conversation: str, run: str) -> Iterator[None]:
    """Have what is logged meanwhile say what it is about."""
    token = at_work_on.set(About(conversation, run))
    try:
        yield
    finally:
        at_work_on.reset(token)
