"""What is counted and traced of runs, answers and calls: names, times and numbers, never what was said."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pilothouse.types.runs import RunStatus


class RunFacts(msgspec.Struct, frozen=True):
    """A run that this process works on."""

    id: str
    conversation_id: str
    # When it began here, seconds since 1970.
    began_at: float
    epoch: int


class AnswerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model that has its end, whatever that was."""

    run_id: str
    conversation_id: str
    model: str
    ended_at: float
    # None where nobody timed it.
    seconds: float | None
    input_tokens: int
    output_tokens: int
    # Why the model stopped, in our words; empty where it did not say.
    stop: str
    # The code of what went wrong; empty where nothing did.
    error: str


class CallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call that has its end."""

    run_id: str
    conversation_id: str
    tool: str
    # The server that it is of; empty for our own.
    server: str
    call_id: str
    outcome: str
    ended_at: float
    seconds: float
    error: str


class Sink(Protocol):
    """Hears what happened, once each."""

    def began(self, run: RunFacts, waited: float | None) -> None:
        """A run began here; `waited` is how long after it was accepted, None where it goes on with something."""

    def left(self, run: RunFacts, status: RunStatus, at: float, error: str) -> None:
        """A run is at work here no longer: it ended, waits for the person, or went back into the queue."""

    def ended(self, status: RunStatus) -> None:
        """A run came to its end, wherever it was at work."""

    def answered(self, answer: AnswerFacts) -> None:
        """A model's answer has its end."""

    def called(self, call: CallFacts) -> None:
        """A tool call has its end."""
