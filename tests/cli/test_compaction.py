"""Summing up older turns from the terminal: by a command, in a chat, and read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse.types import limits
from tests.cli.conftest import Script, leave, say
from tests.support.commands import Screen, pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow

TALK = """
- match: "Person: "
  steps: [They agreed on port 8123.]
- Port 8123, then.
"""
FAILS = """
- match: "Person: "
  steps: [{fault: 401, message: no such key}]
- Port 8123, then.
"""


def begun(home: Path, model: str) -> str:
    """Return the id of a conversation in which something was said."""
    assert pilothouse(home, "run", "Which port?", "--model", model).code == 0
    (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    return str(one["id"])


def test_a_conversation_is_summed_up_and_the_summary_can_be_read(home: Path, script: Script) -> None:
    conversation = begun(home, script(TALK))
    done = pilothouse(home, "conversations", "compact", conversation, "--keep", "the port")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        f"Older turns summed up: 2 messages → 37 words. Read it: pilothouse conversations show {conversation}\n"
    )
    shown = [line for line in pilothouse(home, "conversations", "show", conversation).lines if line]
    assert shown[:4] == ["You", "Which port?", "Answer", "Port 8123, then."]
    assert shown[4:8] == ["You", "/compact the port", "Older turns summed up: 2 messages → 37 words", shown[7]]
    assert shown[7] == "They agreed on port 8123."
    assert shown[-2:] == ["> Which port?", "> /compact the port"]
    again = pilothouse(home, "conversations", "compact", conversation)
    assert (again.code, again.err) == (1, "There is nothing to sum up yet.\n")


def test_what_is_wrong_is_one_sentence(home: Path, script: Script) -> None:
    conversation = begun(home, script(FAILS))
    failed = pilothouse(home, "conversations", "compact", conversation)
    assert failed.code == 1
    assert "no such key" in failed.err
    assert "Traceback" not in failed.err
    long = pilothouse(home, "conversations", "compact", conversation, "--keep", "x" * (limits.KEEP_CHARS + 1))
    assert long.code == 2
    assert long.err.startswith("What the summary is to keep has 2,001 characters; at most 2,000 can be said.")
    unknown = pilothouse(home, "conversations", "compact", "c_none")
    assert (unknown.code, unknown.err) == (2, "There is no such conversation.\n")


def test_a_chat_is_summed_up_in_a_line(home: Path, script: Script) -> None:
    said = [
        ("/compact", "There is nothing to sum up yet."),
        ("Which port?", "Port 8123, then."),
        ("/compact the port", "Older turns summed up: 2 messages"),
        ("/compact", "There is nothing to sum up yet."),
        ("/help", r"/compact \[WORDS\]"),
    ]
    with Screen(home, ["chat", "--model", script(TALK)]) as screen:
        for line, told in said:
            say(screen, line, told)
        leave(screen)


PRICED = """
- match: "Person: "
  steps: [They agreed on port 8123., {usage: {input: 10, output: 5}}]
- steps: ["Port 8123, then.", {usage: {input: 10, output: 5}}]
"""


def priced(home: Path, model: str) -> str:
    """Return the id of a conversation whose summary could pass the budget for one message."""
    added = ("--provider", "scripted", "--model", model.removeprefix("scripted:"), "--prices", "1000,1000")
    assert pilothouse(home, "models", "add", *added).code == 0
    models = json.loads(pilothouse(home, "models", "list", "--json").out)["models"]
    conversation = begun(home, next(str(one["id"]) for one in models if one["model"] in model and one["model"]))
    assert pilothouse(home, "settings", "budget_per_run", "0.5").code == 0
    return conversation


def test_where_nobody_can_be_asked_a_budget_is_a_sentence_that_says_how_to_raise_it(home: Path, script: Script) -> None:
    conversation = priced(home, script(PRICED))
    failed = pilothouse(home, "conversations", "compact", conversation)
    assert (failed.code, failed.out) == (1, "")
    sentence, fix = failed.err.strip().splitlines()
    assert sentence.startswith("The budget for one message is $0.50: nothing was used so far, and the next request may")
    assert fix.startswith("Raise it: pilothouse settings budget_per_run ")
    assert pilothouse(home, "settings", "budget_per_run", "0").code == 0
    resumed = pilothouse(home, "conversations", "resume", conversation)
    assert (resumed.code, "Older turns summed up" in resumed.err) == (0, True)


@pytest.mark.parametrize("way", ["command", "chat"])
def test_a_person_at_a_terminal_is_asked_at_a_budget_and_declines_and_agrees(
    home: Path, script: Script, way: str
) -> None:
    conversation = priced(home, script(PRICED))
    if way == "chat":
        with Screen(home, ["chat", "--conversation", conversation]) as screen:
            for key, told in (("stop", "Stopped, as you said"), ("continue", "Older turns summed up: 2 messages")):
                say(screen, "/compact", "Go on, with a budget of")
                screen.type(f"{key}\r")
                screen.until(told)
            leave(screen)
        return
    for key, told in (("stop", "Stopped, as you said"), ("continue", "Older turns summed up: 2 messages")):
        with Screen(home, ["conversations", "compact", conversation]) as screen:
            screen.until("Go on, with a budget of")
            screen.type(f"{key}\r")
            screen.until(told)
            assert screen.ended() == 0
