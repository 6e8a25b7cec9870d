"""The memories of a store, and the tool over them as an agent calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pilothouse.memory.keeping import Keeper
from pilothouse.memory.offers import Offers
from pilothouse.memory.recent import RecentMemories
from pilothouse.memory.reminding import Offering, StoredReminders
from pilothouse.memory.searching import MemorySearcher
from pilothouse.memory.service import MemoryService
from pilothouse.store.store import Store
from pilothouse.tools.memory_operations import MemoryParts, memory_operations
from pilothouse.types.access import Access
from pilothouse.types.authority import Seen
from pilothouse.types.conversations import Conversation
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import Meaning, WordsOnly
from pilothouse.types.memories import Memory, MemoryKept, NewMemory
from pilothouse.types.ports import CallContext, ToolOutput
from pilothouse.types.scopes import EVERYWHERE, Scope
from pilothouse.types.settings import Settings
from tests.memory.synonym_meaning import SynonymMeaning, memories_of
from tests.support.records import OWNER, a_conversation
from tests.support.tools import Silent

# Words that mean the same, in the tests.
SECRET = "hunter2-very-secret"
SYNONYMS = ("dog hound puppy", "prefers likes favours", "database postgres", "car automobile vehicle")


class MemoryServices:
    """Everything that remembers, over one store."""

    def __init__(self, store: Store, meaning: Meaning | None = None, settings: Settings | None = None) -> None:
        self.store = store
        self.meaning: Meaning = meaning or WordsOnly()
        self.recent = RecentMemories(store)
        searcher = MemorySearcher(store, self.meaning)
        self.keeper = Keeper(store, store, self.recent, searcher, lambda text: text.replace(SECRET, "•••"))
        self.stored = StoredReminders(self.recent)
        self.offering = Offering(store, Lazy(lambda: Offers(searcher)))
        self.settings = settings or Settings()
        self.service = MemoryService(store, self.keeper, lambda: self.settings)
        self.tool = memory_operations(MemoryParts(Lazy(lambda: self.keeper), store, lambda: self.settings))

    async def say(self, text: str, scope: Scope = EVERYWHERE, owner: str = OWNER, **fields: Any) -> MemoryKept:
        """Keep a memory as the person does."""
        return await self.service.create(owner, NewMemory(text=text, scope=scope, **fields))

    async def texts(self, owner: str = OWNER) -> list[str]:
        """Return what is remembered, newest first."""
        return [memory.text for memory in (await self.service.list(owner)).memories]

    async def found(self, query: str, owner: str = OWNER) -> list[str]:
        return [match.memory.text for match in (await self.service.search(owner, query)).matches]


def open_memory(store: Store, *owners: str) -> MemoryServices:
    """Return what remembers over a store, where words of a group mean the same."""
    return MemoryServices(store, SynonymMeaning(SYNONYMS, memories_of(store, *(owners or (OWNER,)))))


class Caller:
    """A conversation that calls the tool."""

    def __init__(self, remembered: MemoryServices, conversation: Conversation) -> None:
        self.remembered = remembered
        self.conversation = conversation
        # What the conversation has seen.
        self.seen = Seen()
        self.calls = 0

    def context(self) -> CallContext:
        self.calls += 1
        folder = self.conversation.settings.working_directory
        owner = self.conversation.owner
        return CallContext(self.conversation.id, "r", f"i_{self.calls}", folder, (), False, owner=owner, seen=self.seen)

    async def access(self, operation: str, **arguments: Any) -> Access | ToolOutput:
        return await self.remembered.tool.access({"operation": operation, **arguments}, self.context())

    async def call(self, operation: str, **arguments: Any) -> ToolOutput:
        """Call the tool as the agent does, after asking what it would touch."""
        given, context = {"operation": operation, **arguments}, self.context()
        access = await self.remembered.tool.access(given, context)
        if isinstance(access, ToolOutput):
            return access
        output = await self.remembered.tool.execute(given, msgspec.structs.replace(context, access=access), Silent())
        assert isinstance(output, ToolOutput)
        return output

    async def stored(self, content: str, **arguments: Any) -> Memory:
        """Store a memory and return it."""
        output = await self.call("store_memory", content=content, **arguments)
        assert output.error is None, output.text
        return await self.remembered.store.memory(self.conversation.owner, output.data["memory"]["key"])

    async def recalled(self, query: str, **arguments: Any) -> str:
        output = await self.call("search_memory", query=query, **arguments)
        assert output.error is None, output.text
        return output.text


async def a_caller(
    remembered: MemoryServices, owner: str = OWNER, folder: str | None = None, topic: str | None = None
) -> Caller:
    """Begin a conversation that may call the tool."""
    made = a_conversation(owner)
    settings = msgspec.structs.replace(made.settings, working_directory=folder, topic_id=topic)
    conversation = await remembered.store.add_conversation(msgspec.structs.replace(made, settings=settings))
    return Caller(remembered, conversation)


async def a_topic(store: Store, topic_id: str, owner: str = OWNER, name: str = "Garden") -> str:
    """Keep a topic, as its page does."""
    sql = (
        "INSERT INTO topics (id, owner, name, description, created_at, updated_at) "
        "VALUES (:id, :owner, :name, '', 1, 1)"
    )
    from pilothouse.store.statements import Statement

    values: dict[str, object] = {"id": topic_id, "owner": owner, "name": name}
    await store._database.write(lambda connection: Statement(sql).run(connection, values))
    return topic_id


def keys(memories: Sequence[Memory]) -> list[str]:
    return [memory.key for memory in memories]
