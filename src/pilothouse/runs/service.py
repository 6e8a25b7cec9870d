"""Commands in: everything the page, the command line and the API can ask for, as one object."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from pilothouse.agent import leftovers, questions
from pilothouse.runs import messages, results, selecting, titles
from pilothouse.runs.admins import Admins
from pilothouse.runs.answer_commands import AnswerCommands
from pilothouse.runs.authority_commands import AuthorityCommands
from pilothouse.runs.beginning import check_folder, check_model
from pilothouse.runs.change_commands import ChangeCommands
from pilothouse.runs.engine import Engine
from pilothouse.runs.exchange_commands import ExchangeCommands
from pilothouse.runs.feed import Feed
from pilothouse.runs.index_commands import IndexCommands
from pilothouse.runs.model_commands import ModelCommands
from pilothouse.runs.modes import Modes, harmless
from pilothouse.runs.notifications import Notifier
from pilothouse.runs.readiness import Readiness
from pilothouse.runs.server_commands import ServerCommands
from pilothouse.runs.terminal_commands import TerminalCommands
from pilothouse.runs.todo_commands import TodoCommands
from pilothouse.types import limits
from pilothouse.types.api import (
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    FullResult,
    InputFrame,
    ItemPage,
    ListFrame,
    MessageAccepted,
    NewConversation,
    NewMessage,
    PageState,
    PartData,
    SearchResult,
)
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.host import FeedBatch, ListChange
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.notifications import Notification
from pilothouse.types.records import Records
from pilothouse.types.runs import ENDED, Run

_log = logging.getLogger(__name__)
_DAY = 86_400.0


class HostService(
    ModelCommands,
    ServerCommands,
    TodoCommands,
    AnswerCommands,
    AuthorityCommands,
    ChangeCommands,
    TerminalCommands,
    IndexCommands,
    ExchangeCommands,
):
    """The core as its clients see it; implements `HostApi`."""

    def __init__(
        self,
        records: Records,
        feed: Feed,
        engine: Engine,
        admins: Admins,
        modes: Modes,
    ) -> None:
        ModelCommands.__init__(self, admins, feed)
        ServerCommands.__init__(self, admins.servers, feed)
        TodoCommands.__init__(self, records, admins.todos)
        AnswerCommands.__init__(self, records, engine, admins.permissions)
        AuthorityCommands.__init__(self, records, admins.permissions, feed)
        ChangeCommands.__init__(self, records, admins.changes, admins.undoing)
        TerminalCommands.__init__(self, records, admins.terminals)
        IndexCommands.__init__(self, records, admins.indexes)
        ExchangeCommands.__init__(self, records)
        self._records = records
        self._feed = feed
        self._engine = engine
        self._admins = admins
        self._modes = modes
        self._tasks: set[asyncio.Task[None]] = set()
        self._readiness = Readiness(records, feed)
        self.notifications = Notifier()
        self.notifications.subscribe(self._notified)
        feed.on_listed = self._list_changed
        feed.on_events = self.notifications.heard

    # --- conversations ---

    async def page_state(self, owner: str, conversation_id: str | None) -> PageState:
        """Return all that the page draws after a reload."""
        snapshot = None
        if conversation_id is not None:
            try:
                snapshot = await self.snapshot(owner, conversation_id, limit=limits.SNAPSHOT_ITEMS)
            except PilothouseError as error:
                if error.code != "not_found":
                    raise
        return PageState(
            conversations=await self.conversations(owner, limit=limits.LIST_PAGE, cursor=None),
            models=await self._admins.models.list(),
            config=self._admins.config.view(),
            servers=await self._admins.servers.list(),
            snapshot=snapshot,
        )

    async def conversations(self, owner: str, *, limit: int, cursor: str | None) -> ConversationPage:
        """Return conversations, most recently used first."""
        return await self._records.conversations(owner, limit, cursor)

    async def create_conversation(self, owner: str, body: NewConversation) -> Conversation:
        """Start a conversation, with the active profile's settings where none are given."""
        now = time.time()
        title = titles.clean(body.title or "")
        if body.settings is not None and body.settings.model_id is not None:
            await check_model(self, body.settings.model_id)
        given = body.settings or harmless(self._admins.config.new_conversation_settings())
        settings = self._modes.begun(await self._checked(given))
        return await self._records.add_conversation(
            Conversation(
                id=new_id("c"),
                owner=owner,
                title=title,
                title_source="person" if title else "none",
                settings=settings,
                created_at=now,
                updated_at=now,
                last_seq=0,
            )
        )

    async def snapshot(self, owner: str, conversation_id: str, *, limit: int) -> ConversationSnapshot:
        """Return a conversation with its newest items."""
        kept = await self._records.snapshot(owner, conversation_id, limit)
        return msgspec.structs.replace(kept, conversation=self._modes.shown(kept.conversation))

    async def items(self, owner: str, conversation_id: str, *, before: int | None, limit: int) -> ItemPage:
        """Return the items before a position, or the newest."""
        return await self._records.items(owner, conversation_id, before, limit)

    async def update_conversation(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        """Rename it or change its settings."""
        if body.settings is not None and body.settings.model_id is not None:
            await self._check_change(owner, conversation_id, body.settings.model_id)
        settings = await self._checked(body.settings) if body.settings is not None else None
        title = titles.clean(body.title) if body.title is not None else None
        if title == "":
            raise PilothouseError("bad_request", "A title needs at least one character.")

        def change(now: Conversation) -> Conversation:
            if title is not None:
                now = msgspec.structs.replace(now, title=title, title_source="person")
            if settings is None:
                return now
            return msgspec.structs.replace(now, settings=self._modes.changed(now.settings, settings))

        return await self._records.change_conversation(owner, conversation_id, change)

    async def _check_change(self, owner: str, conversation_id: str, model_id: str) -> None:
        """Raise for a model that is not there; one that was removed meanwhile is no hindrance to other changes."""
        now = await self._records.conversation(owner, conversation_id)
        if model_id != now.settings.model_id:
            await check_model(self, model_id)

    async def _checked(self, settings: ConversationSettings) -> ConversationSettings:
        await selecting.check(settings.selection, self._admins.servers)
        return _checked(settings)

    async def delete_conversation(self, owner: str, conversation_id: str) -> None:
        """Delete it; it can be restored for a while."""
        now = time.time()
        # First of all: from here on no message begins another run.
        await self._records.change_conversation(
            owner, conversation_id, lambda c: msgspec.structs.replace(c, deleted_at=now)
        )
        # The newest first: what ends begins what was queued behind it. What waits for the person costs nothing: nobody
        # is asked about it while it is deleted, and with the conversation its question comes back.
        for run in reversed(await self._records.runs_in(("queued", "running"), conversation_id)):
            await self.cancel_run(owner, run.id)
        await self._admins.terminals.forget(conversation_id)
        await self._records.purge(now - limits.UNDO_DELETE_DAYS * _DAY)

    async def restore_conversation(self, owner: str, conversation_id: str) -> Conversation:
        """Bring a deleted conversation back."""
        restored = await self._records.change_conversation(
            owner, conversation_id, lambda c: msgspec.structs.replace(c, deleted_at=None), deleted=True
        )
        await self._admins.terminals.restored(conversation_id)
        return restored

    async def search(self, owner: str, query: str, *, limit: int) -> SearchResult:
        """Find titles and items by their words."""
        return await self._records.search(owner, query, limit)

    async def events(self, owner: str, conversation_id: str, after: int) -> AsyncGenerator[FeedBatch, None]:
        """Open the feed after event `after`."""
        known = await self._records.conversation(owner, conversation_id)
        return self._feed.read(self._records, conversation_id, after, last=known.last_seq)

    def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        """Yield changes of the list, of the models, and notices about the server."""
        return self._feed.list_changes(owner)

    # --- runs ---

    async def check_message(self, owner: str, body: NewMessage) -> None:
        """Raise why a message would not be taken, whichever conversation it is for."""
        messages.check(body)
        await messages.attached(body)
        await self._check_wishes(body)

    async def _check_wishes(self, body: NewMessage) -> None:
        """Raise for a server, a tool or a model that is not there."""
        await selecting.check(body.selection, self._admins.servers)
        selecting.check_allowed(body.allow, self._admins.servers, self._admins.tools)
        if body.model_id is not None:
            await self._admins.models.open(body.model_id)

    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        """Keep a message and start its answer."""
        messages.check(body)
        await self._records.conversation(owner, conversation_id)
        posting = await messages.posting(owner, conversation_id, body)
        posting = msgspec.structs.replace(posting, room=self._admins.config.room())
        known = await self._records.receipt(posting) if body.idempotency_key is not None else None
        if known is not None:
            # The first try may have been kept and never started; a run that was is not started twice.
            await self._engine.start(known.conversation_id)
            return known
        await self._check_wishes(body)
        # Before anything is done for it: of a message that is not taken nothing stays.
        await self._records.check_room(posting)
        await self._withdraw_questions(owner, conversation_id)
        accepted = await self._records.post_message(posting)
        await self._engine.start(accepted.conversation_id)
        return accepted

    async def _withdraw_questions(self, owner: str, conversation_id: str) -> None:
        """Give up what waits for an answer, or to be resumed: a new message is the person's answer."""
        for run in await self._records.runs_in(("waiting", "interrupted"), conversation_id):
            if run.owner == owner and not run.is_given_up:
                await self.cancel_run(owner, run.id)

    async def run(self, owner: str, run_id: str) -> Run:
        """Return a run."""
        return await self._records.run(owner, run_id)

    async def cancel_run(self, owner: str, run_id: str) -> Run:
        """Ask a run to stop; a run that has ended stays as it is."""
        run = await self._records.run(owner, run_id)
        given_up: list[str] = []

        def stop(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]] | None:
            given_up[:] = questions.paused(left) if now.status in ("waiting", "interrupted") else []
            return _cancelled(now, left)

        changed = await self._records.settle_run(run_id, stop)
        if given_up:
            await self._admins.servers.release(given_up)
        # What it was a moment ago may be another thing than what it was when it was stopped.
        if changed is not None and changed.status in ENDED:
            # Nobody executes it any more, and nobody else begins what was queued behind it.
            await self._engine.start(run.conversation_id)
        return changed or run

    async def resume_run(self, owner: str, run_id: str) -> Run:
        """Go on with an interrupted, failed or cancelled run; one that waits for this, also after others."""
        run = await self._records.run(owner, run_id)
        if run.status in ("failed", "cancelled") and await self._has_gone_on(run):
            raise PilothouseError(
                "conflict",
                "The conversation has gone on since then.",
                fix="Send the message again to have it answered.",
            )
        queued = await self._records.change_run(run_id, _queued_again)
        if queued is None:
            # Asked anew: another page, or another process, may have resumed it a moment ago.
            now = await self._records.run(owner, run_id)
            raise PilothouseError("conflict", f"This run is {now.status}; there is nothing to resume.")
        await self._engine.start(run.conversation_id)
        return queued

    async def _has_gone_on(self, run: Run) -> bool:
        """Return whether a message after the run's own was begun; those that wait are answered after it."""
        sent = [item for item in await self._records.history(run.conversation_id) if item.kind == "user_message"]
        own = next((item.position for item in sent if item.run_id == run.id), 0)
        waiting = {other.id for other in await self._records.runs_in(("queued",), run.conversation_id)}
        return any(item.position > own and item.run_id not in waiting for item in sent)

    async def cancel_call(self, owner: str, item_id: str) -> None:
        """Stop one tool call; its run goes on."""
        item = await self._call(owner, item_id)
        given_up: list[str] = []

        def stop(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
            given_up[:] = [call_id for call_id in questions.paused(left) if call_id == item_id]
            return questions.call_cancelled(now, left, item_id)

        run = await self._records.settle_run(item.run_id or "", stop)
        if given_up:
            await self._admins.servers.release(given_up)
        if run is not None and run.status == "queued":
            await self._engine.start(run.conversation_id)

    async def keep_waiting(self, owner: str, item_id: str) -> None:
        """Give a running call more time before it times out."""
        await self._call(owner, item_id)
        # The time makes each wish a new one; whoever executes the call sees it, on whatever process.
        await self._records.mark_item(owner, item_id, {"keepWaitingAt": time.time()})

    async def result(self, owner: str, item_id: str) -> FullResult:
        """Return a call's whole result, as far as it was kept."""
        return await results.full_result(self._records, owner, item_id)

    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        """Return the bytes of a part of a message or a call's result."""
        return await results.part(self._records, owner, item_id, index)

    async def _call(self, owner: str, item_id: str) -> Item:
        item = await self._records.item(owner, item_id)
        if item.kind != "tool_call":
            raise PilothouseError("bad_request", "That is not a tool call.")
        return item

    # --- sessions ---

    async def create_session(self, owner: str, holder: str = "") -> str:
        """Begin a session and return its token, this once; it is good together with its holder only."""
        token = secrets.token_urlsafe(32)
        await self._records.add_session(_hash(token + holder), owner, time.time() + limits.SESSION_DAYS * _DAY)
        return token

    async def session_owner(self, token: str) -> str | None:
        """Return whose session it is."""
        return await self._records.session_owner(_hash(token))

    async def end_session(self, token: str) -> None:
        """End a session."""
        await self._records.end_session(_hash(token))

    # --- the list ---

    def _list_changed(self, conversation_id: str) -> None:
        self._tell_later(conversation_id, lambda conversation: ListFrame(conversation=conversation))

    def _notified(self, news: Notification) -> None:
        """Let every page of the owner know that something is asked, whichever conversation it shows."""
        if news.kind in ("input_required", "response_received"):
            is_open = news.kind == "input_required"
            frame = InputFrame(
                conversation_id=news.conversation_id,
                item_id=news.item_id,
                tool_call_id=news.tool_call_id,
                prompt=news.prompt if is_open else "",
                context=news.context,
                open=is_open,
            )
            self._tell_later(news.conversation_id, lambda _conversation: frame)

    def _tell_later(self, conversation_id: str, change: Callable[[Conversation], ListChange]) -> None:
        owners = self._feed.list_owners()
        if owners:
            task = asyncio.create_task(self._tell_list(conversation_id, owners, change))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell_list(
        self, conversation_id: str, owners: set[str], change: Callable[[Conversation], ListChange]
    ) -> None:
        for owner in owners:
            try:
                conversation = await self._records.conversation(owner, conversation_id, deleted=True)
            except PilothouseError as error:
                _log.debug("the list of %s was not updated: %s", owner, error.message)
            else:
                self._feed.tell(change(conversation), owner)

    async def ready(self) -> None:
        """Return if something could be kept right now; raise why not."""
        await self._readiness.check()

    async def close(self) -> None:
        """Wait for what is on its way to the pages."""
        await self.stop_telling()
        await self._readiness.close()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _checked(settings: ConversationSettings) -> ConversationSettings:
    temperature, max_tokens = settings.temperature, settings.max_tokens
    if temperature is not None and not 0 <= temperature <= 2:
        raise PilothouseError("bad_request", "The temperature must be between 0 and 2.")
    if max_tokens is not None and max_tokens < 1:
        raise PilothouseError("bad_request", "The most tokens of an answer must be at least 1.")
    if not settings.working_directory:
        return msgspec.structs.replace(settings, working_directory=None)
    return msgspec.structs.replace(settings, working_directory=check_folder(settings.working_directory))


def _cancelled(run: Run, left: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    # What was interrupted waits for the person's word, and this is one.
    if run.status in ENDED and run.status != "interrupted":
        return None
    if run.status == "running":
        # Whoever executes it sees this, on whatever process, and ends it.
        return msgspec.structs.replace(run, cancel_requested=True), []
    return msgspec.structs.replace(run, status="cancelled", cancel_requested=True), leftovers.cancelled(left)


def _queued_again(run: Run) -> Run | None:
    if run.status not in ("interrupted", "failed", "cancelled"):
        return None
    return msgspec.structs.replace(run, status="queued", cancel_requested=False, error=None, recoveries=0)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
