"""Searching a folder of 50,000 files: against ripgrep, against bare walking and reading, and by the index."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench.big_results import Lag
from bench.files import Caller
from bench.processes import ROOT
from bench.results import table, verdict
from bench.tree import NEEDLE, grow
from pilothouse.permissions.protected import Protected
from pilothouse.store.opening import open_store
from pilothouse.tools.file_operations import file_operations
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.search.indexes import Indexes
from pilothouse.tools.search.last_search import LastSearches
from pilothouse.tools.search.operation import Searching
from pilothouse.tools.search.operations import search_operations
from pilothouse.types import limits
from pilothouse.types.terminals import TerminalSettings

RIPGREP = ROOT / ".cache" / "bench-others" / "ripgrep" / "bin" / "rg"
REGEX = r"def \w+_gate\("
TURNS = 5


async def best(work: Callable[[], Awaitable[object]], turns: int = TURNS) -> float:
    """Return the shortest time of a piece of work, in seconds."""
    taken = []
    for _ in range(turns):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return min(taken)


async def best_bare(work: Callable[[], object], turns: int = TURNS) -> float:
    """Return the same for something that blocks."""

    async def call() -> object:
        return work()

    return await best(call, turns)


async def ripgrep(folder: Path, *arguments: str) -> float:
    """Return the time that ripgrep takes for it; without end where there is none."""
    if not RIPGREP.exists():
        return float("inf")
    return await best_bare(
        lambda: subprocess.run(
            [str(RIPGREP), "--line-number", *arguments, str(folder)], capture_output=True, check=False
        )
    )


def walk_bare(folder: Path) -> int:
    """Walk as the shortest program does, and test every name."""
    pattern = re.compile(r".*\.py$")
    return sum(1 for _at, _folders, names in os.walk(folder) for name in names if pattern.match(name))


def stat_bare(folder: Path) -> int:
    """Look at every file's times."""
    count = 0
    for at, _folders, names in os.walk(folder):
        for name in names:
            count += os.stat(os.path.join(at, name)).st_size > 0
    return count


def index_bare(folder: Path, file: Path) -> None:
    """Put every file into a table of words and one of letters, in one transaction: what SQLite alone takes."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA synchronous = off")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (body, content = '')")
    connection.execute("CREATE VIRTUAL TABLE grams USING fts5 (body, content = '', tokenize = trigram, detail = none)")
    connection.execute("BEGIN")
    number = 0
    for at, _folders, names in os.walk(folder):
        for name in names:
            number += 1
            with open(os.path.join(at, name), encoding="utf-8") as opened:
                text = opened.read()
            connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, text))
            connection.execute("INSERT INTO grams (rowid, body) VALUES (?, ?)", (number, text))
    connection.execute("COMMIT")
    connection.close()


class Bench:
    """The tool on the folder, and what is compared with it."""

    def __init__(self, caller: Caller, indexes: Indexes, folder: Path, scratch: Path) -> None:
        self._caller = caller
        self._indexes = indexes
        self._folder = folder
        self._scratch = scratch

    async def files_and_text(self) -> None:
        """Measure what needs no index."""
        call, folder = self._caller.call, self._folder
        grep = await best(lambda: call("grep_search", query=REGEX, isRegexp=True, caseSensitive=True))
        literal = await best(lambda: call("grep_search", query=NEEDLE, caseSensitive=True))
        glob = await best(lambda: call("file_search", query="**/*77.py"))
        theirs = await ripgrep(folder, REGEX)
        theirs_literal = await ripgrep(folder, "--fixed-strings", NEEDLE)
        walked = await best_bare(lambda: walk_bare(folder))
        rows = [
            ("regular expression, every file read", _ms(grep), _ms(theirs), f"{grep / theirs:.2f}"),
            ("text, every file read", _ms(literal), _ms(theirs_literal), f"{literal / theirs_literal:.2f}"),
            ("glob, against os.walk", _ms(glob), _ms(walked), f"{glob / walked:.2f}"),
        ]
        table("without an index: ours, ripgrep or bare, ratio", rows)
        verdict("grep of every file, of ripgrep's", grep / theirs, 4)
        verdict("glob, of os.walk's", glob / walked, 8)

    async def building(self) -> None:
        """Measure how an index is made, and what else the program can do meanwhile."""
        lag = Lag()
        watching = asyncio.create_task(lag.watch())
        began = time.perf_counter()
        index = self._indexes.get(str(self._folder))
        while not (await asyncio.to_thread(index.catch_up, 60.0)).fresh:
            pass
        built = time.perf_counter() - began
        watching.cancel()
        await asyncio.wait([watching])
        files, size = index.progress.files, index.file.stat().st_size / 1e6
        bare = await best_bare(lambda: index_bare(self._folder, self._scratch / "bare.sqlite"), 1)
        rows = [
            ("index of everything", f"{built:.1f} s", f"{files / built:,.0f} files/s", f"{size:.0f} MB"),
            ("words and letters alone, bare SQLite", f"{bare:.1f} s", f"{files / bare:,.0f} files/s", ""),
        ]
        table("making an index", rows)
        verdict("of what bare SQLite takes", built / bare, 5)
        verdict("longest lag of the event loop meanwhile", lag.worst * 1000, 100, " ms")

    async def questions(self) -> None:
        """Measure searches that have an index."""
        call, folder = self._caller.call, self._folder
        changed = next(folder.glob("part00/module00/*.py"))

        async def change() -> None:
            changed.write_text(f"{changed.read_text()}# again\n")
            await call("search_index", query="again")

        grep = await best(lambda: call("grep_search", query=REGEX, isRegexp=True, caseSensitive=True))
        literal = await best(lambda: call("grep_search", query=NEEDLE, caseSensitive=True))
        theirs = await ripgrep(folder, REGEX)
        asked = {
            "semantic_search": await best(lambda: call("semantic_search", query="where the harbour gate is opened")),
            "list_usages": await best(lambda: call("list_usages", symbolName=NEEDLE)),
            "search_index": await best(lambda: call("search_index", query=NEEDLE)),
            "one file changed, then asked about": await best(change),
        }
        rows = [("regular expression", _ms(grep), f"{grep / theirs:.2f} of ripgrep's")]
        rows += [("text", _ms(literal), f"{literal / theirs:.2f} of ripgrep's")]
        table("with an index", rows + [(name, _ms(seconds), "") for name, seconds in asked.items()])
        verdict("grep by the index, of ripgrep's", grep / theirs, 1)
        verdict("slowest question", max(asked.values()) * 1000, 250, " ms")

    async def again(self) -> None:
        """Measure how an index is taken up after a restart."""
        await self._indexes.close()
        began = time.perf_counter()
        index = self._indexes.get(str(self._folder))
        await asyncio.to_thread(index.catch_up, 60.0)
        taken = time.perf_counter() - began
        bare = await best_bare(lambda: stat_bare(self._folder))
        table("after a restart", [("index looked through", _ms(taken)), ("os.walk and stat", _ms(bare))])
        verdict("of a bare look at every file", taken / bare, 8)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < float("inf") else "-"


async def measure(scratch: Path, files: int) -> None:
    """Measure everything and print it."""
    folder, home = scratch / "work", scratch / "home"
    folder.mkdir()
    home.mkdir()
    grow(folder, files)
    # Beginning an index is measured by itself.
    limits.INDEX_WORTH_FILES = files * 2
    opened = open_store(home, None, lambda *_told: None)
    guard, sandbox = Protected(home), Sandbox(home, TerminalSettings)
    indexes = Indexes(home / "index", guard)
    workspace = Workspace(guard, opened.store)
    searching = Searching(workspace, guard, indexes, LastSearches())
    tool = file_operations(workspace, search_operations(searching, SandboxRunner(sandbox), indexes.grammars.helper))
    bench = Bench(Caller(tool, folder), indexes, folder, scratch)
    try:
        await bench.files_and_text()
        await bench.building()
        await bench.questions()
        await bench.again()
    finally:
        await indexes.close()
        sandbox.close()
        await opened.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    files = parser.parse_args().files
    if not RIPGREP.exists():
        print("ripgrep is not installed, so nothing is compared with it; `scripts/bench search` installs it")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        uvloop.run(measure(Path(scratch).resolve(), files))


if __name__ == "__main__":
    main()
