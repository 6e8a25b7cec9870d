"""`pilothouse mcp import`: what is asked, what is added, and that nothing starts."""

from __future__ import annotations

import json
import os
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


def test_what_is_no_file_or_too_large_a_one_is_refused_and_never_waited_for(home: Path, tmp_path: Path) -> None:
    pipe, huge, dark = tmp_path / "pipe", tmp_path / "huge.json", tmp_path / "dark.json"
    os.mkfifo(pipe)
    with huge.open("wb") as file:
        file.truncate(10 * 1024**3)
    dark.write_bytes(b'{"mcpServers": "\xff"}')
    for given, said in (
        (pipe, "is a pipe, a device or a folder, and no file."),
        (Path("/dev/zero"), "is a pipe, a device or a folder, and no file."),
        (tmp_path, "is a pipe, a device or a folder, and no file."),
        (huge, "is too large for a settings file."),
        (dark, "is not UTF-8 text."),
    ):
        done = pilothouse(home, "mcp", "import", str(given))
        assert_told(done, 2, f"{given} {said}")
    assert_told(pilothouse(home, "mcp", "add", str(huge)), 2, "is too large for the description of a server.")
    # Said of one that another program should have, it keeps no other from being listed.
    settings = tmp_path / ".cursor"
    settings.mkdir()
    os.mkfifo(settings / "mcp.json")
    listed = pilothouse(home, "mcp", "import", HOME=str(tmp_path))
    assert listed.code == 0, listed


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


def person(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a person who has two other programs."""
    folder = tmp_path / "person"
    (folder / ".cursor").mkdir(parents=True)
    (folder / ".config" / "goose").mkdir(parents=True)
    servers = {"one": {"url": "http://127.0.0.1:9/mcp"}, "two": {"url": "http://127.0.0.1:9/mcp"}}
    (folder / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (folder / ".config" / "goose" / "config.yaml").write_text("extensions: [broken")
    return {"HOME": str(folder), "XDG_CONFIG_HOME": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}


def test_without_a_file_it_lists_what_other_programs_have_and_takes_nothing(home: Path, tmp_path: Path) -> None:
    environment = person(tmp_path)
    done = pilothouse(home, "mcp", "import", **environment)
    path = f"{environment['HOME']}/.cursor/mcp.json"
    assert (done.code, done.out) == (0, f"pilothouse mcp import {path}    Cursor: one, two\n")
    assert "goose" in done.err
    assert "The file is not YAML: it goes wrong at line " in done.err
    assert "no MCP servers" in pilothouse(home, "mcp", "list", **environment).err
    taken = pilothouse(home, "mcp", "import", path, "--only", "two", **environment)
    assert (taken.code, taken.out.splitlines()[0]) == (0, "two: added. It is switched off until you switch it on.")
    assert_told(pilothouse(home, "mcp", "import", path, "--only", "four", **environment), 2, "no server “four”")


def test_in_a_terminal_one_chooses_a_file_and_the_servers_in_it(home: Path, tmp_path: Path) -> None:
    with Screen(home, ["mcp", "import"], **person(tmp_path)) as screen:
        screen.until("1 Cursor: one, two")
        screen.until("Take over which?")
        screen.type("1\r")
        screen.until("Which of them?")
        screen.type("2\r")
        screen.until("two: added")
        screen.until(r"\[y/N\]")
        screen.type("n\r")
        assert screen.ended() == 0
    names = [one["name"] for one in json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"]]
    assert names == ["two"]


def test_a_server_is_written_for_another_program_without_its_key(home: Path) -> None:
    key, url = "a-key-that-only-i-know", "http://127.0.0.1:9/mcp"
    added = pilothouse(home, "mcp", "add", "--name", "Far", "--secret-header", "X-Key", url, stdin=f"{key}\n")
    assert added.out.startswith("far\n"), added
    done = pilothouse(home, "mcp", "export", "far", "--for", "vscode")
    assert json.loads(done.out)["servers"]["Far"] == {
        "type": "http",
        "url": url,
        "headers": {"X-Key": "${input:X_KEY}"},
    }
    assert "mcp.json" in done.err
    assert "VS Code asks for the Key and keeps it." in done.err
    assert key not in done.out + done.err
    assert_told(pilothouse(home, "mcp", "export", "far", "--for", "emacs"), 2, "“emacs” is no program")


def test_a_host_is_looked_at_from_the_terminal(home: Path) -> None:
    done = pilothouse(home, "mcp", "nearby", "127.0.0.1:9")
    assert (done.code, done.out) == (0, "")
    assert "No MCP server was found." in done.err
    assert "127.0.0.1:9 does not answer." in done.err
    assert_told(pilothouse(home, "mcp", "nearby", "192.0.2.0/24"), 2, "is a range; only hosts that you name")
    assert_told(pilothouse(home, "mcp", "nearby"), 2, "No host is named")
