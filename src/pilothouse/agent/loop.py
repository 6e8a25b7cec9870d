"""The loop: look at the timeline, do the next step, until the answer stands or the person is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pilothouse.agent import budget, compaction
from pilothouse.agent.calls import Calls
from pilothouse.agent.history import history, size, until_message
from pilothouse.agent.leftovers import interrupted, resumed
from pilothouse.agent.media import Fetch, Showing, no_media
from pilothouse.agent.reminders import Current, Reminding, nothing
from pilothouse.agent.steps import AskModel, AskPerson, ExecuteCalls, Finish, Wait, next_step
from pilothouse.agent.turn import TurnId, TurnWriter, take_turn
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import Message, ModelRequest, ToolSpec
from pilothouse.types.models import CallStyle, ToolCalls
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.selection import NativeTools
from pilothouse.types.stream import Failed

LIMIT_CHOICES = [{"id": budget.CONTINUE, "label": "Go on"}, {"id": budget.STOP, "label": "Stop here"}]


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
    # Gives the bytes of pictures and sounds in results.
    fetch: Fetch = no_media


class Outcome(msgspec.Struct, frozen=True):
    """How the loop ended: the answer stands, a person is needed, or it failed and why."""

    status: Literal["completed", "waiting", "failed"]
    code: ErrorCode | None = None
    message: str = ""


class Loop:
    """One run's loop."""

    def __init__(self, plan: Plan, journal: Journal, calls: Calls, reminders: Current = nothing) -> None:
        self._plan = plan
        self._journal = journal
        self._calls = calls
        self._tools = plan.tools
        self._reminding = Reminding(reminders, journal, plan.run_id, (tool.name for tool in plan.tools))
        self._call_style: CallStyle = "native" if plan.tool_calls == "auto" else plan.tool_calls
        self._showing = Showing(plan.opened.media, plan.fetch)
        # Whether room was made for this answer: what is too long even then stays too long.
        self._compacted = False
        # Whether the model turned out not to take tools the usual way; the run went on with text, or without any.
        self.tools_refused = False

    async def run(self) -> Outcome:
        """Do what is to be done until nothing is."""
        mine = [item for item in self._journal.items if item.run_id == self._plan.run_id]
        left = [*interrupted(mine), *resumed(mine)]
        if left:
            await self._journal.write(*left)
        while True:
            step = next_step(self._journal.items, self._plan.run_id)
            match step:
                case Finish():
                    return Outcome("completed")
                case Wait():
                    return Outcome("waiting")
                case AskPerson():
                    await self._ask_person(step)
                case ExecuteCalls():
                    await self._calls.execute(step.calls)
                case AskModel():
                    failure = await self._ask_model(step.turn)
                    if failure is not None:
                        return Outcome("failed", failure.code, failure.message)

    async def _ask_person(self, step: AskPerson) -> None:
        data: JsonObject = {"kind": "limit", "reason": step.reason, "choices": LIMIT_CHOICES}
        question = self._journal.new("question", status="waiting", text=step.question, data=data)
        await self._journal.write(ItemCreated(item=question))

    async def _ask_model(self, turn: int) -> Failed | None:
        """Ask until an answer stands or trying again makes no sense."""
        self._compacted = False
        attempt = self._attempts(turn)
        last = attempt + limits.STREAM_ATTEMPTS
        while True:
            attempt += 1
            messages = await self._messages()
            writer = TurnWriter(self._journal, TurnId(turn, attempt), self._plan.opened.config.id, self._calls.describe)
            failure = await take_turn(self._plan.opened.model, self._request(messages), writer)
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
        if failure.code == "context_too_long" and not self._compacted:
            self._compacted = True
            return await compaction.compact(self._plan.opened, self._journal, self._plan.run_id)
        return failure.retryable and not tried_enough

    async def _messages(self) -> tuple[Message, ...]:
        """Return what the model is told, after making room for its answer where there is little."""
        await self._reminding.remind()
        items = self._items()
        messages = await self._showing.messages(history(items))
        if not self._compacted and self._is_crowded(items, messages):
            self._compacted = await compaction.compact(self._plan.opened, self._journal, self._plan.run_id)
            # What was summarised took its reminders along.
            await self._reminding.remind()
            messages = await self._showing.messages(history(self._items()))
        return messages

    def _is_crowded(self, items: Sequence[Item], messages: Sequence[Message]) -> bool:
        window = self._plan.opened.config.context_window
        return self._showing.shown.nearly_full or budget.nearly_full(items, window, size(messages))

    def _request(self, messages: tuple[Message, ...]) -> ModelRequest:
        plan = self._plan
        return ModelRequest(
            messages=messages,
            system=plan.system,
            tools=self._tools,
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
        tags = [str(item.data.get("turn", "")) for item in self._journal.items if item.run_id == self._plan.run_id]
        return max((int(tag.split(".")[1]) for tag in tags if tag.startswith(f"{turn}.")), default=0)
