"""Conversations: begun, listed, read, changed and deleted."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Literal

import msgspec

from pilothouse.host import searching, selection
from pilothouse.host.active_run import Parts
from pilothouse.host.context import ContextKeeper
from pilothouse.host.dependencies import Dependencies
from pilothouse.host.modes import harmless
from pilothouse.host.new_conversations import check_folder, check_model
from pilothouse.host.prompts import ChosenPrompts
from pilothouse.host.topics import TopicService
from pilothouse.types import limits
from pilothouse.types.api import (
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    ItemPage,
    NewConversation,
    PageState,
    SearchResult,
)
from pilothouse.types.conversations import Conversation, ConversationSettings, check_numbers, clean_title
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Conversations, FeedBatch, Runs
from pilothouse.types.ids import new_id
from pilothouse.types.tool_names import TOOLS
from pilothouse.types.usage import ContextLedger

_DAY = 86_400.0


class ConversationService(Conversations):
    """Conversations, as the store keeps them."""

    def __init__(self, parts: Parts, dependencies: Dependencies, runs: Runs, topics: TopicService) -> None:
        self._records = parts.records
        self._feed = parts.feed
        self._dependencies = dependencies
        self._modes = parts.modes
        self._runs = runs
        self._topics = topics
        self._prompts = ChosenPrompts(parts.records, dependencies.models, dependencies.prompts.source)
        self._context = ContextKeeper(parts, dependencies.models)

    async def page_state(self, owner: str, conversation: str | None = None) -> PageState:
        snapshot = None
        if conversation is not None:
            try:
                snapshot = await self.get(owner, conversation)
            except PilothouseError as error:
                if error.code != "not_found":
                    raise
        return PageState(
            conversations=await self.list(owner, limits.LIST_PAGE),
            models=await self._dependencies.models.list(owner),
            config=await self._dependencies.settings.get(owner),
            servers=await self._dependencies.servers().list(owner),
            snapshot=snapshot,
            providers=self._dependencies.providers(),
            built_in_tools=tuple(tool for tool in TOOLS if tool.label and not tool.for_finding),
            topics=await self._topics.list(owner),
        )

    async def list(
        self, owner: str, limit: int = 50, cursor: str | None = None, topic: str | None = None
    ) -> ConversationPage:
        return await self._records.conversations(owner, limit, cursor, topic)

    async def create(self, owner: str, body: NewConversation) -> Conversation:
        now = time.time()
        title = clean_title(body.title or "")
        if body.settings is not None and body.settings.model_id is not None:
            await check_model(self._dependencies.models, body.settings.model_id)
        given = body.settings or harmless(await self._dependencies.settings.usual(owner))
        prompted = await self._prompts.begun(owner, await self._checked(given), usual=body.settings is None)
        settings = self._modes.begun(prompted)
        made = await self._records.add_conversation(
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
        if settings.topic_id is not None:
            await self._topics.changed(owner)
        return made

    async def get(
        self, owner: str, conversation_id: str, limit: int = limits.SNAPSHOT_ITEMS, branch: int | None = None
    ) -> ConversationSnapshot:
        kept = await self._records.snapshot(owner, conversation_id, limit, branch)
        return msgspec.structs.replace(kept, conversation=self._modes.shown(kept.conversation))

    async def items(
        self,
        owner: str,
        conversation_id: str,
        before: int | None = None,
        limit: int = limits.SNAPSHOT_ITEMS,
        branch: int | None = None,
    ) -> ItemPage:
        return await self._records.items(owner, conversation_id, before, limit, branch)

    async def context(self, owner: str, conversation_id: str) -> ContextLedger:
        return await self._context.ledger(owner, conversation_id)

    async def update(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        if body.settings is not None and body.settings.model_id is not None:
            await self._check_change(owner, conversation_id, body.settings.model_id)
        settings = await self._checked(body.settings) if body.settings is not None else None
        before = None
        if settings is not None:
            before = await self._records.conversation(owner, conversation_id)
            settings = await self._prompts.changed(before, settings)
        title = clean_title(body.title) if body.title is not None else None
        if title == "":
            raise PilothouseError("bad_request", "A title needs at least one character.")

        def change(now: Conversation) -> Conversation:
            if title is not None:
                now = msgspec.structs.replace(now, title=title, title_source="person")
            if settings is None:
                return now
            return msgspec.structs.replace(now, settings=self._modes.changed(now.settings, settings))

        after = await self._records.change_conversation(owner, conversation_id, change)
        if before is not None and after.settings.topic_id != before.settings.topic_id:
            if after.settings.topic_id is not None:
                await self._dependencies.todos.joined(conversation_id, after.settings.topic_id)
            await self._topics.changed(owner)
        return after

    async def _check_change(self, owner: str, conversation_id: str, model_id: str) -> None:
        """Raise for a model that is not there; one that was removed meanwhile is no hindrance to other changes."""
        now = await self._records.conversation(owner, conversation_id)
        if model_id != now.settings.model_id:
            await check_model(self._dependencies.models, model_id)

    async def _checked(self, settings: ConversationSettings) -> ConversationSettings:
        await selection.check(settings.selection, self._dependencies.servers)
        return _checked(settings, here=self._dependencies.has_folders)

    async def delete(self, owner: str, conversation_id: str) -> None:
        now = time.time()
        # First of all: from here on no message begins another run.
        await self._records.change_conversation(
            owner, conversation_id, lambda c: msgspec.structs.replace(c, deleted_at=now)
        )
        # The newest first: what ends begins what was queued behind it. What waits for the person costs nothing: nobody
        # is asked about it while it is deleted, and with the conversation its question comes back.
        for run in reversed(await self._records.runs_in(("queued", "running"), conversation_id)):
            await self._runs.cancel(owner, run.id)
        await self._dependencies.terminals().forget(conversation_id)
        await self._records.purge(now - limits.UNDO_DELETE_DAYS * _DAY)

    async def restore(self, owner: str, conversation_id: str) -> Conversation:
        restored = await self._records.change_conversation(
            owner, conversation_id, lambda c: msgspec.structs.replace(c, deleted_at=None), deleted=True
        )
        await self._dependencies.terminals().restored(conversation_id)
        return restored

    async def search(
        self, owner: str, q: str, limit: int = limits.SEARCH_HITS, by: Literal["words", "meaning"] = "meaning"
    ) -> SearchResult:
        if by == "words":
            return await self._records.search(owner, q, limit)
        return await searching.search(self._records, self._dependencies.meaning, owner, q, limit)

    async def events(self, owner: str, conversation_id: str, after: int = 0) -> AsyncGenerator[FeedBatch, None]:
        known = await self._records.conversation(owner, conversation_id)
        return self._feed.read(self._records, conversation_id, after, last=known.last_seq)


def _checked(settings: ConversationSettings, *, here: bool) -> ConversationSettings:
    check_numbers(settings)
    if not settings.working_directory:
        return msgspec.structs.replace(settings, working_directory=None)
    return msgspec.structs.replace(settings, working_directory=check_folder(settings.working_directory, here=here))
