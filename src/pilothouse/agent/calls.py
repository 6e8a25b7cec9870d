"""A tool call from the model's wish to its one result: find, validate, authorize, execute, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from pilothouse.agent import questions
from pilothouse.agent.call_log import tell, tell_end
from pilothouse.agent.deadline import call_times
from pilothouse.agent.execution import STOPPED, Execution, failure
from pilothouse.agent.naming import Meant, Names
from pilothouse.agent.validation import complaint
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import (
    Authorizer,
    CallContext,
    Journal,
    Permit,
    PermitNeeded,
    PermitRefused,
    Results,
    Resumed,
    Tool,
    ToolOutput,
    ToolPaused,
    ToolTimeouts,
)

# What a call is: nothing that a tool or a server brings along may change it.
_FIXED = frozenset({"tool", "server", "serverTool", "callId", "arguments", "turn", "opaque", "cutOff", "paused"})

# Of a call that had begun before it asked something.
_PERHAPS = "It may have been carried out; check before you repeat it."


class CallSetting(msgspec.Struct, frozen=True):
    """What is the same for all calls of a run."""

    conversation_id: str
    run_id: str
    working_directory: str | None
    unattended: bool
    context_window: int
    # What needs no question in this run, by the person's explicit word.
    allow: tuple[str, ...] = ()
    timeouts: ToolTimeouts = ToolTimeouts()


class _Prepared(msgspec.Struct, frozen=True):
    """A call that may be executed."""

    call: Item
    tool: Tool
    arguments: JsonObject
    context: CallContext
    permit: Permit


class _Asked(msgspec.Struct, frozen=True):
    """A call that the person must allow first."""

    call: Item
    tool: Tool
    needed: PermitNeeded


class Calls:
    """Executes the calls of one run."""

    def __init__(
        self, setting: CallSetting, tools: Sequence[Tool], authorizer: Authorizer, results: Results, journal: Journal
    ) -> None:
        self._setting = setting
        self._names = Names(tools)
        self._authorizer = authorizer
        self._results = results
        self._journal = journal
        self._running: dict[str, Execution] = {}
        self._cancelled: set[str] = set()

    def describe(self, name: str, arguments: JsonObject | None) -> JsonObject:
        """Return what a call's item says about its tool, and once they are there its arguments and a friendly line."""
        meant = self._names.find(name)
        about: JsonObject = {"tool": name} if meant is None else _identity(meant.tool)
        if arguments is not None:
            about["arguments"] = arguments if meant is None else meant.arguments(arguments)
            about["display"] = name if meant is None else meant.tool.display(about["arguments"])
        return about

    def cancel(self, item_id: str) -> None:
        """Stop one call; the run goes on with its result."""
        self._cancelled.add(item_id)
        execution = self._running.get(item_id)
        if execution is not None:
            execution.cancel()

    def keep_waiting(self, item_id: str) -> None:
        """Give one call more time."""
        execution = self._running.get(item_id)
        if execution is not None:
            execution.keep_waiting()

    async def execute(self, calls: Sequence[Item]) -> None:
        """Prepare the calls in order, ask about those that need it, and execute the others, side by side."""
        made = self._made()
        asked: list[_Asked] = []
        permitted: list[_Prepared] = []
        for call in calls:
            # One that comes back from a question was requested before.
            if not call.data.get("paused") and "waiting_approval" not in call.data.get("phases", ()):
                tell("requested", call)
            prepared = await self._prepare(call, made)
            if isinstance(prepared, ToolOutput):
                await self._conclude(call, prepared)
            elif isinstance(prepared, _Asked):
                asked.append(prepared)
            else:
                permitted.append(prepared)
        if asked:
            await self._ask(asked)
        async with asyncio.TaskGroup() as group:
            for ready in permitted:
                group.create_task(self._execute(ready))

    # --- preparing ---

    def _made(self) -> list[Item]:
        """Return the calls of this run so far."""
        mine = (item for item in self._journal.items if item.kind == "tool_call")
        return [item for item in mine if item.run_id == self._setting.run_id and not item.data.get("cutOff")]

    async def _prepare(self, call: Item, made: Sequence[Item]) -> _Prepared | _Asked | ToolOutput:
        if call.id in self._cancelled or call.data.get("cancelRequested"):
            return failure("CANCELLED", STOPPED)
        meant = self._names.find(_tool(call))
        if meant is None:
            begun = f" {_PERHAPS}" if call.data.get("paused") else ""
            return failure("TOOL_NOT_FOUND", f"There is no tool named {_tool(call) or '(empty)'}.{begun}")
        arguments = call.data.get("arguments")
        wrong = await self._complaint(meant, arguments, int(call.data.get("argumentBytes") or 0))
        if wrong is not None or not isinstance(arguments, dict):
            return failure("INVALID_ARGUMENTS", wrong or "", retryable=True)
        arguments, context = meant.arguments(arguments), self._context(call, meant.tool, made)
        access = await meant.tool.access(arguments, context)
        if isinstance(access, ToolOutput):
            return access
        context = msgspec.structs.replace(context, access=access)
        asked_before = "waiting_approval" in call.data.get("phases", ())
        approval = questions.approval_of(call, self._journal.items) if asked_before else None
        decision = await self._authorizer.decide(meant.tool, arguments, context, approval)
        if isinstance(decision, PermitNeeded):
            return _Asked(call, meant.tool, decision)
        if isinstance(decision, PermitRefused):
            return failure("PERMISSION_DENIED", decision.reason)
        return _Prepared(call, meant.tool, arguments, context, decision)

    async def _complaint(self, meant: Meant, arguments: object, size: int) -> str | None:
        if not isinstance(arguments, dict):
            return "The arguments are not a JSON object."
        if size > limits.ARGUMENT_BYTES:
            most = limits.ARGUMENT_BYTES // 1024 // 1024
            return f"The arguments have {size / 1024 / 1024:.1f} MB; a call takes at most {most} MB."
        return await complaint(meant.tool.spec.input_schema, meant.arguments(arguments), size)

    def _context(self, call: Item, tool: Tool, made: Sequence[Item]) -> CallContext:
        setting = self._setting
        return CallContext(
            conversation_id=setting.conversation_id,
            run_id=setting.run_id,
            call_id=call.id,
            working_directory=setting.working_directory,
            earlier_calls=tuple(_tool(item) for item in made if item.position < call.position),
            unattended=setting.unattended,
            resumed=self._resumed(call),
            allow=setting.allow,
            granted=questions.granted(self._journal.items) if tool.server else frozenset(),
        )

    def _resumed(self, call: Item) -> Resumed | None:
        paused = call.data.get("paused")
        if not paused:
            return None
        asked = {ask: self._journal.item(item_id) for ask, item_id in paused["questions"].items()}
        return Resumed(paused["state"], {ask: questions.reply(question) for ask, question in asked.items()})

    # --- asking ---

    async def _ask(self, asked: Sequence[_Asked]) -> None:
        """Ask about all of them at once, so that the person sees them side by side."""
        events: list[Event] = []
        for call, tool, needed in ((one.call, one.tool, one.needed) for one in asked):
            data = questions.approval(call, tool, needed)
            question = self._journal.new("question", status="waiting", text=needed.question, data=data)
            events += [self._phase(call, "waiting_approval"), ItemCreated(item=question)]
            tell("waiting", call)
        await self._journal.write(*events)

    async def _park(self, call: Item, tool: Tool, paused: ToolPaused) -> None:
        """Keep what the call needs to go on, and put what it asks to the person."""
        if not 0 < len(paused.asks) <= limits.ASKS_PER_PAUSE or len(encode(paused.state)) > limits.PAUSED_STATE_BYTES:
            await self._conclude(call, failure("EXECUTION_FAILED", "The server asked something that cannot be asked."))
            return
        asked: JsonObject = {ask.id: questions.elicitation(call, tool, ask) for ask in paused.asks}
        # What a server asks is masked like everything else it says.
        told = ToolOutput(text="", data={"asked": asked})
        masked = await self._results.process(told, call.id, call.conversation_id)
        if masked.error is not None:
            await self._conclude(call, masked)
            return
        created = {
            ask: self._journal.new("question", status="waiting", text=data.pop("message"), data=data)
            for ask, data in masked.data["asked"].items()
        }
        kept: JsonObject = {"state": paused.state, "questions": {ask: item.id for ask, item in created.items()}}
        tell("waiting", call)
        pausing = self._phase(call, "input_required", status="waiting", data={"paused": kept, "deadlineAt": None})
        await self._journal.write(pausing, *(ItemCreated(item=item) for item in created.values()))

    # --- executing ---

    async def _execute(self, ready: _Prepared) -> None:
        call, tool = ready.call, ready.tool
        withdrawn = await self._authorizer.redeem(ready.permit, tool, ready.arguments, ready.context)
        if withdrawn:
            await self._conclude(call, failure("PERMISSION_DENIED", withdrawn))
            return
        times = call_times(tool, ready.arguments, self._setting.timeouts, self._setting.context_window)
        data: JsonObject = {"timeoutSeconds": times.idle, "deadlineAt": time.time() + times.idle, "paused": None}
        # The intent is written first: a call whose end is not in the timeline may have happened.
        await self._journal.write(self._phase(call, "executing", status="streaming", data=data))
        tell("executing", call)
        execution = self._running[call.id] = Execution(call.id, tool, times, self._journal)
        began = time.monotonic()
        try:
            if call.id in self._cancelled:
                execution.cancel()
            outcome = await execution.run(ready.arguments, ready.context)
        except asyncio.CancelledError:
            await self._stopped(call, execution)
            raise
        finally:
            self._running.pop(call.id, None)
        if isinstance(outcome, ToolPaused):
            await self._park(call, tool, outcome)
        else:
            elapsed = time.monotonic() - began
            processed = await self._results.process(outcome, call.id, call.conversation_id)
            await self._conclude(call, processed, elapsed, execution.last_progress)

    async def _stopped(self, call: Item, execution: Execution) -> None:
        """Stop the tool with its run, and keep how it took that for whoever ends the call."""
        how = await execution.stop()
        tell("stopped", call, how=how)
        # Another process may have the run by now; then it is its account that counts.
        with suppress(PilothouseError):
            await self._journal.write(ItemUpdated(item_id=call.id, data={"cancellation": how}))

    # --- recording ---

    async def _conclude(
        self, call: Item, output: ToolOutput, elapsed: float = 0.0, progress: JsonObject | None = None
    ) -> None:
        status = _status(output)
        tell_end(call, status, output, elapsed)
        data: JsonObject = {key: value for key, value in output.data.items() if key not in _FIXED}
        data |= {
            "phase": status,
            "phases": self._phases(call, status),
            "isError": output.error is not None,
            "elapsedMs": round(elapsed * 1000),
            "deadlineAt": None,
        }
        if progress is not None:
            data["progress"] = progress
        if output.error is not None:
            data["error"] = msgspec.to_builtins(output.error)
        events: list[Event] = [ItemCompleted(item_id=call.id, status=status, data=data)]
        if output.text:
            events.insert(0, ItemDelta(item_id=call.id, offset=0, text=output.text))
        await self._journal.write(*events)

    def _phase(
        self, call: Item, phase: str, *, status: ItemStatus | None = None, data: JsonObject | None = None
    ) -> ItemUpdated:
        phases = {"phase": phase, "phases": self._phases(call, phase)}
        return ItemUpdated(item_id=call.id, status=status, data=phases | (data or {}))

    def _phases(self, call: Item, phase: str) -> JsonObject:
        return {**self._journal.item(call.id).data.get("phases", {}), phase: time.time()}


def _identity(tool: Tool) -> JsonObject:
    about: JsonObject = {"tool": tool.spec.name}
    return about | {"server": tool.server, "serverTool": tool.qualified_name} if tool.server else about


def _tool(call: Item) -> str:
    return str(call.data.get("tool") or "")


def _status(output: ToolOutput) -> ItemStatus:
    if output.error is None:
        return "completed"
    if output.error.code == "CANCELLED":
        return "cancelled"
    return "timed_out" if output.error.code == "TIMEOUT" else "failed"
