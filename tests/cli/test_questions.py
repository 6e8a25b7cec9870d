"""The agent's own questions in a terminal: answered by a number, by own words, and with permission by choice only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Script
from tests.support.commands import Screen

# Most of these start a process.
pytestmark = pytest.mark.slow


def asking(**arguments: object) -> str:
    call = {"call": "user_collaboration", "arguments": {"prompt": "Which colour?", **arguments}}
    return json.dumps({"turns": [[call], "Thank you."]})


def test_a_number_chooses_and_own_words_are_an_answer_too(home: Path, script: Script) -> None:
    model = script(asking(choices=["Red", "Blue"], context="For the door."))
    for typed in ("2", "Green, please"):
        with Screen(home, ["run", "Paint it", "--model", model]) as screen:
            screen.until("For the door.")
            screen.until("2  Blue")
            screen.type(f"{typed}\r")
            screen.until("Thank you.")
            assert screen.ended() == 0


def test_permission_is_given_by_a_choice_and_never_by_words(home: Path, script: Script, tmp_path: Path) -> None:
    model = script(asking(authorize_operation="todo_operations.write"))
    with Screen(home, ["run", "Paint it", "--model", model]) as screen:
        screen.until("Approving allows every todo_operations.write for 5m in this conversation, in any folder.")
        screen.type("yes, I approve\r")
        screen.until("Type a number from 1 to 2.")
        screen.type("decline\r")
        screen.until("Thank you.")
        assert screen.ended() == 0
