"""What people may change beside conversations, together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from pilothouse.types.admin import AuthorityAdmin, OwnTools
from pilothouse.types.changes import Undo
from pilothouse.types.host import Models, Settings
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import Meaning
from pilothouse.types.models import ProviderView
from pilothouse.types.ports import ModelSource
from pilothouse.types.records import QueueLimits, Records
from pilothouse.types.searching import IndexView
from pilothouse.types.selection import ServerName
from pilothouse.types.terminals import TerminalHost
from pilothouse.types.todos import TodoLists

if TYPE_CHECKING:
    from pilothouse.host.service import HostService
    from pilothouse.types.documents import DocumentShelf
    from pilothouse.types.host_branches import Branches
    from pilothouse.types.host_documents import Documents
    from pilothouse.types.host_finding import Nearby, OtherPrograms, Packages, Proposals, Registries
    from pilothouse.types.host_meaning import MeaningVerbs
    from pilothouse.types.host_memories import Memories
    from pilothouse.types.host_operations import Operations
    from pilothouse.types.host_prompts import MiniPrompts, Prompts
    from pilothouse.types.host_servers import Servers
    from pilothouse.types.host_web import Web
    from pilothouse.types.prompts import PromptSource


class Finding(msgspec.Struct, frozen=True):
    """Who finds MCP servers and keeps their packages; each is loaded when someone asks."""

    registries: Lazy[Registries]
    proposals: Lazy[Proposals]
    other_programs: Lazy[OtherPrograms]
    nearby: Lazy[Nearby]
    packages: Lazy[Packages]


class HeldDocuments(msgspec.Struct, frozen=True):
    """Who answers for documents, to people and to messages; each is loaded when someone asks."""

    service: Lazy[Documents]
    shelf: Lazy[DocumentShelf]


class PromptParts(msgspec.Struct, frozen=True):
    """Who keeps the person's prompts; each is loaded when someone asks."""

    source: Lazy[PromptSource]
    prompts: Lazy[Prompts]
    mini_prompts: Lazy[MiniPrompts]


class ServedMeaning(Meaning, Protocol):
    """Who finds by meaning, and what a person may ask about that."""

    @property
    def admin(self) -> Lazy[MeaningVerbs]:
        """Return who answers for it."""


class Dependencies(msgspec.Struct, frozen=True):
    """Who answers for the models, the settings and the servers."""

    models: Models
    model_source: ModelSource
    # The providers that can be chosen by name.
    providers: Callable[[], tuple[ProviderView, ...]]
    settings: Settings
    # How many messages may wait for their answer.
    queue_limits: Callable[[], QueueLimits]
    servers: Lazy[Servers]
    finding: Finding
    # What each server is called, by the short name that stands before its tools; nothing is looked at for that.
    server_names: Callable[[], Mapping[str, ServerName]]
    # Gives up calls that were paused for an answer, because their run was cancelled.
    release: Callable[[Sequence[str]], Awaitable[None]]
    todos: TodoLists
    memories: Lazy[Memories]
    prompts: PromptParts
    permissions: AuthorityAdmin
    undo: Undo
    terminals: Lazy[TerminalHost]
    # How the index of a folder stands; it is not begun for that.
    index: Callable[[str], Awaitable[IndexView]]
    tools: OwnTools
    web: Lazy[Web]
    # What the prices of models are from, and of which day.
    prices_from: Callable[[], str]
    meaning: ServedMeaning
    documents: HeldDocuments
    # Makes who answers for branches, when someone asks.
    branches: Callable[[Records, HostService, Dependencies], Branches]
    # Makes who answers for what is at work where, when someone asks.
    operations: Callable[[Records], Operations]
    # Why what executes runs in this process cannot, in a sentence for anyone; empty if it can.
    why_not_working: Callable[[], str] = str
    # What operators are told in numbers, with how late the event loop is; none where a process counts nothing.
    metrics: Callable[[float], Awaitable[bytes]] | None = None
    # Whether the folders that conversations work in are on this machine; a process for the page cannot say.
    has_folders: bool = True
    # Brings shared settings in step with the database; None where no other process changes them.
    confirm: Callable[[], Awaitable[None]] | None = None
