"""A tool call from the model's wish to its one result: prepare, ask, execute, record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import msgspec

from pilothouse.agent import budget, questions
from pilothouse.agent.call_log import CallLog
from pilothouse.agent.deadline import call_times
from pilothouse.agent.describing import CallWords
from pilothouse.agent.execution import Execution, failure
from pilothouse.agent.preparing import Asked, CallPreparation, CallSetting, Ended, Prepared, Wanted, taken_back
from pilothouse.agent.recording import Recorder, begun, changed_words, decided
from pilothouse.agent.results.entering import Entered, Entrance
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.agent.results.summaries import Summaries
from pilothouse.agent.taint import joined
from pilothouse.agent.tool_lookup import ToolLookup
from pilothouse.types import limits
from pilothouse.types.authority import Seen
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.item_data import CallData, Paused
from pilothouse.types.items import Call, patch
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import Authorizer, Journal, Tool, ToolOutput, ToolPaused
from pilothouse.types.tool_names import READ_RESULT

# The phase of a call that was carried out and whose result is being summed up.
SUMMARISING = "summarising"


class Calls:
    """Executes the calls of one run."""

    def __init__(
        self, setting: CallSetting, names: ToolLookup, authorizer: Authorizer, results: Pipeline, journal: Journal
    ) -> None:
        self._setting = setting
        self._names = names
        self._authorizer = authorizer
        self._results = results
        self._journal = journal
        self._about = CallWords(names, results)
        self._preparing = CallPreparation(setting, self._names, authorizer, results, journal)
        self._log = CallLog()
        self._recorder = Recorder(journal, self._log)
        how = setting.summarising
        wanted = how is not None and how.is_wanted
        self._summaries = Summaries(journal, setting.run_id, how) if how is not None and wanted else None
        self._running: dict[str, Execution] = {}
        self._cancelled: set[str] = set()
        # Those that have begun and whose end is not written yet.
        self._unfinished: set[str] = set()

    async def describe(self, name: str, arguments: JsonObject | str | None, item_id: str) -> JsonObject:
        """Return what a call's item says about its tool and its arguments."""
        return await self._about.describe(name, arguments, item_id)

    def cancel(self, item_id: str) -> None:
        """Stop one call; the run goes on with its result."""
        self._cancelled.add(item_id)
        execution = self._running.get(item_id)
        if execution is not None:
            execution.cancel()
        if self._summaries is not None:
            self._summaries.cancel(item_id)

    def keep_waiting(self, item_id: str) -> None:
        """Give one call more time."""
        execution = self._running.get(item_id)
        if execution is not None:
            execution.keep_waiting()

    async def execute(self, calls: Sequence[Call]) -> None:
        """Prepare the calls in order, ask about those that need it, and execute the others.

        Calls of one lane are executed one after the other, and none before one that was asked for earlier; all
        others side by side.
        """
        try:
            await self._carry_out(calls)
        finally:
            self._log.write()

    async def _carry_out(self, calls: Sequence[Call]) -> None:
        for call in calls:
            # One that comes back from a question was requested before.
            if call.data.phase != SUMMARISING and not call.data.paused and "waiting_approval" not in call.data.phases:
                self._log.tell("requested", call)
        summed_up = [call for call in calls if call.data.phase == SUMMARISING]
        wanted = [await self._look(call) for call in calls if call.data.phase != SUMMARISING]
        # Each is decided about as if the others had been carried out.
        beside = Seen(frozenset(source for one in wanted if isinstance(one, Wanted) for source in one.brings))
        looked_at: list[Prepared | Asked | Ended] = []
        sent = beside
        for one in wanted:
            looked_at.append(found := await self._decide(one, sent))
            if isinstance(found, Prepared):
                sent = joined(sent, found.sends)
        asked = [one for one in looked_at if isinstance(one, Asked)]
        if asked:
            await self._ask(asked)
        async with asyncio.TaskGroup() as group:
            for lane in arranged(looked_at):
                group.create_task(self._follow(lane, beside))
            for call in summed_up:
                group.create_task(self._go_on(call))

    async def _follow(self, lane: Sequence[Prepared | Ended], beside: Seen) -> None:
        """Carry out the calls of a lane in order, until one of them has to wait for the person."""
        for number, looked_at in enumerate(lane):
            # What was executed before it may have changed what it touches.
            now = await self._decide(await self._look(looked_at.call), beside) if number else looked_at
            if isinstance(now, Asked):
                await self._ask([now])
                return
            if isinstance(now, Ended):
                await self._end(now)
            elif await self._execute(now):
                return

    async def _look(self, call: Call) -> Wanted | Ended:
        now = cast(Call, self._journal.item(call.id))
        return await self._preparing.look(now, unwanted=call.id in self._cancelled)

    async def _decide(self, wanted: Wanted | Ended, beside: Seen) -> Prepared | Asked | Ended:
        return wanted if isinstance(wanted, Ended) else await self._preparing.decide(wanted, beside)

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
            facts |= changed_words(one.call, one.tool, "waiting_approval")
            events += [self._recorder.phase(one.call, "waiting_approval", data=facts), ItemCreated(item=question)]
            self._log.tell("waiting", one.call)
        await self._journal.write(*events)

    async def _park(self, call: Call, tool: Tool, paused: ToolPaused) -> None:
        """Keep what the call needs to go on, and put what it asks to the person."""
        if not 0 < len(paused.asks) <= limits.ASKS_PER_PAUSE or len(encode(paused.state)) > limits.PAUSED_STATE_BYTES:
            wrong = failure("EXECUTION_FAILED", "The server asked something that cannot be asked.")
            await self._recorder.conclude(call, wrong)
            return
        asked: JsonObject = {ask.id: [ask.message, questions.asked(call, tool, ask)] for ask in paused.asks}
        # What a server asks is masked like everything else it says.
        told = ToolOutput(text="", data={"asked": asked})
        masked = await self._results.process(told, call.id, call.conversation_id)
        if masked.error is not None:
            await self._recorder.conclude(call, masked)
            return
        created = {
            ask: self._journal.new("question", status="waiting", text=text, data=data)
            for ask, (text, data) in masked.data["asked"].items()
        }
        kept = Paused(state=paused.state, questions={ask: item.id for ask, item in created.items()})
        self._log.tell("waiting", call)
        data = patch(CallData, paused=kept, deadline_at=None, quiet_since=None)
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
        self._unfinished.add(call.id)
        facts = begun(permit.decision, ready.access, self._results.masked)
        times = call_times(tool, ready.arguments, self._setting.timeouts, self._setting.context_window)
        facts |= patch(CallData, timeout_seconds=times.total, deadline_at=time.time() + times.total, paused=None)
        facts |= changed_words(call, tool, "executing")
        # The intent is written first: a call whose end is not in the timeline may have happened.
        await self._journal.write(self._recorder.phase(call, "executing", status="streaming", data=facts))
        self._log.tell("executing", call)
        execution = self._running[call.id] = Execution(call.id, tool, times, self._journal, self._results)
        began = time.monotonic()
        try:
            if call.id in self._cancelled:
                execution.cancel()
            asked = permit.decision.authority == "person"
            outcome = await execution.run(ready.arguments, msgspec.structs.replace(ready.context, asked=asked))
        except asyncio.CancelledError:
            await self._stopped(call, execution)
            raise
        finally:
            self._running.pop(call.id, None)
        if isinstance(outcome, ToolPaused):
            self._unfinished.discard(call.id)
            await self._park(call, tool, outcome)
            return True
        elapsed = time.monotonic() - began
        entrance = self._entrance(call, tool)
        entered = await self._results.enter(outcome, call.id, call.conversation_id, entrance)
        processed = entered.output
        if tool.server and processed.error is None and entered.note and self._summaries is not None:
            processed = await self._summed_up(self._summaries, call, entered, elapsed)
        self._unfinished.discard(call.id)
        # The model is asked when all are done: the last one waits for the disk, which takes along those before it.
        is_last = not self._unfinished
        progress = execution.last_progress
        await self._recorder.conclude(call, processed, elapsed, progress=progress, promised=is_last)
        return False

    def _entrance(self, call: Call, tool: Tool) -> Entrance:
        """Return how the result of a call enters: its id is its place, which no other conversation knows."""
        room = budget.result_room(self._setting.context_window)
        if self._names.find(READ_RESULT) is None:
            return Entrance(room)
        large = self._setting.large_results
        most = large.servers.get(tool.server, large.above) if tool.server else 0
        if tool.server and (large.enter == "whole" or not most):
            room = budget.window_room(self._setting.context_window)
        elif tool.server:
            # What the host's own tools give is bounded by themselves, and is what was asked for.
            room = min(room, most * limits.CHARS_PER_TOKEN)
        return Entrance(room, f"r{self._journal.item(call.id).position}")

    async def _summed_up(self, summaries: Summaries, call: Call, entered: Entered, elapsed: float) -> ToolOutput:
        """Return a large result as a summary, or as the excerpt it is where there comes none."""
        output = entered.output
        # From here on the call has been carried out, whoever goes on with it: what is left is to sum up what was kept.
        facts = patch(CallData, excerpt=output.text, elapsed_ms=round(elapsed * 1000), deadline_at=None)
        await self._journal.write(self._recorder.phase(call, SUMMARISING, data=self._recorder.told(output) | facts))
        text = await summaries.entered(call, output.text, entered.whole)
        return msgspec.structs.replace(output, text=text, data=output.data | patch(CallData, excerpt=None))

    async def _go_on(self, call: Call) -> None:
        """Go on with the summary of a result that another process had; the call itself is not made again."""
        text = call.data.excerpt or ""
        if self._summaries is not None and (whole := await self._summaries.kept(call)):
            text = await self._summaries.entered(call, text, whole)
        done = ToolOutput(text, data=patch(CallData, excerpt=None))
        await self._recorder.conclude(call, done, (call.data.elapsed_ms or 0) / 1000)

    async def _stopped(self, call: Call, execution: Execution) -> None:
        """Stop the tool with its run, and keep how it took that for whoever ends the call."""
        how = await execution.stop()
        self._log.tell("stopped", call, how=how)
        # Another process may have the run by now; then it is its account that counts.
        with suppress(PilothouseError):
            await self._journal.write(ItemUpdated(item_id=call.id, data=patch(CallData, cancellation=how)))


def arranged(looked_at: Sequence[Prepared | Asked | Ended]) -> list[list[Prepared | Ended]]:
    """Return the calls that can be carried out now, each lane in its order.

    A lane ends before the first call that the person is asked about: what comes after it waits with it. A call
    that ended early, in a tool whose earlier calls wait in a lane, may end otherwise once those are done.
    """
    lanes: dict[str, list[Prepared | Ended]] = {}
    held: set[str] = set()
    lane_of: dict[str, str] = {}
    for one in looked_at:
        tool = one.call.data.tool
        lane = _lane(one, lane_of.get(tool, ""))
        if lane:
            lane_of[tool] = lane
        if isinstance(one, Asked):
            held.add(lane)
        elif not lane or lane not in held:
            lanes.setdefault(lane or one.call.id, []).append(one)
    return list(lanes.values())


def _lane(one: Prepared | Asked | Ended, before: str) -> str:
    if isinstance(one, Ended):
        return before if one.early else ""
    return one.access.lane
