"""Undoing: what nobody touched goes back, what someone touched is shown and left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.support.files import FileCalls
from tests.support.records import OWNER


def _tree(folder: Path) -> dict[str, tuple[int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[path.relative_to(folder).as_posix()] = (mode, content)
    return found


async def test_everything_a_run_did_is_undone_newest_first(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("one\n")
    (work / "a.txt").chmod(0o640)
    (work / "script").write_text("#!/bin/sh\n")
    (work / "script").chmod(0o755)
    (work / "dir" / "in").mkdir(parents=True)
    (work / "dir" / "in").chmod(0o700)
    (work / "dir" / "b.txt").write_text("b\n")
    (work / "dir" / "link").symlink_to("b.txt")
    before = _tree(work)
    await at_work.does("replace_string", filePath="a.txt", oldString="one", newString="1")
    await at_work.does("insert_edit", filePath="a.txt", startLine=1, content="zero")
    await at_work.does("rename_file", filePath="a.txt", newPath="deep/er/c.txt")
    await at_work.does("replace_string", filePath="deep/er/c.txt", oldString="zero", newString="0")
    await at_work.does("delete_file", filePath="script")
    await at_work.does("create_file", filePath="new/file.txt", content="new\n")
    await at_work.does("rename_file", filePath="dir", newPath="moved")
    await at_work.does("delete_file", filePath="moved", recursive=True)
    report = await at_work.undo()
    assert report.conflicts == ()
    assert str(work / "new/file.txt") in report.undone
    assert _tree(work) == before
    assert await at_work.store.changes(OWNER, run_id=at_work.run_id) == []
    assert (await at_work.undo()).undone == ()


async def test_one_call_is_undone_by_itself(at_work: FileCalls, work: Path) -> None:
    await at_work.does("create_file", filePath="a.txt", content="a\n")
    await at_work.does("create_file", filePath="b.txt", content="b\n")
    report = await at_work.undo(at_work.calls[0])
    assert report.undone == (str(work / "a.txt"),)
    assert os.listdir(work) == ["b.txt"]


async def test_what_someone_changed_since_is_shown_and_left_alone(at_work: FileCalls, work: Path) -> None:
    for name in ("edited", "recreated", "created"):
        (work / name).write_text(f"{name}\n")
    (work / "created").unlink()
    await at_work.does("replace_string", filePath="edited", oldString="edited", newString="by the run")
    await at_work.does("replace_string", filePath="edited", oldString="by the run", newString="again by the run")
    await at_work.does("delete_file", filePath="recreated")
    await at_work.does("create_file", filePath="created", content="by the run\n")
    await at_work.does("create_file", filePath="mine", content="fine\n")
    (work / "edited").write_text("by the person\n")
    (work / "recreated").write_text("by the person\n")
    (work / "created").unlink()
    report = await at_work.undo()
    assert sorted(report.undone) == [str(work / "created"), str(work / "mine")]
    assert [(Path(each.path).name, each.why.rpartition(" ")[2]) for each in report.conflicts] == [
        ("recreated", "since."),
        ("edited", "since."),
    ]
    edited = report.conflicts[1].diff
    assert "-by the run\n+by the person\n" in edited
    assert (work / "edited").read_text() == "by the person\n"
    assert (work / "recreated").read_text() == "by the person\n"


async def test_a_renamed_file_that_was_edited_stays_where_it_is(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a\n")
    await at_work.does("replace_string", filePath="a.txt", oldString="a", newString="b")
    await at_work.does("rename_file", filePath="a.txt", newPath="b.txt")
    (work / "b.txt").write_text("the person's\n")
    report = await at_work.undo()
    assert (report.undone, len(report.conflicts)) == ((), 1)
    assert _tree(work)["b.txt"][1] == "the person's\n"


async def test_a_rename_is_not_undone_over_something_new(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("a\n")
    await at_work.does("rename_file", filePath="a.txt", newPath="b.txt")
    (work / "a.txt").write_text("another\n")
    report = await at_work.undo()
    assert "something else at" in report.conflicts[0].why
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == ("another\n", "a\n")


async def test_a_folder_that_a_run_made_stays_while_something_is_in_it(at_work: FileCalls, work: Path) -> None:
    await at_work.does("create_file", filePath="dir/a.txt", content="a\n")
    (work / "dir" / "mine.txt").write_text("mine\n")
    report = await at_work.undo()
    assert report.undone == (str(work / "dir/a.txt"),)
    assert report.conflicts[0].why.endswith("is not empty any more.")
    assert os.listdir(work / "dir") == ["mine.txt"]


async def test_undoing_follows_no_link_that_was_put_in_the_way(at_work: FileCalls, work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (work / "dir").mkdir()
    (work / "dir" / "a.txt").write_text("old\n")
    await at_work.does("replace_string", filePath="dir/a.txt", oldString="old", newString="new")
    (work / "dir").rename(work / "was")
    (work / "dir").symlink_to(outside)
    (outside / "a.txt").write_text("new\n")
    report = await at_work.undo()
    assert report.undone == ()
    assert "is a link" in report.conflicts[0].why
    assert (outside / "a.txt").read_text() == "new\n"


async def test_a_change_that_never_happened_is_undone_by_doing_nothing(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("old\n")
    await at_work.does("replace_string", filePath="a.txt", oldString="old", newString="new")
    # As after a crash between keeping what was there and writing.
    (work / "a.txt").write_text("old\n")
    report = await at_work.undo()
    assert (report.undone, report.conflicts) == ((str(work / "a.txt"),), ())
    assert stat.S_ISREG((work / "a.txt").stat().st_mode)
