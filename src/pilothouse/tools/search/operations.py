"""The search operations, in their order, and the one that gives their other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.helper.client import Helper
from pilothouse.tools.arguments import BadArgument, optional_int, success
from pilothouse.tools.consolidated import Operation
from pilothouse.tools.files.operation import FileOperation
from pilothouse.tools.files.places import Place, working_root
from pilothouse.tools.files.workspace import PathEffect
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.search.errors import GetErrors
from pilothouse.tools.search.in_files import FileSearch, GrepSearch
from pilothouse.tools.search.in_index import ListUsages, SearchIndex, SemanticSearch
from pilothouse.tools.search.operation import Searching, SearchOperation
from pilothouse.tools.search.results import Found, page_of
from pilothouse.types import limits
from pilothouse.types.access import Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput


class GetSearchResults(FileOperation):
    """Gives the last search of the conversation, page by page."""

    name = "get_search_results"
    doing = "Reading search results"
    icon = "search"
    effects: frozenset[Effect] = frozenset({"reads"})
    times = CallTimes(limits.SEARCH_CALL_TIME)
    properties: ClassVar[JsonObject] = {
        "page": {"type": "integer", "description": "Which page of the last search, counted from 1."}
    }
    _effect: PathEffect = "reads"

    def __init__(self, searching: Searching, searches: Sequence[SearchOperation]) -> None:
        super().__init__(searching.workspace)
        self._searching = searching
        self._searches = {search.name: search for search in searches}

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        return [Place(working_root(context.working_directory), (), True)] if context.working_directory else []

    def about(self, arguments: Mapping[str, object]) -> str:
        return f"page {arguments['page']}" if arguments.get("page") else ""

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        return []

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        number = optional_int(arguments, "page", 1)
        found = self._searching.last.get(context.conversation_id) or await self._again(context)
        text, data = page_of(found, number)
        return success(text, data)

    async def _again(self, context: CallContext) -> Found:
        """Search once more what was searched last, after a restart; only in the working directory."""
        arguments = await self._searching.recall(context.conversation_id)
        search = self._searches.get(str(arguments.get("operation"))) if arguments is not None else None
        if arguments is None or search is None:
            raise BadArgument("There was no search in this conversation yet.", "NO_SEARCH")
        access = await search.access(arguments, msgspec.structs.replace(context, access=None))
        if any(not use.inside or use.protected for use in access.paths):
            raise BadArgument("The results of the last search are not kept any more; search again.", "NO_SEARCH")
        return await search.found(arguments, msgspec.structs.replace(context, access=access))


def search_operations(searching: Searching, runner: SandboxRunner, helper: Helper) -> tuple[Operation, ...]:
    """Return the operations in their order."""
    searches: tuple[SearchOperation, ...] = (
        FileSearch(searching),
        GrepSearch(searching),
        SemanticSearch(searching),
        ListUsages(searching),
        SearchIndex(searching),
    )
    errors = GetErrors(searching.workspace, runner, searching.last, helper)
    return (errors, GetSearchResults(searching, searches), *searches)
