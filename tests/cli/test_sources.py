"""What an answer cites stands below it in a terminal, and the answer alone in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Script, leave
from tests.support.commands import Screen, pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow

CITED = """
- - Twice a day.
  - {cite: "https://boats.example/tides", title: "Tides\\e[31m, explained"}
  - {cite: "https://boats.example/tides", title: Again}
  - {cite: "javascript:alert(1)", title: A script}
  - {cite: "https://bank.example@b\\u0430nk.example/"}
"""
LINES = [
    "Sources:",
    "1. Tides␛[31m, explained https://boats.example/tides",
    "2. A script",
    "3. https://xn--bnk-6cd.example/",
]


def test_sources_stand_below_the_answer_in_a_terminal(home: Path, script: Script) -> None:
    with Screen(home, ["run", "When?", "--model", script(CITED)]) as screen:
        for line in LINES:
            screen.until(re.escape(line))
        assert screen.ended() == 0


def test_sources_stand_below_the_answer_in_a_chat(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(CITED)]) as screen:
        screen.until("›")
        screen.type("when\r")
        for line in LINES:
            screen.until(re.escape(line))
        leave(screen, keys="\x04")


def test_a_conversation_is_shown_with_the_sources_of_its_answers(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "When?", "--model", script(CITED))
    assert (done.code, done.out) == (0, "Twice a day.\n")
    [listed] = [line for line in pilothouse(home, "conversations", "list").lines if "When?" in line]
    shown = pilothouse(home, "conversations", "show", listed.split()[0])
    assert [line for line in shown.lines if line in LINES] == LINES
