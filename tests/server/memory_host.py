"""A core that keeps everything in memory, for tests of what the server does with it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable

import msgspec

from pilothouse.types.api import (
    Answer,
    Answers,
    AnswersTaken,
    AnswerTaken,
    Catalogue,
    ConfigPatch,
    ConfigView,
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    FoundModels,
    FullResult,
    ItemPage,
    ListFrame,
    MessageAccepted,
    ModelInput,
    NewConversation,
    NewMessage,
    PageState,
    PartData,
    SearchResult,
)
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemDelta
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import FeedBatch, ListChange
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.types.models import KeyState, ModelList, ModelTest, ModelView
from pilothouse.types.runs import Run, RunOptions
from tests.server.memory_authority import MemoryAuthority
from tests.server.memory_changes import MemoryChanges
from tests.server.memory_exchange import MemoryExchange
from tests.server.memory_indexes import MemoryIndexes
from tests.server.memory_servers import MemoryServers
from tests.server.memory_terminals import MemoryTerminals
from tests.server.memory_todos import MemoryTodos

QUEUE = 100


class MemoryHost(
    MemoryServers, MemoryTodos, MemoryChanges, MemoryTerminals, MemoryAuthority, MemoryIndexes, MemoryExchange
):
    """Implements HostApi; `calls` counts what reached it, so that a refusal can prove it did nothing."""

    def __init__(self) -> None:
        self.unready: PilothouseError | None = None
        MemoryServers.__init__(self)
        MemoryTodos.__init__(self)
        MemoryAuthority.__init__(self)
        self.files: dict[int, PartData] = {}
        self.known: dict[str, Conversation] = {}
        self.runs: dict[str, Run] = {}
        self.log: dict[str, list[FeedEvent]] = {}
        self.readers: dict[str, set[asyncio.Queue[FeedEvent | None]]] = {}
        self.list_readers: set[asyncio.Queue[ListChange]] = set()
        self.tokens: dict[str, str] = {}
        self.sent: dict[str, MessageAccepted] = {}
        self.bodies: list[object] = []
        self.fail: Exception | None = None
        self.opened = asyncio.Event()
        self._changed = asyncio.Event()

    # --- for the tests ---

    def emit(self, conversation_id: str, event: Event, *, live: bool = False) -> FeedEvent:
        log = self.log[conversation_id]
        seq = 0 if live else len(log) + 1
        encoded = encode(msgspec.structs.replace(event, seq=seq))
        feed_event = FeedEvent(seq, str(event.__struct_config__.tag), encoded)
        if not live:
            log.append(feed_event)
        for queue in self.readers[conversation_id]:
            if queue.qsize() >= QUEUE:
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(feed_event)
        return feed_event

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when readers came or went so that the condition holds."""
        async with asyncio.timeout(10):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def say(self, conversation_id: str, text: str) -> FeedEvent:
        return self.emit(conversation_id, ItemDelta(item_id="i_1", offset=0, text=text))

    def _own(self, owner: str, conversation_id: str) -> Conversation:
        self.calls.append(conversation_id)
        if self.fail:
            raise self.fail
        found = self.known.get(conversation_id)
        if found is None or found.owner != owner:
            raise PilothouseError("not_found", "There is no such conversation.")
        return found

    def _own_run(self, owner: str, run_id: str) -> Run:
        self.calls.append(run_id)
        found = self.runs.get(run_id)
        if found is None or found.owner != owner:
            raise PilothouseError("not_found", "There is no such run.")
        return found

    # --- Conversations ---

    async def page_state(self, owner: str, conversation_id: str | None) -> PageState:
        snapshot = await self.snapshot(owner, conversation_id, limit=10) if conversation_id else None
        return PageState(
            conversations=await self.conversations(owner, limit=10, cursor=None),
            models=await self.models(owner),
            config=await self.config(owner),
            snapshot=snapshot,
        )

    async def conversations(self, owner: str, *, limit: int, cursor: str | None) -> ConversationPage:
        self.calls.append("conversations")
        return ConversationPage(conversations=tuple(c for c in self.known.values() if c.owner == owner)[:limit])

    async def create_conversation(self, owner: str, body: NewConversation) -> Conversation:
        self.calls.append("create")
        self.bodies.append(body)
        made = Conversation(
            id=new_id("c"),
            owner=owner,
            title=body.title or "New conversation",
            title_source="person",
            settings=body.settings or ConversationSettings(),
            created_at=0.0,
            updated_at=0.0,
            last_seq=0,
        )
        self.known[made.id], self.log[made.id], self.readers[made.id] = made, [], set()
        for queue in self.list_readers:
            queue.put_nowait(ListFrame(made))
        return made

    async def snapshot(self, owner: str, conversation_id: str, *, limit: int) -> ConversationSnapshot:
        found = self._own(owner, conversation_id)
        last = len(self.log[conversation_id])
        return ConversationSnapshot(conversation=found, items=(), runs=(), last_seq=last, has_earlier=False)

    async def items(self, owner: str, conversation_id: str, *, before: int | None, limit: int) -> ItemPage:
        self._own(owner, conversation_id)
        return ItemPage(items=(), has_earlier=False)

    async def update_conversation(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        found = self._own(owner, conversation_id)
        self.known[conversation_id] = msgspec.structs.replace(found, title=body.title or found.title)
        return self.known[conversation_id]

    async def delete_conversation(self, owner: str, conversation_id: str) -> None:
        self._own(owner, conversation_id)

    async def restore_conversation(self, owner: str, conversation_id: str) -> Conversation:
        return self._own(owner, conversation_id)

    async def search(self, owner: str, query: str, *, limit: int) -> SearchResult:
        self.calls.append("search")
        return SearchResult(query=query, hits=())

    async def events(self, owner: str, conversation_id: str, after: int) -> AsyncGenerator[FeedBatch, None]:
        self._own(owner, conversation_id)
        queue: asyncio.Queue[FeedEvent | None] = asyncio.Queue()
        self.readers[conversation_id].add(queue)
        self._changed.set()
        return self._feed(conversation_id, after, queue)

    async def _feed(
        self, conversation_id: str, after: int, queue: asyncio.Queue[FeedEvent | None]
    ) -> AsyncGenerator[FeedBatch, None]:
        try:
            missed = self.log[conversation_id][after:]
            self.opened.set()
            if missed:
                yield missed
            while True:
                batch = [await queue.get()]
                while not queue.empty():
                    batch.append(queue.get_nowait())
                if None in batch:
                    raise Lagged
                yield [event for event in batch if event is not None]
        finally:
            self.readers[conversation_id].discard(queue)
            self._changed.set()

    async def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        queue: asyncio.Queue[ListChange] = asyncio.Queue()
        self.list_readers.add(queue)
        self._changed.set()
        try:
            while True:
                yield await queue.get()
        finally:
            self.list_readers.discard(queue)
            self._changed.set()

    # --- Runs ---

    async def check_message(self, owner: str, body: NewMessage) -> None:
        return

    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        self._own(owner, conversation_id)
        if body.idempotency_key in self.sent:
            return self.sent[body.idempotency_key]
        run = Run(
            id=new_id("r"),
            conversation_id=conversation_id,
            owner=owner,
            status="running",
            message_item_id=new_id("i"),
            options=RunOptions(),
            created_at=0.0,
            updated_at=0.0,
        )
        self.runs[run.id] = run
        item = Item(
            id=run.message_item_id,
            conversation_id=conversation_id,
            run_id=run.id,
            kind="user_message",
            status="completed",
            position=len(self.log[conversation_id]) + 1,
            text=body.text,
            data={},
            created_at=0.0,
            updated_at=0.0,
        )
        self.emit(conversation_id, ItemCreated(item=item))
        accepted = MessageAccepted(conversation_id=conversation_id, item_id=item.id, run_id=run.id)
        if body.idempotency_key:
            self.sent[body.idempotency_key] = accepted
        return accepted

    async def run(self, owner: str, run_id: str) -> Run:
        return self._own_run(owner, run_id)

    async def cancel_run(self, owner: str, run_id: str) -> Run:
        return self._own_run(owner, run_id)

    async def resume_run(self, owner: str, run_id: str) -> Run:
        return self._own_run(owner, run_id)

    async def cancel_call(self, owner: str, item_id: str) -> None:
        self._own_run(owner, item_id)

    async def keep_waiting(self, owner: str, item_id: str) -> None:
        self._own_run(owner, item_id)

    async def result(self, owner: str, item_id: str) -> FullResult:
        self._own_run(owner, item_id)
        return FullResult(item_id=item_id, parts=())

    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        self._own_run(owner, item_id)
        return self.files[index]

    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        return self._own_run(owner, item_id)

    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
        taken = (
            AnswerTaken(item_id=item_id, taken=self._own_run(owner, item_id) is not None) for item_id in body.item_ids
        )
        return AnswersTaken(answers=tuple(taken))

    # --- Models, Settings ---

    def _view(self, body: ModelInput | None = None) -> ModelView:
        self.calls.append("models")
        return ModelView(
            id="m",
            name=body.name if body else "Scripted",
            provider="scripted",
            model="",
            base_url="",
            host="",
            api_key_source="",
            key=KeyState(kind="none"),
            context_window=1000,
            supports_thinking=False,
            supports_images=False,
            max_tokens=None,
            is_default=True,
        )

    async def models(self, owner: str) -> ModelList:
        return ModelList(default_model_id="m", models=(self._view(),))

    async def add_model(self, owner: str, body: ModelInput) -> ModelView:
        return self._view(body)

    async def update_model(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        return self._view(body)

    async def delete_model(self, owner: str, model_id: str) -> None:
        self._view()

    async def set_default_model(self, owner: str, model_id: str) -> ModelList:
        return await self.models(owner)

    async def test_model(self, owner: str, model_id: str) -> ModelTest:
        self.calls.append("test")
        return ModelTest(ok=True, message="Answered.")

    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        self.calls.append("test")
        return ModelTest(ok=True, message="Answered.")

    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        return self._view()

    async def found_models(self, owner: str, host: str = "") -> FoundModels:
        self.calls.append("found")
        return FoundModels(found=())

    async def catalogue(self, owner: str) -> Catalogue:
        self.calls.append("catalogue")
        return Catalogue(refreshed_at=None, entries=())

    async def refresh_catalogue(self, owner: str) -> Catalogue:
        return await self.catalogue(owner)

    async def config(self, owner: str) -> ConfigView:
        self.calls.append("config")
        return ConfigView(
            profiles=(),
            active_profile=None,
            resume_after_restart="auto",
            version="0",
            data_folder="/",
            database="sqlite",
        )

    async def usual_settings(self, owner: str) -> ConversationSettings:
        return ConversationSettings()

    async def update_config(self, owner: str, body: ConfigPatch) -> ConfigView:
        return await self.config(owner)

    # --- Sessions ---

    async def create_session(self, owner: str, holder: str = "") -> str:
        token = secrets.token_urlsafe(32)
        self.tokens[token + holder] = owner
        return token

    async def ready(self) -> None:
        if self.unready is not None:
            raise self.unready

    async def session_owner(self, token: str) -> str | None:
        return self.tokens.get(token)

    async def end_session(self, token: str) -> None:
        self.tokens.pop(token, None)
