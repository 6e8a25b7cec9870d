"""Messages, and the runs that answer them: begun, stopped, resumed, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from pilothouse.agent import closing, compaction, questions, stop_reasons
from pilothouse.host import messages, results, selection
from pilothouse.host.dependencies import Dependencies
from pilothouse.host.engine import Engine
from pilothouse.types.api import CompactionWish, FullResult, MessageAccepted, NewMessage, PartData
from pilothouse.types.branches import WhenBusy, check_branch
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemUpdated
from pilothouse.types.host import Runs
from pilothouse.types.item_data import CallData, ResponseData
from pilothouse.types.items import Item, is_hidden, patch
from pilothouse.types.records import Posting, Records
from pilothouse.types.runs import ENDED, Run

# What is still to be done for messages once it is known that there is room for them.
Ready = Callable[[Sequence[Posting]], Awaitable[Sequence[Posting]]]
# Why a run cannot be resumed, by what it is.
_NO_RESUME = {
    "completed": "This answer is complete; there is nothing to go on with.",
    "queued": "This answer is being worked on already.",
    "running": "This answer is being worked on already.",
    "waiting": "This answer waits for you: answer its question.",
}


class RunService(Runs):
    """Runs, as the engine carries them out."""

    def __init__(self, records: Records, engine: Engine, dependencies: Dependencies) -> None:
        self._records = records
        self._engine = engine
        self._dependencies = dependencies

    async def check_message(self, owner: str, body: NewMessage) -> None:
        messages.check(body)
        await messages.attached(body)
        await self._check_wishes(body)

    async def _check_wishes(self, body: NewMessage) -> None:
        """Raise for a server, a tool or a model that is not there."""
        await selection.check(body.selection, self._dependencies.servers)
        selection.check_allowed(body.allow, self._dependencies.server_names, self._dependencies.tools)
        if body.model_id is not None:
            await self._dependencies.model_source.open(body.model_id)

    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        async def ready(postings: Sequence[Posting]) -> Sequence[Posting]:
            return [await self.with_documents(owner, posting, body) for posting in postings]

        posting = await self.prepared(owner, conversation_id, body)
        (accepted,) = await self.post([posting], body.when_busy, ready)
        return accepted

    async def prepared(self, owner: str, conversation_id: str, body: NewMessage) -> Posting:
        """Return a message as it will be kept, save its documents; raise if it cannot be taken."""
        messages.check(body)
        posting = await messages.posting(owner, conversation_id, body)
        if body.instead_of is None:
            return posting
        if body.after is not None:
            raise PilothouseError("bad_request", "A message stands in the place of another or after one, not both.")
        message = await self._records.item(owner, body.instead_of)
        if message.kind != "user_message" or message.conversation_id != conversation_id:
            raise PilothouseError("bad_request", "Only a message of yours in this conversation can be edited.")
        return messages.edited(posting, message, body)

    async def with_documents(self, owner: str, posting: Posting, body: NewMessage) -> Posting:
        """Return a message with its documents; raise for a server, a tool or a model that is not there."""
        await self._check_wishes(body)
        if not body.documents:
            return posting
        shelf = self._dependencies.documents.shelf()
        documents = await shelf.attached(owner, posting.item.conversation_id, body.documents)
        return messages.with_documents(posting, documents)

    async def post(self, postings: Sequence[Posting], when_busy: WhenBusy, ready: Ready) -> Sequence[MessageAccepted]:
        """Keep messages, all or none, and have them answered; of one that is not taken nothing stays."""
        limited = self._dependencies.queue_limits()
        postings = [msgspec.structs.replace(posting, queue_limits=limited) for posting in postings]
        first = postings[0]
        known = await self._records.receipt(first) if first.idempotency_key is not None else None
        if known is not None:
            # The first try may have been kept and never started; a run that was is not started twice.
            together = await self._records.accepted_together(known)
            for each in together:
                await self._engine.start(each.conversation_id)
            return together
        # Before anything is done for it.
        waiting = await self._records.admit(first)
        postings = await ready(postings)
        for run in await self._in_the_way(postings[0], waiting, when_busy):
            # What waits for an answer, or to be resumed, is given up: a new message is the person's answer.
            if run.owner == first.run.owner and not run.is_given_up:
                await self.cancel(run.owner, run.id)
        accepted = await self._records.post_messages(postings)
        for each in accepted:
            await self._engine.start(each.conversation_id)
        return accepted

    async def _in_the_way(self, posting: Posting, waiting: Sequence[Run], when_busy: WhenBusy) -> Sequence[Run]:
        """Return the runs that a message ends: those that wait in its branch, and on demand those it leaves behind."""
        owner, fork = posting.run.owner, posting.fork
        if fork is None:
            if not waiting:
                return ()
            chosen = (await self._records.conversation(owner, posting.item.conversation_id)).branch
            branch = chosen if posting.branch is None else posting.branch
            return [run for run in waiting if run.branch == branch]
        # Also before anything is ended: it raises for a place where no branch can begin.
        leaving = await self._records.leaving(posting)
        # The newest first: what ends begins what was queued behind it.
        return [*(leaving.behind if when_busy == "stop" else ()), *leaving.waiting]

    async def compact(self, owner: str, conversation_id: str, body: CompactionWish) -> MessageAccepted:
        posting = messages.compaction(owner, conversation_id, body)
        posting = msgspec.structs.replace(posting, queue_limits=self._dependencies.queue_limits())
        conversation = await self._records.conversation(owner, conversation_id)
        branch = conversation.branch if body.branch is None else check_branch(conversation.branches, body.branch)
        here = [run for run in await self._records.admit(posting) if run.branch == branch]
        await self._check_can_compact(conversation_id, branch, [run for run in here if not run.is_given_up])
        accepted = await self._records.post_message(posting)
        await self._engine.start(conversation_id)
        return accepted

    async def _check_can_compact(self, conversation_id: str, branch: int, waiting: Sequence[Run]) -> None:
        """Raise where a summary would take a question's place, would be a second one, or would stand for nothing."""
        if waiting:
            # Unlike a message this answers nothing, so it gives nothing up.
            asked = waiting[0].status == "waiting"
            what = "A question waits for you" if asked else "An answer was interrupted and waits for you"
            raise PilothouseError(
                "conflict",
                f"{what}, so nothing can be summed up now.",
                fix="Answer it or stop it first." if asked else "Resume it or stop it first.",
            )
        everything = await self._records.runs_in(("queued", "running"), conversation_id)
        at_work = [run for run in everything if run.branch == branch]
        if any(run.options.is_summary for run in at_work):
            raise PilothouseError("conflict", "This conversation is being summed up already.")
        if not at_work and not compaction.spoken_since_summary(await self._records.history(conversation_id, branch)):
            raise PilothouseError("conflict", "There is nothing to sum up yet.")

    async def get(self, owner: str, run_id: str) -> Run:
        return await self._records.run(owner, run_id)

    async def cancel(self, owner: str, run_id: str) -> Run:
        run = await self._records.run(owner, run_id)
        given_up: list[str] = []

        def stop(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]] | None:
            given_up[:] = questions.paused(left) if now.status in ("waiting", "interrupted") else []
            return _cancelled(now, left)

        changed = await self._records.settle_run(run_id, stop)
        if given_up:
            await self._dependencies.release(given_up)
        # What it was a moment ago may be another thing than what it was when it was stopped.
        if changed is not None and changed.status in ENDED:
            # Nobody executes it any more, and nobody else begins what was queued behind it.
            await self._engine.start(run.conversation_id)
        return changed or run

    async def resume(self, owner: str, run_id: str) -> Run:
        run = await self._records.run(owner, run_id)
        if run.status == "queued":
            # Perhaps whoever was to begin it, or began it and gave it back, never comes.
            await self._engine.start(run.conversation_id)
            return run
        _check_can_resume(run)
        items = await self._records.history(run.conversation_id, run.branch) if _is_unfinished(run) else []
        mine = [item for item in items if item.run_id == run_id]
        if any(map(is_hidden, mine)):
            fix = "Show it again first."
            raise PilothouseError("conflict", "This was hidden, so nobody can go on with it.", fix=fix)
        if _is_unfinished(run) and (_is_summed_up(run, items) or await self._has_gone_on(run, items)):
            _check_can_follow(run, mine)
        answers = stop_reasons.standing(mine)
        queued = await self._records.settle_run(run_id, lambda now, _left: _queued_again(now, answers))
        if queued is None:
            # Asked anew: another page, or another process, may have resumed it a moment ago.
            now = await self._records.run(owner, run_id)
            raise PilothouseError("conflict", _NO_RESUME.get(now.status, "This answer cannot go on from here."))
        await self._engine.start(run.conversation_id)
        return queued

    async def _has_gone_on(self, run: Run, items: Sequence[Item]) -> bool:
        """Return whether a message after the run's own was begun; those that wait are answered after it."""
        sent = [item for item in items if item.kind == "user_message"]
        own = next((item.position for item in sent if item.run_id == run.id), 0)
        waiting = {other.id for other in await self._records.runs_in(("queued",), run.conversation_id)}
        return any(item.position > own and item.run_id not in waiting for item in sent)

    async def cancel_call(self, owner: str, item_id: str) -> None:
        item = await self._records.item(owner, item_id)
        if item.kind not in ("tool_call", "tool_summary"):
            raise PilothouseError("bad_request", "That is neither a tool call nor a summary.")
        given_up: list[str] = []

        def stop(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
            given_up[:] = [call_id for call_id in questions.paused(left) if call_id == item_id]
            return questions.call_cancelled(now, left, item_id)

        run = await self._records.settle_run(item.run_id or "", stop)
        if given_up:
            await self._dependencies.release(given_up)
        if run is not None and run.status == "queued":
            await self._engine.start(run.conversation_id)

    async def keep_waiting(self, owner: str, item_id: str) -> None:
        await self._call(owner, item_id)
        # The time makes each wish a new one; whoever executes the call sees it, on whatever process.
        await self._records.mark_item(owner, item_id, patch(CallData, keep_waiting_at=time.time()))

    async def result(self, owner: str, item_id: str) -> FullResult:
        return await results.full_result(self._records, owner, item_id)

    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        return await results.part(self._records, owner, item_id, index)

    async def _call(self, owner: str, item_id: str) -> Item:
        item = await self._records.item(owner, item_id)
        if item.kind != "tool_call":
            raise PilothouseError("bad_request", "That is not a tool call.")
        return item


def _cancelled(run: Run, left: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    # What was interrupted waits for the person's word, and this is one.
    if run.status in ENDED and run.status != "interrupted":
        return None
    if run.status == "running":
        # Whoever executes it sees this, on whatever process, and ends it.
        return msgspec.structs.replace(run, cancel_requested=True), []
    return msgspec.structs.replace(run, status="cancelled", cancel_requested=True), closing.cancelled(left)


def _is_unfinished(run: Run) -> bool:
    """Return whether a run has ended and its answer has not."""
    return run.status in ("interrupted", "failed", "cancelled") or run.cut is not None


def _check_can_resume(run: Run) -> None:
    """Raise for a replay that came to what was not recorded: there is nothing that it could go on with."""
    if run.error is not None and run.error.code == "not_recorded":
        raise PilothouseError("conflict", "A replay cannot go on from a call that was not recorded.")


def _is_summed_up(run: Run, items: Sequence[Item]) -> bool:
    """Return whether a summary that another run made stands for all of a run."""
    made = [item for item in items if item.kind == "compaction" and item.status == "completed"]
    mine = any(item.run_id == run.id and item.kind != "question" for item in items)
    return bool(made) and not mine


def _check_can_follow(run: Run, mine: Sequence[Item]) -> None:
    """Raise for a run that cannot go on after others were answered."""
    if run.cut is not None or stop_reasons.continued(mine) is not None:
        raise PilothouseError(
            "conflict",
            "The conversation has gone on since this answer was cut, and its rest would stand apart from it.",
            fix="Ask for the rest in a new message.",
        )
    if not any(item.kind == "user_message" for item in mine):
        raise PilothouseError(
            "conflict",
            "Older messages were summed up since then, and this one with them.",
            fix="Send the message again to have it answered.",
        )


def _queued_again(run: Run, answers: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    was_cut = run.status == "completed" and run.cut is not None and answers
    if not was_cut and run.status not in ("interrupted", "failed", "cancelled"):
        return None
    queued = msgspec.structs.replace(run, status="queued", cancel_requested=False, error=None, cut=None, recoveries=0)
    # The model is told to go on where it was cut.
    return queued, [ItemUpdated(item_id=answers[-1].id, data=patch(ResponseData, go_on=True))] if was_cut else []
