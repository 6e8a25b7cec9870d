"""`pilothouse chat` in a terminal of its own."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from pilothouse.types.address import ADDRESS_FILE
from tests.cli.conftest import Script, leave, say
from tests.support.commands import Screen, pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow

TALK = "- [{thinking: Hm.}, {text: 'Hello **you**.'}]\n- [{text: 'Slow words. '}, {wait: 60}]\n- Third."
LOOP = "- [{call: think, arguments: {thought: again}}]"


def test_a_chat_streams_stops_names_lists_and_leaves(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(TALK)]) as screen:
        screen.until("/help")
        say(screen, "hello", "tokens")
        assert "\x1b[1myou\x1b[0m" in screen.raw
        assert "**" not in screen.raw
        say(screen, "and more", "Slow words")
        screen.type("\x03")
        screen.until("Cancelled")
        say(screen, "go on", "Third")
        say(screen, "/title My talk", "My talk")
        say(screen, "/nope", "is not a command")
        say(screen, "/model", "There are: embedded")
        say(screen, "/help", "/quit")
        leave(screen, keys="\x04")
    listed = pilothouse(home, "conversations", "list").lines
    assert len(listed) == 2
    assert "My talk" in listed[1]
    assert stat.S_IMODE((home / "chat-history").stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("answering", [True, False])
def test_a_chat_that_is_told_to_end_ends_and_puts_everything_away(
    home: Path, script: Script, number: signal.Signals, answering: bool
) -> None:
    with Screen(home, ["chat", "--model", script("- [{text: 'Slow words. '}, {wait: 60}]")]) as screen:
        screen.until("›")
        if answering:
            screen.type("hello\r")
            screen.until("Slow words")
        os.kill(screen.pid, number)
        assert screen.ended() == 0
    assert not (home / ADDRESS_FILE).exists()


@pytest.mark.slow
def test_several_lines_are_one_message_and_a_new_conversation_begins(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script("- One.\n- Two.")]) as screen:
        say(screen, "first\x1b\rsecond", "One")
        say(screen, "/new", "begins")
        say(screen, "again", "One")
        leave(screen)
    newest, oldest = (line.split()[0] for line in pilothouse(home, "conversations", "list").lines[1:])
    assert "first\nsecond" in pilothouse(home, "conversations", "show", oldest).out
    assert "again" in pilothouse(home, "conversations", "show", newest).out


@pytest.mark.slow
def test_a_question_is_answered_in_the_chat(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(LOOP)]) as screen:
        say(screen, "loop", "Go on")
        screen.until("›")
        screen.type("stop\r")
        leave(screen)
        # No terminal is asked where its cursor is: one that does not answer would be complained about in a question.
        assert "\x1b[6n" not in screen.raw
        assert "CPR" not in screen.raw
    assert pilothouse(home, "answer").err == "No question waits for an answer.\n"


def test_the_folder_and_the_mode_are_said_and_chosen(home: Path, script: Script, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with Screen(home, ["chat", "--model", script("- One.")]) as screen:
        say(screen, "/folder", "It works in no folder.")
        screen.type(f"/folder {tmp_path}/nowhere\r")
        screen.until("There is no folder")
        screen.type(f"/folder {place}\r")
        screen.until("It works in\\s")
        screen.type("/mode\r")
        screen.until("The mode is sandboxed, the default here.")
        screen.until("There are: default, ask, sandboxed, auto_edit, read_only, auto_approve.")
        screen.type("/mode bold\r")
        screen.until("There is no mode “bold”.")
        screen.type("/mode read_only\r")
        screen.until("The mode is read_only.")
        screen.type("hello\r")
        screen.until("One.")
        say(screen, "/mode auto_edit", "The mode is auto_edit.")
        screen.type("/new\r")
        screen.until("A new conversation")
        screen.type("/folder none\r")
        screen.until("It works in no folder.")
        screen.type("hello again\r")
        screen.until("One.")
        leave(screen)
    listed = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    chosen = [(one["settings"]["workingDirectory"], one["settings"]["mode"]) for one in listed]
    assert chosen == [(None, "auto_edit"), (str(place), "auto_edit")]


def test_a_slash_is_completed_with_commands_and_what_they_take(home: Path, script: Script, tmp_path: Path) -> None:
    (tmp_path / "workshop").mkdir()
    with Screen(home, ["chat", "--model", script("- One.")]) as screen:
        screen.until("›")
        # While typing, what there is and what it means is shown.
        screen.type("/mo")
        screen.until("say which model answers")
        screen.until("say what needs no question")
        screen.type("d\t\x7f\x7f")
        screen.type("\x15/mode r")
        screen.until("read_only")
        screen.type("\t\r")
        screen.until("The mode is read_only")
        screen.type("/model emb")
        screen.until("embedded")
        screen.type("\t\r")
        screen.until("answers")
        screen.type(f"/folder {tmp_path}/work")
        screen.until("workshop")
        screen.type("\t\r")
        screen.until("It works in\\s")
        leave(screen, keys="\x04")


def test_a_call_that_fails_is_named_with_its_reason(home: Path, script: Script) -> None:
    calls = "- [{call: nothing_like_it, arguments: {x: 1}}, {call: think, arguments: {thougt: again}}]\n- Done."
    with Screen(home, ["chat", "--model", script(calls)]) as screen:
        say(screen, "go", r"· nothing_like_it — Failed: \S+", r"· \S*[Tt]hink.* — Failed: \S+", "Done")
        leave(screen, keys="\x04")


def test_thinking_is_asked_for_in_the_chat_and_a_model_that_cannot_says_so(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script("- One.")]) as screen:
        say(screen, "/thinking perhaps", "neither on, off nor usual")
        say(screen, "/thinking on", "Thinking is on.")
        say(screen, "hello", "cannot be asked to think first", "One.")
        leave(screen)


def test_temperature_and_the_longest_answer_are_chosen_in_the_chat(home: Path, script: Script) -> None:
    said = [
        ("/temperature", "The temperature is the model's own."),
        ("/temperature warm", "“warm” is not such a number.\nSay a number from 0 to 2"),
        ("/temperature 3", "The temperature must be between 0 and 2."),
        ("/temperature 0.2", "The temperature is 0.2."),
        ("/max-tokens", "An answer has as many tokens as the model gives."),
        ("/max-tokens 1.5", "Say a whole number of tokens"),
        ("/max-tokens 99999999999999", "The most tokens of an answer must be between 1 and 1,000,000,000."),
        ("/max-tokens 500", "An answer has at most 500 tokens."),
        ("hello", "One."),
        ("/temperature usual", "The temperature is the model's own."),
        ("/max-tokens", "An answer has at most 500 tokens."),
        ("/thinking", "The model thinks, or not, as the conversation's settings say."),
        ("/resume", "This answer is complete; there is nothing to go on with."),
        ("/help", r"/temperature \[N\]"),
    ]
    with Screen(home, ["chat", "--model", script("- One.")]) as screen:
        for line, told in said:
            say(screen, line, told)
        leave(screen)
    (line,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    assert (line["settings"].get("temperature"), line["settings"]["maxTokens"]) == (None, 500)


def test_the_help_and_what_is_wrong_break_between_words_in_a_narrow_terminal(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script("- One.")], COLUMNS="44") as screen:
        say(
            screen,
            "/help",
            "Enter sends, Alt\\+Enter begins a new line,\n  Ctrl-C stops an answer, Ctrl-D leaves.\n",
            "/mode \\[MODE\\]      say what needs no\n {18}question, or choose\n {18}another mode\n",
        )
        say(screen, "/thinking perhaps so it does", "“perhaps so it does” is neither on, off nor\n  usual.\n")
        leave(screen)
