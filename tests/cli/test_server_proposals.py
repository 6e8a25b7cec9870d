"""`pilothouse mcp add ANYTHING`: recognised, chosen, filled in by label, and nothing kept of what is nothing."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Echo, assert_told
from tests.support.commands import Screen, pilothouse
from tests.support.mcp_servers import scripted

# Most of these start a process.
pytestmark = pytest.mark.slow


def servers_of(home: Path) -> list[dict[str, object]]:
    file = home / "config.json"
    return list(json.loads(file.read_text()).get("mcps", [])) if file.exists() else []


def snippet(echo: Echo, **more: object) -> str:
    program, *arguments = echo.command
    return json.dumps({"mcpServers": {"Echo": {"command": program, "args": arguments, **more}}})


@pytest.mark.case("REG-06")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "A server needs a command or a URL."),
        (("",), "Type what you look for"),
        (("some words only",), "“some words only” is nothing that can be added."),
        (
            ("cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=e!",),
            "The link to install a server is broken",
        ),
        (('{"mcpServers": {}}',), "no MCP servers"),
        (("claude", "mcp", "add", "x"), "names no command and no address"),
    ],
)
def test_what_is_nothing_is_one_sentence_and_nothing_is_kept(home: Path, given: tuple[str, ...], said: str) -> None:
    assert_told(pilothouse(home, "mcp", "add", *given), 2, said)
    assert servers_of(home) == []


def test_a_snippet_is_added_from_an_argument_a_file_and_a_pipe(home: Path, echo: Echo, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(snippet(echo))
    for given, piped in ((snippet(echo), ""), (str(file), ""), ("-", snippet(echo))):
        added = pilothouse(home, "mcp", "add", given, stdin=piped)
        assert (added.code, added.out) == (3, "echo\n"), added
        assert "A server in a snippet of settings." in added.err
        assert pilothouse(home, "mcp", "remove", "echo").code == 0
    assert not echo.was_started


def test_several_are_chosen_among_by_their_number(home: Path) -> None:
    text = json.dumps({"mcpServers": {"One": {"command": "/bin/echo"}, "Two": {"url": "http://127.0.0.1:9/mcp"}}})
    refused = pilothouse(home, "mcp", "add", text)
    assert_told(refused, 2, "There are several ways to add this: 1 One: /bin/echo; 2 Two:", "--choose N")
    assert servers_of(home) == []
    assert_told(pilothouse(home, "mcp", "add", "--choose", "3", text), 2, "There is no number 3")
    assert_told(pilothouse(home, "mcp", "add", text, "--choose", "3"), 2, "There is no number 3")
    added = pilothouse(home, "mcp", "add", text, "--choose", "2")
    assert added.out == "two\n"
    with Screen(home, ["mcp", "add", text]) as screen:
        screen.until(r"Which one\?")
        screen.type("1\r")
        screen.until(r"Start it\? \[y/N/")
        screen.type("\r")
        assert screen.ended() == 3


@pytest.mark.case("SRV-26", "REG-16")
def test_fields_are_asked_for_by_label_and_given_by_label(home: Path, tmp_path: Path) -> None:
    command = scripted("--wants", "SLACK_BOT_TOKEN")
    entry = {"command": command[0], "args": [*command[1:]], "env": {"SLACK_BOT_TOKEN": "${input:x}", "MODE": "<mode>"}}
    text = json.dumps(
        {"servers": {"Slack": entry}, "inputs": [{"id": "x", "password": True, "description": "Bot key"}]}
    )
    assert_told(pilothouse(home, "mcp", "add", "--set", "Mode=a", text), 2, "Bot key is missing.", "--key 'Bot key'")
    secret_in_history = pilothouse(home, "mcp", "add", "--set", "Bot key=k", text)
    assert_told(secret_in_history, 2, "Bot key is a secret", "--key 'Bot key'")
    assert_told(pilothouse(home, "mcp", "add", "--set", "Nope=1", text), 2, "Nothing here is called “Nope”.", "Bot key")
    with Screen(home, ["mcp", "add", text]) as screen:
        screen.until("Mode")
        screen.type("quiet\r")
        screen.until(r"Bot key \(what you type is not shown")
        screen.type("pasted-key-1234\r")
        screen.until(r"Start it\? \[y/N/")
        screen.type("y\r")
        screen.until(r"offers \d+ tools")
        assert screen.ended() == 0
        assert "pasted-key-1234" not in screen.raw
    (kept,) = servers_of(home)
    assert "pasted-key-1234" not in json.dumps(kept)
    assert '"MODE": "quiet"' in json.dumps(kept)
    added = pilothouse(
        home, "mcp", "add", "--name", "Again", "--set", "mode=loud", "--key", "bot key", text, stdin="other-key-99\n"
    )
    assert (added.code, added.out) == (3, "again\n"), added


def test_rows_of_folders_are_given_one_by_one(home: Path) -> None:
    line = f"{sys.executable} server.py /path/to/one /path/to/two"
    added = pilothouse(home, "mcp", "add", "--name", "F", "--set", "Folders=/tmp", "--set", "Folders=/var/log x", line)
    assert (added.code, added.out) == (3, "f\n"), added
    (kept,) = servers_of(home)
    assert kept["config"] == {"args": ["server.py", "/tmp", "/var/log x"]}


def test_a_link_and_a_line_for_another_program_are_added_with_our_options(home: Path, echo: Echo) -> None:
    program, *arguments = echo.command
    entry = {"command": program, "args": arguments}
    packed = base64.b64encode(json.dumps(entry).encode()).decode()
    link = f"cursor://anysphere.cursor-deeplink/mcp/install?name=From%20Cursor&config={packed}"
    added = pilothouse(home, "mcp", "add", "--env", "A=b", "--read-only", link)
    assert (added.code, added.out) == (3, "from_cursor\n"), added
    line = ("claude", "mcp", "add", "-s", "user", "-e", "MODE=x", "claudes", "--", *echo.command)
    added = pilothouse(home, "mcp", "add", *line)
    assert (added.code, added.out) == (3, "claudes\n"), added
    assert "“-s user” was left out" in added.err
    first, second = servers_of(home)
    assert first["source"]["imported_from"] == "Cursor"  # type: ignore[index]
    assert first["config"]["env"] == {"A": "b"}  # type: ignore[index]
    assert first["config"]["read_only"] is True  # type: ignore[index]
    assert second["config"]["env"] == {"MODE": "x"}  # type: ignore[index]
    assert not echo.was_started


@pytest.mark.parametrize("how", ["add", "check"])
def test_an_image_without_docker_is_one_sentence(home: Path, tmp_path: Path, how: str) -> None:
    # Only what Pilothouse itself needs is found here.
    path = tmp_path / "bin"
    path.mkdir()
    (path / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    done = pilothouse(home, "mcp", how, "ghcr.io/owner/no-such-image:1", PATH=str(path))
    assert "docker" in done.err
    assert re.search(r"docker.*(not found|not on this machine|cannot be found|no program)", done.err, re.IGNORECASE), (
        done
    )
    assert "Traceback" not in done.err


def test_a_bundle_is_added_by_its_path_and_a_file_that_is_none_is_told(home: Path, tmp_path: Path, echo: Echo) -> None:
    bad = tmp_path / "bad.mcpb"
    bad.write_bytes(b"no zip")
    done = pilothouse(home, "mcp", "add", str(bad))
    assert (done.code, servers_of(home)) == (2, []), done
    _, script, *rest = echo.command
    manifest = {
        "manifest_version": "0.3",
        "name": "bundled",
        "version": "1.0.0",
        "description": "Says it back.",
        "author": {"name": "Nobody"},
        "server": {
            "type": "python",
            "entry_point": "server.py",
            "mcp_config": {"command": "python3", "args": ["${__dirname}/server.py", *rest, "${user_config.word}"]},
        },
        "user_config": {"word": {"type": "string", "title": "Word", "description": "Any", "required": True}},
    }
    good = tmp_path / "good.mcpb"
    with zipfile.ZipFile(good, "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
        file.writestr("server.py", Path(script).read_text())
    assert_told(pilothouse(home, "mcp", "add", str(good)), 2, "Word is missing.", "--set Word=VALUE")
    added = pilothouse(home, "mcp", "add", "--set", "Word=a b", str(good))
    assert (added.code, added.out) == (3, "bundled\n"), added
    assert not echo.was_started
    before = servers_of(home)[0]["package"]
    assert isinstance(before, dict)
    edited = pilothouse(home, "mcp", "edit", "bundled", "--name", "Other", "--install-scripts")
    assert edited.out.startswith("other: "), edited
    (kept,) = servers_of(home)
    # It is still that bundle, and no command of its own.
    assert kept["package"] == {**before, "scripts": True}
    assert (before["type"], kept["name"]) == ("mcpb", "Other")


def test_options_are_understood_after_a_name_and_what_is_none_of_ours_is_told(home: Path) -> None:
    refused = pilothouse(home, "mcp", "add", "airtable", "--zzz", "3")
    assert_told(refused, 2, "No such option: --zzz. A command's own words come after “--”.")
    refused = pilothouse(home, "mcp", "add", "airtable", "--env", "A=b", "more", "--", "/bin/echo")
    assert_told(refused, 2, "“more” belongs to no option. A command's own words come after “--”.")
    assert "no MCP servers" in pilothouse(home, "mcp", "list").err
    added = pilothouse(home, "mcp", "add", "airtable", "--env", "A=b", "--", "/bin/echo", "--name", "x")
    assert (added.code, added.out) == (3, "airtable\n")
    added = pilothouse(home, "mcp", "add", "far", "http://127.0.0.1:9/mcp", "--header", "X: y", "--read-only")
    assert added.out == "far\n"
    added = pilothouse(home, "mcp", "add", "http://127.0.0.1:9/mcp", "--name", "named")
    assert added.out == "named\n"
    one, two, three = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"]
    assert (one["address"], one["settings"]["env"]) == ("/bin/echo --name x", {"A": "b"})
    assert (two["settings"]["headers"], two["settings"]["readOnly"]) == ({"X": "y"}, True)
    assert (three["name"], three["settings"]["url"]) == ("named", "http://127.0.0.1:9/mcp")
