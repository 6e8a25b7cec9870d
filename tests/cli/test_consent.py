"""Consent in a terminal: what becomes of what a server is told is chosen there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Echo
from tests.cli.test_mcp import FINGERPRINT
from tests.support.commands import Screen, pilothouse
from tests.support.mcp_servers import scripted

# Most of these start a process.
pytestmark = pytest.mark.slow


def settings_of(home: Path) -> dict[str, object]:
    listed = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"]
    return dict(listed[0]["settings"])


def test_at_consent_the_person_may_vouch_and_is_asked_again_when_the_command_changes(home: Path, echo: Echo) -> None:
    with Screen(home, ["mcp", "add", "--name", "Echo", *echo.command]) as screen:
        screen.until("v  yes, and it sends nothing on, you vouch for that")
        screen.until(r"Start it\? \[y/N/o/v\]")
        screen.type("v\r")
        screen.until(r"offers \d+ tools")
        assert screen.ended() == 0
    assert settings_of(home)["cannotSend"] is True
    changed = pilothouse(home, "mcp", "edit", "echo", "--command-line", shlex.join([*echo.command, "--spawn"]))
    found = FINGERPRINT.search(changed.err)
    assert found is not None, changed
    # Agreed to without a word about it, the new command is not vouched for.
    assert pilothouse(home, "mcp", "enable", "echo", "--consent", found[1]).code == 0
    assert "cannotSend" not in settings_of(home)
    assert pilothouse(home, "mcp", "edit", "echo", "--cannot-send").code == 0
    assert settings_of(home)["cannotSend"] is True


def test_at_consent_a_server_may_be_started_without_the_network_and_what_starts_is_shown_anew(home: Path) -> None:
    with Screen(home, ["mcp", "add", "--name", "Held", *scripted()]) as screen:
        screen.until("o  without the network, in the sandbox")
        screen.until(r"Start it\? \[y/N/o/v\]")
        screen.type("o\r")
        screen.until("sandbox     Runs in a sandbox: only a folder of its own can be written to. It has no network.")
        screen.until(r"Start it\? \[y/N\]")
        screen.type("y\r")
        screen.until(r"offers \d+ tools")
        assert screen.ended() == 0
    kept = settings_of(home)
    assert (kept["sandbox"], kept["network"]) == (True, False)
    assert pilothouse(home, "mcp", "call", "held.echo", "text=inside").out == "inside\n"
