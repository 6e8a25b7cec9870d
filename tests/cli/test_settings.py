"""What can be set, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import pilothouse


def test_settings_are_listed_shown_changed_and_taken_back(home: Path) -> None:
    listed = pilothouse(home, "settings").out
    assert "default_mode" in listed
    assert "retention.days" in listed
    shown = pilothouse(home, "settings", "default_mode").out
    assert "automatic" in shown
    assert "One of: automatic, ask, sandboxed, auto_edit, read_only." in shown
    assert pilothouse(home, "settings", "default_mode", "ask").code == 0
    assert json.loads(pilothouse(home, "settings", "default_mode", "--json").out) == {"default_mode": "ask"}
    assert json.loads((home / "config.json").read_text())["default_mode"] == "ask"
    assert "The default mode: ask\n" in pilothouse(home, "doctor").out
    assert pilothouse(home, "settings", "default_mode", "default").code == 0
    assert json.loads(pilothouse(home, "settings", "default_mode", "--json").out) == {"default_mode": "automatic"}
    assert "The default mode: sandboxed in a folder, ask without one" in pilothouse(home, "doctor").out
    assert pilothouse(home, "settings", "terminal.timeout", "90").code == 0
    assert json.loads(pilothouse(home, "settings", "--json").out)["terminal.timeout"] == 90


def test_a_setting_that_is_text_takes_words_and_names_that_look_like_numbers(home: Path) -> None:
    for typed in ("small, large", "4"):
        assert pilothouse(home, "settings", "large_results.models", typed).code == 0
        assert json.loads((home / "config.json").read_text())["large_results"]["models"] == typed


@pytest.mark.case("AUTHZ-14")
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("default_mode", "auto_approve"), "default_mode cannot be “auto_approve”."),
        (("terminal.timeout", "soon"), "terminal.timeout cannot be “soon”."),
        (("terminal.timeout", "0"), "A command's time is from 1 second"),
        (("colour", "red"), "There is no setting “colour”."),
    ],
)
def test_what_cannot_be_set_is_refused_in_a_sentence(home: Path, typed: tuple[str, str], said: str) -> None:
    refused = pilothouse(home, "settings", *typed)
    assert (refused.code, said in refused.err) == (2, True), refused
