"""The index: words, symbols, meaning; always as new as the question."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from pilothouse.secrets.redaction import Redactor
from pilothouse.tools.search import index_file, watching
from pilothouse.tools.search.index import Index
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.indexing import Indexing, IndexParts
from pilothouse.types import limits
from tests.support.search_tool import SearchCalls, open_search_tool, write_files

PROJECT = {
    "src/store.py": (
        "class TokenStore:\n"
        '    """Keeps session tokens, and forgets those that expired."""\n\n'
        "    def remove_expired(self, now: float) -> int:\n"
        "        return purge(self.tokens, now)\n\n\n"
        "def purge(tokens, now):\n    return 0\n"
    ),
    "src/server.py": (
        "from store import TokenStore, purge\n\n"
        "# purge is mentioned here\n"
        "def close(store: TokenStore) -> None:\n"
        '    print("purge")\n'
        "    purge(store, 1)\n"
        "    retry = purge\n"
    ),
    "web/http.ts": "export function openConnection(url: string) {\n  return retryWithBackoff(() => fetch(url));\n}\n",
    "docs/guide.md": "# Guide\n\nHow expired sessions are cleaned up.\n",
}


@pytest.mark.case("FIL-07")
async def test_passages_are_found_by_what_they_are_about(search: SearchCalls, work: Path) -> None:
    write_files(work, PROJECT)
    first = await search.hits("semantic_search", query="where do we delete expired tokens?")
    assert first[0] == "src/store.py:1"
    assert "docs/guide.md:1" in first
    connection = await search.hits("semantic_search", query="opening a connection with retries")
    assert connection[0] == "web/http.ts:1"
    text = (await search.does("semantic_search", query="remove expired")).text
    assert "    def remove_expired(self, now: float) -> int:" in text
    assert (await search.does("semantic_search", query="quantum chromodynamics")).text.startswith("No passage for")


@pytest.mark.case("FIL-08")
async def test_usages_are_told_from_mentions(search: SearchCalls, work: Path) -> None:
    write_files(work, PROJECT)
    assert await search.labels("list_usages", symbolName="purge") == [
        ("src/store.py", 8, "definition"),
        ("src/store.py", 5, "call"),
        ("src/server.py", 6, "call"),
        ("src/server.py", 7, "reference"),
        ("src/server.py", 1, "import"),
    ]
    assert "left out: 2." in (await search.does("list_usages", symbolName="purge")).text
    method = await search.labels("list_usages", symbolName="TokenStore.remove_expired()")
    assert method == [("src/store.py", 4, "definition")]
    assert "one name" in await search.fails("list_usages", symbolName="two words")
    unknown = await search.does("list_usages", symbolName="fetch")
    assert "It is not defined in this folder." in unknown.text
    assert (await search.does("list_usages", symbolName="nowhere")).text == "No usage for `nowhere`."


@pytest.mark.case("FIL-09")
async def test_the_index_is_searched_for_symbols_files_and_words(search: SearchCalls, work: Path) -> None:
    write_files(work, PROJECT)
    labels = await search.labels("search_index", query="expired")
    assert labels[0] == ("src/store.py", 4, "method in TokenStore")
    assert ("docs/guide.md", 1, "") in labels
    assert ("web/http.ts", 0, "file") in await search.labels("search_index", query="http")
    assert await search.hits("search_index", query='"expired sessions"') == ["docs/guide.md:1"]
    assert await search.hits("search_index", query='"sessions expired"') == []
    for odd in ('"', "* AND (", "a OR", "%_\\", "path:x"):
        await search.does("search_index", query=odd)


@pytest.mark.case("FIL-09", "CHT-05")
async def test_every_change_before_a_question_is_in_its_answer(search: SearchCalls, work: Path) -> None:
    write_files(work, {"a.py": "def first(): pass\n"})
    assert await search.hits("search_index", query="first") == ["a.py:1"]
    write_files(work, {"a.py": "def second(): pass\n", "new/deep/b.py": "def third(): pass\n"})
    assert await search.hits("search_index", query="first") == []
    assert await search.hits("search_index", query="second") == ["a.py:1"]
    assert await search.hits("search_index", query="third") == ["new/deep/b.py:1"]
    (work / "new").rename(work / "moved")
    assert await search.hits("list_usages", symbolName="third") == ["moved/deep/b.py:1"]
    write_files(work, {"moved/deep/b.py": "def fourth(): pass\n"})
    assert await search.hits("search_index", query="fourth") == ["moved/deep/b.py:1"]
    shutil.rmtree(work / "moved")
    (work / "a.py").unlink()
    (work / "a.py").mkdir()
    write_files(work, {"a.py/inner.txt": "fifth\n"})
    assert await search.hits("search_index", query="fourth") == []
    assert await search.hits("search_index", query="fifth") == ["a.py/inner.txt:1"]


@pytest.mark.case("CHT-05")
async def test_an_ignore_file_that_changes_changes_the_index(search: SearchCalls, work: Path) -> None:
    write_files(work, {"gen/a.txt": "needle\n", "b.txt": "needle\n"})
    assert await search.hits("search_index", query="needle") == ["b.txt:1", "gen/a.txt:1"]
    write_files(work, {".gitignore": "gen/\n"})
    assert await search.hits("search_index", query="needle") == ["b.txt:1"]
    assert await search.hits("grep_search", query="needle") == ["b.txt:1"]
    write_files(work, {"gen/c.txt": "needle\n"})
    assert await search.hits("search_index", query="needle") == ["b.txt:1"]
    (work / ".gitignore").unlink()
    assert len(await search.hits("search_index", query="needle")) == 3


@pytest.mark.case("CHT-05")
async def test_where_the_system_watches_nothing_every_question_looks_again(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_arguments: object) -> None:
        raise OSError(28, "inotify is exhausted")

    monkeypatch.setattr(watching.Watch, "add", exhausted)
    write_files(work, {"a.py": "def first(): pass\n", "gone.py": "def gone(): pass\n"})
    assert await search.hits("search_index", query="first") == ["a.py:1"]
    write_files(work, {"a.py": "def later(): pass\n"})
    (work / "gone.py").unlink()
    assert await search.hits("search_index", query="later") == ["a.py:1"]
    assert await search.hits("search_index", query="gone") == []
    view = await search.indexes.view(str(work))
    assert (view.state, view.watched, view.files, view.symbols) == ("fresh", False, 1, 1)


@pytest.mark.case("CHT-05")
async def test_events_that_the_system_dropped_are_made_good_by_looking_at_everything(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {"a.txt": "needle\n"})
    assert await search.hits("search_index", query="needle") == ["a.txt:1"]
    plain = watching.Watch.changes

    def overflowing(watch: watching.Watch) -> watching.Changes:
        return watching.Changes(lost=bool(plain(watch).paths))

    monkeypatch.setattr(watching.Watch, "changes", overflowing)
    write_files(work, {"b.txt": "needle\n"})
    assert await search.hits("search_index", query="needle") == ["a.txt:1", "b.txt:1"]


@pytest.mark.case("FIL-09")
async def test_an_index_is_taken_up_again_and_only_what_changed_is_made_anew(home: Path, work: Path) -> None:
    write_files(work, {f"f{number}.txt": f"word{number}\n" for number in range(30)})
    async with open_search_tool(home, work) as first:
        assert await first.hits("search_index", query="word7") == ["f7.txt:1"]
    (file,) = (home / "cache" / "index").glob("*.sqlite")
    with sqlite3.connect(file) as connection:
        before = dict(connection.execute("SELECT path, id FROM files"))
    connection.close()
    write_files(work, {"f7.txt": "changed\n"})
    (work / "f8.txt").unlink()
    os.utime(work / "f9.txt")
    async with open_search_tool(home, work) as second:
        assert await second.hits("search_index", query="word7") == []
        assert await second.hits("search_index", query="changed") == ["f7.txt:1"]
        assert await second.hits("search_index", query="word8") == []
        assert await second.hits("search_index", query="word9") == ["f9.txt:1"]
    with sqlite3.connect(file) as connection:
        after = dict(connection.execute("SELECT path, id FROM files"))
    connection.close()
    assert {path for path in after if after[path] != before[path]} == {"f7.txt"}


async def test_a_change_that_hides_behind_old_times_is_seen(home: Path, work: Path) -> None:
    write_files(work, {"a.txt": "needle\n"})
    os.utime(work / "a.txt", (1_700_000_000, 1_700_000_000))
    async with open_search_tool(home, work) as first:
        assert await first.hits("search_index", query="needle") == ["a.txt:1"]
    write_files(work, {"a.txt": "thread\n"})
    os.utime(work / "a.txt", (1_700_000_000, 1_700_000_000))
    async with open_search_tool(home, work) as second:
        assert await second.hits("search_index", query="needle") == []
        assert await second.hits("search_index", query="thread") == ["a.txt:1"]


async def test_a_closed_index_answers_that_it_is_not_fresh(search: SearchCalls, work: Path) -> None:
    write_files(work, {"a.txt": "needle\n"})
    await search.does("search_index", query="needle")
    index = search.indexes.peek(str(work))
    assert index is not None
    await search.indexes.close()
    assert not (await asyncio.to_thread(index.catch_up, 5)).fresh
    assert await search.hits("grep_search", query="needle") == ["a.txt:1"]


async def test_an_index_in_which_much_was_replaced_is_made_anew(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "_LEFT_BEHIND", 3)
    write_files(work, {"a.py": "def name_0(): pass\n", "b.py": "other\n"})
    for number in range(1, 12):
        write_files(work, {"a.py": f"def name_{number}(): pass\n"})
        assert await search.hits("search_index", query=f"name_{number}") == ["a.py:1"]
        assert await search.hits("search_index", query=f"name_{number - 1}") == []
    index = search.indexes.peek(str(work))
    assert index is not None
    with reading(index.file) as connection:
        (last,) = connection.execute("SELECT max(id) FROM files").fetchone()
    assert last < 12


async def test_a_folder_with_more_files_than_an_index_holds_is_searched_whole_by_reading(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_FILES", 5)
    write_files(work, {f"{number}.txt": "needle\n" for number in range(9)})
    some = await search.does("search_index", query="needle")
    assert len(some.data["search"]["hits"]) == 5
    assert "The folder has more than 5 files; the rest is not in the index." in some.text
    assert len(await search.hits("grep_search", query="needle")) == 9


async def test_a_broken_index_is_made_anew(home: Path, work: Path) -> None:
    write_files(work, {"a.txt": "needle\n"})
    async with open_search_tool(home, work) as first:
        await first.hits("search_index", query="needle")
    (file,) = (home / "cache" / "index").glob("*.sqlite")
    file.write_bytes(b"this is no database" * 100)
    async with open_search_tool(home, work) as second:
        assert await second.hits("search_index", query="needle") == ["a.txt:1"]


async def test_two_programs_on_one_folder_have_an_index_each(home: Path, work: Path, tmp_path: Path) -> None:
    write_files(work, {"a.txt": "needle\n"})
    async with open_search_tool(home, work) as one, open_search_tool(tmp_path / "other", work) as other:
        assert await one.hits("search_index", query="needle") == ["a.txt:1"]
        file = next((home / "cache" / "index").glob("*.sqlite"))
        twin = Index(str(work), file, IndexParts(lambda _path, _identity: "", one.indexes.grammars))
        twin.begin()
        try:
            assert (await asyncio.to_thread(twin.catch_up, 10)).fresh
            assert twin.file.name.endswith("-1.sqlite")
        finally:
            await asyncio.to_thread(twin.close)
        assert await other.hits("search_index", query="needle") == ["a.txt:1"]


@pytest.mark.case("FIL-09")
@pytest.mark.slow
async def test_a_question_during_the_building_is_answered_with_how_far_it_is(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_WAIT", 0.05)
    monkeypatch.setattr(limits, "INDEX_BATCH", 1)
    plain = Indexing.work
    waiting, going_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(indexing: Indexing, until: float) -> None:
        plain(indexing, until)
        if indexing.done == 2:
            loop.call_soon_threadsafe(waiting.set)
            going_on.wait(10)

    monkeypatch.setattr(Indexing, "work", slow)
    write_files(work, {f"{number}.txt": "needle\n" for number in range(5)})
    try:
        await search.does("search_index", query="needle")
        await asyncio.wait_for(waiting.wait(), 10)
        said = (await search.does("search_index", query="needle")).text
        assert "The index is being built (1 of 5 files); this result is not complete yet." in said
        assert (await search.indexes.view(str(work))).state == "building"
        assert len(await search.hits("grep_search", query="needle")) == 5
    finally:
        going_on.set()
    monkeypatch.setattr(limits, "INDEX_WAIT", 10.0)
    assert len(await search.hits("search_index", query="needle")) == 5


async def test_large_binary_and_protected_files_are_not_in_the_index_but_large_ones_are_searched(
    search: SearchCalls, work: Path
) -> None:
    write_files(work, {"large.txt": "filler\n" * 200_000 + "needle\n", "b.bin": b"needle\0", "small.txt": "needle\n"})
    assert await search.hits("search_index", query="needle") == ["small.txt:1"]
    assert await search.hits("grep_search", query="needle") == ["large.txt:200001", "small.txt:1"]
    write_files(work, {"large.txt": "needle\n"})
    assert sorted(await search.hits("search_index", query="needle")) == ["large.txt:1", "small.txt:1"]


@pytest.mark.case("SECRET-01")
async def test_a_secret_in_a_file_is_never_written_into_the_index(home: Path, work: Path) -> None:
    secret = "sk-canary-0123456789abcdef"
    write_files(work, {"leak.env.txt": f"password = {secret}\n", "plain.txt": "password = none\n"})
    redactor = Redactor()
    redactor.learn(secret)
    for _ in range(2):
        async with open_search_tool(home, work, holds_secret=lambda text: redactor.redact(text) != text) as search:
            assert await search.hits("search_index", query="password") == ["plain.txt:1"]
            assert await search.hits("grep_search", query="password") == ["leak.env.txt:1", "plain.txt:1"]
        kept = b"".join(path.read_bytes() for path in (home / "cache" / "index").iterdir())
        assert b"canary" not in kept
        assert b"0123456789abcdef" not in kept


@pytest.mark.case("FIL-06")
async def test_a_narrowed_search_finds_what_a_whole_one_finds(search: SearchCalls, work: Path) -> None:
    write_files(work, PROJECT | {"odd.txt": "Straße ABC-kelvin \u212a x\n", "quote.txt": 'say "hello" now\n'})
    plain = {}
    queries: list[dict[str, object]] = [
        {"query": "purge"},
        {"query": "PURGE"},
        {"query": "tokenstore", "path": "src"},
        {"query": "expired|connection", "isRegexp": True},
        {"query": r"retry\w+\(", "isRegexp": True},
        {"query": "straße"},
        {"query": '"hello"'},
        {"query": "kelvin k", "caseSensitive": False},
        {"query": "pu", "caseSensitive": True},
        {"query": "purge", "includePattern": "*.ts"},
    ]
    for number, query in enumerate(queries):
        plain[number] = await search.hits("grep_search", **query)
    await search.does("search_index", query="x")
    for number, query in enumerate(queries):
        assert await search.hits("grep_search", **query) == plain[number], query
    assert plain[0]
    assert plain[7]


@pytest.mark.case("FIL-04")
async def test_the_last_search_is_given_again_even_after_a_restart(home: Path, work: Path) -> None:
    write_files(work, {f"{number}.txt": "needle\n" for number in range(60)})

    async def recall(_conversation: str) -> dict[str, object] | None:
        return {"operation": "grep_search", "query": "needle"}

    async def outside(_conversation: str) -> dict[str, object] | None:
        return {"operation": "grep_search", "query": "root", "path": "/etc"}

    async with open_search_tool(home, work) as search:
        assert (await search.fails("get_search_results")).startswith("NO_SEARCH: There was no search")
        await search.does("grep_search", query="needle")
        await search.does("read_file", filePath="1.txt")
        assert len(await search.hits("get_search_results", page=2)) == 10
    async with open_search_tool(home, work, recall) as search:
        assert len(await search.hits("get_search_results", page=2)) == 10
    async with open_search_tool(home, work, outside) as search:
        assert "search again" in await search.fails("get_search_results")


async def test_indexes_that_nobody_asks_for_are_closed(
    search: SearchCalls, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEXES_OPEN", 2)
    for name in ("one", "two", "three"):
        write_files(tmp_path, {f"{name}/a.txt": "needle\n"})
        search.folder = tmp_path / name
        assert await search.hits("search_index", query="needle") == ["a.txt:1"]
    assert search.indexes.peek(str(tmp_path / "one")) is None
    assert (await search.indexes.view(str(tmp_path / "one"))).state == "none"
    assert (await search.indexes.view(str(tmp_path / "three"))).state == "fresh"


async def test_indexes_that_nobody_used_for_a_month_are_deleted(home: Path, work: Path, tmp_path: Path) -> None:
    indexes = home / "cache" / "index"
    for name in ("old", "new"):
        write_files(tmp_path, {f"{name}/a.txt": "needle\n"})
        async with open_search_tool(home, tmp_path / name) as search:
            await search.does("search_index", query="needle")
        if name == "old":
            (lock,) = indexes.glob("*.lock")
            os.utime(lock, (1, 1))
    left = {path.name for path in indexes.iterdir()}
    assert lock.name not in left
    assert {Path(name).suffix for name in left} == {".lock", ".sqlite"}


async def test_an_index_whose_folder_is_gone_says_so(search: SearchCalls, work: Path) -> None:
    search.folder = work / "absent"
    assert "does not exist" in await search.fails("search_index", query="x")
