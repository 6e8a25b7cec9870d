"""The tree of a conversation's branches: what was said in each, in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pilothouse.store import branches, rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.branch_views import BranchNode
from pilothouse.types.branches import Branch, path_of
from pilothouse.types.conversations import Conversation
from pilothouse.types.item_data import MessageData, ResponseData
from pilothouse.types.items import Item, is_a, read

_MESSAGES = Statement("SELECT body FROM items WHERE conversation_id = :id AND kind = 'user_message' ORDER BY position")
_ANSWER = Statement("SELECT body FROM items WHERE run_id = :id AND kind = 'response' ORDER BY position DESC LIMIT 1")
_RUN = Statement("SELECT body FROM runs WHERE id = :id")


def nodes(connection: Connection, conversation: Conversation) -> tuple[BranchNode, ...]:
    """Return all branches of a conversation that have something in them, the first one too."""
    said: dict[int, list[Item]] = {}
    for body in _MESSAGES.column(connection, {"id": conversation.id}):
        item = rows.item_of(body)
        if not (is_a(item, MessageData) and item.data.command):
            said.setdefault(item.branch, []).append(item)
    known = {branch.number: branch for branch in branches.of(connection, conversation.id)}
    made = (_node(connection, known.get(number), said[number]) for number in sorted(said))
    return tuple(_leaving(node, _left_after(known, said, node.number)) for node in made)


def _left_after(known: dict[int, Branch], said: Mapping[int, Sequence[Item]], number: int) -> Item | None:
    """Return the message after which a branch leaves the path of its parent; none where that has none before it."""
    for parent, before in path_of(known, number)[1:]:
        earlier = [item for item in said.get(parent, ()) if before is None or item.position < before]
        if earlier:
            return earlier[-1]
    return None


def _leaving(node: BranchNode, message: Item | None) -> BranchNode:
    if message is None:
        return node
    return msgspec.structs.replace(node, left_after=message.id, left_words=message.text[: limits.BRANCH_WORDS])


def _node(connection: Connection, branch: Branch | None, said: Sequence[Item]) -> BranchNode:
    first, last = said[0], said[-1]
    run = rows.run_decoder.decode(_RUN.first(connection, {"id": last.run_id}))
    answer = _ANSWER.first(connection, {"id": first.run_id})
    model = read(ResponseData, rows.kept_item(answer).raw).model if answer is not None else ""
    return BranchNode(
        number=first.branch,
        parent=branch.parent if branch is not None else 0,
        before=branch.before if branch is not None else 0,
        kind=branch.kind if branch is not None else None,
        instead_of=branch.instead_of if branch is not None else "",
        item_id=first.id,
        run_id=first.run_id or "",
        repeats=branch.repeats if branch is not None else None,
        created_at=first.created_at,
        messages=len(said),
        first_words=first.text[: limits.BRANCH_WORDS],
        last_words=last.text[: limits.BRANCH_WORDS],
        updated_at=run.updated_at,
        status=run.status,
        model=model or run.options.model_id or "",
    )
