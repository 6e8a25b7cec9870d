"""What a search looks like: a folder that it reads, work in a thread, a result kept for its other pages."""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import TypeVar

import msgspec

from pilothouse.tools.arguments import optional_string, success
from pilothouse.tools.files.operation import FileOperation
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.walk import Folder, open_root
from pilothouse.tools.files.workspace import PathEffect, Workspace, known_root
from pilothouse.tools.search.indexes import Indexes
from pilothouse.tools.search.last_search import LastSearches, Recall, recall_nothing
from pilothouse.tools.search.results import Found, page_of
from pilothouse.tools.search.tree import Protects
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import (
    CallContext,
    CallFeedback,
    CallTimes,
    PathGuard,
    ToolOutput,
    Withheld,
    nothing_withheld,
)

PATH: JsonObject = {"type": "string", "description": "A folder; the working directory when it is left out."}
QUERY: JsonObject = {"type": "string", "description": "What to look for."}

_WITHHELD = "A rule of yours is about it."
T = TypeVar("T")


class Searching(msgspec.Struct, frozen=True):
    """What the search operations share."""

    workspace: Workspace
    guard: PathGuard
    indexes: Indexes
    last: LastSearches
    recall: Recall = recall_nothing
    withheld: Withheld = nothing_withheld
    # Folders that are worth an index, by what a walk through them saw.
    large: set[str] = msgspec.field(default_factory=set)


class SearchOperation(FileOperation):
    """Searches a folder."""

    effects: frozenset[Effect] = frozenset({"reads"})
    times = CallTimes(limits.SEARCH_CALL_TIME)
    icon = "search"
    _effect: PathEffect = "reads"

    def __init__(self, searching: Searching) -> None:
        super().__init__(searching.workspace)
        self.searching = searching

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        return [self.workspace.place(optional_string(arguments, "path") or ".", context)]

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("query") or "")

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return where it is looked for."""
        known = {"path": "Folder", "includePattern": "Files"}
        return [f"{label}: {arguments[key]}" for key, label in known.items() if arguments.get(key)]

    def begin(self, arguments: JsonObject, context: CallContext) -> None:
        """Prepare what cannot be prepared in a thread."""

    @abstractmethod
    def find(self, arguments: JsonObject, context: CallContext, stop: Event) -> Found:
        """Return what was found."""

    async def work(self, arguments: JsonObject, context: CallContext) -> Callable[[Event], Found]:
        """Return what is done in a thread, after what cannot be done there."""
        self.begin(arguments, context)
        return lambda stop: self.find(arguments, context, stop)

    async def found(self, arguments: JsonObject, context: CallContext) -> Found:
        """Search, and keep the result."""
        found = await in_thread(await self.work(arguments, context))
        self.searching.last.keep(context.conversation_id, found)
        return found

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Search what was allowed, and return the first page."""
        text, data = page_of(await self.found(arguments, context), 1)
        return success(text, data)

    def held(self, arguments: JsonObject, context: CallContext) -> Place:
        """Return the folder, if it is what the call was allowed to read."""
        self.workspace.hold(context, self.uses(arguments, context))
        (place,) = self.places(arguments, context)
        return place

    @contextmanager
    def opened(self, place: Place, context: CallContext) -> Iterator[Folder]:
        with open_root(place, known_root(context)) as root, root.descend(place.parts) as folder:
            self.workspace.hold_opened(context, place, "reads", folder.identity)
            yield folder

    def protects(self, folder: str, context: CallContext) -> Protects:
        """Return the guard of what is below a folder."""
        guard = self.searching.guard
        search = context.access or Access(operation=f"file_operations.{self.name}")
        withheld = self.searching.withheld(search, context.working_directory)

        def why(path: str, identity: tuple[int, int]) -> str:
            whole = os.path.join(folder, path)
            return guard.protects(whole, identity, "reads") or (_WITHHELD if withheld(whole) else "")

        return why


async def in_thread(work: Callable[[Event], T]) -> T:
    """Do work in a thread. When the call is cancelled, the work is told so, and has ended when this returns."""
    stop = Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise
