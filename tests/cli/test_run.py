"""`pilothouse run`, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Script
from tests.support.commands import COMMAND, RunningCommand, environment, pilothouse

HELLO = "- [{thinking: hm}, {text: Hello there., pieces: 3}, {usage: {input: 7, output: 3}}]\n- You said more."
# The same call four times in a row: a person is asked whether to go on.
LOOP = "- [{call: think, arguments: {thought: again}}]"
SLOW = "- [{text: 'Slow words. '}, {wait: 60}]"


def test_an_answer_goes_to_the_output_and_nothing_else_does(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "hi", "--model", script(HELLO))
    assert (done.code, done.out, done.err) == (0, "Hello there.\n", "")


@pytest.mark.slow
def test_json_lines_are_the_timeline_from_its_first_event(home: Path, script: Script) -> None:
    done = pilothouse(home, "run", "hi", "--json", "-m", script(HELLO))
    events = [json.loads(line) for line in done.lines]
    numbers = [event["seq"] for event in events if event["seq"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert events[-1]["type"] == "run.updated"
    assert events[-1]["run"]["status"] == "completed"
    responses = {event["item"]["id"] for event in events if event.get("item", {}).get("kind") == "response"}
    texts = [event["text"] for event in events if event["type"] == "item.delta" and event["itemId"] in responses]
    assert "".join(texts) == "Hello there."


@pytest.mark.slow
def test_a_conversation_goes_on_and_keeps_its_system_prompt(home: Path, script: Script) -> None:
    model = script(HELLO)
    first = pilothouse(home, "run", "hi", "--json", "--model", model, "--system", "Be kind.")
    conversation = json.loads(first.lines[0])["conversation"]
    assert conversation["settings"]["systemPrompt"] == "Be kind."
    # Without --model: the conversation has its own.
    again = pilothouse(home, "run", "more", "--conversation", conversation["id"])
    assert (again.code, again.out) == (0, "You said more.\n")
    shown = pilothouse(home, "conversations", "show", conversation["id"])
    assert " ".join(shown.out.split()) == "You hi Answer Hello there. You more Answer You said more."


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ((), "from a pipe\n", "from a pipe"),
        pytest.param(("-",), "only this\n", "only this", marks=pytest.mark.slow),
        (("Review this.",), "the diff\n", "Review this.\n\nthe diff"),
    ],
)
@pytest.mark.slow
def test_what_is_piped_in_is_the_message_or_stands_below_it(
    home: Path, script: Script, arguments: tuple[str, ...], stdin: str, said: str
) -> None:
    done = pilothouse(home, "run", *arguments, "--json", "--model", script(HELLO), stdin=stdin)
    spoken = [json.loads(line) for line in done.lines]
    assert [event["item"]["text"] for event in spoken if event.get("item", {}).get("kind") == "user_message"] == [said]


@pytest.mark.slow
def test_a_question_ends_with_three_and_says_how_to_answer(home: Path, script: Script) -> None:
    asked = pilothouse(home, "run", "loop", "--model", script(LOOP))
    assert asked.code == 3
    assert "Go on?" in asked.err
    command = next(line for line in asked.err.splitlines() if "pilothouse answer" in line and "stop" in line)
    waiting = pilothouse(home, "answer")
    assert waiting.code == 3
    assert command.split("    ")[0] in waiting.out
    wrong = pilothouse(home, "answer", command.split()[2], "perhaps")
    assert wrong.code == 2
    assert "Choose one of" in wrong.err
    stopped = pilothouse(home, *command.split()[1:4])
    assert stopped.code == 0, stopped.err
    assert pilothouse(home, "answer").err == "No question waits for an answer.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_signal_cancels_the_run_for_good(home: Path, script: Script, number: int) -> None:
    with RunningCommand(home, "run", "hi", "--json", "--model", script(SLOW)) as started:
        line = started.line()
        conversation = json.loads(line)["conversation"]["id"]
        while "Slow words" not in line:
            line = started.line()
        done = started.stop(number)
    assert done.code == 130
    assert json.loads(done.lines[-1])["run"]["status"] == "cancelled"
    items = pilothouse(home, "conversations", "show", conversation, "--json")
    assert json.loads(items.lines[-1])["status"] == "cancelled"


@pytest.mark.slow
def test_a_run_that_fails_says_why_and_ends_with_one(home: Path, script: Script) -> None:
    broken = pilothouse(home, "run", "hi", "--model", script("- [{fault: 401}]\n"))
    assert broken.code == 1
    assert broken.err.strip()
    assert "Traceback" not in broken.err


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_command_quietly(home: Path, script: Script) -> None:
    many = script("- [{text: 'words and words and words ', pieces: 5, every: 0.01}, {wait: 60}]")
    arguments = " ".join((*COMMAND, "run", "hi", "--json", "--model", many))
    done = subprocess.run(
        ["sh", "-c", f"{arguments} | head -n 1"], capture_output=True, timeout=20, env=environment(home), check=False
    )
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == b""


@pytest.mark.slow
def test_two_commands_at_once_wait_for_each_other(home: Path, script: Script) -> None:
    model = script("- [{text: done, pieces: 1, every: 0.05}]")
    with (
        RunningCommand(home, "run", "one", "--model", model) as one,
        RunningCommand(home, "run", "two", "--model", model) as two,
    ):
        outcomes = [one.wait(), two.wait()]
    assert [(each.code, each.out, each.err) for each in outcomes] == [(0, "done\n", "")] * 2


@pytest.mark.parametrize(("options", "kept"), [(("--thinking",), True), (("--no-thinking",), False), ((), None)])
@pytest.mark.slow
def test_thinking_is_asked_for_with_a_message(
    home: Path, script: Script, options: tuple[str, ...], kept: bool | None
) -> None:
    done = pilothouse(home, "run", "hi", "--json", "--model", script(HELLO), *options)
    runs = [event["run"] for event in map(json.loads, done.lines) if event["type"] == "run.updated"]
    assert runs[-1]["options"]["thinking"] is kept
