"""Walking by descriptors: nothing is followed, nothing but regular files is opened."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from pilothouse.tools.files.places import PathRefused, contains, find_place
from pilothouse.tools.files.walk import check_names, look, open_folder, open_root, parent_of
from tests.support.files import deep_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "proj"
    made.mkdir()
    (made / "src").mkdir()
    (made / "src" / "a.txt").write_text("hello")
    return made


def _read(place_text: str, folder: Path) -> bytes:
    place = find_place(place_text, str(folder))
    with parent_of(place) as parent:
        descriptor = parent.open(place.last)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


@pytest.mark.case("ATZ-04")
def test_relative_paths_are_found_from_the_working_directory_and_absolute_ones_as_they_are(folder: Path) -> None:
    assert _read("src/a.txt", folder) == b"hello"
    assert _read("./src//./x/../a.txt", folder) == b"hello"
    assert _read(str(folder / "src" / "a.txt"), folder) == b"hello"
    outside = folder.parent / "other.txt"
    outside.write_text("other")
    place = find_place(str(outside), str(folder))
    assert (place.inside, place.path, place.name) == (False, str(outside), str(outside))
    assert _read(str(outside), folder) == b"other"


@pytest.mark.case("ATZ-05", "FS-02")
@pytest.mark.parametrize("neighbour", ["proj-secrets", "proj2", "pro", "proj.old", "projx/proj"])
def test_a_neighbour_with_the_same_beginning_is_outside(folder: Path, neighbour: str) -> None:
    path = str(folder.parent / neighbour / "key.txt")
    assert not find_place(path, str(folder)).inside
    assert not contains(str(folder), path)
    assert contains(str(folder), str(folder))
    assert contains(str(folder), str(folder / "deep" / "er"))


@pytest.mark.case("FS-01")
@pytest.mark.parametrize(
    "text",
    [
        "../other.txt",
        "src/../../other.txt",
        "..",
        "~/x",
        "~root/x",
        "~",
        "C:\\Windows\\x",
        "c:/x",
        "\\\\host\\share\\x",
        "//host/share/x",
        "file:///etc/passwd",
        "file:x",
        "https://example.com/x",
        "a\0b",
        "",
        "   ",
        "x" * 256,
    ],
)
def test_forms_that_lead_elsewhere_are_refused_in_one_sentence(folder: Path, text: str) -> None:
    with pytest.raises(PathRefused) as refused:
        find_place(text, str(folder))
    assert refused.value.message.endswith(".")
    assert "\n" not in refused.value.message


@pytest.mark.case("FS-01")
@pytest.mark.parametrize(
    "name", ["notes.txt.", "notes.txt ", "notes.txt:stream", "CON", "nul.txt", "..\\..\\x", "COM1"]
)
def test_names_that_mean_something_else_elsewhere_are_used_only_when_they_exist(folder: Path, name: str) -> None:
    place = find_place(name, str(folder))
    with pytest.raises(PathRefused):
        check_names(place)
    (folder / name).write_text("there")
    check_names(place)
    assert _read(name, folder) == b"there"


@pytest.mark.case("FS-03")
def test_links_are_refused_wherever_they_stand_on_the_way(folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (folder / "link").symlink_to(secret)
    (folder / "again").symlink_to("link")
    (folder / "file").symlink_to(secret / "key")
    (folder / "later").symlink_to(folder / "not-yet")
    for text in ("link/key", "again/key", "file", "later", str(folder / "link" / "key")):
        with pytest.raises(PathRefused) as refused:
            _read(text, folder)
        assert refused.value.code == "LINK"
        assert "link" in refused.value.message
    with open_folder(str(folder)) as root, pytest.raises(PathRefused):
        root.make(("link", "new"))
    assert sorted(os.listdir(secret)) == ["key"]


@pytest.mark.case("FS-06")
def test_only_regular_files_are_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        listener.bind(str(folder / "sock"))
        for name in ("pipe", "sock", "src"):
            with pytest.raises(PathRefused) as refused:
                _read(name, folder)
            assert refused.value.code == "NOT_A_FILE"
    with pytest.raises(PathRefused, match="device"):
        _read("/dev/zero", folder)


def test_a_working_directory_that_was_replaced_is_noticed(folder: Path) -> None:
    place = find_place("src/a.txt", str(folder))
    with open_root(place) as root:
        known = root.identity
    folder.rename(folder.parent / "was")
    folder.mkdir()
    with pytest.raises(PathRefused, match="replaced"):
        open_root(place, known)


def test_parents_are_made_and_named(folder: Path) -> None:
    with open_folder(str(folder)) as root:
        deep, made = root.make(("src", "x", "y"))
        deep.close()
    assert made == (str(folder / "src" / "x"), str(folder / "src" / "x" / "y"))
    found = look(find_place("src/x/y", str(folder)))
    assert found is not None
    assert stat.S_ISDIR(found.st_mode)
    assert look(find_place("nothing/here", str(folder))) is None


@pytest.mark.case("FS-10")
@pytest.mark.slow
def test_a_very_deep_tree_is_walked(folder: Path) -> None:
    # What is made deeper down goes with the tree.
    parts = ("d",) * 2_000
    with deep_tree(folder, 1_000), open_folder(str(folder)) as root:
        deep, _made = root.make(parts)
        deep.close()
        with root.descend(parts) as bottom, bottom.scan() as entries:
            assert list(entries) == []
