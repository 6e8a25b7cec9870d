"""Changes that must happen whole or not at all; each is a unit of work for the writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pilothouse.store import branches, parts, queue_limit, reading, receipts, rows, search, topics
from pilothouse.store.nul_characters import cleaned
from pilothouse.store.statements import Statement
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.api import MessageAccepted
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ConversationUpdated, ItemCreated, ItemUpdated, RunUpdated
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import CLOSED, Item, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.records import Posting, Settle
from pilothouse.types.runs import Run
from pilothouse.types.usage import Used, day_of

_AT_WORK = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status IN ('running', 'waiting')")
_INTERRUPTED = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status = 'interrupted'")
_PLACE_OF_RUN = Statement("SELECT conversation_id FROM runs WHERE id = :id")
_RUN = Statement("SELECT body FROM runs WHERE id = :id")


def add_conversation(tx: Transaction, conversation: Conversation) -> Conversation:
    """Insert a conversation and its first event."""
    topics.check_joined(tx, conversation.owner, None, conversation.settings.topic_id)
    rows.add_conversation(tx.connection, conversation)
    return announce(tx, conversation)


def change_conversation(
    tx: Transaction,
    owner: str,
    conversation_id: str,
    change: Callable[[Conversation], Conversation],
    *,
    deleted: bool = False,
) -> Conversation:
    """Change what a person may change."""
    tx.hold(conversation_id)
    before = rows.owned_conversation(tx.connection, owner, conversation_id, deleted=deleted)
    after = change(before)
    if after == before:
        return before
    topics.check_joined(tx, owner, before.settings.topic_id, after.settings.topic_id)
    return announce(tx, msgspec.structs.replace(after, updated_at=tx.now))


def announce(tx: Transaction, conversation: Conversation) -> Conversation:
    """Write what a conversation is now into its timeline."""
    # The event says what the row says.
    conversation = msgspec.structs.replace(conversation, title=cleaned(conversation.title))
    (event,) = tx.append(conversation.id, [ConversationUpdated(conversation=conversation)])
    search.index_title(tx.connection, conversation.id, conversation.title, tx.now)
    return msgspec.structs.replace(conversation, last_seq=event.seq)


def post_message(tx: Transaction, posting: Posting) -> MessageAccepted:
    """Keep the message, what is attached to it, its queued run and the receipt together."""
    run, item = posting.run, posting.item
    # Locked first: another process may be keeping the same message right now.
    tx.hold(item.conversation_id)
    known = receipts.receipt(tx.connection, posting)
    if known is not None:
        return known
    queue_limit.check(tx.connection, item.conversation_id, posting.queue_limits)
    conversation = rows.owned_conversation(tx.connection, run.owner, item.conversation_id)
    branch, fork = _beginning(tx, conversation, posting)
    if fork is None:
        branches.check_way_on(tx.connection, conversation.id, branch)
    accepted = MessageAccepted(conversation_id=item.conversation_id, item_id=item.id, run_id=run.id, branch=branch)
    if not receipts.keep(tx.connection, posting, accepted, tx.now):
        # Another conversation's message has just been kept with the same key.
        return receipts.receipt(tx.connection, posting) or accepted
    queued = msgspec.structs.replace(run, created_at=tx.now, updated_at=tx.now, branch=branch)
    placed = msgspec.structs.replace(item, branch=branch)
    if fork is not None:
        placed = msgspec.structs.replace(placed, raw=item.raw | patch(MessageData, fork=fork))
    tx.append(item.conversation_id, [ItemCreated(item=placed), RunUpdated(run=queued)])
    parts.attach(tx.connection, item, posting.parts)
    if posting.attachments_of is not None:
        first, dropped = len(posting.parts), posting.attachments_dropped
        parts.copy(tx.connection, posting.attachments_of, item, first=first, dropped=dropped)
    if fork is not None:
        branches.take_over_todos(tx.connection, item.conversation_id, branch)
    _name_and_choose(tx, conversation, posting, branch)
    return accepted


def post_messages(tx: Transaction, postings: Sequence[Posting]) -> list[MessageAccepted]:
    """Keep several messages together; a later one may begin a branch in the place of an earlier one."""
    first = post_message(tx, postings[0])
    if first.run_id != postings[0].run.id:
        # They were kept before, with the same key.
        return receipts.together(tx.connection, first)
    return [first, *(post_message(tx, posting) for posting in postings[1:])]


def _beginning(tx: Transaction, conversation: Conversation, posting: Posting) -> branches.Beginning:
    """Return where a message is to stand."""
    if posting.fork is not None:
        return branches.beginning(tx.connection, conversation.id, conversation.branches, posting.fork)
    if posting.branch is None:
        return branches.Beginning(conversation.branch)
    return branches.Beginning(branches.check(conversation, posting.branch))


def _name_and_choose(tx: Transaction, conversation: Conversation, posting: Posting, branch: int) -> None:
    """Give a conversation its first title, and let it be opened at the branch where the person goes on."""
    after = conversation
    if conversation.title_source == "none" and posting.first_words:
        after = msgspec.structs.replace(after, title=posting.first_words, title_source="first_words")
    if posting.fork is None or posting.fork.chosen:
        after = msgspec.structs.replace(after, branch=branch)
    if after != conversation:
        made = max(conversation.branches, branch)
        now = conversation.activity if conversation.activity in ("running", "waiting") else "queued"
        announce(tx, msgspec.structs.replace(after, updated_at=tx.now, activity=now, branches=made))


def claim_next(tx: Transaction, conversation_id: str, process: str, *, perhaps_held: bool = False) -> Run | None:
    """Take the queued run whose message came first, if no run of the conversation is at work or waits for the person.

    Which one is next is found out here, under the lock: whoever had looked earlier could begin a later one.
    """
    tx.hold(conversation_id)
    at_work = list(map(rows.run_decoder.decode, _AT_WORK.column(tx.connection, {"id": conversation_id})))
    if perhaps_held:
        mine = [run for run in at_work if (run.status, run.process) == ("running", process)]
        if mine:
            return mine[0]
    following = _next(tx, conversation_id, at_work)
    if following is None:
        return None
    return _put_run(
        tx, msgspec.structs.replace(following, status="running", process=process, epoch=following.epoch + 1)
    )


def _next(tx: Transaction, conversation_id: str, at_work: Sequence[Run]) -> Run | None:
    """Return the first queued run that nothing in its branch holds up."""
    # Most often it is the first one.
    for few in (limits.WAITING_HERE,) if at_work else (1, limits.WAITING_HERE):
        waiting = reading.queued(tx.connection, conversation_id, few)
        if not waiting:
            return None
        free = (run for run in waiting if _may_begin(run, at_work))
        found = next((run for run in free if not _is_held(tx, run)), None)
        if found is not None:
            return found
    return None


def _may_begin(run: Run, at_work: Sequence[Run]) -> bool:
    """Return whether a run may begin beside others: those of its own comparison, and those that wait elsewhere."""
    return all(_lets(other, run) for other in at_work)


def _lets(other: Run, run: Run) -> bool:
    if other.status == "waiting" and other.branch != run.branch:
        return True
    return other.status == "running" and run.options.beside is not None and run.options.beside == other.options.beside


def _is_held(tx: Transaction, run: Run) -> bool:
    """Return whether a message waits behind a run that the person was to decide about: to resume it, or to go on."""
    if run.epoch > 0:
        return False
    bodies = _INTERRUPTED.column(tx.connection, {"id": run.conversation_id})
    # What takes its process down again and again holds nobody up.
    held_up = [before for before in map(rows.run_decoder.decode, bodies) if before.branch == run.branch]
    return any(not before.is_given_up for before in held_up)


def change_run(tx: Transaction, run_id: str, change: Callable[[Run], Run | None]) -> Run | None:
    """Change a run by a function of what it is now."""
    run = _locked_run(tx, run_id)
    changed = change(run) if run is not None else None
    return _put_run(tx, changed) if changed is not None else None


def settle_run(tx: Transaction, run_id: str, rule: Settle) -> Run | None:
    """Change a run and end its open items in one step, so that no crash and no answer comes in between."""
    run = _locked_run(tx, run_id)
    if run is None:
        return None
    tx.flush()
    settled = rule(run, reading.open_items(tx.connection, run_id))
    if settled is None:
        return None
    changed, events = settled
    if events:
        tx.append(run.conversation_id, events)
    return _put_run(tx, changed)


def _locked_run(tx: Transaction, run_id: str) -> Run | None:
    conversation_id = _PLACE_OF_RUN.first(tx.connection, {"id": run_id})
    if conversation_id is None:
        return None
    tx.hold(conversation_id)
    return rows.run_decoder.decode(_RUN.first(tx.connection, {"id": run_id}))


def _put_run(tx: Transaction, run: Run) -> Run:
    updated = msgspec.structs.replace(run, updated_at=tx.now)
    tx.append(run.conversation_id, [RunUpdated(run=updated)])
    return updated


def mark_item(tx: Transaction, owner: str, item_id: str, data: JsonObject) -> Item:
    """Merge data into an item that has not ended."""
    item = rows.owned_item(tx.connection, owner, item_id)
    if item.status in CLOSED:
        raise PilothouseError("conflict", "This has already ended.")
    tx.append(item.conversation_id, [ItemUpdated(item_id=item_id, data=data)])
    return item


def title(tx: Transaction, conversation: Conversation, title: str, used: Used | None) -> None:
    """Give a conversation the title that a model made, and count what that took even where the title comes too late."""
    tx.tallies.add(conversation.owner, day_of(tx.now), used)
    tx.hold(conversation.id)
    now = rows.conversation_if_any(tx.connection, conversation.owner, conversation.id)
    # A name that the person gave meanwhile stays.
    if title and now is not None and now.deleted_at is None and now.title_source == "first_words":
        announce(tx, msgspec.structs.replace(now, title=title, title_source="model", updated_at=tx.now))


def purge(tx: Transaction, deleted_before: float) -> int:
    """Remove conversations deleted before a time, with everything in them."""
    import sqlalchemy as sa

    from pilothouse.store import documents, memories, schema, usage_backlog

    if tx.connection.dialect.name != "sqlite":
        from pilothouse.store import postgres

        postgres.take_time(tx.connection, limits.DATABASE_TIDYING)
    table = schema.conversations
    # Held, so that nobody packs what is in them meanwhile.
    wanted = sa.select(table.c.id).where(table.c.deleted_at < deleted_before).with_for_update()
    gone = list(tx.connection.execute(wanted).scalars())
    usage_backlog.finish(tx.connection, gone)
    for part in schema.PARTS_OF_CONVERSATIONS:
        tx.connection.execute(sa.delete(part).where(part.c.conversation_id.in_(gone)))
    memories.leave_with(tx.connection, gone)
    documents.remove_of(tx.connection, gone)
    tx.connection.execute(sa.delete(table).where(table.c.id.in_(gone)))
    return len(gone)
