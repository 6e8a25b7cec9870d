"""In a terminal: nothing that a model says can do more than be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pilothouse.cli import main
from pilothouse.cli.terminal import plain, plain_json
from tests.cli.conftest import Script
from tests.support.commands import Screen, pilothouse

# Clear screen, a title, a link, the clipboard, an 8-bit sequence, a device string, bells, backspaces, bidi.
ATTACK = "a\x1b[2Jb\x1b]0;owned\x07c\x1b]8;;https://evil.example\x1b\\d\x1b]52;c;eA==\x07e\x9b31mf\x1bPq\x1b\\g\x08\x7fh\rj\u202ek"
OURS = re.compile(r"\x1b\[\d+m")


def assert_harmless(raw: str) -> None:
    bare = OURS.sub("", raw).replace("\r\n", "\n")
    assert plain(bare) == bare, repr(bare)


@pytest.mark.case("TEXT-01", "TEXT-04")
@pytest.mark.slow
def test_control_characters_in_an_answer_a_title_and_a_message_are_only_shown(home: Path, script: Script) -> None:
    model = script(f"- [{{thinking: {json.dumps(ATTACK)}}}, {{text: {json.dumps(ATTACK)}, pieces: 3, every: 0.002}}]")
    with Screen(home, ["run", f"hi {ATTACK}", "--model", model]) as screen:
        assert screen.ended() == 0
        assert_harmless(screen.raw)
        assert "␛[2J" in screen.raw
    for arguments in (["conversations", "list"], ["conversations", "search", "hi"], ["run", "x", "-m", f"no{ATTACK}"]):
        with Screen(home, arguments) as screen:
            screen.ended()
            assert_harmless(screen.raw)
    listed = pilothouse(home, "conversations", "list").lines[-1].split()[0]
    shown = pilothouse(home, "conversations", "show", listed)
    assert_harmless(shown.out)
    lines = pilothouse(home, "conversations", "show", listed, "--json")
    assert_harmless(lines.out)
    assert json.loads(lines.lines[-1])["text"] == ATTACK


@pytest.mark.case("TEXT-01")
def test_honest_text_stays_as_it_is() -> None:
    honest = "Grüße, 世界!\n\tA tab, “quotes”, family 👨‍👩‍👧, flags 🇨🇭, e\u0301\n"
    assert plain(honest) == honest
    assert plain_json(json.dumps(honest)) == json.dumps(honest)


@pytest.mark.slow
def test_thinking_is_dim_and_the_answer_is_followed_by_what_it_took(home: Path, script: Script) -> None:
    with Screen(home, ["run", "hi", "--model", script("- [{thinking: Hm.}, {text: Hello.}]")]) as screen:
        assert screen.ended() == 0
        assert "\x1b[2mHm.\x1b[0m\r\n\r\nHello." in screen.raw
        assert "tokens in" in screen.text
        assert "Go on: pilothouse run --conversation c_" in screen.text
    with Screen(home, ["run", "hi", "--model", script("- [{text: Plain.}]")], NO_COLOR="1") as screen:
        assert screen.ended() == 0
        assert "\x1b" not in screen.raw


@pytest.mark.slow
def test_each_call_of_an_answer_that_is_only_calls_is_told_when_it_begins(home: Path, script: Script) -> None:
    call = "{call: think, arguments: {thoughts: one}}"
    with Screen(home, ["run", "hi", "--model", script(f"- [{call}]\n- [{{text: Done.}}]")]) as screen:
        assert screen.ended() == 0
        assert "· Thinking: one" in screen.text


@pytest.mark.slow
def test_control_c_cancels_the_run_and_says_so(home: Path, script: Script) -> None:
    with Screen(home, ["run", "hi", "--model", script("- [{text: 'Slow. '}, {wait: 60}]")]) as screen:
        screen.until("Slow")
        screen.type("\x03")
        assert screen.ended() == 130
        assert "Cancelled." in screen.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "prompt"),
    [
        (["models", "add", "--provider", "gemini", "--model", "m", "--key"], "Key: "),
        (["mcp", "add", "--secret-env", "API_KEY", "x"], "Value of API_KEY: "),
    ],
)
def test_ctrl_c_leaves_at_once_while_a_secret_is_asked_for(home: Path, typed: list[str], prompt: str) -> None:
    with Screen(home, typed) as screen:
        screen.until(prompt)
        screen.type("\x03")
        assert screen.ended() == 130
        assert "Traceback" not in screen.text
    with Screen(home, typed) as screen:
        screen.until(prompt)
        screen.type("\x04")
        assert screen.ended() == 2
        assert "is empty" in screen.text


def test_ctrl_c_before_a_command_has_begun_ends_it_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_perform", interrupted)
    monkeypatch.setattr("gc.set_threshold", lambda *_numbers: None)
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 130
