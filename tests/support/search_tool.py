"""The file tool with its searches on a real folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pilothouse.permissions.protected import Protected
from pilothouse.store.opening import open_store
from pilothouse.tools.file_operations import file_operations
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.search.indexes import Indexes
from pilothouse.tools.search.last_search import LastSearches, Recall, recall_nothing
from pilothouse.tools.search.operation import Searching
from pilothouse.tools.search.operations import search_operations
from pilothouse.types.json import JsonObject
from pilothouse.types.meaning import Meaning
from pilothouse.types.ports import Withheld, nothing_withheld
from tests.support.files import FileCalls
from tests.support.records import add_run
from tests.support.terminals import sandbox


class SearchCalls(FileCalls):
    """Searches of one conversation."""

    indexes: Indexes

    async def hits(self, operation: str, **arguments: object) -> list[str]:
        """Return the hits of a search as `path:line`, or the path alone."""
        found = (await self.does(operation, **arguments)).data["search"]["hits"]
        return [f"{hit['path']}:{hit['line']}" if "line" in hit else hit["path"] for hit in found]

    async def labels(self, operation: str, **arguments: object) -> list[tuple[str, int, str]]:
        """Return path, line and label of each hit."""
        found: Iterable[JsonObject] = (await self.does(operation, **arguments)).data["search"]["hits"]
        return [(hit["path"], hit.get("line", 0), hit.get("label", "")) for hit in found]


@asynccontextmanager
async def open_search_tool(
    home: Path,
    folder: Path,
    recall: Recall = recall_nothing,
    holds_secret: Callable[[str], bool] = lambda _text: False,
    meaning: Meaning | None = None,
    withheld: Withheld = nothing_withheld,
) -> AsyncIterator[SearchCalls]:
    """Open the tool on a folder; afterwards nothing of its indexes runs."""
    os.makedirs(home, exist_ok=True)
    opened = open_store(home, None, lambda *_told: None)
    guard = Protected(home)
    held = sandbox(home)
    indexes = Indexes(home / "cache" / "index", guard, holds_secret, meaning, withheld)
    try:
        run = await add_run(opened.store)
        workspace = Workspace(guard, opened.store)
        searching = Searching(workspace=workspace, guard=guard, indexes=indexes, last=LastSearches(), recall=recall)
        tool = file_operations(workspace, search_operations(searching, SandboxRunner(held), indexes.grammars.helper))
        found = SearchCalls(tool, opened.store, folder, run)
        found.indexes = indexes
        yield found
    finally:
        held.close()
        await indexes.close()
        await opened.close()


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Make files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
