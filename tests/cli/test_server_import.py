"""`pilothouse mcp import`: what is asked, what is added, and that nothing starts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Echo, assert_told
from tests.support.commands import Screen, pilothouse

pytestmark = pytest.mark.slow


@pytest.mark.case("SPAWN-01")
def test_an_import_starts_nothing(home: Path, echo: Echo, tmp_path: Path) -> None:
    file = tmp_path / "claude_desktop_config.json"
    servers = {
        "Mine": {"command": echo.command[0], "args": echo.command[1:], "env": {"A_KEY": "sk-a-secret-of-mine"}},
        "Far": {"url": "https://mcp.example/mcp"},
        "Odd": {"args": []},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    done = pilothouse(home, "mcp", "import", str(file))
    assert done.code == 1
    assert re.findall(r"^(\w+): (\w+)", done.out, re.MULTILINE) == [
        ("Mine", "added"),
        ("Far", "added"),
        ("Odd", "refused"),
    ]
    assert "Nothing was started" in done.err
    assert pilothouse(home, "mcp", "import", str(file)).out.startswith("Mine: known")
    listed = pilothouse(home, "mcp", "list", "--json")
    assert "sk-a-secret-of-mine" not in listed.out
    states = {one["name"]: one["state"] for one in json.loads(listed.out)["servers"]}
    assert states == {"Mine": "needs_consent", "Far": "disabled"}
    assert not echo.was_started
    assert_told(pilothouse(home, "mcp", "import", "/nowhere.json"), 2, "cannot be read")
    assert_told(pilothouse(home, "mcp", "import", "-", stdin="nonsense"), 2, "not JSON")


def test_an_import_asks_in_the_terminal_and_switches_several_on(home: Path, echo: Echo, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".vscode").mkdir(parents=True)
    file = project / ".vscode" / "mcp.json"
    program, *arguments = echo.command
    started = {"command": program, "args": arguments}
    servers = {
        "Mine": {**started, "env": {"AUTH": "Bearer ${input:key}", "PLACE": "${workspaceFolder}"}},
        "Other": started,
    }
    inputs = [{"type": "promptString", "id": "key", "description": "The key of mine", "password": True}]
    file.write_text(json.dumps({"inputs": inputs, "servers": servers}))
    with Screen(home, ["mcp", "import", str(file)]) as screen:
        screen.until(r"The key of mine \(for Mine\)")
        screen.until("Value")
        screen.type("sk-typed-by-hand\r")
        screen.until(r"folder of the project")
        # A long path goes on in the next line.
        screen.until(r"\s*".join(map(re.escape, str(project)[-20:])))
        screen.type("\r")
        screen.until("Mine: added")
        screen.until(r"these 2 now.*\[y/N\]")
        screen.type("y\r")
        for _ in servers:
            screen.until(r"Start it\? \[y/N/")
            screen.type("y\r")
            screen.until(r"offers \d+ tools")
        assert screen.ended() == 0
        assert "sk-typed-by-hand" not in screen.text
    assert "sk-typed-by-hand" not in (home / "config.json").read_text()
    assert "Bearer ${secret:key}" in (home / "config.json").read_text()
    again = pilothouse(home, "mcp", "enable", "mine", "other")
    assert (again.code, len(again.out.splitlines())) == (0, 2)
    done = pilothouse(home, "mcp", "edit", "mine", "--secret", "key", stdin="sk-another\n")
    assert done.code == 0, done


@pytest.mark.parametrize("secret", [False, True])
@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_whoever_leaves_a_question_of_an_import_leaves_the_import(
    home: Path, echo: Echo, tmp_path: Path, secret: bool, key: str
) -> None:
    program, *arguments = echo.command
    file = tmp_path / "mcp.json"
    servers = {"Mine": {"command": program, "args": arguments, "env": {"A": "${input:a}", "B": "${input:b}"}}}
    inputs = [{"type": "promptString", "id": each, "description": f"The {each}", "password": secret} for each in "ab"]
    file.write_text(json.dumps({"inputs": inputs, "servers": servers}))
    with Screen(home, ["mcp", "import", str(file)]) as screen:
        screen.until(r"The a \(for Mine\)")
        screen.until("Value")
        screen.type(key)
        screen.until("Nothing was imported")
        assert screen.ended() == 130
    assert "no MCP servers" in pilothouse(home, "mcp", "list").err


def test_of_several_that_are_switched_on_the_one_that_fails_is_named(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {each: {"url": "http://127.0.0.1:9/mcp"} for each in ("Far", "Near")}}))
    assert pilothouse(home, "mcp", "import", str(file)).code == 0
    done = pilothouse(home, "mcp", "enable", "far", "near")
    assert_told(done, 1, "Far: No connection to 127.0.0.1", "Near: No connection to 127.0.0.1")
