"""The host: everything that its interfaces can ask for, a service for each noun."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pilothouse.host.active_run import Parts
from pilothouse.host.changes import ChangeService
from pilothouse.host.conversations import ConversationService
from pilothouse.host.dependencies import Dependencies
from pilothouse.host.engine import Engine
from pilothouse.host.exchange import ExchangeService
from pilothouse.host.indexes import IndexService
from pilothouse.host.notifications import Notifier
from pilothouse.host.permissions import PermissionService
from pilothouse.host.questions import QuestionService
from pilothouse.host.readiness import Readiness
from pilothouse.host.runs import RunService
from pilothouse.host.servers import ServerNews
from pilothouse.host.sessions import Sessions
from pilothouse.host.terminals import TerminalService
from pilothouse.host.todos import TodoService
from pilothouse.host.topics import TopicNews, TopicService
from pilothouse.host.usage import UsageService
from pilothouse.types.api import InputFrame, ListFrame, ModelsFrame
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.feed import FeedEvent
from pilothouse.types.host import LOCAL_OWNER, ClientApi, ListChange
from pilothouse.types.late_services import MethodOf
from pilothouse.types.lazy import Lazy
from pilothouse.types.notifications import Notification
from pilothouse.types.verbs import Verb

_log = logging.getLogger(__name__)
T = TypeVar("T")
# What changes a row of the list.
_LISTED = ("conversation.updated", "run.updated")


class HostService(ClientApi):
    """The host as its interfaces see it, and what only the web server of its own process asks for."""

    def __init__(self, parts: Parts, engine: Engine, dependencies: Dependencies) -> None:
        records, feed = parts.records, parts.feed
        self.models = dependencies.models
        self.settings = dependencies.settings
        self.server_news = ServerNews(dependencies.servers, feed)
        self._late = _late(dependencies)
        self.runs: RunService = RunService(records, engine, dependencies)
        self.questions: QuestionService = QuestionService(records, engine, dependencies.permissions, parts.results)
        self.topics = TopicService(records, feed)
        self.topic_news = TopicNews(records, feed)
        self.conversations = ConversationService(parts, dependencies, self.runs, self.topics)
        self.permissions: PermissionService = PermissionService(
            records, dependencies.permissions, feed, dependencies.server_names, parts.settings
        )
        self.terminals: TerminalService = TerminalService(records, dependencies.terminals)
        self.todos = TodoService(records, dependencies.todos)
        self.changes = ChangeService(records, dependencies.undo)
        self._late["branches"] = Lazy(lambda: dependencies.branches(records, self, dependencies))
        self._late["operations"] = Lazy(lambda: dependencies.operations(records))
        self.indexes = IndexService(records, dependencies.index)
        self.exchange = ExchangeService(records)
        self.usage = UsageService(records, dependencies.models, parts.settings, dependencies.prices_from)
        self.sessions = Sessions(records)
        self.notifications = Notifier()
        self._records = records
        self._feed = feed
        self._tasks: set[asyncio.Task[None]] = set()
        self._metrics = dependencies.metrics
        self._confirm = dependencies.confirm
        self._readiness = Readiness(records, feed, dependencies.why_not_working)
        self.notifications.subscribe(self._notified)
        feed.subscribe(self.notifications.heard)
        feed.subscribe(self._heard)

    def method_of(self, noun: str) -> MethodOf:
        return self.server_news.method_of if noun == "servers" else _method_of(self._late[noun])

    def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        """Yield changes of the list of conversations, of the models, and notices about the server.

        Whoever owns nothing (an empty name) gets what concerns everyone.
        """
        return self._feed.list_changes(owner)

    async def models_changed(self) -> None:
        """Tell every page what the models are now."""
        self._feed.tell(ModelsFrame(models=await self.models.list(LOCAL_OWNER)))

    def _heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        for event in events:
            if event.kind in _LISTED:
                self.list_changed(conversation_id)

    def list_changed(self, conversation_id: str) -> None:
        """Tell whoever watches the list that a conversation's row in it may be another."""
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

    async def answer(self, noun: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what a request gives; what it names may have been added at another process a moment ago."""
        if self._confirm is None:
            return await ask()
        # Imported only where there are other processes.
        from pilothouse.host.knowing import knowing  # noqa: PLC0415

        return await knowing(self._confirm, ask, noun=noun)

    async def ready(self) -> None:
        """Return if something could be kept right now; raise why not."""
        await self._readiness.check()

    async def metrics(self, loop_lag: float) -> bytes:
        """Return what this process counts, as Prometheus reads it."""
        if self._metrics is None:
            raise PilothouseError("not_found", "This process counts nothing.", fix="Ask a server: pilothouse serve")
        return await self._metrics(loop_lag)

    def begin_draining(self) -> None:
        """Say to who asks that this process is about to end."""
        self._readiness.draining = True

    async def close(self) -> None:
        """Wait for what is on its way to the pages."""
        await self.server_news.stop()
        await self._readiness.close()
        await self.topic_news.close()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _late(dependencies: Dependencies) -> dict[str, Lazy[Any]]:
    """Return who answers for the nouns that are loaded when someone asks about them."""
    finding, prompts = dependencies.finding, dependencies.prompts
    return {
        "registries": finding.registries,
        "proposals": finding.proposals,
        "other_programs": finding.other_programs,
        "nearby": finding.nearby,
        "packages": finding.packages,
        "memories": dependencies.memories,
        "meaning": dependencies.meaning.admin,
        "documents": dependencies.documents.service,
        "web": dependencies.web,
        "prompts": prompts.prompts,
        "mini_prompts": prompts.mini_prompts,
    }


def _method_of(service: Lazy[Any]) -> MethodOf:
    """Return what finds the method of a verb; the service is loaded when it is called."""

    def method(verb: Verb) -> Callable[..., Awaitable[Any]]:
        async def ask(*args: Any, **kwargs: Any) -> Any:
            return await getattr(service(), verb.attribute)(*args, **kwargs)

        return ask

    return method
