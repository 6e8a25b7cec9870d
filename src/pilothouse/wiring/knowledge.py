"""What an agent can know beyond its model, put together: meaning, memories, documents, prompts, todos, the web."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pilothouse.host.settings_now import CachedSettings
from pilothouse.tools.making import ToolParts
from pilothouse.tools.todos.lists import Shared, TodoLists
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import PathGuard
from pilothouse.wiring.documents import DocumentWiring
from pilothouse.wiring.foundation import Foundation
from pilothouse.wiring.meaning import LateMeaning
from pilothouse.wiring.memory import Remembering
from pilothouse.wiring.web import WebServices

if TYPE_CHECKING:
    from pilothouse.prompts.library import PromptLibrary


class Forgets(Protocol):
    """What remembers something of the database, which another process may change."""

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again, at one conversation or at all."""


class Knowledge:
    """Each of these, for tools, for reminders and for people."""

    def __init__(self, stack: AsyncExitStack, base: Foundation, guard: PathGuard, shared: Shared) -> None:
        """Put them together until the stack is closed; `shared` is told of a topic's todos."""
        store, config = base.opened.store, base.config
        settings_now = CachedSettings(store)
        base.feed.subscribe(settings_now.heard)
        self.todos = TodoLists(store, settings_now.of, shared)
        self.meaning = LateMeaning(base)
        stack.push_async_callback(self.meaning.close)
        self.memory = Remembering(base, self.meaning)
        self.documents = DocumentWiring(base, guard, self.meaning)
        self.prompts = prompt_library(base.home.path)
        self.web = WebServices(stack, base)
        self.tools = ToolParts(
            settings=lambda: config.config,
            todos=self.todos,
            records=store,
            helper=base.helper,
            meaning=self.meaning,
            memory=self.memory.keeper,
            documents=self.documents.for_tools,
            prompts=self.prompts,
            settings_now=settings_now,
            web=self.web.parts,
        )
        self.remembering: tuple[Forgets, ...] = (self.todos, settings_now, self.memory.recent)


def prompt_library(home: Path) -> Lazy[PromptLibrary]:
    """Return the prompts of a data folder."""

    def library() -> PromptLibrary:
        from pilothouse.prompts.library import PromptLibrary

        return PromptLibrary(home)

    return Lazy(library)
