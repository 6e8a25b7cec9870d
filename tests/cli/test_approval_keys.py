"""A permission for a call in a terminal: one key, once the question can have been read; danger takes a word."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input

from pilothouse.cli.approval_keys import keys_of
from pilothouse.cli.prompting import read_key
from pilothouse.cli.terminal import Terminal
from pilothouse.types.item_data import ChoiceShown
from tests.cli.conftest import Script
from tests.support.commands import Screen
from tests.support.waiting import eventually

# Most of these start a process.
pytestmark = pytest.mark.slow
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


def create(path: str) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": "create_file", "filePath": path, "content": "x"}}


def run(command: str) -> dict[str, Any]:
    return {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": command}}


@pytest.fixture
def folder(home: Path) -> Path:
    """Where the calls work."""
    (made := home.parent / "work").mkdir()
    return made


def asking(home: Path, script: Script, folder: Path, *calls: dict[str, Any]) -> Screen:
    model = script(json.dumps({"turns": [list(calls), "Well."]}))
    return Screen(home, ["run", "-m", model, "--folder", str(folder), "--mode", "ask", "Do it"])


def test_one_key_allows_and_one_that_came_before_the_question_could_be_read_does_not(
    home: Path, script: Script, folder: Path
) -> None:
    with asking(home, script, folder, create("a.txt")) as screen:
        # Typed ahead, meant for something else.
        screen.type("a\ra")
        screen.until("a  Allow once")
        screen.until("f  For this task, until this answer ends")
        screen.until("w  For 30 minutes, in this conversation")
        screen.until("c  In this conversation, until you withdraw it")
        screen.until("s  Always for this pattern")
        screen.until("d  Deny")
        screen.until("t  Say what to do instead")
        screen.until("›")
        assert not (folder / "a.txt").exists()
        # An empty line and a key of no choice answer nothing.
        screen.type("\rz")
        screen.type("a")
        screen.until("Allow once")
        screen.until("Well.")
        assert screen.ended() == 0
    assert (folder / "a.txt").exists()


async def test_a_key_typed_while_the_prompt_is_slow_to_start_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with create_pipe_input() as keyboard, create_app_session(input=keyboard):
        keyboard.send_text("a")
        # With no delay at all, only the start of the prompt stands between this key and the question.
        asked = asyncio.create_task(read_key({"a": "allow", "d": "deny"}, 0.0, Terminal(shown)))

        async def counts() -> bool:
            return "›" in shown.getvalue() or asked.done()

        await eventually(counts, "the prompt to show that keys count", AMPLE)
        assert not asked.done()
        keyboard.send_text("d")
        assert await asyncio.wait_for(asked, AMPLE) == "d"


def test_words_in_place_of_a_permission_reach_the_model(home: Path, script: Script, folder: Path) -> None:
    with asking(home, script, folder, create("a.txt")) as screen:
        screen.until("›")
        screen.type("t")
        screen.until("What to do instead")
        screen.type("Use b.txt.\r")
        screen.until("Use b.txt.")
        screen.until("Well.")
        assert screen.ended() == 0
    assert not (folder / "a.txt").exists()


def test_what_a_call_is_given_is_changed_and_that_is_what_runs(home: Path, script: Script, folder: Path) -> None:
    with asking(home, script, folder, create("a.txt")) as screen:
        screen.until("›")
        screen.type("e")
        screen.until("as JSON")
        screen.until('"x"}')
        screen.type("\x7f\x7f\x7fmine")
        screen.type("\r")
        screen.until("That is not a JSON object")
        screen.type('"}\r')
        screen.until("Well.")
        assert screen.ended() == 0
    assert (folder / "a.txt").read_text() == "mine"


@pytest.mark.case("AUTHZ-11", "AUTHZ-12")
def test_all_are_allowed_with_one_key_save_the_dangerous_one_which_takes_a_word(
    home: Path, script: Script, folder: Path
) -> None:
    with asking(home, script, folder, create("a.txt"), run("sudo touch danger"), create("b.txt")) as screen:
        screen.until("1 of 3")
        screen.until("A  Allow all 2")
        screen.until("›")
        screen.type("A")
        screen.until("2 of 3")
        screen.until("Careful: ")
        screen.until("›")
        screen.type("a")
        screen.until("Type “allow” to allow it ›")
        screen.type("\r")
        screen.until("…")
        screen.until("›")
        screen.type("d")
        screen.until("Well.")
        assert screen.ended() == 0
    assert {path.name for path in folder.iterdir()} == {"a.txt", "b.txt"}


def test_whatever_a_question_offers_has_a_key_of_its_own() -> None:
    offered = [ChoiceShown(id=name, label=name) for name in ("allow", "conversation", "task", "deny", "fates")]
    keys = keys_of(offered)
    assert {choice.id for choice in keys.values()} == {choice.id for choice in offered}
    assert keys["a"].id == "allow"
    assert keys["d"].id == "deny"
    assert not {"e", "t", "A"} & keys.keys()
