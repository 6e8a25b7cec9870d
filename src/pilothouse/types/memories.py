"""What is remembered beyond a conversation's words: facts with where they came from and who sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.json import Body, Frozen
from pilothouse.types.paging import Page
from pilothouse.types.remembered import Sayer
from pilothouse.types.scopes import EVERYWHERE, Scope, ScopeKind

# By what a memory was found.
FoundBy = Literal["words", "meaning", "both"]
# What became of a memory that was to be kept: it is new, it was known word for word, or said in other words.
Outcome = Literal["kept", "known", "alike"]
MemoryFormat = Literal["json", "markdown"]

MemoryKey = Annotated[str, Meta(max_length=40)]
# What of a key is enough to name a memory among a person's: its last letters, which are random.
SHORT = 8


class MemoryOrigin(Frozen, frozen=True):
    """Where a memory came from: the conversation and the item that stored it; empty for one that a person wrote."""

    conversation_id: str = ""
    item_id: str = ""


class Memory(Frozen, frozen=True):
    """One thing that is remembered."""

    key: str
    title: str
    text: str
    tags: tuple[str, ...] = ()
    scope: Scope = EVERYWHERE
    says: Sayer = "person"
    # Whether strangers may have written it; whoever recalls it has read what they wrote.
    tainted: bool = False
    # Where that text, and the private data, of its conversation had come from.
    sources: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    origin: MemoryOrigin = MemoryOrigin()
    # Older ones that say something else about the same thing, until someone settles that.
    doubts: tuple[str, ...] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    # How often a model recalled it, and when last.
    uses: int = 0
    used_at: float | None = None
    forgotten_at: float | None = None

    @property
    def short(self) -> str:
        """Return its short id, as models and people name it."""
        return self.key[-SHORT:]


class MemoryPage(Frozen, frozen=True):
    """Memories, the newest first; `next` is the cursor for the rest."""

    memories: tuple[Memory, ...]
    next: str | None = None


class MemoryMatch(Frozen, frozen=True):
    """A memory that a search found: how alike it is where that is known, and by what it was found."""

    memory: Memory
    likeness: float | None = None
    found_by: FoundBy = "words"


class MemorySearch(Frozen, frozen=True):
    """What a search found, best first."""

    query: str
    matches: tuple[MemoryMatch, ...]
    # Whether it looked for meaning, too, or for words only, and why so.
    by_meaning: bool = False
    meaning_note: str = ""


class MemoryKept(Frozen, frozen=True):
    """What became of a memory that was to be kept, and older ones that it may contradict."""

    memory: Memory
    outcome: Outcome = "kept"
    contradicts: tuple[Memory, ...] = ()


class MemoryCollection(Frozen, frozen=True):
    """The memories of one scope, counted."""

    scope: Scope
    # The title of the conversation, the name of the topic, the folder.
    name: str
    memories: int
    bytes: int
    updated_at: float


class MemoryCollections(Frozen, frozen=True):
    """What is remembered where, the largest first; and how much there may be."""

    collections: tuple[MemoryCollection, ...]
    memories: int
    bytes: int
    most: int = limits.MEMORIES_OF_OWNER
    most_in_scope: int = limits.MEMORIES_IN_SCOPE
    # Whether meaning is looked for, and if not, why not.
    by_meaning: bool = False
    meaning_note: str = ""


class NewMemory(Body, frozen=True):
    """Something that the person wants to be remembered, everywhere unless they say where."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()
    scope: Scope = EVERYWHERE


class MemoryPatch(Body, frozen=True):
    """Changes of a memory; an absent field stays."""

    title: str | None = None
    text: str | None = None
    tags: tuple[str, ...] | None = None
    scope: Scope | None = None
    # The person says it themselves from now on, wherever it came from.
    vouched: bool = False
    # What it may contradict was looked at: both stand.
    settled: bool = False


class MemoryMerge(Body, frozen=True):
    """Several memories to be one: as the person wrote it, or all their texts one after the other."""

    keys: Annotated[tuple[MemoryKey, ...], Meta(min_length=2, max_length=limits.MEMORIES_MERGED)]
    title: str = ""
    text: str = ""
    # Who sees it; left out, whoever saw the first.
    scope: Scope | None = None


class MemoryFilter(msgspec.Struct, frozen=True):
    """Which memories are meant: those of one scope or kind of scope, or all; those that are forgotten on request."""

    kind: ScopeKind | None = None
    scope: str = ""
    forgotten: bool = False


class MemoryDraft(msgspec.Struct, frozen=True):
    """A memory before it is kept: what it says, who sees it, and whose word it is."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()
    scope: Scope = EVERYWHERE
    says: Sayer = "agent"
    sources: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    origin: MemoryOrigin = MemoryOrigin()
    # The one that it takes the place of.
    replaces: str = ""


class MemoryWords(msgspec.Struct, frozen=True):
    """What a search looks for: a text in scopes, or all, how alike, and how many."""

    query: str
    scopes: Sequence[Scope] | None = None
    likeness: float = limits.MEMORY_LIKENESS
    most: int = limits.MEMORY_HITS_SHOWN


class MemoryKeeper(Protocol):
    """Keeps and finds memories, for tools."""

    async def keep(self, owner: str, draft: MemoryDraft) -> MemoryKept:
        """Keep a memory, or say which one says the same already; raise one sentence where it cannot be kept."""

    async def search(self, owner: str, words: MemoryWords) -> MemorySearch:
        """Return what fits by words and by meaning, best first."""

    async def used(self, owner: str, keys: Sequence[str]) -> None:
        """Count that a model recalled these."""

    async def get(self, owner: str, key: str, scopes: Sequence[Scope] | None = None) -> Memory:
        """Return a memory by its key or the beginning of it; raise `not_found` where these scopes do not show it."""

    async def change(self, owner: str, key: str, patch: MemoryPatch) -> Memory:
        """Change a memory."""

    async def forget(self, owner: str, key: str) -> Memory:
        """Forget a memory; for a while it can be brought back."""

    async def collections(self, owner: str, scopes: Sequence[Scope] | None = None) -> MemoryCollections:
        """Count what is remembered in these scopes, or all."""


class RecentRecords(Protocol):
    """What is asked of the database about memories with every message."""

    async def memories_of_conversation(
        self, conversation_id: str, since: float, *, hidden: bool = False
    ) -> Sequence[Memory]:
        """Return what was stored in a conversation since a time and is remembered, oldest first.

        What a deleted topic hides is there on request only.
        """

    async def has_memories(self, owner: str) -> bool:
        """Return whether there is anything to find."""


class MemoryRecords(RecentRecords, Protocol):
    """What is asked of the database about memories."""

    async def add_memory(self, owner: str, memory: Memory) -> tuple[Memory, bool]:
        """Keep one, unless its scope has the same text: then that one and False; raise when there is no room."""

    async def memory(self, owner: str, key: str, *, forgotten: bool = False) -> Memory:
        """Return one by its key or the beginning of it."""

    async def memories(self, owner: str, wanted: MemoryFilter, page: Page) -> MemoryPage:
        """Return a part of the list, the newest first."""

    async def change_memory(
        self, owner: str, key: str, change: Callable[[Memory], Memory], *, forgotten: bool = False
    ) -> Memory:
        """Change one by a pure function of what it is now; raise where its scope has another one of the same text."""

    async def merge_memories(self, owner: str, memory: Memory, keys: Sequence[str], at: float) -> None:
        """Keep one and forget others, all or nothing."""

    async def used_memories(self, owner: str, keys: Sequence[str], at: float) -> None:
        """Count a use of each."""

    async def find_memories(
        self, owner: str, words: Sequence[str], scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Memory]:
        """Return those that have any of these words, best first."""

    async def memories_by_key(
        self, owner: str, keys: Sequence[str], scopes: Sequence[Scope] | None
    ) -> dict[str, Memory]:
        """Return those that are remembered in these scopes."""

    async def memory_sizes(self, owner: str, scopes: Sequence[Scope] | None) -> Sequence[MemoryCollection]:
        """Count what is remembered in these scopes, or all, the largest first."""
