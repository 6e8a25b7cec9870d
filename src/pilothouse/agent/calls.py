"""A tool call from the model's wish to its one result: find, validate, authorize, execute, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import msgspec

from pilothouse.agent import budget
from pilothouse.agent.validation import complaint
from pilothouse.types import limits
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import (
    Authorizer,
    CallContext,
    Journal,
    Permit,
    PermitNeeded,
    PermitRefused,
    Results,
    Tool,
    ToolError,
    ToolOutput,
    ToolPaused,
)

APPROVAL_CHOICES = [{"id": "allow", "label": "Allow once"}, {"id": "deny", "label": "Deny"}]


class CallSetting(msgspec.Struct, frozen=True):
    """What is the same for all calls of a run."""

    conversation_id: str
    run_id: str
    working_directory: str | None
    unattended: bool
    context_window: int


class _Prepared(msgspec.Struct, frozen=True):
    """A call that may be executed."""

    tool: Tool
    arguments: JsonObject
    context: CallContext
    permit: Permit


class _Progress:
    """Tells readers how far a call is."""

    def __init__(self, journal: Journal, item_id: str) -> None:
        self._journal = journal
        self._item_id = item_id

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Say how far it is."""
        self._journal.note(self._item_id, {"progress": {"done": done, "total": total, "message": message}})


class Calls:
    """Executes the calls of one run."""

    def __init__(
        self, setting: CallSetting, tools: Sequence[Tool], authorizer: Authorizer, results: Results, journal: Journal
    ) -> None:
        self._setting = setting
        self._tools: Mapping[str, Tool] = {tool.spec.name: tool for tool in tools}
        self._authorizer = authorizer
        self._results = results
        self._journal = journal
        self._running: dict[str, asyncio.Task[ToolOutput | ToolPaused]] = {}
        self._cancelled: set[str] = set()

    def describe(self, name: str, arguments: JsonObject) -> str:
        """Return a friendly line for a call."""
        tool = self._tools.get(name)
        return tool.display(arguments) if tool is not None else name

    def cancel(self, item_id: str) -> None:
        """Stop one call; the run goes on with its result."""
        self._cancelled.add(item_id)
        task = self._running.get(item_id)
        if task is not None:
            task.cancel()

    async def execute(self, calls: Sequence[Item]) -> None:
        """Prepare the calls in order, then execute those that may be, side by side."""
        permitted: list[tuple[Item, _Prepared]] = []
        for call in calls:
            prepared = self._prepare(call)
            if isinstance(prepared, ToolOutput):
                await self._conclude(call, prepared, time.monotonic())
            elif isinstance(prepared, PermitNeeded):
                await self._ask(call, prepared)
            else:
                permitted.append((call, prepared))
        async with asyncio.TaskGroup() as group:
            for call, ready in permitted:
                group.create_task(self._execute(call, ready))

    # --- preparing ---

    def _prepare(self, call: Item) -> _Prepared | ToolOutput | PermitNeeded:
        if call.id in self._cancelled or call.data.get("cancelRequested"):
            return _error("CANCELLED", "Operation cancelled by user")
        tool = self._tools.get(str(call.data.get("tool")))
        if tool is None:
            return _error("TOOL_NOT_FOUND", f"There is no tool named {call.data.get('tool') or '(empty)'}.")
        arguments = call.data.get("arguments")
        if not isinstance(arguments, dict):
            return _error("INVALID_ARGUMENTS", "The arguments are not a JSON object.", retryable=True)
        wrong = complaint(tool.spec.input_schema, arguments)
        if wrong is not None:
            return _error("INVALID_ARGUMENTS", wrong, retryable=True)
        context = self._context(call)
        decision = self._authorizer.decide(tool, arguments, context, self._answer(call))
        if isinstance(decision, PermitNeeded):
            return decision
        if isinstance(decision, PermitRefused):
            return _error("PERMISSION_DENIED", decision.reason)
        return _Prepared(tool, arguments, context, decision)

    def _context(self, call: Item) -> CallContext:
        earlier = [
            str(item.data.get("tool"))
            for item in self._journal.items
            if item.kind == "tool_call"
            and item.run_id == call.run_id
            and item.position < call.position
            and not item.data.get("cutOff")
        ]
        return CallContext(
            conversation_id=self._setting.conversation_id,
            run_id=self._setting.run_id,
            call_id=call.id,
            working_directory=self._setting.working_directory,
            earlier_calls=tuple(earlier),
            unattended=self._setting.unattended,
        )

    def _answer(self, call: Item) -> str | None:
        for item in self._journal.items:
            if item.kind == "question" and item.data.get("callItemId") == call.id and item.status == "completed":
                return str(item.data.get("answer", {}).get("choice"))
        return None

    async def _ask(self, call: Item, needed: PermitNeeded) -> None:
        data: JsonObject = {
            "kind": "approval",
            "callItemId": call.id,
            "rule": needed.rule,
            "choices": APPROVAL_CHOICES,
        }
        question = self._journal.new("question", status="waiting", text=needed.question, data=data)
        await self._journal.write(ItemCreated(item=question))

    # --- executing ---

    async def _execute(self, call: Item, ready: _Prepared) -> None:
        if not self._authorizer.verify(ready.permit, ready.tool, ready.arguments, ready.context):
            raise AssertionError("a call reached execution without its own permit")
        began = time.monotonic()
        timeout = budget.call_timeout(ready.tool.times.total, self._setting.context_window)
        # The intent is written first: a call whose end is not in the timeline may have happened.
        executing = {"phase": "executing", "phases": self._phases(call, "executing"), "timeoutSeconds": timeout}
        await self._journal.write(ItemUpdated(item_id=call.id, status="streaming", data=executing))
        task = asyncio.create_task(
            ready.tool.execute(ready.arguments, ready.context, _Progress(self._journal, call.id)),
            name=f"call {call.id}",
        )
        self._running[call.id] = task
        try:
            if call.id in self._cancelled:
                task.cancel()
            output = await self._outcome(call, task, timeout)
        finally:
            self._running.pop(call.id, None)
            await _end(task)
        await self._conclude(call, output, began)

    async def _outcome(self, call: Item, task: asyncio.Task[ToolOutput | ToolPaused], timeout: float) -> ToolOutput:
        done, _ = await asyncio.wait([task], timeout=timeout)
        if not done:
            await _end(task)
            return _error("TIMEOUT", f"Operation timed out after {timeout:g} s", retryable=True)
        if task.cancelled():
            return _error("CANCELLED", "Operation cancelled by user")
        error = task.exception()
        if error is not None:
            failed = _error("EXECUTION_FAILED", f"The tool failed: {error}" if str(error) else "The tool failed.")
            return await self._results.process(failed, call.id, call.conversation_id)
        result = task.result()
        if isinstance(result, ToolPaused):
            return _error("EXECUTION_FAILED", "The tool asked a question that nobody can answer here.")
        return await self._results.process(result, call.id, call.conversation_id)

    # --- recording ---

    async def _conclude(self, call: Item, output: ToolOutput, began: float) -> None:
        status = _status(output)
        data: JsonObject = {
            **output.data,
            "phase": status,
            "phases": self._phases(call, status),
            "isError": output.error is not None,
            "elapsedMs": round((time.monotonic() - began) * 1000),
        }
        if output.error is not None:
            data["error"] = msgspec.to_builtins(output.error)
        events: list[Event] = [ItemCompleted(item_id=call.id, status=status, data=data)]
        if output.text:
            events.insert(0, ItemDelta(item_id=call.id, offset=0, text=output.text))
        await self._journal.write(*events)

    def _phases(self, call: Item, phase: str) -> JsonObject:
        current = next((item for item in self._journal.items if item.id == call.id), call)
        return {**current.data.get("phases", {}), phase: time.time()}


async def _end(task: asyncio.Task[ToolOutput | ToolPaused]) -> None:
    """Stop a tool that still runs and give it a moment to clean up."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=limits.CANCEL_GRACE)


def _error(code: str, message: str, *, retryable: bool = False) -> ToolOutput:
    return ToolOutput(text=message, error=ToolError(code, message, retryable))


def _status(output: ToolOutput) -> ItemStatus:
    if output.error is None:
        return "completed"
    if output.error.code == "CANCELLED":
        return "cancelled"
    return "timed_out" if output.error.code == "TIMEOUT" else "failed"
