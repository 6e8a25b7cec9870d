"""A tool call from the model's wish to its one result: prepare, ask, execute, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from pilothouse.agent import budget, questions
from pilothouse.agent.call_log import tell
from pilothouse.agent.deadline import call_times
from pilothouse.agent.execution import Execution, failure
from pilothouse.agent.lanes import arranged
from pilothouse.agent.naming import Names
from pilothouse.agent.preparing import Asked, CallSetting, Ended, Prepared, Preparing, taken_back
from pilothouse.agent.recording import Recorder, begun, decided, identity, words
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import Authorizer, Journal, Results, Tool, ToolOutput, ToolPaused


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
        self._preparing = Preparing(setting, self._names, authorizer, results, journal)
        self._recorder = Recorder(journal)
        self._running: dict[str, Execution] = {}
        self._cancelled: set[str] = set()

    async def describe(self, name: str, arguments: JsonObject | str | None, item_id: str) -> JsonObject:
        """Return what a call's item says about its tool, and once they are there its arguments and a friendly line.

        Secrets in them are masked; the real arguments stand beside them, sealed.
        """
        meant = self._names.find(name)
        about: JsonObject = {"tool": name} if meant is None else identity(meant.tool)
        if isinstance(arguments, str):
            return about | {"arguments": None, **self._results.masked({"rawArguments": arguments})}
        if arguments is None:
            return about
        exact = arguments if meant is None else meant.arguments(arguments)
        kept = await self._results.keep_arguments(exact, item_id)
        about |= {"arguments": kept.arguments}
        about |= {"display": name} if meant is None else words(meant.tool, kept.arguments)
        return about | ({"sealed": kept.sealed, "masked": True} if kept.sealed else {})

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
        """Prepare the calls in order, ask about those that need it, and execute the others.

        Calls of one lane are executed one after the other, and none before one that was asked for earlier; all
        others side by side.
        """
        looked_at = []
        for call in calls:
            # One that comes back from a question was requested before.
            if not call.data.get("paused") and "waiting_approval" not in call.data.get("phases", ()):
                tell("requested", call)
            looked_at.append(await self._prepare(call))
        asked = [one for one in looked_at if isinstance(one, Asked)]
        if asked:
            await self._ask(asked)
        async with asyncio.TaskGroup() as group:
            for lane in arranged(looked_at):
                group.create_task(self._follow(lane))

    async def _follow(self, lane: Sequence[Prepared | Ended]) -> None:
        """Carry out the calls of a lane in order, until one of them has to wait for the person."""
        for number, looked_at in enumerate(lane):
            # What was executed before it may have changed what it touches.
            now = await self._prepare(looked_at.call) if number else looked_at
            if isinstance(now, Asked):
                await self._ask([now])
                return
            if isinstance(now, Ended):
                await self._end(now)
            elif await self._execute(now):
                return

    async def _prepare(self, call: Item) -> Prepared | Asked | Ended:
        return await self._preparing.prepare(self._journal.item(call.id), unwanted=call.id in self._cancelled)

    async def _end(self, ended: Ended) -> None:
        output = await self._results.process(ended.output, ended.call.id, ended.call.conversation_id)
        await self._recorder.conclude(ended.call, output, facts=ended.facts)

    # --- asking ---

    async def _ask(self, asked: Sequence[Asked]) -> None:
        """Ask about all of them at once, so that the person sees them side by side."""
        events: list[Event] = []
        for one in asked:
            asking = questions.approval(one.call, one.tool, one.needed, self._journal.items)
            # It shows arguments and what is in files, which are masked like everything that a tool reads.
            text, data = questions.masked(one.needed.question, asking, self._results.masked)
            question = self._journal.new("question", status="waiting", text=text, data=data)
            facts = decided(one.needed.decision, one.access, self._results.masked)
            events += [self._recorder.phase(one.call, "waiting_approval", data=facts), ItemCreated(item=question)]
            tell("waiting", one.call)
        await self._journal.write(*events)

    async def _park(self, call: Item, tool: Tool, paused: ToolPaused) -> None:
        """Keep what the call needs to go on, and put what it asks to the person."""
        if not 0 < len(paused.asks) <= limits.ASKS_PER_PAUSE or len(encode(paused.state)) > limits.PAUSED_STATE_BYTES:
            wrong = failure("EXECUTION_FAILED", "The server asked something that cannot be asked.")
            await self._recorder.conclude(call, wrong)
            return
        asked: JsonObject = {ask.id: questions.asked(call, tool, ask) for ask in paused.asks}
        # What a server asks is masked like everything else it says.
        told = ToolOutput(text="", data={"asked": asked})
        masked = await self._results.process(told, call.id, call.conversation_id)
        if masked.error is not None:
            await self._recorder.conclude(call, masked)
            return
        created = {
            ask: self._journal.new("question", status="waiting", text=data.pop("message"), data=data)
            for ask, data in masked.data["asked"].items()
        }
        kept: JsonObject = {"state": paused.state, "questions": {ask: item.id for ask, item in created.items()}}
        tell("waiting", call)
        data: JsonObject = {"paused": kept, "deadlineAt": None, "quietSince": None}
        pausing = self._recorder.phase(call, "input_required", status="waiting", data=data)
        await self._journal.write(pausing, *(ItemCreated(item=item) for item in created.values()))

    # --- executing ---

    async def _execute(self, ready: Prepared) -> bool:
        """Execute a call; return whether it now waits for the person."""
        call, tool, permit = ready.call, ready.tool, ready.permit
        withdrawn = await self._authorizer.redeem(permit, tool, ready.arguments, ready.context)
        if withdrawn:
            taken = taken_back(ready, withdrawn, self._results.masked)
            await self._end(Ended(call, failure("PERMISSION_DENIED", withdrawn), taken))
            return False
        facts = begun(permit.decision, ready.access, self._results.masked)
        times = call_times(tool, ready.arguments, self._setting.timeouts, self._setting.context_window)
        facts |= {"timeoutSeconds": times.total, "deadlineAt": time.time() + times.total, "paused": None}
        # The intent is written first: a call whose end is not in the timeline may have happened.
        await self._journal.write(self._recorder.phase(call, "executing", status="streaming", data=facts))
        tell("executing", call)
        execution = self._running[call.id] = Execution(call.id, tool, times, self._journal, self._results)
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
            return True
        elapsed = time.monotonic() - began
        room = budget.result_room(self._setting.context_window)
        processed = await self._results.process(outcome, call.id, call.conversation_id, room)
        await self._recorder.conclude(call, processed, elapsed, progress=execution.last_progress)
        return False

    async def _stopped(self, call: Item, execution: Execution) -> None:
        """Stop the tool with its run, and keep how it took that for whoever ends the call."""
        how = await execution.stop()
        tell("stopped", call, how=how)
        # Another process may have the run by now; then it is its account that counts.
        with suppress(PilothouseError):
            await self._journal.write(ItemUpdated(item_id=call.id, data={"cancellation": how}))
