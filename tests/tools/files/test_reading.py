"""Reading files and folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pilothouse.types import limits
from tests.support.files import FileCalls


@pytest.mark.case("FIL-01", "FIL-17")
async def test_a_file_is_read_whole_or_in_part(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    assert (await at_work.does("read_file", filePath="a.txt")).text == "one\ntwo\nthree"
    part = await at_work.does("read_file", filePath="a.txt", startLine=2, endLine=2, lineNumbers=True)
    assert part.text == "[Lines 2 to 2 of 3.]\n2: two"
    assert (await at_work.does("read_file", filePath="a.txt", startLine=3)).text.endswith("\nthree")
    assert "there is no line 9" in await at_work.fails("read_file", filePath="a.txt", startLine=9)
    assert "counts from 1" in await at_work.fails("read_file", filePath="a.txt", startLine=3, endLine=2)
    assert (await at_work.fails("read_file", filePath="b.txt")).startswith("NOT_FOUND: ")
    access = await at_work.touched("read_file", filePath="a.txt")
    assert access.effects == frozenset({"reads"})
    assert access.brings == frozenset({"private"})
    assert (access.lane, access.source) == ("", "files")
    assert access.paths[0].path == str(work / "a.txt")
    assert access.paths[0].inside


@pytest.mark.case("FS-10")
async def test_long_files_and_long_lines_are_read_in_part_with_a_note(at_work: FileCalls, work: Path) -> None:
    (work / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 10_001)))
    first = (await at_work.does("read_file", filePath="long.txt")).text
    note = first.splitlines()[0]
    assert note == f"[Lines 1 to {limits.FILE_READ_LINES} of 10000; read on with startLine=2001.]"
    assert len(first) < limits.RESULT_CHARS
    (work / "wide.txt").write_text("x" * 100_000)
    wide = (await at_work.does("read_file", filePath="wide.txt")).text
    assert wide.startswith("[1 long line is cut.]")
    assert wide.endswith("[98000 more characters]")


@pytest.mark.case("FS-10")
@pytest.mark.slow
async def test_a_file_of_four_gigabytes_is_read_only_as_far_as_needed(at_work: FileCalls, work: Path) -> None:
    with (work / "huge.log").open("wb") as file:
        file.write(b"first\nsecond\n" + b"more\n" * 5_000_000)
        file.truncate(4 * 1024**3)
    text = (await at_work.does("read_file", filePath="huge.log", endLine=2)).text
    assert text.splitlines()[1:] == ["first", "second"]
    assert "4.0 GB" in text
    later = (await at_work.does("read_file", filePath="huge.log", startLine=4_000_000, endLine=4_000_000)).text
    assert later.splitlines()[1:] == ["more"]
    assert "search in it instead" in await at_work.fails("read_file", filePath="huge.log", startLine=6_000_000)
    assert "16.0 MB can be changed" in await at_work.fails(
        "replace_string", filePath="huge.log", oldString="first", newString="1"
    )


@pytest.mark.case("FS-10")
async def test_binary_files_and_unknown_encodings_are_told_apart(at_work: FileCalls, work: Path) -> None:
    (work / "program").write_bytes(b"\x7fELF\2\1\1" + bytes(9))
    assert await at_work.fails("read_file", filePath="program") == (
        "BINARY: program is a binary file (16 bytes); it is not text."
    )
    (work / "old.txt").write_bytes("Größe\n".encode("latin-1"))
    shown = (await at_work.does("read_file", filePath="old.txt")).text
    assert shown.endswith("Größe")
    assert "not in UTF-8" in shown
    (work / "wide.txt").write_bytes("\ufeffhello\r\n".encode("utf-16-le"))
    assert (await at_work.does("read_file", filePath="wide.txt")).text == "hello"
    (work / "empty.txt").write_bytes(b"")
    assert (await at_work.does("read_file", filePath="empty.txt")).text == "(The file is empty.)"


async def test_an_image_is_given_to_be_looked_at_and_a_text_that_begins_like_one_to_be_read(
    at_work: FileCalls, work: Path
) -> None:
    pixels = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    (work / "picture.png").write_bytes(pixels)
    shown = await at_work.does("read_file", filePath="picture.png")
    assert shown.text == "[image: image/png, 16 bytes, picture.png]"
    assert [(part.kind, part.media_type, part.data) for part in shown.parts] == [("image", "image/png", pixels)]
    (work / "about.txt").write_bytes(b"GIF89a is a format.\n")
    assert (await at_work.does("read_file", filePath="about.txt")).text == "GIF89a is a format."


@pytest.mark.case("FIL-02")
async def test_a_folder_is_listed_with_kinds_and_sizes(at_work: FileCalls, work: Path) -> None:
    (work / "src").mkdir()
    (work / "b.txt").write_text("12345")
    (work / "a").symlink_to("/etc")
    os.mkfifo(work / "pipe")
    (work / os.fsdecode(b"bad\xff")).write_text("")
    listed = (await at_work.does("list_dir")).text.splitlines()
    assert listed == ["src/", "a (a link)", "b.txt (5 bytes)", "bad\ufffd (0 bytes)", "pipe (not a regular file)"]
    assert (await at_work.does("list_dir", path="src")).text == "(The folder is empty.)"
    assert (await at_work.fails("list_dir", path="b.txt")).startswith("NOT_A_FOLDER: ")
    assert (await at_work.fails("list_dir", path="a")).startswith("LINK: ")


@pytest.mark.case("FS-10")
async def test_a_folder_with_very_many_entries_is_listed_up_to_a_bound(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLDER_SHOWN", 10)
    monkeypatch.setattr(limits, "FOLDER_SCANNED", 20)
    for number in range(30):
        (work / f"{number:02}").write_text("")
    listed = (await at_work.does("list_dir")).text.splitlines()
    assert len(listed) == 11
    assert listed[-1] == "… and at least 10 more; use file_search."


@pytest.mark.case("TCL-25", "TCL-26")
def test_calls_are_told_in_words_and_with_a_picture(at_work: FileCalls) -> None:
    shown = at_work.tool.shown({"operation": "create_file", "filePath": "src/New.swift", "content": "a\nb\n"})
    assert shown.summary == "Creating file: New.swift"
    assert shown.details == ("File: src/New.swift", "Size: 2 lines")
    assert (shown.action, shown.action_display_name, shown.icon) == ("create_file", "Creating file", "file")
    assert at_work.tool.shown({"operation": "read_file", "filePath": "a.txt"}).summary == "Reading file: a.txt"
    assert at_work.tool.shown({"operation": "delete_file", "filePath": "a.txt"}).summary == "Deleting file: a.txt"
    patch = "--- a/x/one.txt\n+++ b/x/one.txt\n@@ -1 +1 @@\n-a\n+b\n"
    assert at_work.tool.shown({"operation": "apply_patch", "patch": patch}).summary == "Applying patch: one.txt"


@pytest.mark.case("FIL-19", "TMO-02")
def test_reads_have_half_a_minute_and_writes_five(at_work: FileCalls) -> None:
    assert at_work.tool.times_for({"operation": "read_file"}).total == 30.0
    assert at_work.tool.times_for({"operation": "create_file"}).total == 300.0
