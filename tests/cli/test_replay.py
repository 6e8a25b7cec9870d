"""`pilothouse replay`: followed live, compared in words or as JSON, and an exit code that says how it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Screen, pilothouse

pytestmark = pytest.mark.slow
THINK = "{call: think, arguments: {thoughts: Hm.}}"


def model(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return f"scripted:{folder / f'{name}.yaml'}"


def recorded(home: Path, folder: Path, text: str = f"- [{THINK}]\n- Done.") -> tuple[str, str]:
    """Have a message answered; return its conversation and its run."""
    assert pilothouse(home, "run", "Think.", "--model", model(folder, "first", text)).code == 0
    (one, *_) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    (run,) = [json.loads(line) for line in pilothouse(home, "conversations", "runs", one["id"], "--json").lines]
    return one["id"], run["id"]


def test_a_replay_is_shown_and_then_what_differs(home: Path, tmp_path: Path) -> None:
    conversation, run = recorded(home, tmp_path)
    assert run in pilothouse(home, "conversations", "runs", conversation).lines[1]
    done = pilothouse(home, "replay", run, "--model", model(tmp_path, "next", f"- [{THINK}]\n- Finished."))
    assert done.code == 0
    assert done.lines[0] == "Finished."
    assert f"Replaying {run} as r_" in done.err
    assert "no tool is executed" in done.err
    assert "Step 1: the same" in done.lines
    assert "Step 2: other words" in done.lines
    at = done.lines.index("Step 2: other words")
    assert [done.lines[at + 1].split(), done.lines[at + 3].split()] == [["then", "Done."], ["now", "Finished."]]
    assert done.lines[-1] == "It made the same calls and ends in other words."


def test_a_call_that_was_not_recorded_has_an_exit_code_of_its_own(home: Path, tmp_path: Path) -> None:
    conversation, _run = recorded(home, tmp_path)
    other = model(tmp_path, "next", "- [{call: think, arguments: {thoughts: Ah.}}]")
    done = pilothouse(home, "replay", conversation, "--model", other)
    assert done.code == 5
    assert 'The model called think with {"thoughts":"Ah."}. That was not recorded' in " ".join(done.err.split())
    assert 'think {"thoughts":"Ah."} (not recorded)' in done.out
    assert "Traceback" not in done.err


def test_several_runs_are_one_json_object_each(home: Path, tmp_path: Path) -> None:
    _, run = recorded(home, tmp_path)
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Be brief.")
    same = model(tmp_path, "next", f"- [{THINK}]\n- Done.")
    done = pilothouse(home, "replay", run, "nobody", run, "--model", same, "--prompt", str(prompt), "--json")
    first, second, third = map(json.loads, done.lines)
    assert done.code == 2
    assert (first["replayOf"], third["replayOf"]) == (run, run)
    assert first["run"]["options"]["systemPrompt"] == "Be brief."
    assert (first["difference"]["sameCalls"], first["difference"]["sameAnswer"]) == (True, True)
    assert (second["run"], second["error"]["code"]) == (None, "not_found")
    assert pilothouse(home, "replay", run, run, "--model", same, "--json").code == 0
    other = model(tmp_path, "other", "- [{call: think, arguments: {thoughts: Ah.}}]")
    stopped = pilothouse(home, "replay", run, "--model", other, "--json")
    assert (stopped.code, json.loads(stopped.out)["run"]["error"]["code"]) == (5, "not_recorded")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "gone"), "There is no model “gone”."),
        (("--system", "a", "--prompt", "b"), "--system and --prompt both give the system prompt."),
        (("--prompt", "/nowhere"), "/nowhere cannot be read: No such file or directory."),
        (("--prompt", "/"), "/ cannot be read: Is a directory."),
        (("--temperature", "7"), "Invalid value for '--temperature'"),
    ],
)
def test_what_cannot_be_wished_is_one_sentence(home: Path, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    _, run = recorded(home, tmp_path)
    done = pilothouse(home, "replay", run, *options)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert len(pilothouse(home, "conversations", "list").lines) == 2


def test_what_strangers_wrote_does_nothing_to_the_terminal(home: Path, tmp_path: Path) -> None:
    hostile = '- [{call: think, arguments: {thoughts: "\\e]0;owned\\a\\e[2J"}}]\n- "Bye\\e[2J\\e]52;c;eHg=\\a."'
    _, run = recorded(home, tmp_path, hostile)
    with Screen(home, ["replay", run]) as screen:
        screen.until("It made the same calls and ends in the same words")
        assert screen.ended() == 0
        assert "\x1b]0;" not in screen.raw
        assert "\x1b]52;" not in screen.raw
        assert "\x1b[2J" not in screen.raw


def test_ctrl_c_cancels_the_replay(home: Path, tmp_path: Path) -> None:
    _, run = recorded(home, tmp_path)
    slow = model(tmp_path, "slow", "- [{text: Wait for it, pieces: 9, every: 60, until: /nowhere}]")
    with Screen(home, ["replay", run, "--model", slow]) as screen:
        screen.until("Wait")
        screen.type("\x03")
        assert screen.ended() == 130
