"""Keys of servers in a terminal: asked for by what they are called, given, shown and forgotten."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import assert_told
from tests.cli.test_mcp import FINGERPRINT
from tests.support.commands import Outcome, Screen, pilothouse
from tests.support.mcp_servers import scripted

# Most of these start a process.
pytestmark = pytest.mark.slow

WANTS = ("--wants", "SLACK_BOT_TOKEN,SLACK_TEAM_ID")
KEY = "xoxb-typed-by-hand-0123"


def key_file(folder: Path, text: str = "  T0123456\n") -> Path:
    file = folder / "team_id"
    file.write_text(text)
    file.chmod(0o600)
    return file


def env_of(home: Path, server: str, **more: str) -> dict[str, str]:
    """Return what a server has in its environment; values that are keys are masked."""
    called = pilothouse(home, "mcp", "call", f"{server}.env", **more)
    assert called.code == 0, called
    return dict(json.loads(called.out))


def agreed(home: Path, refused: Outcome, name: str) -> Outcome:
    """Agree to a command that was shown where nobody could be asked."""
    found = FINGERPRINT.search(refused.err)
    assert (refused.code, found is not None) == (3, True), refused
    return pilothouse(home, "mcp", "enable", name, "--consent", found[1] if found else "")


@pytest.mark.case("AUT-06", "AUT-10")
def test_add_asks_for_the_keys_that_the_server_wants_and_a_file_will_do(home: Path, tmp_path: Path) -> None:
    file = key_file(tmp_path)
    with Screen(home, ["mcp", "add", "--name", "Slack", *scripted(*WANTS)]) as screen:
        screen.until(r"Start it\? \[y/N/o/v\]")
        screen.type("y\r")
        screen.until("“Slack” needs its Slack bot token and Slack team ID.")
        screen.until("It says: Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables")
        screen.until(r"Slack bot token \(what you type is not shown; Enter alone for a file\): ")
        screen.type(f"{KEY}\r")
        screen.until(r"Slack team ID \(what you type is not shown; Enter alone for a file\): ")
        screen.type("\r")
        screen.until(r"Path of the file with the Slack team ID \(Enter alone to leave it\):")
        screen.type(f"{file}\r")
        screen.until(r"“Slack” answers and offers \d+ tools\.")
        assert screen.ended() == 0
        assert KEY not in screen.raw
        assert screen.text.count("would start this command") == 1, "a key that was asked for needs no second consent"
    shown = pilothouse(home, "mcp", "keys", "slack")
    rows = {tuple(re.split(r"\s{2,}", line.strip())) for line in shown.lines}
    assert rows == {("key", "from"), ("Slack team ID", f"the file {file}"), ("Slack bot token", "pasted")}
    seen = env_of(home, "slack")
    assert (seen["SLACK_BOT_TOKEN"], seen["SLACK_TEAM_ID"]) == ("[redacted]", "[redacted]")
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_whoever_leaves_a_key_out_is_told_how_to_give_it_later(home: Path) -> None:
    with Screen(home, ["mcp", "add", "--name", "Slack", *scripted(*WANTS)]) as screen:
        screen.until(r"Start it\?")
        screen.type("y\r")
        screen.until("Enter alone for a file")
        screen.type("\x03")
        screen.until("Give them with `pilothouse mcp keys Slack`.")
        assert screen.ended() == 1
    with Screen(home, ["mcp", "keys", "slack"]) as screen:
        screen.until(r"Slack bot token\s+missing")
        screen.until("Enter alone for a file")
        screen.type(f"{KEY}\r")
        screen.until("Slack team ID .*Enter alone for a file")
        screen.type("T0\r")
        screen.until(r"offers \d+ tools")
        assert screen.ended() == 0


@pytest.mark.case("AUT-06", "AUT-10")
def test_without_a_terminal_keys_come_from_files_and_variables_by_their_labels(home: Path, tmp_path: Path) -> None:
    file = key_file(tmp_path)
    typed = ["mcp", "add", "--name", "Slack", *scripted(*WANTS)]
    failed = agreed(home, pilothouse(home, *typed), "slack")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.splitlines() == [
        "“Slack” needs its Slack bot token and Slack team ID.",
        "Give them with `pilothouse mcp keys Slack`.",
    ]
    own = {"MY_BOT": KEY}
    options = ["--key-file", f"slack team id={file}", "--key-env", "Slack bot token=MY_BOT"]
    given = pilothouse(home, "mcp", "keys", "slack", *options, **own)
    assert given.code == 0, given
    assert "offers" in given.out
    assert [(key["label"], key["source"], key["path"], key["variable"]) for key in keys_of(home)] == [
        ("Slack bot token", "environment", "", "MY_BOT"),
        ("Slack team ID", "file", str(file), ""),
    ]
    lost = pilothouse(home, "mcp", "test", "slack")
    assert "is to come from the variable MY_BOT, which is not set where Pilothouse runs." in lost.err
    piped = pilothouse(home, "mcp", "keys", "slack", "--key", "Slack bot token", stdin=f"{KEY}\n")
    assert piped.code == 0, piped
    assert [key["source"] for key in keys_of(home)] == ["file", "pasted"]


def keys_of(home: Path) -> list[dict[str, str]]:
    return list(json.loads(pilothouse(home, "mcp", "keys", "slack", "--json").out))


@pytest.mark.case("AUT-06")
def test_add_takes_the_file_of_the_one_key_there_is_before_anyone_knows_its_name(home: Path, tmp_path: Path) -> None:
    file = key_file(tmp_path, "of-a-file\n")
    with Screen(
        home, ["mcp", "add", "--name", "One", "--key-file", str(file), *scripted("--wants", "A_KEY")]
    ) as screen:
        screen.until(r"Start it\?")
        screen.type("y\r")
        screen.until(r"“One” answers and offers \d+ tools")
        assert screen.ended() == 0
    assert env_of(home, "one")["A_KEY"] == "[redacted]"


def test_a_key_that_a_server_does_not_have_is_told_and_an_edit_keeps_the_others(home: Path, tmp_path: Path) -> None:
    file = key_file(tmp_path)
    added = pilothouse(home, "mcp", "add", "--name", "One", "--key-file", f"A_KEY={file}", *scripted())
    assert agreed(home, added, "one").code == 0
    wrong = pilothouse(home, "mcp", "keys", "one", "--key-file", f"Other token={file}")
    assert (wrong.code, wrong.err.splitlines()) == (
        2,
        ["One has no key “Other token”, and has not asked for one.", "It has: A key."],
    )
    edited = pilothouse(home, "mcp", "edit", "one", "--name", "Two")
    assert edited.code == 0, edited
    listed = pilothouse(home, "mcp", "keys", "two")
    assert f"the file {file}" in listed.out
    forgotten = pilothouse(home, "mcp", "keys", "two", "--forget", "a key")
    assert "Two has no keys" in forgotten.err
    assert "keys" not in json.loads((home / "config.json").read_text())["mcps"][0]["config"]


@pytest.mark.case("AUT-06", "AUT-08")
def test_a_bad_key_file_costs_nobody_the_key_that_was_pasted_before(home: Path, tmp_path: Path) -> None:
    added = pilothouse(home, "mcp", "add", "--name", "One", "--key", "A_KEY", *scripted(), stdin="pasted-before\n")
    assert agreed(home, added, "one").code == 0
    for verb in ("keys", "edit"):
        told = pilothouse(home, "mcp", verb, "one", "--key-file", f"A key={tmp_path / 'nothing'}")
        assert_told(told, 2, f"The A key of “One” is to come from {tmp_path / 'nothing'}, which is not there.")
    assert env_of(home, "one")["A_KEY"] == "[redacted]"
    assert "pasted" in pilothouse(home, "mcp", "keys", "one").out
    # A path from where the person is becomes a whole one.
    here = os.path.relpath(key_file(tmp_path))
    assert pilothouse(home, "mcp", "keys", "one", "--key-file", here).code == 0
    assert f"the file {tmp_path / 'team_id'}" in pilothouse(home, "mcp", "keys", "one").out


def test_check_shows_the_consent_asks_for_the_key_lists_the_tools_and_keeps_nothing(home: Path) -> None:
    with Screen(home, ["mcp", "check", "--name", "GitHub", *scripted("--wants", "GITHUB_TOKEN")]) as screen:
        screen.until("would start this command for the first time")
        screen.until(r"Start it once\? \[y/N\]")
        screen.type("y\r")
        screen.until("“GitHub” needs its GitHub token.")
        screen.until(r"GitHub token \(what you type")
        screen.type(f"{KEY}\r")
        screen.until(r"“GitHub” answers and offers \d+ tools\.")
        screen.until(r"echo\s+Gives back what it is given\.")
        assert screen.ended() == 0
    assert json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"] == []
    assert not list((home / "logs").glob("mcp/*"))
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_check_without_a_terminal_ends_with_3_and_says_how_to_agree(home: Path, tmp_path: Path) -> None:
    command = scripted("--wants", "GITHUB_TOKEN")
    refused = pilothouse(home, "mcp", "check", *command)
    found = re.search(r"--consent ([0-9a-f]+) …", refused.err)
    assert (refused.code, found is not None) == (3, True), refused
    consent = ["--consent", found[1] if found else ""]
    failed = pilothouse(home, "mcp", "check", *consent, "--name", "G", *command)
    assert (failed.code, failed.err.splitlines()) == (1, ["“G” needs its GitHub token.", "Give it, and check again."])
    given = pilothouse(home, "mcp", "check", *consent, "--key-file", str(key_file(tmp_path)), *command)
    assert given.code == 0, given
