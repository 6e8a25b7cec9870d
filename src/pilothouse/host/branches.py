"""Other ways on from a place in a conversation. The log only grows; what is shown and sent is a path in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from pilothouse.host import copies, left_behind, messages, replays
from pilothouse.host.dependencies import Dependencies
from pilothouse.host.differences import RecordedRun, difference
from pilothouse.host.runs import RunService
from pilothouse.types import limits
from pilothouse.types.api import Comparison, ComparisonAccepted, ConversationSnapshot, MessageAccepted
from pilothouse.types.branch_views import BranchChoice, BranchTree, FilesBack, Hidden, LeftBehind, NewCopy, Retry
from pilothouse.types.branches import WAYS_ON, ForkWish, no_way_on
from pilothouse.types.changes import UndoReport
from pilothouse.types.conversations import Conversation, check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Changes, Conversations
from pilothouse.types.host_branches import Branches
from pilothouse.types.records import Posting, Records
from pilothouse.types.replays import ReplayWish, RunDifference


class Served(Protocol):
    """What a host answers for besides branches."""

    @property
    def conversations(self) -> Conversations:
        """Return who answers for conversations."""

    @property
    def runs(self) -> RunService:
        """Return who answers for messages and runs."""

    @property
    def changes(self) -> Changes:
        """Return who answers for what runs did to files."""


class BranchService(Branches):
    """Branches, as the store keeps them."""

    def __init__(self, records: Records, host: Served, dependencies: Dependencies) -> None:
        self._records = records
        self._conversations = host.conversations
        self._runs = host.runs
        self._changes = host.changes
        self._dependencies = dependencies

    async def tree(self, owner: str, conversation_id: str) -> BranchTree:
        conversation = await self._records.conversation(owner, conversation_id)
        return BranchTree(branches=await self._records.branch_nodes(conversation), chosen=conversation.branch)

    async def choose(self, owner: str, conversation_id: str, body: BranchChoice) -> ConversationSnapshot:
        # Raises for a branch that is not there.
        snapshot = await self._conversations.get(owner, conversation_id, limits.SNAPSHOT_ITEMS, body.branch)
        if any(each.number == body.branch and each.kind not in WAYS_ON for each in snapshot.branches):
            raise no_way_on()
        if snapshot.conversation.branch == body.branch:
            return snapshot
        await self._records.change_conversation(
            owner, conversation_id, lambda now: msgspec.structs.replace(now, branch=body.branch)
        )
        return await self._conversations.get(owner, conversation_id, limits.SNAPSHOT_ITEMS, body.branch)

    async def retry(self, owner: str, run_id: str, body: Retry) -> MessageAccepted:
        messages.check_key(body.idempotency_key)
        if body.temperature is not None:
            check_temperature(body.temperature)
        run = await self._records.run(owner, run_id)
        message = await self._records.item(owner, run.message_item_id)
        options = msgspec.structs.replace(
            run.options,
            model_id=body.model_id or run.options.model_id,
            temperature=run.options.temperature if body.temperature is None else body.temperature,
            thinking=run.options.thinking if body.thinking is None else body.thinking,
            unattended=body.unattended,
            allow=(),
            replay_of=None,
            beside=None,
        )
        fork = ForkWish(kind="retry", instead_of=run_id, repeats=replays.repeated(message))
        posting = messages.repeated(owner, message, options, fork)
        posting = msgspec.structs.replace(
            posting, idempotency_key=body.idempotency_key, digest=messages.digest(body, run_id)
        )
        (accepted,) = await self._runs.post([posting], body.when_busy, self._known_models)
        return accepted

    async def _known_models(self, postings: Sequence[Posting]) -> Sequence[Posting]:
        """Raise for a model that is gone."""
        for posting in postings:
            if posting.run.options.model_id is not None:
                await self._dependencies.model_source.open(posting.run.options.model_id)
        return postings

    async def compare(self, owner: str, conversation_id: str, body: Comparison) -> ComparisonAccepted:
        wanted = tuple(dict.fromkeys(body.model_ids))
        if not 2 <= len(wanted) <= limits.COMPARED_MODELS:
            raise PilothouseError("bad_request", "Choose two or three different models to compare.")
        # Before anything about models: of a conversation that is not theirs nobody learns more.
        await self._records.conversation(owner, conversation_id)
        for model_id in wanted:
            await self._dependencies.model_source.open(model_id)
        first = await self._runs.prepared(owner, conversation_id, body.message)
        first = msgspec.structs.replace(first, digest=messages.digest(body.message, *wanted))

        async def ready(postings: Sequence[Posting]) -> Sequence[Posting]:
            whole = await self._runs.with_documents(owner, postings[0], body.message)
            fork = ForkWish(kind="compare", instead_of=whole.run.id, repeats=whole.item.id, chosen=False)
            others = (messages.repeated(owner, whole.item, whole.run.options, fork) for _ in wanted[1:])
            group = whole.run.id
            return [_beside(one, model_id, group) for one, model_id in zip((whole, *others), wanted, strict=True)]

        return ComparisonAccepted(accepted=tuple(await self._runs.post([first], body.message.when_busy, ready)))

    async def left_behind(self, owner: str, run_id: str, itself: bool = True) -> LeftBehind:
        return await left_behind.look(self._records, owner, run_id, itself=itself)

    async def put_files_back(self, owner: str, run_id: str, body: FilesBack) -> UndoReport:
        return await left_behind.put_back(self._records, self._changes, owner, run_id, itself=body.itself)

    async def copy(self, owner: str, run_id: str, body: NewCopy) -> Conversation:
        run = await self._records.run(owner, run_id)
        of = await self._records.conversation(owner, run.conversation_id)
        made, told = copies.begun(of, run, body)
        copied = await self._records.copy_run(owner, run_id, made, told)
        self._dependencies.meaning.changed("passage")
        return copied

    async def hide(self, owner: str, item_id: str) -> Hidden:
        return await self._hide(owner, item_id, hidden=True)

    async def show(self, owner: str, item_id: str) -> Hidden:
        return await self._hide(owner, item_id, hidden=False)

    async def _hide(self, owner: str, item_id: str, *, hidden: bool) -> Hidden:
        items = await self._records.hide(owner, item_id, hidden=hidden)
        return Hidden(item_ids=tuple(item.id for item in items), hidden=hidden)

    async def replay(self, owner: str, run_id: str, body: ReplayWish) -> MessageAccepted:
        posting = await replays.posting(self._records, owner, run_id, body)
        (accepted,) = await self._runs.post([posting], "finish", self._known_models)
        return accepted

    async def difference(self, owner: str, run_id: str, other: str) -> RunDifference:
        before, after = [
            RecordedRun(await self._records.run(owner, each), await self._records.items_of_run(owner, each))
            for each in (run_id, other)
        ]
        return difference(before, after)


def _beside(posting: Posting, model_id: str, group: str) -> Posting:
    options = msgspec.structs.replace(posting.run.options, model_id=model_id, beside=group)
    return msgspec.structs.replace(posting, run=msgspec.structs.replace(posting.run, options=options))
