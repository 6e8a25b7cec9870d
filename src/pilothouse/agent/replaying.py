"""A run once more: its calls get the results that were recorded, in the words that the model got then.

No tool is executed and nobody is asked. A call that the recorded run did not make ends the replay where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence

from pilothouse.agent import budget, stop_reasons
from pilothouse.agent.call_log import CallLog
from pilothouse.agent.describing import CallWords
from pilothouse.agent.history import kept_place, result_text
from pilothouse.agent.limit_questions import Outcome
from pilothouse.agent.recording import Recorder
from pilothouse.agent.reminders import unwrapped
from pilothouse.agent.tool_lookup import inner_call
from pilothouse.types import limits
from pilothouse.types.canonical import canonical
from pilothouse.types.events import ItemCompleted, ItemDelta
from pilothouse.types.item_data import CallData, CallError, LimitData, QuestionData, ReminderData
from pilothouse.types.items import CLOSED, Call, Item, ItemOf, is_a, patch
from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.ports import Journal
from pilothouse.types.todos import Reminder
from pilothouse.types.tool_names import CALL, READ_RESULT

# How a call ended that the recorded run never made.
NOT_RECORDED = "NOT_RECORDED"
# What a call has of the recorded one: what the model is told by it, and what it brings along. Not what it did.
_GIVEN = ("content", "cut", "keptAs", "isError", "error", "brings", "recalled", "hiddenCharacters", "exitCode")
# A call's tool and its arguments: two with the same are the same call.
Key = tuple[str, bytes]
# Keeps for one item what was kept of the result of another.
KeepAgain = Callable[[str, str], Awaitable[None]]


def key_of(data: CallData) -> Key:
    """Return by what a call is known again; one by name is a call of the tool that it names."""
    asked = data.arguments if data.asked_arguments is None else data.asked_arguments
    tool, arguments = data.server_tool or data.tool, asked
    if tool == CALL and asked is not None and (inner := inner_call(asked)) is not None:
        tool, arguments = inner
    return tool, canonical(arguments) if arguments is not None else data.raw_arguments.encode()


def calls_of(items: Sequence[Item]) -> list[Call]:
    """Return the calls of answers that stand, in order."""
    return [item for item in items if is_a(item, CallData) and not item.data.cut_off]


class Replay:
    """What was recorded of a run, and how far the one that repeats it has come."""

    def __init__(self, recorded: Sequence[Item], mine: Sequence[Item] = ()) -> None:
        """Take all items of the recorded run, and those that the replay has already, by whatever process."""
        self._items = recorded
        self._calls: dict[Key, list[Call]] = {}
        # A model that is not sent a server's tool any more may still write its name as it stood on the wire.
        self._names: dict[str, str] = {}
        for call in calls_of(recorded):
            self._calls.setdefault(key_of(call.data), []).append(call)
            self._names[call.data.tool] = call.data.server_tool or call.data.tool
        self._times: Counter[Key] = Counter()
        self._used: set[str] = set()
        for call in calls_of(mine):
            if call.status in CLOSED:
                self.take(call)

    def take(self, call: Call) -> Call | None:
        """Return the recorded call whose result the next call gets; None where there is none."""
        tool, arguments = key_of(call.data)
        key = self._names.get(tool, tool), arguments
        made = self._calls.get(key)
        if made is None:
            return None
        found = made[min(self._times[key], len(made) - 1)]
        self._times[key] += 1
        self._used.add(found.id)
        return found

    def tools_but(self, offered: Collection[str]) -> list[str]:
        """Return the tools that were called then and are not among these names."""
        there = (call.data for made in self._calls.values() for call in made if not _was_missing(call.data))
        return sorted({data.server_tool or data.tool for data in there} - set(offered))[: limits.LEFT_BEHIND_SHOWN]

    async def reminders(self) -> tuple[Reminder, ...]:
        """Return what the model was reminded of at this point: what came after a call comes when that was repeated."""
        calls = calls_of(self._items)
        current: dict[str, ItemOf[ReminderData]] = {}
        for item in self._items:
            if not is_a(item, ReminderData) or not item.data.name:
                continue
            if all(call.id in self._used for call in calls if call.position < item.position):
                # In the order in which each was last said.
                current.pop(item.data.name, None)
                current[item.data.name] = item
        return tuple(
            Reminder(name=name, text=unwrapped(item.text), private=item.data.private) for name, item in current.items()
        )

    def went_past(self, excess: budget.Excess, turns: int) -> bool:
        """Return whether the person had the recorded run go on at such a limit, for longer than this one has yet."""
        asked = (item.data for item in self._items if is_a(item, QuestionData) and isinstance(item.data, LimitData))
        went_on = any(
            isinstance(data, LimitData)
            and data.reason == excess.reason
            and data.answer is not None
            and data.answer.choice == budget.CONTINUE
            for data in asked
        )
        return went_on and turns < len(stop_reasons.standing(self._items))


class ReplayedCalls:
    """Answers the calls of a replay."""

    def __init__(self, replay: Replay, about: CallWords, journal: Journal, keep: KeepAgain, tools: Collection[str]):
        self._replay = replay
        self._about = about
        self._journal = journal
        self._keep = keep
        # Whether the model can read the rest of a result, which it is told then.
        self._can_read = READ_RESULT in tools
        self._recorder = Recorder(journal, CallLog())

    async def describe(self, name: str, arguments: JsonObject | str | None, item_id: str) -> JsonObject:
        """Return what a call's item says about its tool and its arguments."""
        return await self._about.describe(name, arguments, item_id)

    def cancel(self, item_id: str) -> None:
        """Do nothing: a recorded result is there at once."""

    def keep_waiting(self, item_id: str) -> None:
        """Do nothing: a recorded result is there at once."""

    async def execute(self, calls: Sequence[Call]) -> None:
        """Give each call what was recorded of it, in order."""
        for call in calls:
            recorded = self._replay.take(call)
            if recorded is None:
                await self._refuse(call)
            else:
                await self._repeat(call, recorded)

    async def _repeat(self, call: Call, recorded: Call) -> None:
        facts = {name: recorded.raw[name] for name in _GIVEN if name in recorded.raw}
        text = recorded.text
        if (place := kept_place(recorded, can_read=self._can_read)) or recorded.data.asked_arguments is not None:
            text = result_text(recorded, can_read=self._can_read)
        if place:
            # The text says it, by the place of the recorded call; its own would be another.
            facts |= patch(CallData, kept_as=place)
        if any(part.digest for part in recorded.data.content):
            # Before its item says that it has them.
            await self._keep(recorded.id, call.id)
        facts |= patch(CallData, recorded=recorded.id)
        if recorded.data.server_tool and not call.data.server_tool:
            # The server, or its tool, is gone; it is the same call all the same.
            facts |= patch(CallData, server=recorded.data.server, server_tool=recorded.data.server_tool)
        data = self._recorder.phases(call, recorded.status) | facts | patch(CallData, elapsed_ms=0, sealed=None)
        told = [ItemDelta(item_id=call.id, offset=0, text=text)] if text else []
        await self._journal.write(*told, ItemCompleted(item_id=call.id, status=recorded.status, data=data))

    async def _refuse(self, call: Call) -> None:
        message = _not_recorded(call.data)
        error = CallError(code=NOT_RECORDED, message=message)
        facts = patch(CallData, is_error=True, error=error, elapsed_ms=0, sealed=None)
        await self._journal.write(
            ItemDelta(item_id=call.id, offset=0, text=message),
            ItemCompleted(item_id=call.id, status="failed", data=self._recorder.phases(call, "failed") | facts),
        )


def _was_missing(data: CallData) -> bool:
    """Return whether there was no such tool then either: models make names up."""
    return data.error is not None and data.error.code == "TOOL_NOT_FOUND"


def _not_recorded(data: CallData) -> str:
    """Return the sentence about a call that was not made then."""
    most = limits.REPLAY_WORDS
    written = encode_text(data.arguments) if data.arguments is not None else data.raw_arguments
    told = written if len(written) <= most else f"{written[:most]}…"
    name = (data.server_tool or data.tool or "(no name)")[:most]
    return f"The model called {name} with {told or 'nothing'}. That was not recorded, so the replay stops here."


def stopped(mine: Sequence[Item]) -> Outcome | None:
    """Return how a replay ends that made a call which was not recorded; None where it goes on."""
    for call in calls_of(mine):
        if call.data.error is not None and call.data.error.code == NOT_RECORDED and not call.data.recorded:
            return Outcome("failed", "not_recorded", call.data.error.message)
    return None


def at_limit(excess: budget.Excess) -> Outcome:
    """Return how a replay ends at a limit where a person would be asked."""
    said = excess.question.removesuffix(" Go on?")
    return Outcome("failed", "budget_reached", f"{said} Nobody is asked in a replay, so it stops here.")
