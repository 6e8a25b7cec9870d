"""Files by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.types import limits
from tests.support.files import deep_tree
from tests.support.search_tool import SearchCalls, write_files

TREE = {
    "README.md": "",
    "src/app.py": "",
    "src/app_test.py": "",
    "src/page/App.tsx": "",
    "src/page/util.ts": "",
    "docs/a/b/deep.md": "",
    ".github/workflows/ci.yml": "",
    "build/out.py": "",
    "src/page/dist/app.js": "",
    "keep/build/kept.py": "",
    ".gitignore": "/build/\n*.log\n!important.log\n",
    "src/page/.gitignore": "dist\n",
    ".ignore": "docs/a\n",
    "noise.log": "",
    "important.log": "",
    ".git/config": "",
    ".git/info/exclude": "secret-notes.txt\n",
    "secret-notes.txt": "",
}


@pytest.mark.case("FIL-05")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("**/*.py", ["keep/build/kept.py", "src/app.py", "src/app_test.py"]),
        ("*.md", ["README.md"]),
        ("src/*.py", ["src/app.py", "src/app_test.py"]),
        ("src/**/*.{ts,tsx}", ["src/page/App.tsx", "src/page/util.ts"]),
        ("src/**", ["src/app.py", "src/app_test.py", "src/page/App.tsx", "src/page/util.ts"]),
        ("src/page/", ["src/page/App.tsx", "src/page/util.ts"]),
        ("app", ["src/app.py", "src/app_test.py", "src/page/App.tsx"]),
        ("[aR]*.{md,py}", ["README.md", "src/app.py", "src/app_test.py"]),
        ("[!a-z]*", ["README.md", "src/page/App.tsx"]),
        ("app?test.py", ["src/app_test.py"]),
        ("*.log", ["important.log"]),
        ("*.zip", []),
        ("./src/app.py", ["src/app.py"]),
    ],
)
async def test_files_are_found_by_patterns_without_what_is_ignored(
    search: SearchCalls, work: Path, query: str, found: list[str]
) -> None:
    write_files(work, TREE)
    assert await search.hits("file_search", query=query) == found


@pytest.mark.case("FIL-05")
async def test_hidden_and_ignored_files_are_found_when_they_are_wanted(search: SearchCalls, work: Path) -> None:
    write_files(work, TREE)
    every = await search.hits("file_search", query="**", includeIgnored=True)
    assert {".github/workflows/ci.yml", "build/out.py", "noise.log", "docs/a/b/deep.md"} <= set(every)
    assert not [path for path in every if path.startswith(".git/")]
    below = await search.hits("file_search", query="*.py", path="keep")
    assert below == ["keep/build/kept.py"]


@pytest.mark.case("FIL-05")
async def test_a_pattern_that_cannot_be_used_is_told_in_one_sentence(search: SearchCalls, work: Path) -> None:
    assert "opens a brace" in await search.fails("file_search", query="*.{ts,tsx")
    assert "is missing" in await search.fails("file_search", query="")
    assert "cannot be used" in await search.fails("file_search", query="[z-a]*")
    assert (await search.fails("file_search", query="*", path="absent")).startswith("NOT_FOUND: ")
    write_files(work, {"a[1].txt": ""})
    assert await search.hits("file_search", query="a\\[1\\].*") == ["a[1].txt"]
    many = "*a" * 500 + "*"
    write_files(work, {"a" * 200: ""})
    assert await search.hits("file_search", query=many) == []


@pytest.mark.case("FS-03")
async def test_links_are_neither_found_nor_followed(search: SearchCalls, work: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"outside/secret.py": "key = 1\n"})
    write_files(work, {"inside.py": "key = 2\n"})
    (work / "folder").symlink_to(tmp_path / "outside")
    (work / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (work / "loop").symlink_to(work)
    assert await search.hits("file_search", query="*.py") == ["inside.py"]
    assert await search.hits("grep_search", query="key") == ["inside.py:1"]
    assert (await search.fails("grep_search", query="key", path="folder")).startswith("LINK: ")
    # The honest twin: a link to a folder inside can be named as the place to search.
    write_files(work, {"packages/lib/own.py": "key = 3\n"})
    (work / "lib").symlink_to("packages/lib")
    assert await search.hits("grep_search", query="key", path="lib") == ["packages/lib/own.py:1"]
    assert await search.hits("grep_search", query="key") == ["inside.py:1", "packages/lib/own.py:1"]


@pytest.mark.case("FS-10")
@pytest.mark.slow
async def test_a_tree_of_ten_thousand_levels_and_a_folder_without_end_are_searched_up_to_a_bound(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {"top.txt": "needle\n"})
    with deep_tree(work, 10_000):
        deep = await search.does("file_search", query="*.txt")
        assert deep.text.splitlines()[1:] == ["top.txt", "Folders more than 100 levels down were not entered."]
        assert await search.hits("grep_search", query="needle") == ["top.txt:1"]
        assert await search.hits("search_index", query="needle") == ["top.txt:1"]

    write_files(work, {f"many/{number}.txt": "" for number in range(100)})
    monkeypatch.setattr(limits, "SEARCH_ENTRIES", 50)
    bounded = await search.does("file_search", query="many/*")
    assert "Only the first 50 entries were looked at" in bounded.text
    assert 0 < len(bounded.data["search"]["hits"]) < 50


async def test_pages_of_many_files_are_given_one_by_one(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {f"f{number:03}.txt": "" for number in range(120)})
    first = await search.does("file_search", query="*.txt")
    assert first.text.startswith("120 files for `*.txt` (page 1 of 3):\nf000.txt\n")
    assert first.text.endswith("For more: get_search_results with page 2.")
    assert (await search.hits("get_search_results", page=3))[-1] == "f119.txt"
    assert "There is no page 4" in await search.fails("get_search_results", page=4)
    monkeypatch.setattr(limits, "SEARCH_KEPT", 100)
    capped = await search.does("file_search", query="*.txt")
    assert capped.text.startswith("More than 100 files")


async def test_what_a_search_touches_and_how_it_is_shown(search: SearchCalls, work: Path) -> None:
    access = await search.touched("file_search", query="*.py")
    assert (access.operation, set(access.effects)) == ("file_operations.file_search", {"reads"})
    assert (set(access.brings), access.source, access.lane) == ({"private"}, "files", "")
    assert [(use.path, use.inside) for use in access.paths] == [(str(work), True)]
    outside = await search.touched("grep_search", query="x", path="/etc")
    assert [(use.path, use.inside) for use in outside.paths] == [("/etc", False)]
    shown = search.tool.shown({"operation": "grep_search", "query": "def main", "path": "src"})
    assert (shown.action_display_name, shown.summary) == ("Searching text", "Searching text: def main")
    assert (shown.details, shown.icon) == (("Folder: src",), "search")
