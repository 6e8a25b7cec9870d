"""The loop: look at the timeline, do the next step, until the answer stands or the person is needed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.agent import budget, compaction, stop_reasons
from pilothouse.agent.calls import Calls
from pilothouse.agent.closing import interrupted, resumed
from pilothouse.agent.history import history, size, unread, until_message
from pilothouse.agent.limit_questions import Outcome, ask_for_budget, ask_to_go_on, tell_stopped
from pilothouse.agent.media import Fetch, MediaLoader, no_media
from pilothouse.agent.metering import Meter
from pilothouse.agent.reminders import CurrentReminders, ReminderWriter, no_reminders
from pilothouse.agent.replaying import Replay, ReplayedCalls, at_limit, stopped
from pilothouse.agent.requests import offered, request_size
from pilothouse.agent.spending import Estimate, Purse, estimate
from pilothouse.agent.steps import AskModel, ExecuteCalls, Finish, Step, Wait, next_step
from pilothouse.agent.turn import TurnWriter, take_turn
from pilothouse.types import limits
from pilothouse.types.events import ItemCreated, ItemUpdated
from pilothouse.types.item_data import NoticeData, ResponseData
from pilothouse.types.items import Item, TurnId, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import Message, ModelRequest, ToolSpec
from pilothouse.types.models import CallStyle, ToolCalls
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.selection import NativeTools
from pilothouse.types.stream import Failed

_ASKED_AGAIN = "The model made a call that its provider could not read. It was asked again."


class Plan(msgspec.Struct, frozen=True):
    """What a run was asked to do, and with what."""

    run_id: str
    opened: OpenModel
    system: str
    tools: tuple[ToolSpec, ...]
    max_tokens: int | None
    temperature: float | None
    thinking: bool | None
    tool_calls: ToolCalls = "auto"
    native_tools: NativeTools = NativeTools()
    # Where an answer ends that does not end by itself, in characters.
    longest_answer: int = limits.ANSWER_CHARS
    # The tools that the model may call although it is not sent them, by name.
    on_demand: tuple[str, ...] = ()
    # Gives the bytes of pictures and sounds in results.
    fetch: Fetch = no_media
    # Whether nobody is there who could be asked.
    unattended: bool = False
    # What was recorded of the run that this one repeats; nothing is executed then, and nobody asked.
    replay: Replay | None = None


class Loop:
    """One run's loop."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        calls: Calls | ReplayedCalls,
        reminders: CurrentReminders = no_reminders,
        purse: Purse | None = None,
    ) -> None:
        self._plan = plan
        self._purse = purse or Purse()
        self._journal = journal
        self._calls = calls
        self._tools = plan.tools
        self._reminders = ReminderWriter(reminders, journal, plan.run_id, (tool.name for tool in plan.tools))
        self._call_style: CallStyle = "native" if plan.tool_calls == "auto" else plan.tool_calls
        self._media = MediaLoader(plan.opened.media, plan.fetch)
        # Whether room was made for this answer: what is too long even then stays too long.
        self._compacted = False
        # What the next request may use.
        self._coming = Estimate(0)
        # How often the model made a call that its provider could not read.
        self._unread = 0
        # Whether the model turned out not to take tools the usual way; the run went on with text, or without any.
        self.tools_refused = False

    async def run(self) -> Outcome:
        """Do what is to be done until nothing is."""
        mine = self._mine()
        # What those have read who answered later messages stays as it is.
        left = [*interrupted(mine), *resumed(unread(self._journal.items, self._plan.run_id))]
        if left:
            await self._journal.write(*left)
        while True:
            outcome = self._stopped() or await self._do(next_step(self._journal.items, self._plan.run_id))
            if outcome is not None:
                return outcome

    def _stopped(self) -> Outcome | None:
        """Return how a replay ends that cannot go on; asked each time, for another process may have come so far."""
        return stopped(self._mine()) if self._plan.replay is not None else None

    async def _do(self, step: Step) -> Outcome | None:
        """Do a step; return how the run ends if it does with that."""
        match step:
            case Finish():
                return await self._finish()
            case Wait():
                return Outcome("waiting")
            case budget.Excess() if self._plan.replay is not None:
                return await self._past(step, self._plan.replay)
            case budget.Excess():
                await ask_to_go_on(self._journal, step)
            case ExecuteCalls():
                await self._calls.execute(step.calls)
            case AskModel():
                return await self._answer(step.turn)
        return None

    async def _past(self, excess: budget.Excess, replay: Replay) -> Outcome | None:
        """Go on as far as the person let the recorded run go; nobody is asked again."""
        turns = stop_reasons.standing(self._mine())
        if replay.went_past(excess, len(turns)):
            return await self._answer(TurnId.of(turns[-1]).turn + 1)
        return at_limit(excess)

    async def _finish(self) -> Outcome | None:
        await tell_stopped(self._journal, self._mine())
        cut = stop_reasons.cut(self._mine(), self._plan.opened.config.context_window)
        if cut is not None and await self._went_on(cut):
            return None
        return Outcome("completed", cut=cut.reason if cut is not None else None)

    async def _answer(self, turn: int) -> Outcome | None:
        hindrance = await self._ask_model(turn)
        if isinstance(hindrance, Failed):
            return Outcome("failed", hindrance.code, hindrance.message)
        if hindrance is not None:
            return await ask_for_budget(self._journal, hindrance, unattended=self._plan.unattended)
        return None

    def _mine(self) -> list[Item]:
        return [item for item in self._journal.items if item.run_id == self._plan.run_id]

    async def _went_on(self, cut: stop_reasons.Cut) -> bool:
        """Have the model go on with an answer that the window cut, if there is room now; else tell the person."""
        opened = self._plan.opened
        may = cut.reason == "context" and stop_reasons.may_go_on(self._mine()) and await self._may_sum_up()
        if may and await compaction.compact(opened, self._journal, self._plan.run_id):
            await self._reminders.remind()
            items = self._items()
            if not self._is_crowded(items, await self._media.messages(self._history(items))):
                await self._journal.write(ItemUpdated(item_id=cut.response.id, data=patch(ResponseData, go_on=True)))
                return True
        if not stop_reasons.is_told(self._mine(), cut):
            await self._tell(*stop_reasons.words(cut, opened.config.context_window, self._plan.max_tokens))
        return False

    async def _may_sum_up(self) -> bool:
        """Return whether the budgets cover a summary of what fills the window."""
        config = self._plan.opened.config
        return await self._purse.covers(self._mine(), estimate(config, config.context_window * limits.CHARS_PER_TOKEN))

    async def _tell(self, text: str, data: JsonObject) -> None:
        await self._journal.write(
            ItemCreated(item=self._journal.new("notice", status="completed", text=text, data=data))
        )

    async def _ask_model(self, turn: int) -> Failed | budget.Excess | None:
        """Ask until an answer stands, trying again makes no sense, or a budget would be passed."""
        self._compacted = False
        self._unread = 0
        attempt = self._attempts(turn)
        last = attempt + limits.STREAM_ATTEMPTS
        continues = stop_reasons.continued(self._mine())
        while True:
            attempt += 1
            messages = await self._messages()
            if isinstance(messages, budget.Excess):
                return messages
            turn_id, opened = TurnId(turn, attempt, continues), self._plan.opened
            request = self._request(messages)
            meter = Meter(request_size(request))
            writer = TurnWriter(self._journal, turn_id, opened.config, self._calls.describe, meter)
            with self._purse.paying(self._coming):
                failure = await take_turn(opened.model, request, writer)
            if failure is None:
                return None
            if not await self._may_retry(failure, attempt >= last):
                return failure

    async def _may_retry(self, failure: Failed, tried_enough: bool) -> bool:
        if failure.code == "tools_unsupported" and self._tools and not self.tools_refused:
            self.tools_refused = True
            if self._plan.tool_calls == "auto":
                self._call_style = "text"
            else:
                self._tools = ()
            return True
        if failure.code == "call_unreadable":
            return await self._asks_again()
        if failure.code == "context_too_long" and not self._compacted:
            self._compacted = True
            return await compaction.compact(self._plan.opened, self._journal, self._plan.run_id)
        return failure.retryable and not tried_enough

    async def _asks_again(self) -> bool:
        """Return whether the model is asked once more for a call that its provider could not read."""
        self._unread += 1
        if self._unread >= limits.MALFORMED_ATTEMPTS:
            return False
        await self._tell(_ASKED_AGAIN, patch(NoticeData, level="info", code="malformed_call"))
        return True

    async def _messages(self) -> tuple[Message, ...] | budget.Excess:
        """Return what the model is told, after making room for its answer where there is little.

        Before anything of it is paid for, the budgets are looked at.
        """
        await self._reminders.remind()
        items = self._items()
        messages = await self._media.messages(self._history(items))
        crowded = not self._compacted and self._is_crowded(items, messages)
        if (excess := await self._excess(self._request(messages), crowded=crowded)) is not None:
            return excess
        if crowded:
            self._compacted = await compaction.compact(self._plan.opened, self._journal, self._plan.run_id)
            # What was summarised took its reminders along.
            await self._reminders.remind()
            messages = await self._media.messages(self._history(self._items()))
        return messages

    async def _excess(self, request: ModelRequest, *, crowded: bool) -> budget.Excess | None:
        """Return the budget that a request would pass, and with it the summary that is made first."""
        plan = self._plan
        coming = estimate(plan.opened.config, request_size(request), self._items(), plan.max_tokens)
        self._coming = Estimate(2 * coming.tokens, 2 * coming.cost) if crowded else coming
        return await self._purse.excess(self._mine(), self._coming)

    def _history(self, items: Sequence[Item]) -> tuple[Message, ...]:
        return history(items, offered={tool.name for tool in offered(self._tools, items)})

    def _is_crowded(self, items: Sequence[Item], messages: Sequence[Message]) -> bool:
        window = self._plan.opened.config.context_window
        return self._media.shown.nearly_full or budget.nearly_full(items, window, size(messages))

    def _request(self, messages: tuple[Message, ...]) -> ModelRequest:
        plan = self._plan
        return ModelRequest(
            messages=messages,
            system=plan.system,
            tools=offered(self._tools, self._journal.items),
            on_demand=plan.on_demand,
            max_tokens=plan.max_tokens,
            temperature=plan.temperature,
            thinking=plan.thinking,
            call_style=self._call_style,
            native_tools=plan.native_tools,
            longest_answer=plan.longest_answer,
        )

    def _items(self) -> Sequence[Item]:
        """Return what the model is told: messages that came meanwhile wait for their own run."""
        return until_message(self._journal.items, self._plan.run_id)

    def _attempts(self, turn: int) -> int:
        """Return how often this turn was tried before, by whatever process."""
        tried = (TurnId.of(item) for item in self._mine())
        return max((each.attempt for each in tried if each.turn == turn), default=0)
