"""Files through their tool: looked at, held to what was allowed, read or changed with a way back; against bare ones."""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import uvloop

from bench.results import table, verdict
from pilothouse.permissions.protected import Protected
from pilothouse.settings.home import open_home
from pilothouse.store.opening import open_store
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.file_operations import file_operations
from pilothouse.tools.files.workspace import Workspace
from pilothouse.types.access import Access
from pilothouse.types.ids import new_id
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.tools import Silent

LINE = "A line of a file as people write them, neither short nor long.\n"
SIZES = {"10 KB": 160, "1 MB": 16_000}


class Caller:
    """Makes calls as an agent does: what it would touch first, then the call itself."""

    def __init__(self, tool: Consolidated, folder: Path) -> None:
        self._tool = tool
        self._folder = str(folder)

    async def call(self, operation: str, **arguments: object) -> ToolOutput:
        """Look and execute."""
        context = CallContext("c", "r", new_id("i"), self._folder, (), False)
        given = {"operation": operation, **arguments}
        access = await self._tool.access(given, context)
        if not isinstance(access, Access):
            raise SystemExit(access.text)
        output = await self._tool.execute(given, msgspec.structs.replace(context, access=access), Silent())
        if not isinstance(output, ToolOutput) or output.error is not None:
            raise SystemExit(str(output))
        return output


async def median(times: int, work: Callable[[int], Awaitable[object]]) -> float:
    """Return the middle time of a piece of work, in milliseconds."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        await work(number)
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken)


def read_bare(path: Path) -> str:
    """Read a file as the shortest program does."""
    return path.read_text()


def edit_bare(path: Path, old: str, new: str) -> None:
    """Replace a text as the shortest safe program does: a new file, durable, in the place of the old one."""
    text = path.read_text().replace(old, new, 1)
    beside = path.with_suffix(".new")
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)


async def measure(folder: Path, times: int) -> None:
    """Measure reading and editing of small and large files."""
    work = folder / "work"
    await asyncio.to_thread(work.mkdir)
    opened = open_store(open_home(folder / "home").path, None, lambda *_told: None)
    try:
        caller = Caller(file_operations(Workspace(Protected(folder / "home"), opened.store)), work)
        rows = [("", "bare", "tool", "ratio")]
        for name, lines in SIZES.items():
            path = work / f"{lines}.txt"
            await asyncio.to_thread(path.write_text, "first 0\n" + LINE * lines)
            rows += [await reading(caller, path, name, times), await editing(caller, path, name, times)]
        table(f"One call, median of {times}, milliseconds", rows)
        verdict("reading 10 KB", float(rows[1][2]), 2.0, " ms")
        verdict("editing 10 KB", float(rows[2][2]) - float(rows[2][1]), 10.0, " ms more than bare")
    finally:
        await opened.close()


async def reading(caller: Caller, path: Path, name: str, times: int) -> tuple[str, str, str, str]:
    """Compare reading."""
    bare = await median(times, lambda _n: asyncio.to_thread(read_bare, path))
    tool = await median(times, lambda _n: caller.call("read_file", filePath=path.name))
    return f"read {name}", f"{bare:.2f}", f"{tool:.2f}", f"{tool / bare:.1f}"


async def editing(caller: Caller, path: Path, name: str, times: int) -> tuple[str, str, str, str]:
    """Compare editing; what is edited has another number each time."""
    bare = await median(times, lambda n: asyncio.to_thread(edit_bare, path, f"first {n}\n", f"first {n + 1}\n"))

    async def edit(number: int) -> None:
        at = times + number
        await caller.call(
            "replace_string", filePath=path.name, oldString=f"first {at}\n", newString=f"first {at + 1}\n"
        )

    # What was edited behind the tool's back must be read again first.
    await caller.call("read_file", filePath=path.name)
    tool = await median(times, edit)
    return f"edit {name}", f"{bare:.2f}", f"{tool:.2f}", f"{tool / bare:.1f}"


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=100)
    times = options.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(measure(Path(folder), times))


if __name__ == "__main__":
    main()
