"""What a run lacks is told where nobody watches too: missing servers by name, calls that wait for consent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Echo, Script, assert_told
from tests.cli.test_mcp import FINGERPRINT, calling, consented
from tests.support.commands import pilothouse

# Most of these start a process.
pytestmark = pytest.mark.slow


def agreed(home: Path, name: str, *command: str) -> None:
    """Add a server that does not work, and agree to its command."""
    found = FINGERPRINT.search(pilothouse(home, "mcp", "add", "--name", name, "--", *command).err)
    assert found is not None
    pilothouse(home, "mcp", "enable", name, "--consent", found[1])


def test_a_run_goes_on_without_a_server_that_is_dead_and_names_it(home: Path, echo: Echo, script: Script) -> None:
    consented(home, echo)
    agreed(home, "gone", sys.executable, "-c", "raise SystemExit(4)")
    model = calling(script, "echo__echo", "{text: hi}")
    both = ("--server", "echo", "--server", "gone", "--allow", "echo.*")
    done = pilothouse(home, "run", "hi", "--model", model, *both)
    assert done.out == "It said so.\n"
    assert_told(done, 0, "The server “gone” cannot be used now.", "exit code 4")
    assert echo.called() == ["echo"]
    events = pilothouse(home, "run", "hi", "--json", "--model", model, *both)
    assert_told(events, 0, "The server “gone” cannot be used now.")
    codes = [json.loads(line).get("item", {}).get("data", {}).get("code") for line in events.lines]
    assert "server_missing" in codes
    # Where none of those that were named is there, the answer would not be what was asked for.
    assert_told(pilothouse(home, "run", "hi", "--model", model, "--server", "gone"), 1, "“gone”", "exit code 4")


def test_a_call_that_is_refused_for_a_missing_consent_is_told_with_what_to_do(
    home: Path, echo: Echo, script: Script
) -> None:
    consented(home, echo)
    model = calling(script, "echo__echo", "{text: hi}")
    assert pilothouse(home, "run", "hi", "--model", model, "--allow", "echo.*").code == 0
    (home / "secrets" / "consents.json").unlink()
    for more in ((), ("--json",)):
        refused = pilothouse(home, "run", "hi", "--model", model, "--allow", "echo.*", *more)
        assert_told(refused, 3, "A call was refused", "“Echo”", "pilothouse mcp enable echo")
    assert echo.called() == ["echo"]


def test_a_run_starts_no_server_but_those_that_it_uses(home: Path, echo: Echo, script: Script, tmp_path: Path) -> None:
    consented(home, echo)
    mark = tmp_path / "started"
    # Its tools are never known: each program that looks for tools would start it anew.
    agreed(home, "other", sys.executable, "-c", f"open({str(mark)!r}, 'a'); raise SystemExit(4)")
    assert mark.exists()
    mark.unlink()
    model = script("- [{text: 'Slow. '}, {wait: 3}, {text: Done.}]")
    for more in ((), ("--server", "echo")):
        assert pilothouse(home, "run", "hi", "--model", model, *more).out == "Slow. Done.\n"
    assert not mark.exists()
