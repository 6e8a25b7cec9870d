"""Branches in the terminal: `/edit`, `/retry`, `/branch`, `/branches`, and the commands for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Script, leave, say
from tests.support.commands import Screen, pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow

TALK = "- One.\n- Two.\n- Three.\n- Four."
WRITES = (
    "- [{call: file_operations, arguments: {operation: create_file, filePath: new.txt, content: Hello}}]\n- Written.\n"
    "- More.\n- Again."
)


def said(home: Path, conversation: str, *more: str) -> list[str]:
    lines = pilothouse(home, "conversations", "show", conversation, "--json", *more).lines
    items = [json.loads(line) for line in lines]
    return [item["text"] for item in items if item["kind"] in ("user_message", "response")]


def only(home: Path) -> str:
    [one] = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    return str(one["id"])


def test_a_message_is_edited_answered_again_and_gone_on_from(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(TALK)]) as screen:
        say(screen, "/edit", "Nothing was said here yet")
        screen.type("first\r")
        screen.until("One")
        say(screen, "second", "Two")
        screen.until("›")
        # The words of the message stand in the line.
        screen.type("/edit\r")
        screen.until("Change it and press Enter")
        screen.until("› second")
        screen.type(", better\r")
        screen.until("Two")
        say(screen, "/retry 0.5", "Two")
        say(screen, "/branch", "goes on after the answer to “first”")
        screen.type("third way\r")
        screen.until("Two")
        say(
            screen,
            "/branches",
            "the first branch",
            "an edited message",
            "another answer",
            "another way on",
            "Go on with which",
        )
        screen.type("1\r")
        screen.until("You go on with branch 1")
        leave(screen)
    conversation = only(home)
    tree = json.loads(pilothouse(home, "conversations", "branches", conversation, "--json").out)
    assert [(node["number"], node["kind"]) for node in tree["branches"]] == [
        (0, None),
        (1, "edit"),
        (2, "retry"),
        (3, "branch"),
    ]
    assert tree["chosen"] == 1
    assert said(home, conversation) == ["first", "One.", "second, better", "Two."]
    assert said(home, conversation, "--branch", "3") == ["first", "One.", "third way", "Two."]


def test_what_cannot_be_done_in_a_chat_is_said_and_changes_nothing(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(TALK)]) as screen:
        say(screen, "first", "One")
        say(screen, "/branches 9", "There is no branch “9”")
        say(screen, "/edit 7", "“7” is no message of yours here")
        screen.until("›")
        for typed in ("/edit 1 in other words", "/branch 1 in other words", "/branches 0 in other words"):
            screen.type(f"{typed}\r")
            screen.until("Only a number is taken here")
            screen.until("›")
        # Pasted: a terminal draws the line anew for each key.
        screen.type(f"/edit \x1b[200~{'9' * 5_000}\x1b[201~\r")
        screen.until("is no message of yours here")
        say(screen, "/retry nosuchmodel", "nosuchmodel")
        screen.until("›")
        # What is given up changes nothing.
        screen.type("/edit\r")
        screen.until("› first")
        screen.type("\x03")
        screen.until("Everything stays as it is")
        leave(screen)
    assert said(home, only(home)) == ["first", "One."]


def test_files_are_put_back_when_the_person_says_so_and_not_otherwise(
    home: Path, script: Script, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    arguments = ["chat", "--model", script(WRITES), "--folder", str(folder), "--mode", "auto_edit"]
    with Screen(home, arguments) as screen:
        say(screen, "write", "Written")
        say(screen, "/retry", r"1 file changed since:\s+\S*/new.txt", "Put them back as they were")
        screen.type("n\r")
        # The file is in the way now, and the model is told so; it belongs to the first answer all the same.
        screen.until("Written")
        screen.until("›")
        assert (folder / "new.txt").exists()
        screen.type("/edit\r")
        screen.until("Put them back as they were")
        screen.type("y\r")
        screen.until("put back")
        screen.until("› write")
        assert not (folder / "new.txt").exists()
        screen.type("\x03")
        screen.until("Everything stays")
        screen.type("/quit\r")
        assert screen.ended() == 0


@pytest.mark.parametrize("stops", [True, False])
def test_whoever_edits_while_an_answer_is_at_work_is_asked_what_becomes_of_it(
    home: Path, script: Script, tmp_path: Path, stops: bool
) -> None:
    go = tmp_path / "go"
    slow = f"- [{{text: 'Slow words. '}}, {{text: 'At last.', pieces: 3, every: 60, until: '{go}'}}]\n- Two."
    with Screen(home, ["chat", "--model", script(slow)]) as first:
        first.until("›")
        first.type("hello\r")
        first.until("Slow")
        with Screen(home, ["chat", "--conversation", only(home)]) as other:
            other.until("›")
            other.type("/edit\r")
            other.until("Stop it, or finish it first")
            other.type("s\r" if stops else "\r")
            other.until("› hello")
            other.type(" you\r")
            if stops:
                first.until("Cancelled")
                go.touch()
            else:
                go.touch()
                first.until("last")
                first.until("tokens|›")
            other.until("At last")
            other.until("›")
            other.type("/quit\r")
            assert other.ended() == 0
        first.type("/quit\r")
        assert first.ended() == 0
    assert said(home, only(home))[0] == "hello you"


@pytest.fixture
def talk(home: Path, script: Script) -> str:
    model = script(TALK)
    assert pilothouse(home, "run", "albatross", "--model", model).code == 0
    conversation = only(home)
    assert pilothouse(home, "run", "--conversation", conversation, "--model", model, "pelican").code == 0
    return conversation


def items_of(home: Path, conversation: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in pilothouse(home, "conversations", "show", conversation, "--json").lines]


def test_scripts_make_branches_and_choose_them(home: Path, script: Script, talk: str) -> None:
    [first, _, second, _] = [item for item in items_of(home, talk) if item["kind"] in ("user_message", "response")]
    place = ["--conversation", talk]
    edited = pilothouse(home, "run", *place, "--instead-of", second["id"], "kittiwake")
    assert (edited.code, edited.out) == (0, "Two.\n")
    after = pilothouse(home, "run", *place, "--after", first["runId"], "gannet")
    assert (after.code, after.out) == (0, "Two.\n")
    again = pilothouse(home, "conversations", "retry", second["runId"], "--temperature", "1")
    assert (again.code, again.out) == (0, "Two.\n")
    assert said(home, talk) == ["albatross", "One.", "pelican", "Two."]
    assert pilothouse(home, "conversations", "choose", talk, "1").code == 0
    assert said(home, talk) == ["albatross", "One.", "kittiwake", "Two."]
    shown = pilothouse(home, "conversations", "show", talk)
    assert "This is branch 1 of 4." in shown.err
    on = pilothouse(home, "run", *place, "--branch", "2", "more")
    assert on.out == "Three.\n"
    assert said(home, talk) == ["albatross", "One.", "gannet", "Two.", "more", "Three."]
    tree = pilothouse(home, "conversations", "branches", talk).lines
    assert [line.split()[0] for line in tree[1:]] == ["0", "1", "*", "3"]
    assert "leaves" in tree[0]
    assert ["0 after “albatross”" in line for line in tree[1:]] == [False, True, True, True]
    anew = pilothouse(home, "run", *place, "--instead-of", first["id"], "puffin")
    assert anew.code == 0
    [line] = [line for line in pilothouse(home, "conversations", "branches", talk).lines if line.endswith("puffin")]
    assert "0 at its beginning" in line
    found = pilothouse(home, "conversations", "search", "kittiwake").out
    assert "(branch 1)" in found


def test_scripts_copy_and_hide(home: Path, script: Script, talk: str) -> None:
    [first, answer, *_] = [item for item in items_of(home, talk) if item["kind"] in ("user_message", "response")]
    copied = pilothouse(home, "conversations", "copy", first["runId"], "--title", "Birds")
    assert copied.code == 0
    made = copied.out.strip()
    assert said(home, made) == ["albatross", "One."]
    assert pilothouse(home, "audit", "verify").out.startswith("2 conversations, ")
    assert pilothouse(home, "conversations", "hide", answer["id"]).code == 0
    assert "Answer (hidden from models)" in pilothouse(home, "conversations", "show", talk).out
    assert pilothouse(home, "conversations", "unhide", answer["id"]).code == 0
    assert "hidden" not in pilothouse(home, "conversations", "show", talk).out


def test_a_file_of_markdown_has_the_chosen_branch_or_all(home: Path, script: Script, talk: str) -> None:
    [_, _, second, _] = [item for item in items_of(home, talk) if item["kind"] in ("user_message", "response")]
    pilothouse(home, "run", "--conversation", talk, "--instead-of", second["id"], "kittiwake")
    export = ["conversations", "export", talk, "--format", "markdown"]
    chosen = pilothouse(home, *export).out
    assert ("kittiwake" in chosen, "pelican" in chosen) == (True, False)
    assert "There is 1 other branch." in chosen
    everything = pilothouse(home, *export, "--all-branches").out
    assert ("kittiwake" in everything, "pelican" in everything) == (True, True)


def test_what_cannot_be_is_told_in_a_sentence(home: Path, script: Script, talk: str) -> None:
    def told(*arguments: str) -> str:
        done = pilothouse(home, *arguments)
        assert done.code not in (0, None)
        assert "Traceback" not in done.err
        return done.err

    assert "There is no such branch." in told("conversations", "choose", talk, "7")
    assert "There is no such run." in told("conversations", "copy", "r_none")
    assert "There is no such item." in told("conversations", "hide", "i_none")
    assert "Which conversation?" in told("run", "--after", "r_none", "hello")
    assert "There is no such" in told("run", "--conversation", talk, "--after", "r_none", "hello")
    assert "There is no such" in told("run", "--conversation", talk, "--instead-of", "i_none", "hello")
    assert "There is no such branch." in told("run", "--conversation", talk, "--branch", "9", "hello")
    put_back = told("run", "--conversation", talk, "--put-files-back", "hello")
    assert "Files are put back to the place where a branch begins." in put_back
    assert "nosuchmodel" in told("conversations", "retry", items_of(home, talk)[0]["runId"], "--model", "nosuchmodel")
