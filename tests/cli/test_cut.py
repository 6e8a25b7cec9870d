"""An answer that was cut ends a command with a code of its own, a line on stderr, and the way on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Script, leave, say
from tests.support.commands import Screen, pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow

CUT = "- [{text: Half an ans}, {usage: {input: 9, output: 64}}, {stop: length}]\n- wer."
TOLD = "The answer was cut at its limit of 64 tokens."


def test_a_cut_answer_is_told_on_stderr_and_resumed_where_it_stopped(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "Tell me.", "--model", script(CUT))
    assert (done.code, done.out) == (4, "Half an ans\n")
    told, way = done.err.splitlines()
    assert told == TOLD
    words = way.removeprefix("Go on: pilothouse ").split()
    shown = pilothouse(home, "conversations", "show", words[-1])
    assert shown.err.splitlines() == [f"Go on with the answer: pilothouse conversations resume {words[-1]}"]
    rest = pilothouse(home, *words)
    assert (rest.code, rest.out, rest.err) == (0, "wer.\n", "")
    assert "No answer in this conversation waits" in pilothouse(home, *words).err
    shown = pilothouse(home, "conversations", "show", words[-1])
    assert (shown.err, "Half an answer." in shown.lines) == ("", True)


def test_a_cut_answer_is_told_also_where_its_events_are_printed(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "Tell me.", "--json", "--model", script(CUT))
    assert done.code == 4
    assert done.err.splitlines()[0] == TOLD
    ended = [event["run"] for event in map(json.loads, done.lines) if event["type"] == "run.updated"][-1]
    assert (ended["status"], ended["cut"]) == ("completed", "length")


def test_a_full_window_names_the_way_on_with_a_larger_one(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "Tell me.", "--model", script("- [{text: Half an ans}, {stop: context}]"))
    told, way = done.err.splitlines()
    assert (done.code, "fills the model's window" in told) == (4, True)
    conversation = way.split()[5]
    assert way == f'Go on: pilothouse run --conversation {conversation} --model LARGER "Go on."'
    larger = ("run", "--conversation", conversation, "--model", script("- wer."), "Go on.")
    assert pilothouse(home, *larger).out == "wer.\n"


def test_an_answer_that_its_provider_paused_is_printed_as_one(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "Tell me.", "--model", script("- [{text: Half an ans}, {stop: pause}]\n- wer."))
    assert (done.code, done.out, done.err) == (0, "Half an answer.\n", "")


def test_a_cut_answer_goes_on_in_a_chat(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(CUT)]) as screen:
        say(screen, "tell me", f"{TOLD} Go on: /resume")
        say(screen, "/resume", "wer.")
        leave(screen, keys="\x04")


def test_a_cut_answer_is_told_once_to_a_person_at_a_terminal(home: Path, script: Script) -> None:
    with Screen(home, ["run", "Tell me.", "--model", script(CUT)]) as screen:
        assert screen.ended() == 4
        assert screen.text.count(TOLD) == 1
        assert screen.text.count("Go on:") == 1


def test_a_chat_goes_on_with_the_larger_model_that_was_chosen(home: Path, script: Script, tmp_path: Path) -> None:
    larger = tmp_path / "larger.yaml"
    larger.write_text("- A first answer.\n- wer of the larger one.")
    full = script("- [{text: Half an ans}, {stop: context}]\n- wer of the same one.")
    with Screen(home, ["chat", "--model", full]) as screen:
        say(screen, "tell me", "Choose a larger model with /model, then: /resume")
        say(screen, f"/model scripted:{larger}", "answers")
        say(screen, "/resume", "wer of the larger one.")
        leave(screen, keys="\x04")
