"""Writing under adverse circumstances: others who write too, full disks, calls that are cancelled halfway."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.tools.files import atomic
from pilothouse.tools.files.contents import read_whole
from pilothouse.tools.files.places import PathRefused, find_place
from pilothouse.tools.files.steps import WriteFile
from pilothouse.tools.files.walk import parent_of
from tests.support.files import FileCalls, open_file_tool
from tests.support.lag import HELD, least_hold
from tests.support.records import OWNER
from tests.support.small_disks import mount_small_disk


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path) -> AsyncIterator[FileCalls]:
    async with open_file_tool(home, work) as opened:
        yield opened


@pytest.mark.case("FS-07", "FIL-18")
async def test_a_file_that_someone_writes_in_between_is_not_overwritten(work: Path) -> None:
    (work / "a.txt").write_text("one\n")
    place = find_place("a.txt", str(work))
    with parent_of(place) as folder:
        before = read_whole(folder, "a.txt", "a.txt")
    for change in (lambda: (work / "a.txt").write_text("two\n"), lambda: _replaced(work / "a.txt")):
        change()
        with pytest.raises(PathRefused, match="changed by someone else just now"):
            WriteFile(place, before, b"mine\n").take(None)
    assert (work / "a.txt").read_text() == "one\n"
    assert os.listdir(work) == ["a.txt"]


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("one\n")
    other.rename(path)


@pytest.mark.case("FS-08")
@pytest.mark.parametrize("nameless", [True, False])
async def test_new_content_is_private_until_it_is_in_place(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    modes: list[int] = []
    names: list[list[str]] = []
    real = os.fchmod

    def watched(descriptor: int, mode: int) -> None:
        modes.append(os.fstat(descriptor).st_mode & 0o777)
        names.append(sorted(os.listdir(work)))
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", watched)
    if not nameless:
        monkeypatch.setattr(atomic, "_NAMELESS", os.O_WRONLY)
    await at_work.does("create_file", filePath="a.txt", content="one\n")
    (work / "a.txt").chmod(0o640)
    await at_work.does("replace_string", filePath="a.txt", oldString="one", newString="two")
    assert modes == [0o600, 0o600]
    assert ((work / "a.txt").stat().st_mode & 0o777, (work / "a.txt").read_text()) == (0o640, "two\n")
    assert os.listdir(work) == ["a.txt"]
    others = [name for listed in names for name in listed if name != "a.txt"]
    assert len(set(others)) == (0 if nameless else 2)
    assert "EXISTS" in await at_work.fails("create_file", filePath="a.txt", content="x")


@pytest.fixture
def small_disk(work: Path) -> Iterator[Path]:
    """The working directory as a file system with little room, where this account may make one."""
    with mount_small_disk(work, "1m"):
        yield work


def _fill(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with os.fdopen(descriptor, "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4_096)


@pytest.mark.case("F-42")
async def test_on_a_full_disk_nothing_is_half_written(small_disk: Path, at_work: FileCalls) -> None:
    work = small_disk
    (work / "a.txt").write_text("one\n" * 50_000)
    (work / "b.txt").write_text("two\n")
    _fill(work / "ballast")
    before = {name: (work / name).read_bytes() for name in ("a.txt", "b.txt")}
    edits = [
        {"filePath": "b.txt", "oldString": "two", "newString": "2"},
        {"filePath": "a.txt", "oldString": "one", "newString": "three", "replaceAll": True},
    ]
    for operation, arguments in (
        ("create_file", {"filePath": "new.txt", "content": "x" * 300_000}),
        ("replace_string", {"filePath": "a.txt", "oldString": "one", "newString": "three", "replaceAll": True}),
        ("multi_replace_string", {"replacements": edits}),
    ):
        assert (await at_work.fails(operation, **arguments)).startswith("DISK_FULL: ")
    assert {name: (work / name).read_bytes() for name in before} == before
    assert sorted(os.listdir(work)) == ["a.txt", "b.txt", "ballast"]
    assert await at_work.store.changes(OWNER, run_id=at_work.run_id) == []
    (work / "ballast").unlink()
    await at_work.does("multi_replace_string", replacements=edits)
    assert (work / "a.txt").read_text().startswith("three\n")


@pytest.mark.case("F-42")
async def test_steps_that_were_taken_before_one_failed_are_taken_back(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (work / name).write_text(f"{name}\n")
    synced = 0
    real = os.fsync

    def full_at_the_third(descriptor: int) -> None:
        nonlocal synced
        synced += 1
        # Each file is made durable, and then its folder.
        if synced == 5:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full_at_the_third)
    edits = [{"filePath": name, "oldString": ".txt", "newString": ""} for name in ("a.txt", "b.txt", "c.txt")]
    assert "DISK_FULL" in await at_work.fails("multi_replace_string", replacements=edits)
    assert {name: (work / name).read_text() for name in os.listdir(work)} == {
        name: f"{name}\n" for name in ("a.txt", "b.txt", "c.txt")
    }
    assert await at_work.store.changes(OWNER, run_id=at_work.run_id) == []


@pytest.mark.case("F-52")
async def test_a_call_that_is_cancelled_while_it_writes_leaves_everything_as_it_was(
    at_work: FileCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a.txt").write_text("one\n")
    begun, go_on = threading.Event(), threading.Event()
    real = os.fsync

    def slow(descriptor: int) -> None:
        begun.set()
        assert go_on.wait(10)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    call = asyncio.ensure_future(at_work.call("replace_string", filePath="a.txt", oldString="one", newString="two"))
    assert await asyncio.to_thread(begun.wait, 10)
    call.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (work / "a.txt").read_text() == "one\n"
    assert await at_work.store.changes(OWNER, run_id=at_work.run_id) == []
    assert os.listdir(work) == ["a.txt"]


# --- patches that were made to take long ---

_HEAD = "--- a/a.txt\n+++ b/a.txt\n"
PATCHES = {
    "too many hunks": (_HEAD + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 40_000, "at most 20,000 are taken at once"),
    "too many lines": (_HEAD + "@@ -1,9 +1,9 @@\n" + " a\n" * 200_000, "at most 20,000 are taken at once"),
    "lines that stand everywhere": (_HEAD + "@@ -1,9 +1,9 @@\n" + " a\n" * 15_000 + "-b\n+c\n", "takes too long"),
    "lines of which few stand there": (_HEAD + "@@ -9,9 +9,9 @@\n-b\n" + " a\n" * 15_000, "line 9 is 'a' where"),
}


@pytest.mark.case("FS-10")
@pytest.mark.parametrize("kind", sorted(PATCHES))
async def test_a_patch_that_was_made_to_take_long_is_given_up(at_work: FileCalls, work: Path, kind: str) -> None:
    patch, why = PATCHES[kind]
    (work / "a.txt").write_text("a\n" * 300_000)

    async def look() -> None:
        # As whenever a call is shown.
        at_work.tool.shown({"operation": "apply_patch", "patch": patch})
        assert why in await at_work.fails("apply_patch", patch=patch)

    held = await least_hold(look)
    assert held < HELD, held


async def test_a_long_file_is_patched_where_the_lines_stand_once(at_work: FileCalls, work: Path) -> None:
    lines = [f"line {number}\n" for number in range(100_000)]
    (work / "a.txt").write_text("".join(lines))
    # None of the numbers is right.
    hunks = (f"@@ -{number // 2},1 +1,1 @@\n-line {number}\n+new {number}\n" for number in range(1_000, 91_000, 1_000))
    await at_work.does("read_file", filePath="a.txt")
    await at_work.does("apply_patch", patch=_HEAD + "".join(hunks))
    assert (work / "a.txt").read_text().count("new ") == 90
