"""Searches in folders that someone made to get out of them, or to bring the host down."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.types import limits
from tests.support import sampling
from tests.support.lag import MOST, longest_turn
from tests.support.search_tool import SearchCalls, open_search_tool, write_files

CANARY = "canary-outside-the-root"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    write_files(tmp_path, {"work-secrets/key.txt": CANARY, "outside/key.txt": CANARY})
    return folder


@pytest_asyncio.fixture
async def search(home: Path, work: Path) -> AsyncIterator[SearchCalls]:
    async with open_search_tool(home, work) as opened:
        yield opened


# So often a folder is searched that changes meanwhile.
SEARCHES = 200 if sampling.is_long() else 40


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[list[int]]:
    """Replace a folder by a link to another one and back, as fast as can be, until the end."""
    stop, swaps = threading.Event(), [0]
    aside, link = folder.with_name("aside"), folder.with_name("link")

    def swap() -> None:
        while not stop.is_set():
            link.symlink_to(target)
            folder.rename(aside)
            link.rename(folder)
            folder.unlink()
            aside.rename(folder)
            swaps[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield swaps
    finally:
        stop.set()
        thread.join()


@pytest.mark.case("FS-05", "FS-03")
async def test_a_folder_that_becomes_a_link_while_it_is_searched_leads_nowhere(
    search: SearchCalls, work: Path, tmp_path: Path
) -> None:
    write_files(work, {"inner/key.txt": "harmless", "other.txt": "harmless"})
    with swapping(work / "inner", tmp_path / "outside") as swaps:
        searches = 0
        while searches < SEARCHES or swaps[0] < 5 * SEARCHES:
            searches += 1
            for operation in ("grep_search", "search_index"):
                said = await search.call(operation, query="canary")
                assert CANARY not in said.text.replace("`canary`", "")
                assert not said.data.get("search", {}).get("hits")
    assert sorted(await search.hits("grep_search", query="harmless")) == ["inner/key.txt:1", "other.txt:1"]
    assert sorted(await search.hits("search_index", query="harmless")) == ["inner/key.txt:1", "other.txt:1"]


@pytest.mark.case("FS-02", "FS-01")
async def test_no_spelling_of_a_folder_leads_out_unasked(search: SearchCalls, work: Path, tmp_path: Path) -> None:
    for path in ("..", "../work-secrets", "inner/../../outside", "~", "file:///etc", "a\0b", "//etc"):
        assert (await search.fails("grep_search", query="canary", path=path)).startswith("PATH_REFUSED: ")
    outside = await search.touched("grep_search", query="canary", path=str(tmp_path / "work-secrets"))
    assert [use.inside for use in outside.paths] == [False]
    write_files(work, {"inner/a.txt": "canary inside\n"})
    assert await search.hits("grep_search", query="canary", path=str(work / "inner")) == ["inner/a.txt:1"]


@pytest.mark.case("FS-06")
async def test_pipes_and_names_of_ignore_files_hold_nobody_up(search: SearchCalls, work: Path, tmp_path: Path) -> None:
    os.mkfifo(work / "pipe.txt")
    os.mkfifo(work / ".ignore")
    (work / ".gitignore").symlink_to(tmp_path / "outside" / "key.txt")
    odd = "[z-a\n!\n\\\n" + "*a" * 2_000 + "\nb.txt\n"
    write_files(work, {"a.txt": "needle\n", "sub/.gitignore": odd, "sub/a.txt": "needle\n", "sub/b.txt": "needle\n"})
    assert await search.hits("grep_search", query="needle") == ["a.txt:1", "sub/a.txt:1"]
    assert await search.hits("file_search", query="*.txt") == ["a.txt", "sub/a.txt"]
    assert await search.hits("search_index", query="needle") == ["a.txt:1", "sub/a.txt:1"]


@pytest.mark.case("TOOL-07", "FS-10")
async def test_files_made_to_break_a_grammar_break_nothing_else(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GRAMMAR_TIME", 0.5)
    monkeypatch.setattr(limits, "INDEX_WAIT", 30.0)
    write_files(work, {"deep.js": "(" * 100_000, "deep.py": "[" * 100_000, "good.py": "def needle(): pass\n"})
    write_files(
        work, {"odd.c": b"\xff\xfe\x01" * 10_000, "open.rs": "r" + "#" * 60_000 + '"', "end.sh": "<<E\n" * 20_000}
    )

    async def look() -> None:
        assert await search.labels("search_index", query="needle") == [("good.py", 1, "function")]
        assert await search.labels("list_usages", symbolName="needle") == [("good.py", 1, "definition")]

    assert await longest_turn(look()) < MOST
