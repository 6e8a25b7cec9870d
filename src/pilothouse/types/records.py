"""What the rest of the program asks of the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from pilothouse.types import limits
from pilothouse.types.api import (
    ConversationPage,
    ConversationSnapshot,
    FullResult,
    ItemPage,
    MessageAccepted,
    PartData,
    SearchHit,
    SearchResult,
)
from pilothouse.types.authority import AuditCheck, AuditEntry, Grant, PendingApprovals
from pilothouse.types.branches import Branch, ForkWish
from pilothouse.types.changes import ChangeList, KeptChange
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.events import Event, ItemCreated
from pilothouse.types.exchange import Imported
from pilothouse.types.feed import FeedEvent, Guard
from pilothouse.types.items import Call, Item
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import Page
from pilothouse.types.ports import Part
from pilothouse.types.retention import Retention
from pilothouse.types.runs import Run, RunStatus
from pilothouse.types.todos import TodoList
from pilothouse.types.topics import TopicRecords
from pilothouse.types.usage import DaySpending, RequestUsage, UsageRows, Used

if TYPE_CHECKING:
    from pilothouse.types.branch_views import BranchNode
    from pilothouse.types.operations import RunList
    from pilothouse.types.processes import ProcessView


class QueueLimits(msgspec.Struct, frozen=True):
    """How many messages may wait for their answer, in one conversation and in all together."""

    here: int = limits.WAITING_HERE
    everywhere: int = limits.WAITING_EVERYWHERE


class Posting(msgspec.Struct, frozen=True):
    """A message to be kept together with the run that will answer it, or not at all."""

    item: Item
    run: Run
    # Becomes the title while the conversation has none.
    first_words: str
    idempotency_key: str | None
    # What was sent, in short: the same key is for the very same again.
    digest: str = ""
    # What the item's content describes, in order.
    parts: tuple[Part, ...] = ()
    queue_limits: QueueLimits = QueueLimits()
    # The branch that it goes on with; None for the one that was chosen last.
    branch: int | None = None
    # Where it begins a branch of its own instead.
    fork: ForkWish | None = None
    # The message whose attachments it has, too, and the indexes of those that it has not.
    attachments_of: str | None = None
    attachments_dropped: tuple[int, ...] = ()


class Leaving(msgspec.Struct, frozen=True):
    """What a message that makes a branch leaves behind at work, the newest first, and what waits before its place."""

    behind: Sequence[Run]
    waiting: Sequence[Run]


class Done(msgspec.Struct, frozen=True):
    """What runs have done since a place: the runs, oldest first, the files that stay changed, and the calls."""

    runs: Sequence[Run]
    # Those that were changed first at the beginning; and the runs that changed any.
    files: Sequence[str]
    changing: frozenset[str]
    calls: Sequence[Item]


class Briefing(msgspec.Struct, frozen=True):
    """What a run begins with, as of one moment."""

    conversation: Conversation
    run: Run
    # What a model's history is made of.
    items: Sequence[Item]


# From a run and its open items to what the run is now, and the events that end those items.
Settle = Callable[[Run, Sequence[Item]], tuple[Run, Sequence[Event]] | None]


class PastCall(msgspec.Struct, frozen=True):
    """A call of the past, and the working directory of its conversation."""

    call: Call
    working_directory: str | None


class KeptResult(msgspec.Struct, frozen=True):
    """A call's result as it is kept for people: masked, within its bounds."""

    item_id: str
    conversation_id: str
    parts: tuple[Part, ...]
    cut: bool = False
    # The place of the first one: those before it stay as they are.
    start: int = 0


class Records(TopicRecords, Protocol):
    """The database, as one set of verbs. Every write is kept and published when its call returns.

    What is promised is on disk by then. A power cut can take the rest, from some moment on: what a run does again,
    or what the next promise takes along.
    """

    @property
    def text_every(self) -> float:
        """Return how often text that streams is to be kept, in seconds."""

    async def add_conversation(self, conversation: Conversation) -> Conversation:
        """Keep a new conversation."""

    async def conversation(self, owner: str, conversation_id: str, *, deleted: bool = False) -> Conversation:
        """Return one conversation."""

    async def conversations(
        self, owner: str, limit: int, cursor: str | None, topic: str | None = None
    ) -> ConversationPage:
        """Return conversations, or those of a topic, most recently used first."""

    async def settings(self, conversation_id: str) -> ConversationSettings:
        """Return what a conversation is set to, for whoever works for it; of one that is gone the default."""

    async def change_conversation(
        self, owner: str, conversation_id: str, change: Callable[[Conversation], Conversation], *, deleted: bool = False
    ) -> Conversation:
        """Change a conversation by a pure function of what it is now."""

    async def purge(self, deleted_before: float) -> int:
        """Remove for good what was deleted before this time; return how many conversations went."""

    async def append(
        self, conversation_id: str, events: Sequence[Event], guard: Guard | None, *, promised: bool = True
    ) -> Sequence[Event]:
        """Append events to a conversation's timeline; with a guard, only for the process that holds the run."""

    async def events(
        self, conversation_id: str, after: int, limit: int, most_bytes: int | None = None
    ) -> list[FeedEvent]:
        """Return the durable events after a number, in order, up to so many bytes but at least one."""

    async def snapshot(
        self, owner: str, conversation_id: str, limit: int, branch: int | None = None
    ) -> ConversationSnapshot:
        """Return a conversation with the newest items of a branch, of the chosen one if none is named."""

    async def items(
        self, owner: str, conversation_id: str, before: int | None, limit: int, branch: int | None = None
    ) -> ItemPage:
        """Return items before a position: those on a branch's path, or of all branches."""

    async def branches(self, owner: str, conversation_id: str) -> tuple[Branch, ...]:
        """Return the branches of a conversation beside its first, by number."""

    async def branch_nodes(self, conversation: Conversation) -> tuple[BranchNode, ...]:
        """Return all branches of a conversation, the first one too, each with what was said in it in a few words."""

    async def following(self, owner: str, run_id: str, *, itself: bool) -> Sequence[Run]:
        """Return the runs whose messages came after that of a run, in any branch, oldest first; itself, too, or not."""

    async def done_since(self, owner: str, run_id: str, *, itself: bool) -> Done:
        """Return what was done by the runs that follow one, in any branch; by itself, too, or not."""

    async def leaving(self, posting: Posting) -> Leaving:
        """Return what a message that makes a branch ends or leaves at work; raise where it cannot make one."""

    async def items_of_run(self, owner: str, run_id: str) -> Sequence[Item]:
        """Return everything that a run has in the timeline, its message first, in order."""

    async def hide(self, owner: str, item_id: str, *, hidden: bool) -> Sequence[Item]:
        """Hide a message or a whole answer from models, or show it again; return the items as they are now."""

    async def item(self, owner: str, item_id: str) -> Item:
        """Return one item."""

    async def history(self, conversation_id: str, branch: int = 0) -> list[Item]:
        """Return the items a model's history is made of: everything on a branch's path since its newest compaction."""

    async def briefing(self, run: Run) -> Briefing:
        """Return what a run begins with; its conversation may be deleted."""

    async def keep_result(self, result: KeptResult) -> None:
        """Keep the whole result of a call, instead of any that was kept for it before."""

    async def repeat_result(self, of: str, item_id: str, conversation_id: str) -> None:
        """Keep for a call what was kept of another one's result, instead of any that was kept for it before."""

    async def kept_parts(self, run_id: str) -> set[tuple[str, int]]:
        """Return which parts are kept of a run's items: each by its item and its index."""

    async def result(self, owner: str, item_id: str) -> FullResult | None:
        """Return what was kept of a call's result, without the bytes of files; None when nothing was."""

    async def part(self, owner: str, item_id: str, index: int) -> PartData | None:
        """Return one part of a message or a result; None when it was not kept."""

    async def part_bytes(self, conversation_id: str, item_id: str, index: int) -> bytes | None:
        """Return one part for a run of the same conversation; None when it was not kept."""

    async def run(self, owner: str, run_id: str) -> Run:
        """Return one run."""

    async def post_message(self, posting: Posting) -> MessageAccepted:
        """Keep a message and its queued run; the same again with the same key returns the first acceptance."""

    async def post_messages(self, postings: Sequence[Posting]) -> Sequence[MessageAccepted]:
        """Keep several messages with their queued runs, all or none."""

    async def accepted_together(self, first: MessageAccepted) -> Sequence[MessageAccepted]:
        """Return what was answered to a message and to those that were sent with it, for other models."""

    async def admit(self, posting: Posting) -> list[Run]:
        """Return the runs that wait for the person, who says this instead; raise if the message cannot be taken."""

    async def receipt(self, posting: Posting) -> MessageAccepted | None:
        """Return the acceptance that was given for this message; raise `conflict` if its key is another's."""

    async def claim_next(self, conversation_id: str, process: str, *, perhaps_held: bool = False) -> Run | None:
        """Take the queued run whose message came first for this process, unless a run of the conversation is at work.

        With `perhaps_held`, a run that this process holds already is its own: it asked before and got no answer.
        """

    async def change_run(self, run_id: str, change: Callable[[Run], Run | None]) -> Run | None:
        """Change a run by a pure function of what it is now; None leaves it."""

    async def settle_run(self, run_id: str, rule: Settle) -> Run | None:
        """Change a run together with what it left open, by a pure function of both; None leaves them."""

    async def runs_in(self, statuses: Sequence[RunStatus], conversation_id: str | None = None) -> list[Run]:
        """Return the runs in one of these states, of one conversation or of all, oldest first."""

    async def run_list(self, owner: str, statuses: Sequence[RunStatus], page: Page) -> RunList:
        """Return an owner's runs in these states: those that go on oldest first, those that ended newest first."""

    async def queued(self) -> int:
        """Return how many runs wait for their turn, in all conversations."""

    async def mark_item(self, owner: str, item_id: str, data: JsonObject) -> Item:
        """Merge data into an item that has not ended."""

    async def take_over(self, process: str, rule: Settle) -> Sequence[Run]:
        """Settle everything that a dead process held, all of it together, and forget the process.

        Empty where nothing was left, and where another process is doing it right now.
        """

    async def processes(self) -> Sequence[ProcessView]:
        """Return the processes that share the database, and those that hold runs and never said that they live."""

    async def go_on_with_forgotten(self) -> None:
        """Have someone go on with what is queued and in nobody's hands, where there is a queue."""

    async def beat(self, process: str) -> None:
        """Write a small thing, in the place of a process that says that it lives."""

    async def forget_process(self, process: str) -> None:
        """Remove a process that ended."""

    async def add_session(self, token_hash: str, owner: str, expires_at: float) -> None:
        """Keep a signed-in browser."""

    async def session_owner(self, token_hash: str) -> str | None:
        """Return whose session this is."""

    async def living_sessions(self) -> Collection[str]:
        """Return the hashes of all sessions that have not ended or run out."""

    async def end_session(self, token_hash: str) -> None:
        """Sign a browser out."""

    async def catch_up(self) -> bool:
        """Make a part of what is not findable yet findable; tell whether there may be more."""

    async def pack(self) -> bool:
        """Make a part of what finished runs wrote smaller, unseen by readers; tell whether there may be more."""

    async def title(self, conversation: Conversation, title: str, used: Used | None) -> None:
        """Name a conversation as a model did, unless it has another name by now, and count what that took."""

    async def usage_since(self, owner: str, day: str) -> UsageRows:
        """Return what was used from a day on, by day and model, newest day first."""

    async def spent_on(self, owner: str, day: str) -> DaySpending:
        """Return what a day cost so far, over all conversations and processes."""

    async def requests(self, owner: str, conversation_id: str) -> Sequence[RequestUsage]:
        """Return what each request of a conversation used, in order, with the messages that began its runs."""

    async def count_older(self) -> bool:
        """Count a part of what was used before it was counted by day; tell whether there may be more."""

    async def has_documents(self) -> bool:
        """Return whether there is any document, whoever's it is."""

    async def todos(self, place: str) -> TodoList:
        """Return the list of a conversation or a topic; empty when there is none."""

    async def keep_todos(
        self, place: str, new: TodoList, *, instead_of: float, recorded: Sequence[ItemCreated] = ()
    ) -> bool:
        """Replace the list that was last changed at `instead_of`, and record items with it in their conversations.

        False, and nothing is done, when someone else has changed the list since.
        """

    async def keep_changes(self, kept: Sequence[KeptChange]) -> None:
        """Keep what files were, before any of them is changed: all or nothing."""

    async def drop_changes(self, change_ids: Sequence[str]) -> None:
        """Forget changes that did not happen after all."""

    async def changes(self, owner: str, *, run_id: str | None = None, item_id: str | None = None) -> list[KeptChange]:
        """Return the changes of a run or of a call that are not undone, oldest first."""

    async def changes_of_run(self, owner: str, run_id: str, page: Page) -> ChangeList:
        """Return what a run changed and nobody undid, oldest first, without what was there before."""

    async def mark_undone(self, change_ids: Sequence[str], at: float) -> None:
        """Remember that these were put back."""

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""

    async def grants(self, owner: str, conversation_id: str | None, branch: int | None = None) -> Sequence[Grant]:
        """Return the grants of a conversation or of all that stand now, newest first; those of a branch's path."""

    async def use_grant(self, grant_id: str, at: float) -> bool:
        """Count one use; False when the grant does not stand any more."""

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a grant; raise `not_found` for one that never was."""

    async def pending(self, owner: str, page: Page) -> PendingApprovals:
        """Return the questions that wait for the person, in whichever conversation, oldest first."""

    async def asked_to_sign_in(self, server: str) -> Sequence[tuple[str, str]]:
        """Return who waits until someone signed in to a server, and which question asks for it."""

    async def past_calls(self, owner: str, limit: int) -> Sequence[PastCall]:
        """Return calls of the past, of the most recently used conversations first."""

    async def audited(self, owner: str) -> Sequence[str]:
        """Return the conversations that an audit is about, deleted ones too."""

    async def audit(
        self, owner: str, conversation_id: str, until: int | None = None
    ) -> tuple[Sequence[AuditEntry], AuditCheck]:
        """Return the calls of a conversation in order, and whether its events are as they were written.

        `until` leaves later events out, to compare with what was noted earlier.
        """

    async def export(self, owner: str, conversation_id: str) -> AsyncIterator[bytes]:
        """Return a conversation with everything in it as lines, as it is now."""

    async def items_after(
        self, owner: str, conversation_id: str, after: int, limit: int, branch: int | None = None
    ) -> list[Item]:
        """Return items after a position, in order: those on a branch's path, or of all branches."""

    async def items_in(self, owner: str, conversation_id: str, branch: int, after: int, limit: int) -> list[Item]:
        """Return items after a position that stand in a branch itself, in order."""

    async def copy_run(self, owner: str, run_id: str, made: Conversation, told: Item) -> Conversation:
        """Make a new conversation of everything that leads to a run and of the run, with an item at its end."""

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes], settle: Settle) -> Imported:
        """Take the conversations of a file over; what was at work in them is settled by this rule."""

    async def search(self, owner: str, query: str, limit: int) -> SearchResult:
        """Find words in messages and titles."""

    async def similar(self, owner: str, item_ids: Sequence[str], query: str) -> Sequence[SearchHit]:
        """Return those of some items that are an owner's as hits, in this order."""

    async def tidy(self) -> None:
        """Drop what nobody can need any more."""

    async def retain(self, wanted: Retention) -> int:
        """Remove for good what the person does not want to keep any longer; return how many conversations went."""

    async def flush(self) -> None:
        """Wait until everything given to the writer is written or refused."""
