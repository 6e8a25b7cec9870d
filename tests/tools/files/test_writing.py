"""Creating, editing, renaming and deleting; every change with its diff."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.ports import ToolOutput
from tests.support.databases import PageLimit
from tests.support.files import FileCalls
from tests.support.records import OWNER


def _change(output: ToolOutput) -> dict[str, object]:
    (change,) = output.data["changes"]
    assert isinstance(change, dict)
    return change


@pytest.mark.case("FIL-10")
async def test_a_file_is_created_with_the_folders_it_needs(at_work: FileCalls, work: Path) -> None:
    access = await at_work.touched("create_file", filePath="src/new/a.txt", content="one\ntwo\n")
    assert access.effects == frozenset({"writes"})
    assert access.lane == "files"
    assert access.preview["changes"][0]["diff"] == "--- /dev/null\n+++ b/src/new/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert not (work / "src").exists()
    output = await at_work.does("create_file", filePath="src/new/a.txt", content="one\ntwo\n")
    assert output.text == "Created src/new/a.txt (+2 −0)."
    assert (work / "src" / "new" / "a.txt").read_text() == "one\ntwo\n"
    change = _change(output)
    assert (change["path"], change["kind"], change["added"], change["removed"]) == ("src/new/a.txt", "created", 2, 0)
    kept = await at_work.store.changes(OWNER, item_id=None, run_id=at_work.run_id)
    assert [each.change.path for each in kept] == [
        str(work / "src"),
        str(work / "src/new"),
        str(work / "src/new/a.txt"),
    ]
    assert change["changeId"] == kept[-1].change.id
    assert stat.S_IMODE((work / "src/new/a.txt").stat().st_mode) == 0o666 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.mark.case("FIL-10")
async def test_nothing_is_created_over_something_unasked(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("mine\n")
    assert (await at_work.fails("create_file", filePath="a.txt", content="x")).startswith("EXISTS: ")
    for folder in (".", "new/"):
        assert (await at_work.fails("create_file", filePath=folder, content="x")).startswith("NOT_A_FILE: ")
    assert (await at_work.fails("create_file", filePath="a.txt/b", content="x")).startswith("NOT_A_FOLDER: ")
    assert (work / "a.txt").read_text() == "mine\n"
    await at_work.does("create_file", filePath="a.txt", content="new\n", overwrite=True)
    assert (work / "a.txt").read_text() == "new\n"
    assert (await at_work.fails("create_file", filePath="a.txt", content="new\n", overwrite=True)).startswith("NO_CH")
    assert "`content` is missing" in await at_work.fails("create_file", filePath="b.txt")


@pytest.mark.case("FIL-11")
async def test_a_text_is_replaced_where_it_is_unique_or_everywhere_when_asked(at_work: FileCalls, work: Path) -> None:
    (work / "a.py").write_text("def one():\n    return 1\n\ndef two():\n    return 1\n")
    refused = await at_work.fails("replace_string", filePath="a.py", oldString="return 1", newString="return 2")
    assert refused.startswith("TEXT_NOT_UNIQUE: The text stands 2 times in a.py (lines 2, 5)")
    output = await at_work.does("replace_string", filePath="a.py", oldString="one():", newString="first():")
    assert output.text == "Edited a.py (+1 −1)."
    assert _change(output)["diff"] == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n-def one():\n+def first():\n     return 1\n \n def two():\n"
    )
    await at_work.does("replace_string", filePath="a.py", oldString="return 1", newString="return 2", replaceAll=True)
    assert (work / "a.py").read_text().count("return 2") == 2
    near = await at_work.fails("replace_string", filePath="a.py", oldString="def first() :", newString="")
    assert near == "TEXT_NOT_FOUND: The text is not in a.py; the nearest is line 1: 'def first():'."
    spaces = await at_work.fails("replace_string", filePath="a.py", oldString="def two():\n  return 2", newString="")
    assert "its first line is line 4" in spaces
    assert "copy the text exactly" in await at_work.fails(
        "replace_string", filePath="a.py", oldString="entirely different", newString=""
    )


@pytest.mark.case("FIL-11", "FS-07")
async def test_line_ends_encoding_and_mode_stay_as_they_were(at_work: FileCalls, work: Path) -> None:
    windows, old, wide = work / "w.txt", work / "old.txt", work / "wide.txt"
    windows.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    windows.chmod(0o754)
    await at_work.does("replace_string", filePath="w.txt", oldString="one\ntwo", newString="1\n2\n3")
    assert windows.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"
    assert stat.S_IMODE(windows.stat().st_mode) == 0o754
    old.write_bytes("Größe: 1\n".encode("latin-1"))
    await at_work.does("replace_string", filePath="old.txt", oldString="1", newString="2")
    assert old.read_bytes() == "Größe: 2\n".encode("latin-1")
    assert "cannot be written in its encoding" in await at_work.fails(
        "replace_string", filePath="old.txt", oldString="2", newString="→"
    )
    wide.write_bytes("\ufeffhello\n".encode("utf-16-be"))
    await at_work.does("replace_string", filePath="wide.txt", oldString="hello", newString="ciao")
    assert wide.read_bytes() == "\ufeffciao\n".encode("utf-16-be")
    (work / "bin").write_bytes(b"a\0b")
    assert (await at_work.fails("replace_string", filePath="bin", oldString="a", newString="b")).startswith("BINARY: ")


@pytest.mark.case("FIL-12")
async def test_several_replacements_are_made_together_or_not_at_all(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("one two\n")
    (work / "b.txt").write_text("three\n")
    edits = [
        {"filePath": "a.txt", "oldString": "one", "newString": "1"},
        {"filePath": "b.txt", "oldString": "three", "newString": "3"},
        {"filePath": "a.txt", "oldString": "1 two", "newString": "1 2"},
    ]
    wrong = [*edits, {"filePath": "b.txt", "oldString": "four", "newString": "4"}]
    assert (await at_work.fails("multi_replace_string", replacements=wrong)).startswith(
        "TEXT_NOT_FOUND: Replacement 4 of 4: "
    )
    assert (work / "a.txt").read_text() == "one two\n"
    access = await at_work.touched("multi_replace_string", replacements=edits)
    assert [use.path for use in access.paths] == [str(work / "a.txt"), str(work / "b.txt")]
    output = await at_work.does("multi_replace_string", replacements=edits)
    assert output.text == "Edited a.txt, b.txt (+2 −2)."
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == ("1 2\n", "3\n")


@pytest.mark.case("FIL-13")
@pytest.mark.parametrize(
    ("before", "arguments", "after"),
    [
        ("a\nb\n", {"startLine": 1, "content": "x"}, "x\na\nb\n"),
        ("a\nb\n", {"startLine": 2, "content": "x\ny\n"}, "a\nx\ny\nb\n"),
        ("a\nb\n", {"startLine": 3, "content": "x"}, "a\nb\nx\n"),
        ("a\nb", {"startLine": 3, "content": "x"}, "a\nb\nx\n"),
        ("", {"startLine": 1, "content": "x"}, "x\n"),
        ("a\nb\nc\n", {"startLine": 2, "endLine": 2, "content": "x"}, "a\nx\nc\n"),
        ("a\nb\nc\n", {"startLine": 1, "endLine": 3, "content": ""}, ""),
        ("a\nb", {"startLine": 2, "endLine": 2, "content": "x"}, "a\nx"),
        ("a\r\nb\r\n", {"startLine": 2, "content": "x\ny"}, "a\r\nx\r\ny\r\nb\r\n"),
    ],
)
async def test_lines_are_inserted_or_replaced(
    at_work: FileCalls, work: Path, before: str, arguments: dict[str, object], after: str
) -> None:
    (work / "a.txt").write_bytes(before.encode())
    await at_work.does("insert_edit", filePath="a.txt", **arguments)
    assert (work / "a.txt").read_bytes().decode() == after


@pytest.mark.case("FIL-13")
async def test_lines_that_do_not_exist_are_not_edited(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a\nb\n")
    assert "from 1 to 3, not 9" in await at_work.fails("insert_edit", filePath="a.txt", startLine=9, content="x")
    assert "lines 2 to 5 cannot be replaced" in await at_work.fails(
        "insert_edit", filePath="a.txt", startLine=2, endLine=5, content="x"
    )
    assert "`startLine` and `content` are needed" in await at_work.fails("insert_edit", filePath="a.txt", content="x")


def _files(work: Path) -> list[str]:
    return sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())


@pytest.mark.case("FIL-14")
async def test_files_and_folders_are_renamed_and_moved_but_never_over_something(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a")
    (work / "b.txt").write_text("b")
    (work / "dir").mkdir()
    (work / "dir" / "c.txt").write_text("c")
    assert (await at_work.fails("rename_file", filePath="a.txt", newPath="b.txt")).startswith("EXISTS: ")
    assert (await at_work.fails("rename_file", filePath="a.txt", newPath="dir")).startswith("EXISTS: ")
    assert "lies in it" in await at_work.fails("rename_file", filePath="dir", newPath="dir/inner")
    assert "working directory itself" in await at_work.fails("rename_file", filePath=".", newPath="x")
    access = await at_work.touched("rename_file", filePath="a.txt", newPath="deep/er/z.txt")
    assert [use.path for use in access.paths] == [str(work / "a.txt"), str(work / "deep/er/z.txt")]
    output = await at_work.does("rename_file", filePath="a.txt", newPath="deep/er/z.txt")
    assert output.text == "Renamed a.txt to deep/er/z.txt."
    assert (_change(output)["kind"], _change(output)["from"]) == ("renamed", "a.txt")
    await at_work.does("rename_file", filePath="b.txt", newPath="dir/")
    await at_work.does("rename_file", filePath="dir", newPath="folder")
    assert _files(work) == ["deep/er/z.txt", "folder/b.txt", "folder/c.txt"]


@pytest.mark.case("FIL-15")
async def test_files_are_deleted_and_folders_only_when_empty_or_asked_for(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a\n")
    (work / "empty").mkdir()
    (work / "full" / "in").mkdir(parents=True)
    (work / "full" / "in" / "b.txt").write_text("b\n")
    elsewhere = work.parent / "elsewhere"
    elsewhere.write_text("mine")
    (work / "full" / "link").symlink_to(elsewhere)
    output = await at_work.does("delete_file", filePath="a.txt")
    assert (output.text, _change(output)["kind"], _change(output)["removed"]) == ("Deleted a.txt.", "deleted", 1)
    assert (await at_work.does("delete_file", filePath="empty")).text == "Deleted empty/."
    assert "with 3 files and folders in it; pass recursive" in await at_work.fails("delete_file", filePath="full")
    gone = await at_work.does("delete_file", filePath="full", recursive=True)
    assert gone.text == "Deleted full with 3 files and folders in it."
    assert os.listdir(work) == []
    assert elsewhere.read_text() == "mine"
    assert (await at_work.fails("delete_file", filePath="a.txt")).startswith("NOT_FOUND: ")
    assert "working directory itself" in await at_work.fails("delete_file", filePath=".", recursive=True)


@pytest.mark.case("FS-07")
async def test_an_edit_of_something_that_was_changed_since_it_was_read_is_a_conflict(
    at_work: FileCalls, work: Path
) -> None:
    file = work / "a.txt"
    file.write_text("one\n")
    await at_work.does("read_file", filePath="a.txt")
    file.write_text("one\nmore\n")
    for operation, arguments in (
        ("replace_string", {"oldString": "one", "newString": "1"}),
        ("insert_edit", {"startLine": 1, "content": "x"}),
        ("create_file", {"content": "x", "overwrite": True}),
        ("delete_file", {}),
    ):
        refused = await at_work.fails(operation, filePath="a.txt", **arguments)
        assert refused.startswith("CONFLICT: a.txt was changed by someone else since you read it")
    assert file.read_text() == "one\nmore\n"
    await at_work.does("read_file", filePath="a.txt")
    await at_work.does("replace_string", filePath="a.txt", oldString="one", newString="1")
    # What the conversation wrote itself is no surprise to it.
    await at_work.does("replace_string", filePath="a.txt", oldString="more", newString="2")
    assert file.read_text() == "1\n2\n"


@pytest.mark.case("FIL-18")
async def test_names_that_are_no_text_are_not_taken_along(at_work: FileCalls, work: Path) -> None:
    (work / "dir").mkdir()
    (work / "dir" / os.fsdecode(b"bad\xff")).write_text("x")
    for operation, arguments in (("delete_file", {"recursive": True}), ("rename_file", {"newPath": "other"})):
        assert "name is no text" in await at_work.fails(operation, filePath="dir", **arguments)
    (work / "link").symlink_to(os.fsdecode(b"nowhere\xff"))
    await at_work.does("delete_file", filePath="link")
    report = await at_work.undo()
    assert report.conflicts == ()
    assert os.readlink(os.fsencode(work / "link")) == b"nowhere\xff"


@pytest.mark.case("FIL-18")
async def test_what_could_not_be_brought_back_is_not_deleted(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "dir" / "in").mkdir(parents=True)
    (work / "dir" / "a.bin").write_bytes(b"x" * 2_000)
    monkeypatch.setattr(limits, "TREE_BYTES", 1_000)
    assert "more than could be brought back" in await at_work.fails("delete_file", filePath="dir", recursive=True)
    monkeypatch.setattr(limits, "FILE_EDIT_BYTES", 1_000)
    assert "TOO_LARGE" in await at_work.fails("delete_file", filePath="dir/a.bin")
    monkeypatch.setattr(limits, "TREE_ENTRIES", 1)
    assert "TOO_LARGE" in await at_work.fails("delete_file", filePath="dir", recursive=True)
    assert sorted(os.listdir(work / "dir")) == ["a.bin", "in"]


@pytest.mark.case("F-42")
async def test_nothing_is_changed_when_what_was_there_cannot_be_kept(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = PageLimit(monkeypatch)
    pages.fill()
    arguments = {"filePath": "a.txt", "oldString": "one", "newString": "x" * 1_000_000}
    (work / "a.txt").write_text("one\n" + "y" * 1_000_000)
    refused = await at_work.fails("replace_string", **arguments)
    assert refused.startswith("DISK_FULL: Nothing was changed: The disk is full")
    assert (work / "a.txt").read_text().startswith("one\n")
    pages.free()
    await at_work.does("replace_string", **arguments)


async def test_what_would_fail_is_said_before_anyone_is_asked(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("one\n")
    assert isinstance(
        await at_work.access("replace_string", filePath="a.txt", oldString="x", newString="y"), ToolOutput
    )
    outside = work.parent / "outside.txt"
    # Of what was not allowed yet nothing is told, not even whether it exists.
    for path in (outside, work.parent / "nothing.txt"):
        access = await at_work.touched("replace_string", filePath=str(path), oldString="x", newString="y")
        assert access.preview == {}
        assert not access.paths[0].inside
        outside.write_text("secret")
