"""A run that ends because it needs permission prints what would have given it, and a shell takes that as it is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pilothouse.cli.questions import allow_words
from tests.cli.conftest import Echo, Script, assert_told
from tests.cli.test_mcp import consented
from tests.support.commands import Outcome, pilothouse

pytestmark = pytest.mark.slow


def printed(done: Outcome) -> list[str]:
    """Return the options that a run printed when it ended, as a shell would take them."""
    assert done.code == 3, done
    found = re.search(r"^Next time without a question: pilothouse run … (.*)$", done.err, re.MULTILINE)
    assert found is not None, done.err
    return shlex.split(found[1])


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def test_the_printed_words_let_files_and_commands_through(home: Path, script: Script) -> None:
    (folder := home.parent / "work").mkdir()
    command = {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": "touch b.txt"}}
    turns = [[files("create_file", filePath="a.txt", content="x"), command], "Done."]
    words = ["run", "-m", script(json.dumps({"turns": turns})), "--folder", str(folder), "--mode", "ask", "Do it"]
    asked = pilothouse(home, *words)
    cure = printed(asked)
    assert cure[:2] == ["--allow", "file_operations.create_file"]
    assert not (folder / "a.txt").exists()
    assert_told(asked, 3, "not asked with --mode sandboxed or --mode auto_edit or --allow file_operations.create_file")
    done = pilothouse(home, *words, *cure)
    assert (done.code, done.out) == (0, "Done.\n"), done
    assert {path.name for path in folder.iterdir()} == {"a.txt", "b.txt"}


def test_the_printed_words_for_a_path_outside_let_that_path_through_and_no_other(home: Path, script: Script) -> None:
    (folder := home.parent / "work").mkdir()
    (beside := home.parent / "it's beside").mkdir()
    turns = [[files("create_file", filePath=str(beside / "a.txt"), content="x")], "Done."]
    words = ["run", "--folder", str(folder), "Do it"]
    cure = printed(pilothouse(home, *words, "-m", script(json.dumps({"turns": turns}))))
    assert cure == ["--allow", f"file_operations.create_file:{beside}/a.txt"]
    other = json.loads(json.dumps({"turns": turns}).replace("a.txt", "b.txt"))
    assert pilothouse(home, *words, *cure, "-m", script(json.dumps(other))).code == 3
    done = pilothouse(home, *words, *cure, "-m", script(json.dumps({"turns": turns})))
    assert (done.code, done.out) == (0, "Done.\n"), done
    assert [path.name for path in beside.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["file_operations:/srv/x", "file_operations.create_file:/srv/../x", "net:/srv/x"])
def test_a_path_for_nothing_is_refused_before_the_run(home: Path, script: Script, name: str) -> None:
    done = pilothouse(home, "run", "-m", script("[Hello.]"), "--allow", name, "Do it")
    assert (done.code, done.out) == (2, ""), done


def test_the_printed_words_let_private_data_go_where_it_would_go(home: Path, script: Script, echo: Echo) -> None:
    consented(home, echo)
    (folder := home.parent / "work").mkdir()
    (folder / "a.txt").write_text("private\n")
    turns = [
        [files("read_file", filePath="a.txt")],
        [{"call": "echo__echo", "arguments": {"text": "what was read"}}],
        "Done.",
    ]
    words = ["run", "-m", script(json.dumps({"turns": turns})), "--server", "echo", "--folder", str(folder), "Do it"]
    cure = printed(pilothouse(home, *words))
    assert cure == ["--allow", "net:Echo"]
    assert echo.called() == []
    done = pilothouse(home, *words, *cure)
    assert (done.code, done.out) == (0, "Done.\n"), done
    assert echo.called() == ["echo"]


def test_what_always_asks_names_no_words(home: Path, script: Script) -> None:
    (folder := home.parent / "work").mkdir()
    turns = [[files("create_file", filePath=".env", content="x")], "Done."]
    words = ["run", "-m", script(json.dumps({"turns": turns})), "--folder", str(folder), "Do it"]
    asked = pilothouse(home, *words)
    assert_told(asked, 3, "pilothouse answer")
    assert "Next time" not in asked.err


def test_what_a_shell_would_read_in_another_way_is_quoted() -> None:
    names = ["terminal_operations.run_command", "net:*", "net:*", "net:My files"]
    assert allow_words(names) == "--allow terminal_operations.run_command --allow 'net:*' --allow 'net:My files'"
