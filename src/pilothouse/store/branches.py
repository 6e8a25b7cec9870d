"""Branches as rows: where each begins, what stands on its path, and where a new one is to begin."""

from __future__ import annotations

import sys
from typing import NamedTuple

from pilothouse.store import paths, rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.branches import WAYS_ON, Branch, Fork, ForkWish, check_branch, no_way_on, path_of
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemUpdated
from pilothouse.types.item_data import CallData, MessageData, NoticeData
from pilothouse.types.items import Item, is_a, read
from pilothouse.types.json import encode
from pilothouse.types.records import Done, Leaving, Posting
from pilothouse.types.runs import ACTIVE, Run

_BRANCHES = Statement(
    f"SELECT {paths.BRANCH_COLUMNS} FROM branches WHERE conversation_id = :id ORDER BY number"  # noqa: S608
)
_KIND = Statement("SELECT kind FROM branches WHERE conversation_id = :id AND number = :number")
_MESSAGE_OF_RUN = Statement("SELECT body FROM items WHERE run_id = :id AND kind = 'user_message' ORDER BY position")
_NEXT_MESSAGE = Statement(
    "SELECT run_id FROM items WHERE conversation_id = :id AND kind = 'user_message' AND branch = :branch "
    "AND position > :after ORDER BY position LIMIT 1"
)
_FOLLOWING = Statement(
    "SELECT runs.body FROM items JOIN runs ON runs.id = items.run_id WHERE items.conversation_id = :id "
    "AND items.kind = 'user_message' AND items.position >= :from ORDER BY items.position"
)
_SENT_AFTER = "(SELECT run_id FROM items WHERE conversation_id = :id AND kind = 'user_message' AND position >= :from)"
_CHANGED_AFTER = Statement(
    "SELECT path, run_id FROM file_changes WHERE undone_at IS NULL AND conversation_id = :id "  # noqa: S608
    f"AND run_id IN {_SENT_AFTER} ORDER BY at, id"
)
_CALLS_AFTER = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND position >= :from AND kind = 'tool_call' "  # noqa: S608
    f"AND run_id IN {_SENT_AFTER} ORDER BY position"
)
_AT_WORK_AFTER = Statement(
    "SELECT runs.body FROM items JOIN runs ON runs.id = items.run_id WHERE items.conversation_id = :id "
    "AND items.kind = 'user_message' AND items.position >= :from AND runs.status IN ('queued', 'running', 'waiting') "
    "ORDER BY items.position DESC"
)
_WAITING = Statement(
    "SELECT runs.body, runs.branch, items.position FROM runs JOIN items ON items.run_id = runs.id "
    "AND items.kind = 'user_message' WHERE runs.conversation_id = :id AND runs.status IN ('waiting', 'interrupted')"
)
_HAS_TODOS = Statement(
    "SELECT 1 FROM todos WHERE conversation_id = :id UNION ALL "
    "SELECT 1 FROM branches WHERE conversation_id = :id AND todos IS NOT NULL LIMIT 1"
)
_SET_TODOS = Statement(
    "UPDATE branches SET todos = :todos, todos_at = :at WHERE conversation_id = :id AND number = :branch"
)
_ITEM = Statement("SELECT body FROM items WHERE id = :id")
_ANSWER = Statement("SELECT body FROM items WHERE run_id = :id AND kind IN ('response', 'thinking', 'tool_call')")
# What a person can hide: a message, and an answer by any of its pieces.
_HIDDEN = ("user_message", "response", "thinking", "tool_call")


def branches(connection: Connection, owner: str, conversation_id: str) -> tuple[Branch, ...]:
    """Return the branches of a conversation beside its first, by number."""
    rows.owned_conversation(connection, owner, conversation_id)
    return of(connection, conversation_id)


def of(connection: Connection, conversation_id: str) -> tuple[Branch, ...]:
    """Return the branches of a conversation beside its first, by number."""
    return tuple(Branch(*row) for row in _BRANCHES.rows(connection, {"id": conversation_id}))


def check(conversation: Conversation, number: int) -> int:
    """Return the number of a branch that is there; raise one sentence for another."""
    return check_branch(conversation.branches, number)


def check_way_on(connection: Connection, conversation_id: str, number: int) -> None:
    """Raise for a branch that nobody goes on with: what a replay's model was told was done is not done."""
    if number and _KIND.first(connection, {"id": conversation_id, "number": number}) not in WAYS_ON:
        raise no_way_on()


class Beginning(NamedTuple):
    """Where a message is to stand: in a branch that is there, or at the beginning of a new one."""

    branch: int
    fork: Fork | None = None


def beginning(connection: Connection, conversation_id: str, count: int, wish: ForkWish) -> Beginning:
    """Return where a message stands that takes the place of a run, or follows one; raise for one that cannot."""
    place = wish.instead_of or wish.after or ""
    message = _message_of(connection, conversation_id, place)
    if wish.instead_of is None:
        following = _NEXT_MESSAGE.first(
            connection, {"id": conversation_id, "branch": message.branch, "after": message.position}
        )
        if following is None:
            return Beginning(message.branch)
        message = _message_of(connection, conversation_id, following)
    data = read(MessageData, message.raw)
    if data.hidden and wish.instead_of is not None:
        raise PilothouseError("conflict", "This message was hidden meanwhile.", fix="Show it again first.")
    if data.command and wish.instead_of is not None:
        raise PilothouseError("bad_request", "A command is no message, and cannot be changed afterwards.")
    fork = data.fork
    if fork is not None:
        # It stands in the place of another itself: they are siblings.
        parent, before, instead_of = fork.parent, fork.before, fork.instead_of
    else:
        parent, before, instead_of = message.branch, message.position, message.run_id or ""
    if count >= limits.BRANCHES:
        raise PilothouseError(
            "too_many",
            f"This conversation has {count:,} branches already.",
            fix="Go on in a new conversation: branch into one from here.",
        )
    made = Fork(parent=parent, before=before, instead_of=instead_of, kind=wish.kind, repeats=wish.repeats)
    return Beginning(count + 1, made)


def end_of(connection: Connection, conversation_id: str, run_id: str) -> int:
    """Return the position before which everything belongs to a run or to what came before it, in its branch."""
    message = _message_of(connection, conversation_id, run_id)
    asked = {"id": conversation_id, "branch": message.branch, "after": message.position}
    following = _NEXT_MESSAGE.first(connection, asked)
    return sys.maxsize if following is None else _message_of(connection, conversation_id, following).position


def _message_of(connection: Connection, conversation_id: str, run_id: str) -> Item:
    body = _MESSAGE_OF_RUN.first(connection, {"id": run_id})
    message = rows.kept_item(body) if body is not None else None
    if message is None or message.conversation_id != conversation_id:
        raise PilothouseError("not_found", "There is no such message in this conversation.")
    return message


def following(connection: Connection, owner: str, run_id: str, *, itself: bool) -> list[Run]:
    """Return the runs whose messages came after that of a run, in any branch, oldest first; itself, too, or not."""
    run = rows.owned_run(connection, owner, run_id)
    message = _message_of(connection, run.conversation_id, run_id)
    fork = read(MessageData, message.raw).fork
    # What stands in the place of a branch's first message stands where the branch begins: beside what it left there.
    first = fork.before if fork is not None and itself else message.position + (not itself)
    asked = {"id": run.conversation_id, "from": first}
    return list(map(rows.run_decoder.decode, _FOLLOWING.column(connection, asked)))


def done_since(connection: Connection, owner: str, run_id: str, *, itself: bool) -> Done:
    """Return what was done by the runs that follow one, in any branch; by itself, too, or not."""
    runs = following(connection, owner, run_id, itself=itself)
    if not runs:
        return Done((), (), frozenset(), ())
    message = _message_of(connection, runs[0].conversation_id, runs[0].id)
    asked = {"id": runs[0].conversation_id, "from": message.position}
    changed = _CHANGED_AFTER.rows(connection, asked)
    return Done(
        runs,
        list(dict.fromkeys(path for path, _ in changed)),
        frozenset(run for _, run in changed),
        [item for item in map(rows.item_of, _CALLS_AFTER.column(connection, asked)) if is_a(item, CallData)],
    )


def leaving(connection: Connection, posting: Posting) -> Leaving:
    """Return what a message that makes a branch ends or leaves at work; raise where it cannot make one."""
    run, wish = posting.run, posting.fork
    conversation = rows.owned_conversation(connection, run.owner, run.conversation_id)
    if wish is None:
        raise TypeError("this message makes no branch")
    branch, fork = beginning(connection, conversation.id, conversation.branches, wish)
    place = _message_of(connection, conversation.id, wish.instead_of or wish.after or "")
    # What stands in the place of a branch's first message stands where the branch begins.
    first = fork.before if fork is not None and wish.instead_of is not None else place.position + 1
    asked = {"id": conversation.id, "from": first}
    behind = list(map(rows.run_decoder.decode, _AT_WORK_AFTER.column(connection, asked)))
    waiting = _WAITING.rows(connection, {"id": conversation.id})
    if fork is None:
        return Leaving([], [rows.run_decoder.decode(body) for body, there, _ in waiting if there == branch])
    known = {each.number: each for each in of(connection, conversation.id)}
    # Where each branch on the new one's path is left.
    until = dict(path_of(known, fork.parent)) | {fork.parent: fork.before}
    given_up = [body for body, there, position in waiting if there in until and position < (until[there] or 0)]
    return Leaving(behind, list(map(rows.run_decoder.decode, given_up)))


def take_over_todos(connection: Connection, conversation_id: str, number: int) -> None:
    """Let a new branch begin with the todos that stood where it begins: as the newest item on its path says."""
    if not _HAS_TODOS.first(connection, {"id": conversation_id}):
        return
    path, before = paths.BranchPath(conversation_id, number), sys.maxsize
    while items := list(map(rows.kept_item, path.calls(connection, before, limits.PAGE_ITEMS))):
        for item in items:
            todos = item.data.todos if is_a(item, CallData) or is_a(item, NoticeData) else None
            if todos is not None:
                values = {"id": conversation_id, "branch": number, "todos": encode(todos), "at": todos.updated_at}
                _SET_TODOS.run(connection, values)
                return
        before = items[-1].position


def hide(tx: Transaction, owner: str, item_id: str, *, hidden: bool) -> list[Item]:
    """Hide a message or a whole answer from models, or show it again."""
    item = rows.owned_item(tx.connection, owner, item_id)
    tx.hold(item.conversation_id)
    if item.kind not in _HIDDEN or item.run_id is None:
        raise PilothouseError("bad_request", "Only a message or an answer can be hidden.")
    run = rows.owned_run(tx.connection, owner, item.run_id)
    if run.status in ACTIVE:
        fix = "Stop it first, or wait until it has ended."
        raise PilothouseError("conflict", "The answer to this is being worked on.", fix=fix)
    of_answer = _ANSWER.column(tx.connection, {"id": item.run_id})
    bodies = [_ITEM.first(tx.connection, {"id": item_id})] if item.kind == "user_message" else of_answer
    changed = [each for each in map(rows.kept_item, bodies) if bool(each.raw.get("hidden")) != hidden]
    if changed:
        tx.append(item.conversation_id, [ItemUpdated(item_id=each.id, data={"hidden": hidden}) for each in changed])
    return [rows.owned_item(tx.connection, owner, each.id) for each in changed] or [item]
