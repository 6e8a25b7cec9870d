"""A first look that a second process helps with finds what one alone finds, whatever becomes of that process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.snapshots import mirror as looking
from pilothouse.tools.snapshots import second
from pilothouse.tools.snapshots.mirror import Mirror
from pilothouse.tools.snapshots.second import Facts, Files, Second
from pilothouse.types import limits

FOLDERS, FILES = 8, 60
LONG = 30.0


class Patient(Second):
    """Waits for each answer, so that a folder that is small enough for a test is not read before it comes."""

    read = 0

    def answered(self, wait: float = 0.0) -> Iterator[tuple[Files, list[Facts | None]]]:
        """Yield the same, and count it."""
        for files, answer in super().answered(LONG if self.left() else wait):
            Patient.read += len(answer) - answer.count(None)
            yield files, answer


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for at in range(FOLDERS):
        inner = folder / f"part{at}"
        inner.mkdir(parents=True)
        for number in range(FILES):
            (inner / f"file{number:02}.txt").write_text(f"{at} {number}\n" * (number + 1))
    (folder / "part3" / "large.bin").write_bytes(os.urandom(100_000))
    (folder / "part3" / "empty").touch()
    (folder / "part4" / "script.sh").write_text("true\n")
    (folder / "part4" / "script.sh").chmod(0o755)
    (folder / "part5" / "two names").hardlink_to(folder / "part5" / "file00.txt")
    (folder / "part6" / "link").symlink_to("file00.txt")
    os.mkfifo(folder / "part7" / "pipe")
    return folder


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> type[Patient]:
    """Let a second process help from the first file on, however many cores there are."""
    monkeypatch.setattr(limits, "SECOND_AFTER", 0)
    monkeypatch.setattr(looking, "Second", Patient)
    monkeypatch.setattr(second, "cores", lambda: 2)
    monkeypatch.setattr(Patient, "read", 0)
    return Patient


def looked(work: Path, cache: Path) -> dict[str, tuple[object, ...]]:
    """Look for the first time, and return all that is known then, with the contents that are kept."""
    mirror = Mirror(str(work), cache, watches=False)
    mirror.look()
    try:
        known = ((path.relative_to(work).as_posix(), path) for path in work.rglob("*"))
        found = {name: mirror.at(name) for name, _ in known}
        return {
            name: (*entry.facts, entry.names, mirror.content(entry) if entry.at >= 0 else None)
            for name, entry in found.items()
            if entry is not None
        }
    finally:
        mirror.close()


def test_two_processes_find_what_one_finds(
    tmp_path: Path, work: Path, helped: type[Patient], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = looked(work, tmp_path / "cache")
    assert helped.read > FOLDERS * FILES / 2
    monkeypatch.setattr(limits, "SECOND_AFTER", 1_000_000)
    alone = looked(work, tmp_path / "cache")
    assert together == alone
    assert together["part2/file07.txt"][-1] == b"2 7\n" * 8
    assert together["part3/large.bin"][-1] == (work / "part3" / "large.bin").read_bytes()
    assert together["part6/link"][-1] == b"file00.txt"


@pytest.mark.usefixtures("helped")
def test_what_a_command_changes_is_compared_with_what_the_second_process_read(tmp_path: Path, work: Path) -> None:
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.look()
    changed = [work / f"part{at}" / "file05.txt" for at in range(FOLDERS)]
    before = {path.relative_to(work).as_posix(): path.read_bytes() for path in changed}
    for path in changed:
        path.write_text("another\n")
    found = {path: was and mirror.content(was) for path, was, _ in mirror.look()}
    mirror.close()
    assert found == before


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python"])
@pytest.mark.usefixtures("helped")
def test_a_second_process_that_breaks_leaves_its_files_to_the_first(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    found = looked(work, tmp_path / "cache")
    assert found["part7/file59.txt"][-1] == b"7 59\n" * 60
    assert len(found) == len(list(work.rglob("*")))


def test_a_second_process_that_says_nothing_is_not_waited_for(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "hangs"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    monkeypatch.setattr(limits, "SECOND_AFTER", 0)
    monkeypatch.setattr(second, "cores", lambda: 2)
    monkeypatch.setattr(sys, "executable", str(hangs))
    found = looked(work, tmp_path / "cache")
    assert found["part0/file00.txt"][-1] == b"0 0\n"
    assert len(found) == len(list(work.rglob("*")))


@pytest.mark.usefixtures("helped")
def test_where_there_is_no_room_left_the_second_process_gets_no_file(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_BYTES", 20_000)
    looked(work, tmp_path / "cache")
    assert Patient.read == 0


def test_a_few_files_are_read_without_a_second_process(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(Second, "_start", lambda _self: pytest.fail("it was started"))
    assert looked(work, tmp_path / "cache")


@pytest.mark.usefixtures("helped")
def test_a_file_whose_name_is_no_text_is_passed_over_by_both(tmp_path: Path, work: Path) -> None:
    (work / "part0" / os.fsdecode(b"odd\xff")).write_text("odd\n")
    mirror = Mirror(str(work), tmp_path / "cache", watches=False)
    mirror.look()
    assert list(mirror.not_seen()) == ["part0/odd\\xff"]
    mirror.close()
