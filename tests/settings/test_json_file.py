"""A settings file survives hand edits, mistakes in them, restarts, and other writers."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse.settings.json_file import JsonFile
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, convert


def parse(raw: JsonObject) -> dict[str, int]:
    return convert(raw.get("numbers", {}), dict[str, int], ("numbers",))


def open_file(folder: Path, *, backup: bool = False) -> JsonFile[dict[str, int]]:
    return JsonFile(
        folder / "a.json",
        parse,
        lambda: {"numbers": {"one": 1}},
        backup=folder / "last-good.json" if backup else None,
    )


def write(folder: Path, text: str) -> None:
    (folder / "a.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("text", [None, "", " \n", "{}"])
def test_a_missing_or_empty_file_is_made_at_the_first_start(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        write(tmp_path, text)
    file = open_file(tmp_path)
    assert file.value == {"one": 1}
    assert file.problem is None
    assert json.loads((tmp_path / "a.json").read_text()) == {"numbers": {"one": 1}}
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600


@pytest.mark.case("F-55")
def test_an_edit_is_taken_up_while_running(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    assert not file.refresh()
    write(tmp_path, '{"numbers": {"two": 2}}')
    assert file.refresh()
    assert file.value == {"two": 2}


@pytest.mark.case("F-55")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{\n  "numbers": {\n    "a": 1,,\n  }\n}', 3, "comma too many"),
        ('{\n  "numbers": {\n    "a": oops\n  }\n}', 3, "value is missing"),
        ('{\n  "numbers": {\n    "a": 1\n    "b": 2\n  }\n}', 4, "comma or a closing bracket is missing"),
        ('{\n  "numbers": {\n    "a": 1,\n    "b": "two"\n  }\n}', 2, "must be a whole number, not text"),
        ('{\n  "numbers": 3\n}', 2, "must be an object in braces"),
        ('{\n  "numbers": {\n    "a": 1,\n    "a": 2\n  }\n}', 4, "stands twice"),
        ('{\n  "name": "no end\n}', 2, "not closed"),
        ("[1]", 1, "one object in braces"),
        ('{"numbers": NaN}', None, "NaN"),
        ('{"numbers": {}, "mine": -1e999}', None, "-1e999 is too large a number"),
        ('{\n  "numbers": {},\n  "mine": ["\\uD83D\\uDE00", "\\ud800"]\n}', 3, "half of a character"),
        ("", None, "The file is empty."),
    ],
)
def test_a_broken_file_is_reported_with_its_line_and_the_last_good_content_stays(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    file = open_file(tmp_path)
    write(tmp_path, text)
    assert file.refresh()
    assert file.value == {"one": 1}
    problem = file.problem
    assert problem is not None
    assert (problem.file, problem.line) == (str(tmp_path / "a.json"), line)
    assert words in problem.message
    write(tmp_path, '{"numbers": {"ok": 0}}')
    assert file.value == {"ok": 0}
    assert file.problem is None


@pytest.mark.case("F-55")
def test_bytes_that_are_not_text_are_reported_with_their_line(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    (tmp_path / "a.json").write_bytes(b'{\n"numbers": "\xff"}')
    assert file.problem is not None
    assert (file.problem.line, file.problem.message) == (2, "This is not UTF-8 text.")


@pytest.mark.case("F-55")
def test_an_unreadable_or_deleted_file_is_reported_and_the_last_good_content_stays(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    (tmp_path / "a.json").unlink()
    assert file.problem is not None
    assert file.problem.message == "The file is gone."
    (tmp_path / "a.json").mkdir()
    assert file.problem is not None
    assert "cannot be read" in file.problem.message
    assert file.value == {"one": 1}


@pytest.mark.case("F-55")
def test_a_start_beside_a_broken_file_uses_the_kept_copy(tmp_path: Path) -> None:
    write(tmp_path, '{"numbers": {"seven": 7}}')
    assert open_file(tmp_path, backup=True).value == {"seven": 7}
    write(tmp_path, '{"numbers": {"seven": 7')
    file = open_file(tmp_path, backup=True)
    assert file.value == {"seven": 7}
    assert file.problem is not None
    assert file.problem.line == 1
    assert (tmp_path / "a.json").read_text() == '{"numbers": {"seven": 7'


@pytest.mark.case("F-55")
def test_a_start_beside_a_file_that_was_never_good_begins_with_the_first_content(tmp_path: Path) -> None:
    write(tmp_path, "{ not json")
    file = open_file(tmp_path, backup=True)
    assert file.value == {"one": 1}
    assert file.problem is not None


@pytest.mark.case("F-55")
def test_a_broken_file_is_saved_aside_before_it_is_written_over(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    for text in ("{ first mistake", "{ second mistake"):
        write(tmp_path, text)
        file.update(lambda raw: raw["numbers"].update(three=3))
    aside = sorted(tmp_path.glob("a.json.broken-*"))
    assert sorted(path.read_text() for path in aside) == ["{ first mistake", "{ second mistake"]
    assert file.problem is None
    assert file.value == {"one": 1, "three": 3}


def test_what_a_person_wrote_beside_our_fields_is_kept(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write(tmp_path, '{"mine": "Grüße", "numbers": {"b": 2, "a": 1}, "z": [1, {"q": null}]}')
    file.update(lambda raw: raw["numbers"].update(c=3))
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert written == {"mine": "Grüße", "numbers": {"b": 2, "a": 1, "c": 3}, "z": [1, {"q": None}]}
    assert list(written["numbers"]) == ["b", "a", "c"]


def test_a_change_that_does_not_fit_leaves_the_file_alone(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    before = (tmp_path / "a.json").read_bytes()
    with pytest.raises(ValueError, match="whole number"):
        file.update(lambda raw: raw["numbers"].update(c="three"))
    assert (tmp_path / "a.json").read_bytes() == before
    assert file.value == {"one": 1}
    assert not list(tmp_path.glob(".a.json.??*[!k]"))


def test_an_editor_that_saves_in_the_middle_of_a_change_is_not_overwritten(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    saves = iter(['{"numbers": {"theirs": 5}}'])

    def change(raw: JsonObject) -> None:
        for text in saves:
            write(tmp_path, text)
        raw["numbers"]["ours"] = 6

    assert file.update(change) == {"theirs": 5, "ours": 6}


def test_a_file_kept_elsewhere_by_a_link_stays_there(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"numbers": {"x": 1}}')
    (tmp_path / "a.json").symlink_to(real)
    open_file(tmp_path).update(lambda raw: raw["numbers"].update(y=2))
    assert (tmp_path / "a.json").is_symlink()
    assert json.loads(real.read_text())["numbers"] == {"x": 1, "y": 2}


@pytest.mark.slow
def test_writers_in_several_processes_lose_nothing(tmp_path: Path) -> None:
    open_file(tmp_path)
    code = (
        "import sys; from pathlib import Path; from pilothouse.settings.json_file import JsonFile\n"
        "file = JsonFile(Path(sys.argv[1]), lambda raw: raw, dict, is_empty=lambda raw: False)\n"
        "for n in range(20): file.update(lambda raw: raw['numbers'].update({f'{sys.argv[2]}-{n}': n}))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.json")]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(open_file(tmp_path).value) == 61


def test_a_disk_that_refuses_is_told_in_one_sentence(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    (tmp_path / "a.json").unlink()
    (tmp_path / "a.json").mkdir()
    with pytest.raises(PilothouseError, match=r"could not be written: is a directory\."):
        file.update(lambda raw: raw["numbers"].update(x=1))


def test_a_file_that_is_a_link_to_itself_is_told_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to(tmp_path / "a.json")
    file = open_file(tmp_path)
    with pytest.raises(PilothouseError, match=r"could not be written: too many levels of symbolic links\."):
        file.update(lambda raw: raw["numbers"].update(x=1))
    assert (tmp_path / "a.json").is_symlink()


def test_looking_costs_no_reading(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    value = file.value
    os.utime(tmp_path / "a.json", ns=(1, 1))
    assert file.value is not value
    again = file.value
    assert file.value is again
