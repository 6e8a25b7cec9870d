"""The file tool on a real folder, with a store and the guard of protected paths."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from pilothouse.permissions.protected import Protected
from pilothouse.settings.home import open_home
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.file_operations import file_operations
from pilothouse.tools.files.restoring import undo
from pilothouse.tools.files.workspace import Workspace
from pilothouse.types.access import Access
from pilothouse.types.changes import UndoReport
from pilothouse.types.ids import new_id
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.records import OWNER, add_run
from tests.support.tools import Silent


@contextmanager
def deep_tree(folder: Path, levels: int) -> Iterator[None]:
    """Make folders named d in each other, and remove them: Python's own ways to do that are not up to it."""
    try:
        at = os.open(folder, os.O_RDONLY)
        for _ in range(levels):
            os.mkdir("d", dir_fd=at)
            below = os.open("d", os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        os.close(at)
        yield
    finally:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)


class FileCalls:
    """Calls of one run in one folder, carried out as a person who allows everything would have them."""

    def __init__(self, tool: Consolidated, store: Store, folder: Path, run: tuple[str, str]) -> None:
        self.tool = tool
        self.store = store
        self.folder = folder
        self.conversation_id, self.run_id = run
        self.calls: list[str] = []

    def context(self) -> CallContext:
        """Return the context of the next call."""
        self.calls.append(new_id("i"))
        return CallContext(
            conversation_id=self.conversation_id,
            run_id=self.run_id,
            call_id=self.calls[-1],
            working_directory=str(self.folder),
            earlier_calls=(),
            unattended=False,
        )

    async def access(self, operation: str, **arguments: object) -> Access | ToolOutput:
        """Return what a call would touch."""
        return await self.tool.access({"operation": operation, **arguments}, self.context())

    async def touched(self, operation: str, **arguments: object) -> Access:
        """Return what a call would touch, which must be possible."""
        access = await self.access(operation, **arguments)
        assert isinstance(access, Access), access
        return access

    async def call(self, operation: str, **arguments: object) -> ToolOutput:
        """Look, allow, execute."""
        context = self.context()
        given = {"operation": operation, **arguments}
        access = await self.tool.access(given, context)
        if isinstance(access, ToolOutput):
            return access
        return await self.execute(given, context, access)

    async def execute(self, given: dict[str, object], context: CallContext, access: Access) -> ToolOutput:
        """Execute a call that was allowed."""
        output = await self.tool.execute(given, msgspec.structs.replace(context, access=access), Silent())
        assert isinstance(output, ToolOutput)
        return output

    async def does(self, operation: str, **arguments: object) -> ToolOutput:
        """Make a call that must succeed."""
        output = await self.call(operation, **arguments)
        assert output.error is None, output.text
        return output

    async def fails(self, operation: str, **arguments: object) -> str:
        """Make a call that must fail in one sentence; return the code and the sentence."""
        output = await self.call(operation, **arguments)
        assert output.error is not None, output.text
        assert "\n" not in output.error.message
        assert output.error.message.endswith(".")
        return f"{output.error.code}: {output.error.message}"

    async def undo(self, call: str | None = None) -> UndoReport:
        """Undo the run, or one call."""
        kept = await self.store.changes(OWNER, run_id=self.run_id)
        chosen = [each for each in kept if call in (None, each.change.item_id)]
        report, ids = await undo(chosen)
        await self.store.mark_undone(ids, 1.0)
        return report


@asynccontextmanager
async def open_file_tool(home: Path, folder: Path, person: Path | None = None) -> AsyncIterator[FileCalls]:
    """Open a store with a conversation and a run in it, and the tool on a folder."""
    opened = open_store(open_home(home).path, None, lambda *_told: None)
    try:
        run = await add_run(opened.store)
        tool = file_operations(Workspace(Protected(home, person), opened.store))
        yield FileCalls(tool, opened.store, folder, run)
    finally:
        await opened.close()
