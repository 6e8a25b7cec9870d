"""Undo takes back what a command made and changed, and never what it only brought along."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pilothouse.tools.files.restoring import undo
from pilothouse.tools.files.workspace import kept_changes
from pilothouse.tools.snapshots.births import born, clock_of_files
from pilothouse.tools.snapshots.differences import changes_of
from pilothouse.tools.snapshots.mirror import Mirror
from pilothouse.types import limits
from pilothouse.types.changes import KeptChange, UndoReport
from pilothouse.types.ports import CallContext
from tests.support.small_disks import mount_small_disk
from tests.support.waiting import until

LARGE = limits.FILE_EDIT_BYTES + 1


class Commands:
    """Commands in a folder, each looked at before and after."""

    def __init__(self, folder: Path, cache: Path, *, watches: bool = True) -> None:
        self.folder = folder
        self.mirror = Mirror(str(folder), cache, watches=watches)
        self.stays: list[str] = []
        self.kept: list[KeptChange] = []

    def run(self, text: str, *, held: bool = True) -> None:
        self.mirror.refresh()
        self.by_hand(text)
        steps, self.stays = changes_of(self.mirror.look(), self.mirror, held=held)
        context = CallContext("c_1", "r_1", "i_1", str(self.folder), (), False)
        self.kept = kept_changes(steps, context)

    def by_hand(self, text: str) -> None:
        subprocess.run(["bash", "-ec", text], cwd=self.folder, check=True, capture_output=True, timeout=30)

    async def undo(self) -> UndoReport:
        report, _ids = await undo(self.kept)
        return report

    def text(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_text() if path.exists() else None


@pytest.fixture
def work(work: Path) -> Path:
    (work / "src").mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "src" / "b.py").write_text("b = 1\n")
    return work


@pytest.fixture(params=[True, False], ids=["watched", "gone through"])
def commands(request: pytest.FixtureRequest, tmp_path: Path, work: Path) -> Iterator[Commands]:
    made = Commands(work, tmp_path / "cache", watches=request.param)
    yield made
    made.mirror.close()


def aged(path: Path) -> None:
    """Wait until a file made now would be younger; skip where the file system does not know when files were made."""
    made = born(str(path))
    if made is None:
        pytest.skip("this file system does not know when files were made")
    until(lambda: clock_of_files() > made, "the clock of files to go on")


@contextmanager
def as_anyone(*own: Path) -> Iterator[None]:
    """Use files as someone to whom rights apply, which they do not to root; some are that one's own."""
    nobody, root = 65_534, 0
    library = ctypes.CDLL(None)
    if os.geteuid() != root:
        yield
        return
    for path in own:
        os.chown(path, nobody, nobody)
    library.setfsuid(nobody)
    try:
        yield
    finally:
        library.setfsuid(root)


async def test_a_file_that_was_moved_goes_back_and_what_the_person_put_in_its_place_stays(commands: Commands) -> None:
    commands.run("mv a.txt other.txt; mkdir new; mv src/b.py new/c.py")
    (commands.folder / "a.txt").write_text("mine\n")
    report = await commands.undo()
    assert [conflict.why for conflict in report.conflicts] == [
        f"There is something else at {commands.folder / 'a.txt'} now."
    ]
    assert (commands.text("a.txt"), commands.text("other.txt")) == ("mine\n", "one\n")
    assert (commands.text("src/b.py"), commands.text("new/c.py")) == ("b = 1\n", None)


async def test_a_folder_that_was_moved_has_its_rights_again(commands: Commands) -> None:
    (commands.folder / "src").chmod(0o700)
    commands.run("mv src lib")
    assert (await commands.undo()).conflicts == ()
    assert commands.text("src/b.py") == "b = 1\n"
    assert (commands.folder / "src").stat().st_mode & 0o777 == 0o700
    assert not (commands.folder / "lib").exists()


async def test_a_folder_that_was_moved_is_one_change_and_takes_back_what_the_person_put_into_it(
    commands: Commands,
) -> None:
    for number in range(limits.NEW_FOLDER_ENTRIES + 1):
        (commands.folder / "src" / f"{number}").write_text("x")
    os.close(os.open(os.fsencode(commands.folder) + b"/src/caf\xe9", os.O_CREAT | os.O_WRONLY))
    commands.run("mkdir -p lib/inner; mv src lib/inner/src")
    assert [os.path.basename(each.change.path) for each in commands.kept] == ["lib", "inner", "src"]
    (commands.folder / "lib" / "inner" / "src" / "mine").write_text("mine\n")
    assert (await commands.undo()).conflicts == ()
    assert (commands.text("src/mine"), commands.text("src/b.py")) == ("mine\n", "b = 1\n")
    assert sorted(os.listdir(commands.folder)) == ["a.txt", "src"]


async def test_git_is_put_back_as_a_whole_or_not_at_all(commands: Commands) -> None:
    who = "git config user.name A; git config user.email a@example.com"
    commands.by_hand(f"git init -q; {who}; git add .; git commit -qm one")
    command = "git checkout -qb other; echo o > o; git add o; git commit -qm two; git status"
    commands.run(command)
    # Whoever only looks writes to git's index, too.
    commands.by_hand("touch a.txt; git status")
    report = await commands.undo()
    assert [os.path.basename(conflict.path) for conflict in report.conflicts] in ([], ["index"])
    commands.by_hand('[ "$(git log --oneline --all | wc -l)" = 1 ]; git reset -q --hard')
    commands.run(command)
    commands.by_hand("echo mine > mine; git add mine; git commit -qm mine")
    report = await commands.undo()
    assert [conflict.path for conflict in report.conflicts] == [str(commands.folder / ".git")]
    commands.by_hand('git fsck --strict; [ "$(git log --oneline | wc -l)" = 3 ]; git diff --cached --quiet')


async def test_a_file_in_a_folder_that_became_a_file_goes_back(commands: Commands) -> None:
    commands.run("mv src/b.py z.py; rmdir src; echo file > src")
    assert (await commands.undo()).conflicts == ()
    assert (commands.text("src/b.py"), commands.text("z.py")) == ("b = 1\n", None)


async def test_what_came_from_outside_stays_where_it_is(commands: Commands, tmp_path: Path) -> None:
    for name in ("x.txt", "photos/one", "photos/two"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("precious\n")
    aged(tmp_path / "photos" / "two")
    many = f"mkdir many; touch $(seq -f many/%g {limits.NEW_FOLDER_ENTRIES})"
    commands.run(f"mv ../x.txt .; mv ../photos .; {many}; mkdir more; touch more/new", held=False)
    assert commands.stays == ["photos", "x.txt"]
    assert (await commands.undo()).conflicts == ()
    assert sorted(os.listdir(commands.folder)) == ["a.txt", "photos", "src", "x.txt"]
    (commands.folder / "x.txt").rename(tmp_path / "x.txt")
    commands.run(f"{many}; mv ../x.txt many", held=False)
    assert commands.stays == ["many/x.txt"]
    report = await commands.undo()
    assert [conflict.path for conflict in report.conflicts] == [str(commands.folder / "many")]
    assert os.listdir(commands.folder / "many") == ["x.txt"]


async def test_what_may_have_come_from_another_file_system_stays_where_nothing_held_the_command(
    commands: Commands, tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text("precious\n")
    os.utime(tmp_path / "x.txt", (1_000_000_000, 1_000_000_000))
    # What `mv` does where it cannot rename.
    commands.run("cp -p ../x.txt x.txt; echo new > y.txt", held=False)
    assert commands.stays == ["x.txt"]
    await commands.undo()
    assert (commands.text("x.txt"), commands.text("y.txt")) == ("precious\n", None)
    (commands.folder / "x.txt").unlink()
    # In the sandbox there is nowhere that it could be gone from.
    commands.run("cp -p ../x.txt x.txt")
    assert commands.stays == []
    await commands.undo()
    assert commands.text("x.txt") is None


async def test_a_new_file_with_the_number_of_one_that_was_deleted_is_not_taken_for_it(commands: Commands) -> None:
    """The first that is made then often gets that number; if not, this shows nothing, and does no harm."""
    with (commands.folder / "data.bin").open("wb") as file:
        file.truncate(LARGE)
    commands.run(f"rm data.bin; truncate -s {LARGE + 1} other.bin")
    assert (await commands.undo()).conflicts == ()
    assert sorted(os.listdir(commands.folder)) == ["a.txt", "src"]


async def test_the_only_copy_goes_back_whatever_was_done_to_it(commands: Commands) -> None:
    with (commands.folder / "data.bin").open("wb") as file:
        file.truncate(LARGE)
    aged(commands.folder / "data.bin")
    commands.run("mv data.bin other.bin; echo more >> other.bin")
    assert (await commands.undo()).conflicts == ()
    assert (commands.folder / "data.bin").stat().st_size == LARGE + len("more\n")


async def test_a_repository_that_was_made_goes_as_a_whole_or_stays(commands: Commands) -> None:
    commit = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m x"
    commands.run("git init -q; git add .")
    assert (await commands.undo()).conflicts == ()
    assert not (commands.folder / ".git").exists()
    commands.run("git init -q")
    commands.by_hand(f"git add .; {commit}")
    report = await commands.undo()
    assert [conflict.path for conflict in report.conflicts] == [str(commands.folder / ".git")]
    commands.by_hand('git fsck --strict; [ "$(git log --oneline | wc -l)" = 1 ]')


def test_folders_that_nobody_looks_into_are_named_and_what_is_in_them_is_not_gone() -> None:
    with tempfile.TemporaryDirectory() as made:
        top = Path(made)
        work = top / "work"
        top.chmod(0o755)
        for name in ("closed", "passable"):
            (work / name).mkdir(parents=True)
            (work / name / "x").write_text("precious\n")
        (top / "cache").mkdir()
        aged(work / "passable" / "x")
        commands = Commands(work, top / "cache")
        with as_anyone(
            top / "cache", work, work / "closed", work / "passable", work / "closed" / "x", work / "passable" / "x"
        ):
            (work / "closed").chmod(0)
            (work / "passable").chmod(0o444)
            commands.mirror.refresh()
            not_seen = commands.mirror.not_seen()
            (work / "closed").chmod(0o755)
            found = changes_of(commands.mirror.look(), commands.mirror)
            seen_now = commands.mirror.not_seen()
            (work / "closed").chmod(0)
            gone = {path: after for path, _, after in commands.mirror.look()}
            (work / "closed").chmod(0o755)
        assert not_seen == {"closed/": "it cannot be listed", "passable/": "it cannot be listed"}
        assert seen_now == {"passable/": "it cannot be listed"}
        assert [type(step).__name__ for step in found.steps] == ["ChangeMode"]
        assert found.stays == ["closed/x"]
        assert set(gone) == {"closed"}
        commands.mirror.close()


def test_another_file_system_in_the_folder_is_named_and_left_alone(commands: Commands) -> None:
    (commands.folder / "mount").mkdir()
    with mount_small_disk(commands.folder / "mount", "1m") as mount:
        (mount / "x").write_text("precious\n")
        os.utime(mount / "x", (1_000_000_000, 1_000_000_000))
        commands.run("touch mount; echo y > mount/y; mv mount/x x")
        assert commands.mirror.not_seen() == {"mount/": "another file system"}
        assert commands.stays == ["x"]
        assert commands.kept == []


def test_names_that_are_not_text_are_named_as_far_as_they_can_be(commands: Commands) -> None:
    odd = os.fsencode(commands.folder) + b"/src/caf\xe9"
    os.mkdir(odd)
    Path(os.fsdecode(odd + b"/inner")).write_text("x")
    Path(os.fsdecode(odd + b".txt")).write_text("x")
    commands.run("true")
    why = "its name is not UTF-8"
    assert commands.mirror.not_seen() == {"src/caf\\xe9/": why, "src/caf\\xe9.txt": why}


async def test_a_folder_that_a_command_deletes_comes_back_with_everything_in_it(commands: Commands) -> None:
    commands.run('rm -r "$PWD"')
    assert not commands.folder.exists()
    assert (await commands.undo()).conflicts == ()
    assert (commands.text("a.txt"), commands.text("src/b.py")) == ("one\n", "b = 1\n")
    commands.run("echo two > a.txt")
    await commands.undo()
    assert commands.text("a.txt") == "one\n"


async def test_a_folder_that_is_replaced_by_another_is_looked_at_anew(commands: Commands, tmp_path: Path) -> None:
    commands.run("true")
    commands.run('mv "$PWD" ../old; mkdir "$PWD"; cd ../work; echo two > a.txt; echo new > new.txt')
    assert {os.path.basename(each.change.path) for each in commands.kept} == {"a.txt", "new.txt", "src", "b.py"}
    assert (await commands.undo()).conflicts == ()
    assert (commands.text("a.txt"), commands.text("src/b.py"), commands.text("new.txt")) == ("one\n", "b = 1\n", None)
    commands.run("echo 3 > src/b.py")
    assert [os.path.basename(each.change.path) for each in commands.kept] == ["b.py"]


def test_a_new_folder_with_the_number_of_a_link_that_is_gone_is_no_folder_that_was_moved(commands: Commands) -> None:
    (commands.folder / "link").symlink_to("a.txt")
    commands.run("true")
    (commands.folder / "link").unlink()
    (commands.folder / "empty").mkdir()
    folder, link = commands.mirror.look()
    assert link.before is not None
    assert folder.after is not None
    # The system gives a number to the next file as soon as it is free.
    reused = folder._replace(after=msgspec.structs.replace(folder.after, inode=link.before.inode))
    kinds = [type(step).__name__ for step in changes_of([reused, link], commands.mirror).steps]
    assert kinds == ["RemoveLink", "MakeFolder"]


async def test_what_was_put_back_already_is_no_conflict_the_next_time(commands: Commands) -> None:
    (commands.folder / "link").symlink_to("a.txt")
    commands.run("rm link a.txt; mv src lib; chmod 600 lib/b.py; mkdir empty; echo new > new.txt; ln -s new.txt other")
    assert (await commands.undo()).conflicts == ()
    # As after a process that was killed before it could write down what it had put back.
    assert (await commands.undo()).conflicts == ()
    assert os.readlink(commands.folder / "link") == "a.txt"
    assert sorted(os.listdir(commands.folder)) == ["a.txt", "link", "src"]


async def test_a_disk_that_is_full_after_a_command_loses_nothing_of_what_was_before(tmp_path: Path, work: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (work / "a.txt").write_bytes(b"a" * 100_000)
    with mount_small_disk(cache, "3m"):
        commands = Commands(work, cache)
        commands.run("head -c 2000000 /dev/urandom > a.txt; head -c 2000000 /dev/urandom > new; echo 2 > src/b.py")
        assert (await commands.undo()).conflicts == ()
        assert (work / "a.txt").read_bytes() == b"a" * 100_000
        assert commands.text("src/b.py") == "b = 1\n"
        assert not (work / "new").exists()
        commands.mirror.close()


def test_a_disk_that_is_full_before_a_command_is_said(tmp_path: Path, work: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (work / "large").write_bytes(b"a" * 2_000_000)
    with mount_small_disk(cache, "1m"), pytest.raises(OSError, match="No space left"):
        Mirror(str(work), cache).look()
