"""Two looks at a folder tell what happened between them, whichever way they are taken."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.snapshots.choosing import by_name, named
from pilothouse.tools.snapshots.entries import Entry
from pilothouse.tools.snapshots.mirror import Mirror, TooMany
from pilothouse.types import limits


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "src" / "b.py").write_text("b = 1\n")
    (folder / "src" / "deep" / "c.py").write_text("c = 1\n")
    (folder / "link").symlink_to("a.txt")
    return folder


@pytest.fixture(params=[True, False], ids=["watched", "gone through"])
def mirror(request: pytest.FixtureRequest, tmp_path: Path, work: Path) -> Iterator[Mirror]:
    made = Mirror(str(work), tmp_path / "cache", watches=request.param)
    made.look()
    yield made
    made.close()


def seen(mirror: Mirror) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Look, and return what was at each path that is different, and what is; a folder and what is not kept is empty."""

    def of(entry: Entry | None) -> bytes | None:
        return None if entry is None else b"" if entry.is_folder or entry.at < 0 else mirror.content(entry)

    return {path: (of(before), of(after)) for path, before, after in mirror.look()}


def test_nothing_is_different_where_nothing_happened(mirror: Mirror, work: Path) -> None:
    assert seen(mirror) == {}
    os.utime(work / "a.txt")
    (work / "src" / "b.py").write_text("b = 1\n")
    assert seen(mirror) == {}


def test_what_came_went_and_changed_is_seen_with_its_content(mirror: Mirror, work: Path) -> None:
    (work / "a.txt").write_text("two\n")
    (work / "src" / "b.py").unlink()
    (work / "new" / "inner").mkdir(parents=True)
    (work / "new" / "inner" / "d.txt").write_text("d\n")
    (work / "link").unlink()
    (work / "link").symlink_to("src")
    assert seen(mirror) == {
        "a.txt": (b"one\n", b"two\n"),
        "link": (b"a.txt", b"src"),
        "new": (None, b""),
        "new/inner": (None, b""),
        "new/inner/d.txt": (None, b"d\n"),
        "src/b.py": (b"b = 1\n", None),
    }
    assert seen(mirror) == {}


def test_a_folder_that_was_moved_or_deleted_is_seen_with_everything_in_it(mirror: Mirror, work: Path) -> None:
    (work / "src").rename(work / "lib")
    assert seen(mirror) == {
        "src": (b"", None),
        "src/b.py": (b"b = 1\n", None),
        "src/deep": (b"", None),
        "src/deep/c.py": (b"c = 1\n", None),
        "lib": (None, b""),
        "lib/b.py": (None, b"b = 1\n"),
        "lib/deep": (None, b""),
        "lib/deep/c.py": (None, b"c = 1\n"),
    }
    (work / "lib" / "deep" / "c.py").write_text("c = 2\n")
    assert seen(mirror) == {"lib/deep/c.py": (b"c = 1\n", b"c = 2\n")}


def test_a_content_of_the_same_length_with_its_old_time_is_seen(mirror: Mirror, work: Path) -> None:
    before = (work / "a.txt").stat()
    (work / "a.txt").write_text("1ne\n")
    os.utime(work / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert seen(mirror) == {"a.txt": (b"one\n", b"1ne\n")}


def test_a_file_that_becomes_a_folder_and_one_with_other_rights_are_seen(mirror: Mirror, work: Path) -> None:
    (work / "a.txt").unlink()
    (work / "a.txt").mkdir()
    (work / "src" / "b.py").chmod(0o755)
    assert seen(mirror) == {"a.txt": (b"one\n", b""), "src/b.py": (b"b = 1\n", b"b = 1\n")}


def test_a_change_by_a_second_name_outside_is_seen(tmp_path: Path, work: Path) -> None:
    os.link(work / "a.txt", tmp_path / "elsewhere")
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.look()
    (tmp_path / "elsewhere").write_text("two\n")
    assert seen(mirror) == {"a.txt": (b"one\n", b"two\n")}
    mirror.close()


def test_pipes_and_sockets_are_seen_and_nobody_waits_for_them(mirror: Mirror, work: Path) -> None:
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(work / "socket"))
        assert seen(mirror) == {"pipe": (None, b""), "socket": (None, b"")}
    assert mirror.left_out() == {}
    (work / "pipe").unlink()
    assert seen(mirror) == {"pipe": (b"", None)}


def test_names_that_are_no_text_are_passed_over(mirror: Mirror, work: Path) -> None:
    os.close(os.open(os.fsencode(work) + b"/\xff.txt", os.O_CREAT | os.O_WRONLY))
    os.mkdir(os.fsencode(work) + b"/\xfe")
    assert seen(mirror) == {}


def test_our_own_data_in_the_folder_is_never_looked_at(tmp_path: Path, work: Path) -> None:
    (work / "data" / "ours").mkdir(parents=True)
    (work / "data" / "ours" / "key").write_text("secret")
    mirror = Mirror(str(work), tmp_path / "cache", "data/ours")
    mirror.look()
    (work / "data" / "ours" / "key").write_text("other")
    (work / "data" / "more").write_text("more")
    assert seen(mirror) == {"data/more": (None, b"more")}
    mirror.close()


def test_links_are_not_followed_out_of_the_folder(tmp_path: Path, mirror: Mirror, work: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("x")
    (work / "out").symlink_to(tmp_path / "outside")
    assert list(seen(mirror)) == ["out"]
    (tmp_path / "outside" / "x").write_text("y")
    assert seen(mirror) == {}


def test_beyond_the_bound_what_git_ignores_and_what_is_large_is_left_out(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_BYTES", 5_000)
    (work / ".gitignore").write_text("ignored/\n")
    (work / "ignored").mkdir()
    for number in range(8):
        (work / "ignored" / f"{number}").write_bytes(b"i" * 1_000)
        (work / "src" / f"z{number}").write_bytes(b"s" * 500)
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.look()
    assert {path.partition("/")[0] for path in mirror.left_out()} == {"ignored"}
    assert named(by_name(mirror.left_out())) == "ignored/ (7.8 KB)"
    (work / "src" / "z1").unlink()
    assert seen(mirror) == {"src/z1": (b"s" * 500, None)}
    mirror.close()


def test_a_file_that_is_too_large_is_left_out_and_named(tmp_path: Path, work: Path) -> None:
    with (work / "src" / "big.bin").open("wb") as file:
        file.truncate(limits.FILE_EDIT_BYTES + 1)
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.look()
    assert named(by_name(mirror.left_out())) == "src/big.bin (16.0 MB)"
    mirror.close()


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_ENTRIES", 3)
    with pytest.raises(TooMany):
        Mirror(str(work), tmp_path / "cache").look()


def test_what_is_kept_has_no_name_on_disk_and_does_not_grow_for_ever(
    tmp_path: Path, mirror: Mirror, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.listdir(tmp_path / "cache") == []
    monkeypatch.setattr(limits, "SNAPSHOT_PACK_BYTES", 100)
    for number in range(30):
        (work / "a.txt").write_text(f"{number:09}\n")
        mirror.look()
    mirror.refresh()
    assert mirror._pack is not None
    assert mirror._pack.end < 100
