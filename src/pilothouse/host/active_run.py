"""A run at work in this process: the loop, the person's wishes about it, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Literal, TypeVar

import msgspec

from pilothouse.agent import closing, questions
from pilothouse.agent.calls import Calls
from pilothouse.agent.describing import CallWords
from pilothouse.agent.limit_questions import Outcome
from pilothouse.agent.loop import Loop
from pilothouse.agent.preparing import CallSetting
from pilothouse.agent.reminders import CombinedReminders
from pilothouse.agent.replaying import Replay, ReplayedCalls
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.agent.results.summaries import Summarising
from pilothouse.agent.spending import Purse
from pilothouse.agent.summing_up import SummingUp
from pilothouse.agent.tool_lookup import ToolLookup
from pilothouse.host.day_book import DayBook
from pilothouse.host.modes import Modes
from pilothouse.host.planning import plan, tools_left_out, wanted_tools
from pilothouse.timeline.feed import Feed
from pilothouse.timeline.journal import RunJournal
from pilothouse.timeline.store_outages import patiently, store_is_well, wait_for_store
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError, told
from pilothouse.types.events import ConversationUpdated, Event, ItemCreated, ItemUpdated, RunUpdated, event_decoder
from pilothouse.types.feed import Lagged
from pilothouse.types.item_data import CallData, Level, NoticeData
from pilothouse.types.items import Item, is_a, patch, read
from pilothouse.types.ports import Authorizer, ModelSource, NoRecall, OpenModel, Recall, ToolSet, ToolSource
from pilothouse.types.records import Briefing, Records
from pilothouse.types.runs import ENDED, CutReason, Run, RunError, RunStatus
from pilothouse.types.settings import Settings
from pilothouse.types.todos import Reminder, Reminders

T = TypeVar("T")
_log = logging.getLogger(__name__)

Reason = Literal["cancel", "shutdown", "stale"]
_MODE_ENDED = "Auto-approve has ended, as it does by itself. Calls are asked about again."
_NO_THINKING = "“{}” cannot be asked to think first. If it can, say so in Settings, Models."
_TOOLS_GONE = "These tools were called then and are not there now, so the model is not offered them: {}."
# What people want of a run while it is at work.
_WISHES = ("run.updated", "item.updated", "conversation.updated")


async def _nobody(_call_ids: Sequence[str]) -> None:
    """Nothing outside this program waits for those answers."""


class Parts(msgspec.Struct, frozen=True):
    """What every run needs."""

    records: Records
    feed: Feed
    models: ModelSource
    toolbox: ToolSource
    authorizer: Authorizer
    results: Pipeline
    # How much a conversation may do unasked, now; made with the host, for one mode ends with it.
    modes: Modes
    # What the person has set, now.
    settings: Callable[[], Settings] = Settings
    # What every model is reminded of.
    reminders: Reminders = CombinedReminders(())
    # What is remembered about what a message is about.
    recall: Recall = NoRecall()
    # Told of calls that waited for an answer when their run was stopped.
    release: Callable[[Sequence[str]], Awaitable[None]] = _nobody
    # What requests may cost that are under way here.
    day_book: DayBook = msgspec.field(default_factory=DayBook)
    # Waits until shared settings are known as the database has them; None where no other process changes them.
    confirm: Callable[[], Awaitable[None]] | None = None

    def purse(self, owner: str) -> Purse:
        """Return what a run of this owner may spend."""
        return Purse(self.settings, self.day_book.of(self.records, self.feed, owner))

    async def knowing(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what is asked for; what it names may have been added at another process a moment ago."""
        if self.confirm is None:
            return await ask()
        # Imported only where there are other processes.
        from pilothouse.host.knowing import knowing  # noqa: PLC0415

        return await knowing(self.confirm, ask)


class RunReminders:
    """What the model of one run is reminded of: first what may matter to its message, looked for once."""

    def __init__(self, parts: Parts, run: Run, conversation: Conversation, journal: RunJournal) -> None:
        self._parts = parts
        self._run = run
        self._conversation = conversation
        self._journal = journal
        self._offered: tuple[Reminder, ...] | None = None

    async def current(self) -> tuple[Reminder, ...]:
        """Return the reminders as they are now."""
        if self._offered is None:
            self._offered = await self._remembered()
        told, run = self._parts.reminders, self._run
        return (
            *self._offered,
            *await patiently(self._parts.feed, lambda: told.current(run.conversation_id, run.branch)),
        )

    async def _remembered(self) -> tuple[Reminder, ...]:
        items = self._journal.items
        message = next((item for item in items if item.kind == "user_message" and item.run_id == self._run.id), None)
        if message is None or not self._parts.settings().memories_offered:
            return ()
        found = await self._parts.recall.offered(self._conversation, message.text)
        return (found,) if found is not None else ()


class ActiveRun:
    """One run, from its claim to its end."""

    def __init__(self, parts: Parts, run: Run) -> None:
        self._parts = parts
        self.run = run
        self.opened: OpenModel | None = None
        self._journal: RunJournal | None = None
        self._calls: Calls | ReplayedCalls | None = None
        self._task: asyncio.Task[Outcome] | None = None
        self._stopping: Reason | None = None
        # As the person last set them.
        self._settings = ConversationSettings()
        # What people wanted of calls before there was anyone to do it.
        self._early: list[ItemUpdated] = []
        # Why its answer is not at its end.
        self._cut: CutReason | None = None
        # Calls that wait for answers which will not come.
        self._given_up: list[str] = []

    def stop(self, reason: Reason) -> None:
        """End the run: the person said so, the program ends, or another process has it."""
        if self._stopping is None:
            self._stopping = reason
            if self._task is not None:
                self._task.cancel()

    async def drive(self) -> Run | None:
        """Execute the run and record how it ended; None when another process has it now."""
        briefing = await self._briefing()
        watcher = asyncio.create_task(self._watch(briefing.conversation.last_seq), name=f"watch {self.run.id}")
        wished = self.run.options
        work = self._sum_up if wished.is_summary else self._replay if wished.replay_of is not None else self._loop
        self._task = asyncio.create_task(work(briefing), name=f"run {self.run.id}")
        # The history is the loop's alone, which keeps what is new in it.
        del briefing
        if self._stopping is not None:
            self._task.cancel()
        try:
            try:
                await asyncio.wait([self._task])
            finally:
                self._task.cancel()
                watcher.cancel()
                await asyncio.wait([self._task, watcher])
            return await self._finish(self._task)
        finally:
            if self._journal is not None:
                self._journal.drop()
            # They know each other, and the whole history hangs on them: it would stay until somebody looks for garbage.
            self._journal = self._calls = self._task = None

    async def _briefing(self) -> Briefing:
        """Return what the run begins with; wishes before it are heeded here, and followed from its last event on."""
        briefing = await patiently(self._parts.feed, lambda: self._parts.records.briefing(self.run))
        self._heed_run(briefing.run)
        return briefing

    async def _loop(self, briefing: Briefing) -> Outcome:
        run, parts, conversation, items = self.run, self._parts, briefing.conversation, briefing.items
        self._settings = settings = conversation.settings
        opened, toolset, refused = await self._found(conversation, items)
        journal = RunJournal(parts.records, parts.feed, run, items, lambda: self.stop("stale"))
        del items, briefing
        self._journal = journal
        if parts.modes.is_over(settings):
            await self._say_that_mode_ended()
        await self._say_what_is_not_there(opened, toolset, journal)
        if toolset.missing:
            await self._tell("server_missing", " ".join(toolset.missing), level="warning")
        purse = parts.purse(run.owner)
        setting = CallSetting(
            conversation_id=run.conversation_id,
            run_id=run.id,
            branch=run.branch,
            working_directory=settings.working_directory,
            unattended=run.options.unattended,
            context_window=opened.config.context_window,
            allow=run.options.allow,
            timeouts=parts.settings().tool_timeouts,
            owner=run.owner,
            mode=lambda: parts.modes.now(self._settings),
            large_results=parts.settings().large_results,
            summarising=Summarising(parts.settings().large_results, opened, parts.models.open, self._part_bytes, purse),
        )
        names = ToolLookup(toolset.tools, toolset.on_demand)
        self._calls = Calls(setting, names, parts.authorizer, parts.results, journal)
        for wish in self._early:
            self._heed(wish)
        work = msgspec.structs.replace(
            plan(run, conversation, opened, toolset, refused_tools=refused),
            fetch=self._part_bytes,
            longest_answer=parts.settings().longest_answer,
        )
        loop = Loop(work, journal, self._calls, RunReminders(parts, run, conversation, journal).current, purse)
        try:
            return await loop.run()
        finally:
            if loop.tools_refused and opened.learn_no_tools is not None:
                await opened.learn_no_tools()

    async def _found(
        self, conversation: Conversation, items: Sequence[Item], *, waits: bool = True
    ) -> tuple[OpenModel, ToolSet, bool]:
        """Return the model and its tools, and whether its provider refuses any.

        Found once: what changes meanwhile counts from the next message on, so that a run's prompt stays one.
        """
        return await self._parts.knowing(partial(self._find, conversation, items, waits=waits))

    async def _find(
        self, conversation: Conversation, items: Sequence[Item], *, waits: bool
    ) -> tuple[OpenModel, ToolSet, bool]:
        run, parts, settings = self.run, self._parts, conversation.settings
        # Side by side: what holds commands may have to be found out first.
        mode, opened = await asyncio.gather(
            parts.modes.now(settings), parts.models.open(run.options.model_id or settings.model_id)
        )
        self.opened = opened
        refused = opened.refuses_tools is not None and opened.refuses_tools()
        wanted = wanted_tools(run, conversation, opened.config, mode, items, refused_tools=refused)
        on_demand = parts.settings().tools_on_demand
        toolset = await parts.toolbox.tools(msgspec.structs.replace(wanted, on_demand=on_demand, waits=waits))
        return opened, toolset, refused

    async def _say_what_is_not_there(self, opened: OpenModel, toolset: ToolSet, journal: RunJournal) -> None:
        if self.run.options.thinking and not opened.config.supports_thinking:
            await self._tell("no_thinking", _NO_THINKING.format(opened.config.name))
        if (told := tools_left_out(toolset, journal)) is not None:
            await journal.write(ItemCreated(item=told))

    async def _replay(self, briefing: Briefing) -> Outcome:
        """Have the model answer once more, with what was recorded: no tool, no server and no person is asked."""
        run, parts, conversation, items = self.run, self._parts, briefing.conversation, briefing.items
        # With what is known of servers: none is started for it.
        opened, toolset, refused = await self._found(conversation, items, waits=False)
        journal = self._journal = RunJournal(parts.records, parts.feed, run, items, lambda: self.stop("stale"))
        del items, briefing
        replay = Replay(await self._items_of(run.options.replay_of or ""), await self._items_of(run.id))
        names = ToolLookup(toolset.tools, toolset.on_demand)
        await self._say_what_is_not_there(opened, toolset, journal)
        if gone := replay.tools_but([tool.qualified_name for tool in names.offered]):
            await self._tell("tools_gone", _TOOLS_GONE.format(", ".join(gone)), level="warning")
        planned = plan(run, conversation, opened, toolset, refused_tools=refused)
        about, sent = CallWords(names, parts.results), [tool.name for tool in planned.tools]
        self._calls = ReplayedCalls(replay, about, journal, self._repeat_result, sent)
        longest = parts.settings().longest_answer
        work = msgspec.structs.replace(planned, fetch=self._part_bytes, longest_answer=longest, replay=replay)
        return await Loop(work, journal, self._calls, replay.reminders, parts.purse(run.owner)).run()

    async def _items_of(self, run_id: str) -> Sequence[Item]:
        records, run = self._parts.records, self.run
        items = await patiently(self._parts.feed, lambda: records.items_of_run(run.owner, run_id))
        # What a file that was imported names may stand elsewhere.
        return [item for item in items if item.conversation_id == run.conversation_id]

    async def _repeat_result(self, of: str, item_id: str) -> None:
        records, conversation_id = self._parts.records, self.run.conversation_id
        await patiently(self._parts.feed, lambda: records.repeat_result(of, item_id, conversation_id))

    async def _sum_up(self, briefing: Briefing) -> Outcome:
        """Make the summary of older turns that the person asked for."""
        run, parts = self.run, self._parts
        model_id = run.options.model_id or briefing.conversation.settings.model_id
        self.opened = opened = await parts.knowing(lambda: parts.models.open(model_id))
        journal = self._journal = RunJournal(parts.records, parts.feed, run, briefing.items, lambda: self.stop("stale"))
        wish, purse = run.options, parts.purse(run.owner)
        return await SummingUp(run.id, opened, journal, purse, wish.compact or "", wish.unattended).run()

    async def _say_that_mode_ended(self) -> None:
        """Put the conversation back to asking, and say so where its calls are."""
        run, records = self.run, self._parts.records
        asking = msgspec.structs.replace(self._settings, mode="ask", mode_since=0.0)
        await patiently(
            self._parts.feed,
            lambda: records.change_conversation(
                run.owner, run.conversation_id, lambda now: _asking_again(now, self._settings), deleted=True
            ),
        )
        self._settings = asking
        await self._tell("mode_ended", _MODE_ENDED)

    async def _tell(self, code: str, text: str, level: Level = "info") -> None:
        """Say something about the run where it stands, once, also when another process takes it up."""
        journal = self._journal
        if journal is None or any(
            item.run_id == self.run.id and is_a(item, NoticeData) and item.data.code == code for item in journal.items
        ):
            return
        data = patch(NoticeData, level=level, code=code)
        notice = journal.new("notice", status="completed", text=text, data=data)
        await journal.write(ItemCreated(item=notice))

    async def _part_bytes(self, item_id: str, index: int) -> bytes | None:
        records, conversation_id = self._parts.records, self.run.conversation_id
        return await patiently(self._parts.feed, lambda: records.part_bytes(conversation_id, item_id, index))

    # --- what people want of it meanwhile ---

    async def _watch(self, after: int) -> None:
        """Follow the conversation for wishes about this run, whichever process they came to."""
        cursor = after
        while True:
            try:
                async with aclosing(
                    self._parts.feed.read(self._parts.records, self.run.conversation_id, cursor, kept_only=True)
                ) as feed:
                    async for batch in feed:
                        for event in batch:
                            cursor = event.seq or cursor
                            if event.seq and event.kind in _WISHES:
                                self._heed(event_decoder.decode(event.json))
            except Lagged:
                continue
            except PilothouseError as error:
                await wait_for_store(self._parts.feed, error)

    def _heed_run(self, now: Run) -> None:
        if now.epoch != self.run.epoch:
            self.stop("stale")
        elif now.cancel_requested:
            self.stop("cancel")

    def _heed(self, event: Event) -> None:
        if isinstance(event, RunUpdated) and event.run.id == self.run.id:
            self._heed_run(event.run)
        elif isinstance(event, ConversationUpdated):
            # How much may be done unasked counts at once; everything else from the next message on.
            self._settings = event.conversation.settings
        elif isinstance(event, ItemUpdated) and self._calls is None:
            self._early.append(event)
        elif isinstance(event, ItemUpdated) and self._calls is not None:
            told = read(CallData, event.data)
            if told.cancel_requested:
                self._calls.cancel(event.item_id)
            if told.keep_waiting_at:
                self._calls.keep_waiting(event.item_id)

    # --- its end ---

    async def _finish(self, task: asyncio.Task[Outcome]) -> Run | None:
        if self._stopping == "stale":
            return None
        try:
            broken = await self._closed()
            return await self._end(*(broken or self._verdict(task)))
        except PilothouseError as error:
            if error.code != "stale_run":
                raise
            return None

    async def _closed(self) -> tuple[RunStatus, RunError | None] | None:
        """Write the rest of the text; return how the run ends when that breaks, for it must end all the same."""
        try:
            if self._journal is not None:
                await self._journal.close()
        except PilothouseError:
            raise
        except Exception as error:
            return self._failed_unexpectedly(error)
        return None

    def _verdict(self, task: asyncio.Task[Outcome]) -> tuple[RunStatus, RunError | None]:
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or (error is not None and self._stopping is not None):
            return (self._given_back() if self._stopping == "shutdown" else "cancelled"), None
        if error is None:
            outcome = task.result()
            if outcome.status == "failed":
                return "failed", RunError(code=outcome.code or "internal", message=outcome.message, fix=outcome.fix)
            self._cut = outcome.cut
            return outcome.status, None
        known = told(error)
        if known is not None:
            return "failed", RunError(code=known.code, message=known.message, fix=known.fix)
        return self._failed_unexpectedly(error)

    def _given_back(self) -> RunStatus:
        """Return what a run comes to that the program's end stopped: whoever is there next goes on with it."""
        return "queued" if self._parts.settings().resume_after_restart == "auto" else "interrupted"

    def _failed_unexpectedly(self, error: BaseException) -> tuple[RunStatus, RunError]:
        _log.error("run %s failed unexpectedly", self.run.id, exc_info=error)
        return "failed", RunError(
            code="internal",
            message="Something went wrong inside Pilothouse.",
            fix="The log has the details. Try again.",
        )

    async def _end(self, status: RunStatus, error: RunError | None) -> Run | None:
        """Close what is open and record the end, waiting out a store that is away."""
        ended = await patiently(
            self._parts.feed,
            lambda: self._parts.records.settle_run(
                self.run.id, lambda run, left: self._settled(run, left, status, error)
            ),
        )
        store_is_well(self._parts.feed)
        if self._given_up:
            await self._parts.release(self._given_up)
        return ended

    def _settled(
        self, run: Run, left: Sequence[Item], status: RunStatus, error: RunError | None
    ) -> tuple[Run, list[Event]] | None:
        if run.epoch != self.run.epoch:
            return None
        if status == "waiting":
            status = _parked(run, left)
        elif status == "queued" and run.cancel_requested:
            status = "cancelled"
        self._given_up = questions.paused(left) if status in ENDED and status != "interrupted" else []
        cut = self._cut if status == "completed" else None
        ended = msgspec.structs.replace(run, status=status, error=error, cut=cut, process=None)
        return ended, closing.settled(status, left)


def _asking_again(now: Conversation, ended: ConversationSettings) -> Conversation:
    """Return the conversation with calls asked about again, unless the person has chosen otherwise meanwhile."""
    if now.settings.mode_since != ended.mode_since:
        return now
    return msgspec.structs.replace(now, settings=msgspec.structs.replace(now.settings, mode="ask", mode_since=0.0))


def _parked(run: Run, left: Sequence[Item]) -> RunStatus:
    """Return what a run that asked something comes to; the person may have been quick."""
    if run.cancel_requested:
        return "cancelled"
    asked = any(item.kind == "question" for item in left)
    return "waiting" if asked else "queued"
