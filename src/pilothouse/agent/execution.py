"""One call at work: its task, its clock, and an honest account of how it was stopped."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from pilothouse.agent.deadline import Deadline, SilenceTimer
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.types import limits
from pilothouse.types.item_data import CallData, Progress
from pilothouse.types.items import patch, read
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallTimes, Journal, Tool, ToolError, ToolOutput, ToolPaused

# How a tool took being stopped: it ended, its server was told (and does not say whether it stopped), or neither.
Cancellation = Literal["acknowledged", "asked", "unanswered"]
STOPPED = "Operation cancelled by user"
_ADDED: dict[str | None, str] = {
    "asked": ". The server was told to stop; it may still be working.",
    "unanswered": ". It did not answer and may still be running.",
}

# What was left behind after it did not end in time: held here until it does.
_left_behind: set[asyncio.Task[ToolOutput | ToolPaused]] = set()


class Execution:
    """A call from the start of its tool to an outcome."""

    def __init__(self, call_id: str, tool: Tool, times: CallTimes, journal: Journal, results: Pipeline) -> None:
        self._id = call_id
        self._tool = tool
        self._journal = journal
        self._results = results
        self._task: asyncio.Task[ToolOutput | ToolPaused] | None = None
        self.last_progress: Progress | None = None
        self._over: asyncio.Future[Literal["done", "timeout", "cancel"]] = asyncio.get_running_loop().create_future()
        self._deadline = Deadline(times.total, lambda: self._end("timeout"))
        self._silence = None if times.quiet is None else SilenceTimer(times.quiet, self._tell_silence)
        self.sign()

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Take what the tool tells; an answer that came too late to count tells nothing."""
        self.sign()
        self._tell_progress(Progress(done=done, total=total, message=message))

    def sign(self) -> None:
        """Take a sign of life."""
        if self._silence is not None and not self._over.done():
            self._silence.heard()

    def waits(self, why: str) -> None:
        """Hold the clock, and tell what is waited for."""
        if self._silence is not None:
            self._silence.accept()
            self._silence.stop()
        self._deadline.stop()
        self._tell_progress(Progress(message=why))

    def begins(self) -> None:
        """Let the clock run from now on."""
        if self._over.done():
            return
        self._deadline.begin()
        self.sign()
        if self.last_progress is not None:
            self._tell_progress(Progress())

    def keep_waiting(self) -> None:
        """Give it more time."""
        self._deadline.extend()
        if self._silence is not None:
            self._silence.accept()
        self._journal.note(self._id, patch(CallData, deadline_at=self._deadline.at))

    def _tell_progress(self, progress: Progress) -> None:
        if not self._over.done():
            self.last_progress = read(Progress, self._results.masked(msgspec.to_builtins(progress)))
            told = patch(CallData, progress=self.last_progress, deadline_at=self._deadline.at)
            self._journal.note(self._id, told)

    def _tell_silence(self, since: float | None) -> None:
        if not self._over.done():
            self._journal.note(self._id, patch(CallData, quiet_since=since))

    def cancel(self) -> None:
        """Stop it because the person said so."""
        self._end("cancel")

    def _end(self, why: Literal["done", "timeout", "cancel"]) -> None:
        if not self._over.done():
            self._over.set_result(why)

    async def run(self, arguments: JsonObject, context: CallContext) -> ToolOutput | ToolPaused:
        """Let the tool work, and return what came of it."""
        self._task = asyncio.create_task(self._tool.execute(arguments, context, self), name=f"call {self._id}")
        self._task.add_done_callback(lambda _task: self._end("done"))
        try:
            why = await self._over
        finally:
            self._rest()
        if why == "done":
            return _result(self._task)
        allowed = self._deadline.allowed
        how = await self.stop()
        return _stopped(how) if why == "cancel" else _timed_out(self._tool, allowed, how)

    def _rest(self) -> None:
        self._deadline.stop()
        if self._silence is not None:
            self._silence.stop()

    async def stop(self) -> Cancellation:
        """Stop the tool, give it a moment to clean up, and return how it took that."""
        self._rest()
        self._end("cancel")
        task = self._task
        if task is None:
            return "acknowledged"
        self._journal.note(self._id, patch(CallData, cancellation="asked"))
        task.cancel()
        await asyncio.wait([task], timeout=limits.CANCEL_GRACE)
        if not task.done():
            _left_behind.add(task)
            task.add_done_callback(_forget)
            return "unanswered"
        if task.cancelled():
            return "asked" if self._tool.server else "acknowledged"
        # Whatever it brings now comes too late; only that it ended matters.
        task.exception()
        return "acknowledged"


def _forget(task: asyncio.Task[ToolOutput | ToolPaused]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()


def _result(task: asyncio.Task[ToolOutput | ToolPaused]) -> ToolOutput | ToolPaused:
    if task.cancelled():
        return failure("EXECUTION_FAILED", "The tool gave up.", retryable=True)
    error = task.exception()
    if error is not None:
        return failure("EXECUTION_FAILED", f"The tool failed: {error}" if str(error) else "The tool failed.")
    return task.result()


def account(message: str, how: str | None) -> str:
    """Return what the model is told about a call that was stopped."""
    return message + _ADDED.get(how, "")


def _stopped(how: Cancellation) -> ToolOutput:
    return ToolOutput(account(STOPPED, how), ToolError("CANCELLED", STOPPED), {"cancellation": how})


def _timed_out(tool: Tool, allowed: float, how: Cancellation) -> ToolOutput:
    message = f"{'Tool call' if tool.server else 'Operation'} timed out after {allowed:g}s"
    return ToolOutput(account(message, how), ToolError("TIMEOUT", message, retryable=True), {"cancellation": how})


def failure(code: str, message: str, *, retryable: bool = False) -> ToolOutput:
    """Return a result that says why a call failed."""
    return ToolOutput(text=message, error=ToolError(code, message, retryable))
