"""The core of a running server, with the same verbs as one of our own. Whose it is, the token decides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.remote.authority import RemoteAuthority
from pilothouse.remote.calling import Calling, Locate, Revive, at
from pilothouse.remote.changes import RemoteChanges
from pilothouse.remote.exchange import RemoteExchange
from pilothouse.remote.indexes import RemoteIndexes
from pilothouse.remote.servers import RemoteServers
from pilothouse.remote.sse import EventReader
from pilothouse.remote.terminals import RemoteTerminals
from pilothouse.remote.todos import RemoteTodos
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.api import (
    Answer,
    Answers,
    AnswersTaken,
    Catalogue,
    ConfigPatch,
    ConfigView,
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    FoundModels,
    FullResult,
    ItemPage,
    Link,
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
from pilothouse.types.host import FeedBatch
from pilothouse.types.ids import new_id
from pilothouse.types.models import ModelList, ModelTest, ModelView
from pilothouse.types.runs import ENDED, Run


class RemoteHost(
    RemoteServers, RemoteAuthority, RemoteTodos, RemoteChanges, RemoteTerminals, RemoteIndexes, RemoteExchange
):
    """Implements `ClientApi` over HTTP; streams go on where they were when the connection or the server comes back."""

    def __init__(self, locate: Locate, revive: Revive | None = None) -> None:
        super().__init__(Calling(locate, revive))
        # The runs that were begun from here, and on whose behalf.
        self._begun: dict[str, str] = {}

    @property
    def address(self) -> ServerAddress | None:
        """Return where the server is, None when it is away."""
        return self._calling.locate()

    async def new_link(self) -> str:
        """Return a link that opens the page once, signed in."""
        return (await self._calling.ask("POST", "/api/link", Link)).url

    # --- conversations ---

    async def page_state(self, owner: str, conversation_id: str | None) -> PageState:
        """Return all that the page draws after a reload."""
        return await self._calling.ask("GET", "/api/state", PageState, query={"conversation": conversation_id})

    async def conversations(self, owner: str, *, limit: int, cursor: str | None) -> ConversationPage:
        """Return conversations, most recently used first."""
        query = {"limit": limit, "cursor": cursor}
        return await self._calling.ask("GET", "/api/conversations", ConversationPage, query=query)

    async def create_conversation(self, owner: str, body: NewConversation) -> Conversation:
        """Start a conversation."""
        return await self._calling.ask("POST", "/api/conversations", Conversation, body=body)

    async def snapshot(self, owner: str, conversation_id: str, *, limit: int) -> ConversationSnapshot:
        """Return a conversation with its newest items and the number of its last event."""
        path = at("conversations", conversation_id)
        return await self._calling.ask("GET", path, ConversationSnapshot, query={"limit": limit})

    async def items(self, owner: str, conversation_id: str, *, before: int | None, limit: int) -> ItemPage:
        """Return the items before a position, or the newest."""
        path = at("conversations", conversation_id, "items")
        return await self._calling.ask("GET", path, ItemPage, query={"before": before, "limit": limit})

    async def update_conversation(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        """Rename it or change its settings."""
        return await self._calling.ask("PATCH", at("conversations", conversation_id), Conversation, body=body)

    async def delete_conversation(self, owner: str, conversation_id: str) -> None:
        """Delete it; it can be restored for a while."""
        await self._calling.tell("DELETE", at("conversations", conversation_id))

    async def restore_conversation(self, owner: str, conversation_id: str) -> Conversation:
        """Bring a deleted conversation back."""
        return await self._calling.ask("POST", at("conversations", conversation_id, "restore"), Conversation)

    async def search(self, owner: str, query: str, *, limit: int) -> SearchResult:
        """Find titles and items by their words."""
        return await self._calling.ask("GET", "/api/search", SearchResult, query={"q": query, "limit": limit})

    async def events(self, owner: str, conversation_id: str, after: int) -> AsyncGenerator[FeedBatch, None]:
        """Open the feed after event `after`; it survives a lost connection and a restarted server."""
        path = at("conversations", conversation_id, "events")
        return self._events(path, after, await self._open(path, after))

    async def _open(self, path: str, after: int) -> Reply:
        return await self._calling.open(path, {"accept": "text/event-stream", "last-event-id": str(after)})

    async def _events(self, path: str, cursor: int, reply: Reply) -> AsyncGenerator[FeedBatch, None]:
        reader = EventReader()
        try:
            while True:
                try:
                    # Twice the pause of a healthy stream: a server that is silent for longer is gone.
                    chunk = await reply.chunk(2 * limits.FEED_PING)
                except NetError:
                    chunk = None
                if chunk is None:
                    await reply.aclose()
                    reply, reader = await self._open_again(path, cursor), EventReader()
                    continue
                batch = reader.feed(chunk)
                cursor = max((event.seq for event in batch), default=0) or cursor
                yield batch
        finally:
            await reply.aclose()

    async def _open_again(self, path: str, cursor: int) -> Reply:
        end = time.monotonic() + limits.SERVER_AWAY
        while True:
            try:
                await self._go_on()
                return await self._open(path, cursor)
            except PilothouseError as error:
                if error.code != "server_away" or time.monotonic() > end:
                    raise
            await asyncio.sleep(limits.SERVER_RETRY)

    async def _go_on(self) -> None:
        """Take up what was begun from here and stopped because the process ended that executed it."""
        for run_id, owner in list(self._begun.items()):
            run = await self.run(owner, run_id)
            if run.status == "interrupted" and not run.is_given_up and await self._goes_on_by_itself(owner):
                # A server that came back may have been faster.
                with suppress(PilothouseError):
                    await self.resume_run(owner, run_id)
            elif run.status in ENDED:
                del self._begun[run_id]

    async def _goes_on_by_itself(self, owner: str) -> bool:
        return (await self.config(owner)).resume_after_restart == "auto"

    # --- runs ---

    async def check_message(self, owner: str, body: NewMessage) -> None:
        """Raise why a message would not be taken, whichever conversation it is for."""
        await self._calling.tell("POST", "/api/messages/check", body=body)

    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        """Keep a message and start its answer; the same idempotency key gives the same answer."""
        path = at("conversations", conversation_id, "messages")
        sure = msgspec.structs.replace(body, idempotency_key=body.idempotency_key or new_id("u"))
        accepted = await self._calling.ask_surely(path, MessageAccepted, sure)
        self._begun[accepted.run_id] = owner
        return accepted

    async def run(self, owner: str, run_id: str) -> Run:
        """Return a run."""
        return await self._calling.ask("GET", at("runs", run_id), Run)

    async def cancel_run(self, owner: str, run_id: str) -> Run:
        """Ask a run to stop; a run that has ended stays as it is."""
        return await self._calling.ask("POST", at("runs", run_id, "cancel"), Run)

    async def resume_run(self, owner: str, run_id: str) -> Run:
        """Go on with an interrupted, failed or cancelled run."""
        return await self._calling.ask("POST", at("runs", run_id, "resume"), Run)

    async def cancel_call(self, owner: str, item_id: str) -> None:
        """Stop one tool call; its run goes on."""
        await self._calling.tell("POST", at("calls", item_id, "cancel"))

    async def keep_waiting(self, owner: str, item_id: str) -> None:
        """Give a running call more time before it times out."""
        await self._calling.tell("POST", at("calls", item_id, "keep-waiting"))

    async def result(self, owner: str, item_id: str) -> FullResult:
        """Return a call's whole result, masked, as far as it was kept."""
        return await self._calling.ask("GET", at("calls", item_id, "result"), FullResult)

    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        """Return the bytes of an image, a sound or a file in a message or a call's result."""
        return await self._calling.file(at("items", item_id, "parts", str(index)))

    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        """Answer a question and let its run go on."""
        run = await self._calling.ask_surely(at("questions", item_id, "answer"), Run, body)
        self._begun[run.id] = owner
        return run

    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
        """Give several questions the same answer; each is taken or not by itself."""
        return await self._calling.ask("POST", "/api/answers", AnswersTaken, body=body)

    # --- models and settings ---

    async def models(self, owner: str) -> ModelList:
        """Return all models."""
        return await self._calling.ask("GET", "/api/models", ModelList)

    async def add_model(self, owner: str, body: ModelInput) -> ModelView:
        """Add a model."""
        return await self._calling.ask("POST", "/api/models", ModelView, body=body)

    async def update_model(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration; without `api_key` its key stays."""
        return await self._calling.ask("PUT", at("models", model_id), ModelView, body=body)

    async def delete_model(self, owner: str, model_id: str) -> None:
        """Remove a model and the secret that was kept for it."""
        await self._calling.tell("DELETE", at("models", model_id))

    async def set_default_model(self, owner: str, model_id: str) -> ModelList:
        """Make a model the default."""
        return await self._calling.ask("POST", at("models", model_id, "default"), ModelList)

    async def test_model(self, owner: str, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""
        return await self._calling.ask("POST", at("models", model_id, "test"), ModelTest)

    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        return await self._calling.ask("POST", "/api/models/test", ModelTest, body=body)

    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        """Bind a model's key to the origin that its URL has now."""
        return await self._calling.ask("POST", at("models", model_id, "confirm-key"), ModelView)

    async def found_models(self, owner: str, host: str = "") -> FoundModels:
        """Look for local model servers and for keys in the environment; or on a host that a person named."""
        return await self._calling.ask("GET", "/api/models/found", FoundModels, query={"host": host or None})

    async def catalogue(self, owner: str) -> Catalogue:
        """Return the kept lists of what the providers offer."""
        return await self._calling.ask("GET", "/api/models/catalogue", Catalogue)

    async def refresh_catalogue(self, owner: str) -> Catalogue:
        """Ask the configured providers what they offer."""
        return await self._calling.ask("POST", "/api/models/refresh", Catalogue)

    async def config(self, owner: str) -> ConfigView:
        """Return the settings."""
        return await self._calling.ask("GET", "/api/config", ConfigView)

    async def usual_settings(self, owner: str) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        config = await self.config(owner)
        found = [profile.settings for profile in config.profiles if profile.id == config.active_profile]
        return found[0] if found else ConversationSettings()

    async def update_config(self, owner: str, body: ConfigPatch) -> ConfigView:
        """Change settings."""
        return await self._calling.ask("PATCH", "/api/config", ConfigView, body=body)
