"""Folds events into the rows that reading uses. The events stay the truth; this can be redone from them."""

from __future__ import annotations

from typing import NamedTuple, cast

import msgspec

from pilothouse.store import grants, packing, rows, search
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types.branches import Fork
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import (
    ConversationUpdated,
    Event,
    ItemCompleted,
    ItemCreated,
    ItemDelta,
    ItemUpdated,
    RunUpdated,
    event_decoder,
)
from pilothouse.types.folding import changed
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import CLOSED, Item, is_a
from pilothouse.types.json import encode
from pilothouse.types.runs import ACTIVE, ENDED, Run

_DELTAS = Statement("SELECT body FROM events WHERE item_id = :id AND kind = 'item.delta' ORDER BY seq")
_ITEM = Statement("SELECT body FROM items WHERE id = :id")
_ADD_ITEM = inserting("items", "id", "conversation_id", "position", "run_id", "kind", "status", "body", "branch")
_ADD_BRANCH = inserting(
    *("branches", "conversation_id", "number", "parent", "before", "instead_of", "kind"),
    *("item_id", "run_id", "repeats", "created_at"),
)
_COUNT_BRANCHES = Statement("UPDATE conversations SET branches = :number WHERE id = :id AND branches < :number")
_PUT_RUN = Statement(
    "INSERT INTO runs (id, conversation_id, owner, status, epoch, process, created_at, body, branch) "
    "VALUES (:id, :conversation_id, :owner, :status, :epoch, :process, :created_at, :body, :branch) "
    "ON CONFLICT (id) DO UPDATE SET status = excluded.status, epoch = excluded.epoch, process = excluded.process, "
    "body = excluded.body"
)
# Of several runs, in columns or in branches, one that waits for the person is told before one at work, and both before
# one that came to its end. A replay is looked at where it was asked for: it says nothing about the conversation.
_ACTIVITY = Statement(
    "UPDATE conversations SET activity = COALESCE((SELECT MAX(status) FROM runs WHERE conversation_id = :id "
    # As the index of runs at work says it.
    "AND status IN ('queued', 'running', 'waiting') AND status <> 'queued' AND NOT EXISTS (SELECT 1 FROM branches b "
    "WHERE b.conversation_id = :id AND b.number = runs.branch AND b.kind = 'replay')), :activity), updated_at = :at "
    "WHERE id = :id"
)
_CHANGE_ITEM = Statement("UPDATE items SET status = :status, body = :body WHERE id = :id")


class Changed(NamedTuple):
    """An item as it was before an event, if it was, and as it is."""

    before: Item | None
    after: Item


def kind_of(event: Event) -> str:
    """Return the event's type as it stands in its JSON."""
    return cast(str, type(event).__struct_config__.tag)


def item_of(event: Event) -> str | None:
    """Return the id of the item an event is about, if it is about one."""
    if isinstance(event, ItemCreated):
        return event.item.id
    return getattr(event, "item_id", None)


def needs_events(event: Event) -> bool:
    """Return whether applying the event reads events written just before it."""
    return isinstance(event, ItemCompleted)


def apply(connection: Connection, event: Event) -> Changed | None:
    """Change the rows as the event says; return the item that it changed, if it did one."""
    match event:
        case ItemCreated():
            _insert_item(connection, event.item)
            return Changed(None, event.item)
        case ItemUpdated():
            return _update_item(connection, event)
        case ItemCompleted():
            return _complete_item(connection, event)
        case RunUpdated():
            _put_run(connection, event.run)
        case ConversationUpdated():
            rows.put_conversation(connection, event.conversation)
        case ItemDelta():
            pass  # The text is read from the delta events until the item ends.
    return None


def text_so_far(connection: Connection, item_id: str) -> str:
    """Return the text that an item's delta events add up to."""
    deltas = (event_decoder.decode(body) for body in _DELTAS.column(connection, {"id": item_id}))
    return "".join(delta.text for delta in deltas if isinstance(delta, ItemDelta))


def _insert_item(connection: Connection, item: Item) -> None:
    _ADD_ITEM.run(
        connection,
        {
            "id": item.id,
            "conversation_id": item.conversation_id,
            "position": item.position,
            "run_id": item.run_id,
            "kind": item.kind,
            "status": item.status,
            "body": encode(item),
            "branch": item.branch,
        },
    )
    if item.branch and is_a(item, MessageData) and item.data.fork is not None:
        _insert_branch(connection, item, item.data.fork)
    search.index_item(connection, item)


def _insert_branch(connection: Connection, first: Item, fork: Fork) -> None:
    _ADD_BRANCH.run(
        connection,
        {
            "conversation_id": first.conversation_id,
            "number": first.branch,
            "parent": fork.parent,
            "before": fork.before,
            "instead_of": fork.instead_of,
            "kind": fork.kind,
            "item_id": first.id,
            "run_id": first.run_id,
            "repeats": fork.repeats,
            "created_at": first.created_at,
        },
    )
    _COUNT_BRANCHES.run(connection, {"id": first.conversation_id, "number": first.branch})


def _update_item(connection: Connection, event: ItemUpdated) -> Changed:
    item = _load(connection, event.item_id)
    if event.status is not None and item.status in CLOSED:
        raise PilothouseError("conflict", "This has already ended.")
    after = changed(item, event)
    _store(connection, after)
    return Changed(item, after)


def _complete_item(connection: Connection, event: ItemCompleted) -> Changed:
    item = _load(connection, event.item_id)
    if item.status in CLOSED:
        raise PilothouseError("conflict", "This has already ended.")
    whole = msgspec.structs.replace(changed(item, event), text=item.text + text_so_far(connection, item.id))
    _store(connection, whole)
    search.index_item(connection, whole)
    return Changed(item, whole)


def _load(connection: Connection, item_id: str) -> Item:
    body = _ITEM.first(connection, {"id": item_id})
    if body is None:
        raise PilothouseError("not_found", "There is no such item.")
    return rows.kept_item(body)


def _store(connection: Connection, item: Item) -> None:
    _CHANGE_ITEM.run(connection, {"id": item.id, "status": item.status, "body": encode(item)})


def _put_run(connection: Connection, run: Run) -> None:
    _PUT_RUN.run(
        connection,
        {
            "id": run.id,
            "conversation_id": run.conversation_id,
            "owner": run.owner,
            "status": run.status,
            "epoch": run.epoch,
            "process": run.process,
            "created_at": run.created_at,
            "body": rows.run_body(run),
            "branch": run.branch,
        },
    )
    if run.options.replay_of is None:
        _ACTIVITY.run(connection, {"id": run.conversation_id, "activity": run.status, "at": run.updated_at})
    if run.status in ENDED and run.status != "interrupted":
        grants.end_with(connection, run)
    if run.status not in ACTIVE:
        packing.note(connection, run.conversation_id)
