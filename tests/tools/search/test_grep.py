"""Text in files."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.search import grep
from pilothouse.tools.search.patterns import regex_pattern, required_literals
from pilothouse.types import limits
from tests.support.search_tool import SearchCalls, write_files

FILES = {
    "a.py": "import os\n\ndef main():\n    print('Hello')\n    return MAIN\n",
    "b/c.ts": "export const main = 1;\nconst other = 'main main';\n",
    "b/notes.md": "Main points\n",
}


@pytest.mark.case("FIL-06")
async def test_lines_are_found_by_text_and_by_regular_expression(search: SearchCalls, work: Path) -> None:
    write_files(work, FILES)
    text = (await search.does("grep_search", query="main")).text
    assert text == (
        "5 matches in 3 files for `main`:\n"
        "a.py\n  3: def main():\n  5:     return MAIN\n"
        "b/c.ts\n  1: export const main = 1;\n  2: const other = 'main main';\n"
        "b/notes.md\n  1: Main points"
    )
    assert await search.hits("grep_search", query="MAIN", caseSensitive=True) == ["a.py:5"]
    assert await search.hits("grep_search", query=r"^(def|export) \w+", isRegexp=True) == ["a.py:3", "b/c.ts:1"]
    assert await search.hits("grep_search", query="main$", isRegexp=True) == ["a.py:5"]
    assert await search.hits("grep_search", query="main", includePattern="*.ts") == ["b/c.ts:1", "b/c.ts:2"]
    assert await search.hits("grep_search", query="main", path="b") == ["b/c.ts:1", "b/c.ts:2", "b/notes.md:1"]
    assert (await search.does("grep_search", query="(nothing")).text == "No match for `(nothing`."
    assert await search.hits("grep_search", query="print('Hello')") == ["a.py:4"]


@pytest.mark.case("FIL-06", "TOOL-07")
@pytest.mark.parametrize(
    ("pattern", "place", "why"),
    [
        ("a(b", 2, "opened and not closed"),
        ("ab)c", 3, "closed that was not opened"),
        ("x[abc", 2, "bracket is opened"),
        ("(?<=a)b", 1, "look-around"),
        (r"(a)\1", 4, "back-references"),
        ("a**", 2, "two repetitions"),
        ("*a", 1, "nothing to repeat"),
        ("b[z-a]", 3, "no range"),
        ("a{5000}", 2, "too large"),
        ("a\\", 2, "backslash"),
    ],
)
async def test_an_expression_that_does_not_compile_is_told_with_its_place(
    search: SearchCalls, pattern: str, place: int, why: str
) -> None:
    said = await search.fails("grep_search", query=pattern, isRegexp=True)
    assert said.startswith(f"BAD_PATTERN: The regular expression cannot be used: at character {place}, ")
    assert why in said


@pytest.mark.case("FIL-06", "TOOL-07", "FS-10")
async def test_an_expression_that_never_ends_elsewhere_ends_here(search: SearchCalls, work: Path) -> None:
    write_files(work, {"evil.txt": "a" * 500_000 + "!\n"})
    began = time.process_time()
    for pattern in (r"(a+)+$", r"(a|a)*b$", r"(.*)(.*)(.*)(.*)x", r"^(\w+\s?)*$"):
        assert await search.hits("grep_search", query=pattern, isRegexp=True) == []
    assert time.process_time() - began < 10


@pytest.mark.case("FIL-06")
async def test_lines_end_where_they_end(search: SearchCalls, work: Path) -> None:
    write_files(work, {"a.txt": "one two\nthree\r\nfour"})
    assert "line by line" in await search.fails("grep_search", query=r"two\nthree", isRegexp=True)
    assert "spans lines" in await search.fails("grep_search", query="two\nthree")
    assert await search.hits("grep_search", query=r"two\s+three", isRegexp=True) == []
    assert await search.hits("grep_search", query=r"\bfour$", isRegexp=True) == ["a.txt:3"]
    assert (await search.does("grep_search", query="three")).text.endswith("  2: three")


@pytest.mark.case("FS-10")
async def test_binary_and_huge_files_are_passed_over_and_long_lines_are_cut(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {"binary.bin": b"needle\0needle\n", "latin.txt": "Größe needle\n".encode("latin-1")})
    write_files(work, {"long.js": "x" * 900_000 + " needle " + "y" * 900_000, "empty.txt": ""})
    with (work / "huge.log").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(limits.SEARCH_FILE_BYTES + 1)
    with (work / "disk.img").open("wb") as file:
        file.truncate(4 * 1024**3)
    os.mkfifo(work / "pipe.txt")
    found = await search.does("grep_search", query="needle")
    hits = {hit["path"]: hit["text"] for hit in found.data["search"]["hits"]}
    assert set(hits) == {"latin.txt", "long.js"}
    assert hits["latin.txt"] == "Gr\ufffd\ufffde needle"
    assert " needle " in hits["long.js"]
    assert len(hits["long.js"]) < limits.SEARCH_LINE_CHARS + 5
    assert "Not searched, because over 16 MB: disk.img, huge.log." in found.text
    monkeypatch.setattr(limits, "SEARCH_TIME", -1.0)
    assert "Stopped after" in (await search.does("grep_search", query="needle")).text


@pytest.mark.case("FIL-06", "FIL-04")
async def test_many_matches_are_kept_up_to_a_bound_and_paged(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {"many.txt": "hit\n" * 5_000})
    first = await search.does("grep_search", query="hit")
    assert first.text.startswith("More than 2,000 matches in 1 file for `hit` (page 1 of 40):")
    assert "There are more; make the query or the folder narrower." in first.text
    last = await search.does("get_search_results", page=40)
    assert last.data["search"]["hits"][-1]["line"] == 2_000
    assert len(first.text) < limits.RESULT_CHARS


async def test_a_search_that_is_cancelled_ends_at_once(
    search: SearchCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, {f"d{number}/f.txt": "needle\n" for number in range(50)})
    entered, seen = asyncio.Event(), []
    loop = asyncio.get_running_loop()
    plain: Any = grep._Scan.folder

    def slow(scan: Any, descriptor: int, prefix: str, names: Any) -> bool:
        seen.append(prefix)
        loop.call_soon_threadsafe(entered.set)
        scan._grep.wanted.stop.wait(5)
        return bool(plain(scan, descriptor, prefix, names))

    monkeypatch.setattr(grep._Scan, "folder", slow)
    task = asyncio.create_task(search.call("grep_search", query="needle"))
    await asyncio.wait_for(entered.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert len(seen) == 1


@pytest.mark.case("FS-04", "FS-09")
async def test_protected_files_are_never_shown_under_whatever_name(search: SearchCalls, work: Path, home: Path) -> None:
    write_files(home, {"secrets/token": "needle in a secret\n"})
    write_files(work, {"plain.txt": "needle\n", "nested/.pilothouse/x": ""})
    os.link(home / "secrets" / "token", work / "harmless.txt")
    for _ in range(2):
        found = await search.does("grep_search", query="needle")
        assert [hit["path"] for hit in found.data["search"]["hits"]] == ["plain.txt"]
        assert "in a secret" not in found.text
        assert await search.hits("search_index", query="needle") == ["plain.txt:1"]
        assert await search.hits("semantic_search", query="needle secret") == ["plain.txt:1"]


@pytest.mark.case("FS-10")
async def test_names_that_are_no_text_are_searched_and_shown_as_well_as_they_can_be(
    search: SearchCalls, work: Path
) -> None:
    (work / os.fsdecode(b"odd\xff.txt")).write_text("needle\n")
    assert await search.hits("grep_search", query="needle") == ["odd\ufffd.txt:1"]
    assert await search.hits("file_search", query="*.txt") == ["odd\ufffd.txt"]
    assert await search.hits("search_index", query="needle") == []
    assert await search.hits("grep_search", query="needle") == ["odd\ufffd.txt:1"]


@given(pattern=st.text(alphabet="abcd.*+?()[]|\\^${},1xQEpLd-:", max_size=14), text=st.text("abcd1x", max_size=30))
@settings(max_examples=1_000)
@pytest.mark.slow
def test_what_narrows_a_search_is_in_every_match(pattern: str, text: str) -> None:
    try:
        compiled = regex_pattern(pattern, case_sensitive=True)
    except BadArgument:
        return
    buffer = bytearray(text.encode())
    span = compiled.find(buffer, 0, len(buffer))
    if span is not None:
        for literal in required_literals(pattern):
            assert literal in text
