"""`pilothouse backup` and `pilothouse restore`, as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Script, assert_told
from tests.support.commands import pilothouse

pytestmark = pytest.mark.slow


def test_a_backup_says_what_it_holds_and_comes_back_in_another_place(
    home: Path, script: Script, tmp_path: Path
) -> None:
    assert_told(pilothouse(home, "backup"), 2, "There is nothing in")
    assert pilothouse(home, "run", "Why is the sky blue?", "--model", script("- ok")).code == 0
    made = pilothouse(home, "backup", str(tmp_path / "copy.jsonl.gz"))
    assert (made.code, made.lines) == (0, [str(tmp_path / "copy.jsonl.gz")])
    assert "1 conversation, " in made.err
    assert f"pilothouse restore {made.lines[0]}" in made.err
    assert "Not in it: keys" in made.err
    assert_told(pilothouse(home, "backup", made.lines[0]), 1, "is there already", "--replace")
    for name, leads_to in (("itself", "itself"), ("nowhere", "gone")):
        (tmp_path / name).symlink_to(tmp_path / leads_to)
        linked = pilothouse(home, "backup", str(tmp_path / name))
        assert_told(linked, 1, f"{name} is a link that leads to no file", "--replace")
        assert (tmp_path / name).is_symlink()
    assert_told(pilothouse(home, "restore", made.lines[0]), 1, "There is data in", "--replace")
    other = tmp_path / "other"
    done = pilothouse(other, "restore", made.lines[0])
    assert "1 conversation and config.json" in done.out
    found = pilothouse(other, "conversations", "search", "sky", "--json")
    assert len(json.loads(found.out)["hits"]) > 0
    verified = pilothouse(other, "audit", "verify").out
    assert verified.startswith("1 conversation,")
    assert verified.partition(":")[0] in made.err, "both count the same events"


def test_a_restore_says_where_it_kept_what_was_there_and_takes_a_database_file_too(
    home: Path, script: Script, tmp_path: Path
) -> None:
    assert pilothouse(home, "run", "The first", "--model", script("- ok")).code == 0
    first = shutil.copy(home / "pilothouse.db", tmp_path / "before-an-upgrade.db")
    assert pilothouse(home, "run", "The second", "--model", script("- ok")).code == 0
    done = pilothouse(home, "restore", "--replace", str(first))
    assert done.lines == ["1 conversation: restored and verified."]
    (aside,) = (home / "backups").glob("replaced-*")
    assert str(aside) in "".join(done.err.split("\n"))
    assert (aside / "pilothouse.db").is_file()
    listed = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    assert [one["title"] for one in listed] == ["The first"]
    again = pilothouse(home, "restore", "--replace", str(aside / "pilothouse.db"))
    assert again.lines == ["2 conversations: restored and verified."]


def test_a_conversation_goes_into_a_file_and_comes_back_elsewhere(home: Path, script: Script, tmp_path: Path) -> None:
    assert pilothouse(home, "run", "Why is the sky blue?", "--model", script("- Because ```it is```.")).code == 0
    (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    printed = pilothouse(home, "conversations", "export", one["id"], "--format", "markdown").out
    assert printed.startswith("# Why is the sky blue?\n")
    assert "## You\n\nWhy is the sky blue?\n\n## Answer\n\nBecause ```it is```.\n" in printed
    assert_told(pilothouse(home, "conversations", "export"), 2, "Name one conversation, or say --all.")
    file = str(tmp_path / "talks.jsonl.gz")
    assert pilothouse(home, "conversations", "export", "--all", file).lines == [file]
    other = tmp_path / "other"
    (tmp_path / "empty.jsonl").touch()
    assert_told(pilothouse(other, "conversations", "import", str(tmp_path / "empty.jsonl")), 2, "is empty")
    taken = pilothouse(other, "conversations", "import", file)
    assert taken.lines == [f"{one['id']}  Why is the sky blue?"]
    assert pilothouse(other, "conversations", "import", file).lines == [f"{taken.lines[0]} (was here already)"]
    assert "1 conversation," in pilothouse(other, "audit", "verify").out
