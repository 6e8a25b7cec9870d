"""`pilothouse mcp`, and servers in `run`: real commands, a real server."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pilothouse.cli.server_input import ServerForm, new_server
from pilothouse.mcp.client.processes import start_time
from tests.cli.conftest import Echo, Script, assert_told, leave, say
from tests.support.certificates import SelfSigned
from tests.support.commands import Outcome, Screen, pilothouse, server
from tests.support.mcp_servers import scripted
from tests.support.tiny_http import Answer, TinyHttp

# Most of these start a process.
pytestmark = pytest.mark.slow

FINGERPRINT = re.compile(r"--consent ([0-9a-f]{64})")


def consented(home: Path, echo: Echo) -> None:
    """Add the server and agree to its command."""
    added = pilothouse(home, "mcp", "add", "--name", "Echo", *echo.command)
    assert (added.code, added.out) == (3, "echo\n"), added
    found = FINGERPRINT.search(added.err)
    assert found is not None, added.err
    done = pilothouse(home, "mcp", "enable", "echo", "--consent", found[1])
    assert done.code == 0, done


def calling(script: Script, tool: str, arguments: str = "{}") -> str:
    return script(f"- [{{call: {tool}, arguments: {arguments}}}]\n- It said so.")


@pytest.mark.case("SPAWN-01")
def test_nothing_starts_before_the_person_agreed_to_exactly_what_was_shown(home: Path, echo: Echo) -> None:
    added = pilothouse(home, "mcp", "add", "--name", "Echo", *echo.command)
    assert (added.code, added.out) == (3, "echo\n")
    program, *arguments = echo.command
    shown = [f"argument {number}  {argument}" for number, argument in enumerate(arguments, 1)]
    for part in (program, *shown, "folder"):
        assert part in added.err
    listed = pilothouse(home, "mcp", "list")
    assert "echo: waits for your consent" in listed.err
    for tried in (("test", "echo"), ("call", "echo.echo", "text=x"), ("tools", "echo"), ("enable", "echo")):
        pilothouse(home, "mcp", *tried)
    assert_told(pilothouse(home, "mcp", "enable", "echo", "--consent", "0" * 64), 1, "changed since you looked")
    assert not echo.was_started
    found = FINGERPRINT.search(added.err)
    assert found is not None
    done = pilothouse(home, "mcp", "enable", "echo", "--consent", found[1])
    assert (done.code, echo.was_started) == (0, True), done
    assert re.search(r"offers \d+ tools", done.out)


@pytest.mark.case("SPAWN-01", "SPAWN-03")
def test_consent_is_asked_for_in_the_terminal_and_again_after_a_change(home: Path, echo: Echo) -> None:
    with Screen(home, ["mcp", "add", "--name", "Echo", *echo.command]) as screen:
        screen.until("for the first time")
        screen.until(r"Start it\? \[y/N/")
        screen.type("\r")
        screen.until("starts nothing")
        assert screen.ended() == 3
    assert not echo.was_started
    with Screen(home, ["mcp", "enable", "echo"]) as screen:
        screen.until(r"Start it\? \[y/N/")
        screen.type("y\r")
        screen.until(r"offers \d+ tools")
        assert screen.ended() == 0
    command_line = shlex.join([*echo.command, "--spawn"])
    with Screen(home, ["mcp", "edit", "echo", "--command-line", command_line]) as screen:
        screen.until("changed since you agreed: Argument 6: --spawn is new")
        screen.until(r"Start it\? \[y/N/")
        screen.type("n\r")
        assert screen.ended() == 3
    assert_told(pilothouse(home, "mcp", "call", "echo.echo", "text=x"), 3, "--consent")
    assert echo.called() == []


@pytest.mark.case("SPAWN-03", "SPAWN-04")
def test_the_files_that_are_compared_are_listed_and_the_one_that_changed_is_named(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(Path(scripted()[1]).read_text())
    line = ["mcp", "add", "--name", "Mine", "env", "A=1", sys.executable, str(script)]
    added = pilothouse(home, *line)
    assert re.search(rf"compared .*\n(.*\n)*? +{re.escape(str(script))}\n", added.err), added.err
    found = FINGERPRINT.search(added.err)
    assert found is not None
    assert pilothouse(home, "mcp", "enable", "mine", "--consent", found[1]).code == 0
    assert pilothouse(home, "mcp", "test", "mine").code == 0
    script.write_text("evil")
    assert pilothouse(home, "mcp", "test", "mine").code != 0
    again = pilothouse(home, "mcp", "enable", "mine")
    assert_told(again, 3, f"changed since you agreed: The content of {script} changed.")
    module = pilothouse(home, "mcp", "add", "--name", "Module", sys.executable, "-m", "server")
    assert_told(module, 3, "Runs the module server, not a file: what runs may change from start to start")


def test_a_server_that_was_edited_is_tried(home: Path, echo: Echo) -> None:
    consented(home, echo)
    edited = pilothouse(home, "mcp", "edit", "echo", "--timeout", "60")
    assert edited.code == 0, edited
    assert "“Echo” answers and offers" in edited.out
    broken = pilothouse(home, "mcp", "edit", "echo", "--url", "http://127.0.0.1:9/mcp")
    assert_told(broken, 1, "nothing listens there")
    assert pilothouse(home, "mcp", "disable", "echo").code == 0
    assert_told(pilothouse(home, "mcp", "edit", "echo", "--timeout", "61"), 0, "mcp enable echo")


def test_the_list_of_tools_has_their_descriptions(home: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"depth": {"type": "integer", "default": 3}}, "required": ["depth"]}
    tool = {"name": "dig", "title": "Dig", "description": "Digs a hole as deep as one wants it.", "inputSchema": schema}
    tools.write_text(json.dumps([tool]))
    echo = Echo(tmp_path, "--tools", str(tools))
    consented(home, echo)
    assert "Digs a hole as deep as one wants it." in pilothouse(home, "mcp", "tools", "echo").out
    # What is required and has a default is filled in, also by hand.
    called = pilothouse(home, "mcp", "call", "echo.dig")
    assert echo.arguments() == [{"depth": 3}], called


def test_a_name_may_stand_before_the_command_or_the_url(home: Path, echo: Echo) -> None:
    added = pilothouse(home, "mcp", "add", "My Echo", "--", *echo.command)
    assert (added.code, added.out) == (3, "my_echo\n"), added
    far = pilothouse(home, "mcp", "add", "far", "http://127.0.0.1:9/mcp")
    assert far.out == "far\n", far
    servers = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"]
    assert [(each["name"], each["address"]) for each in servers] == [
        ("My Echo", shlex.join(echo.command)),
        ("far", "http://127.0.0.1:9/mcp"),
    ]


@pytest.mark.parametrize(
    ("words", "name", "command"),
    [
        (["git", "--", "uvx", "mcp-server-git"], "git", ("uvx", ("mcp-server-git",))),
        (["/bin/echo", "--", "x"], "", ("/bin/echo", ("--", "x"))),
        (["git", "https://example.com/mcp"], "", ("git", ("https://example.com/mcp",))),
        (["npx", "-y", "package", "--", "--flag"], "", ("npx", ("-y", "package", "--", "--flag"))),
    ],
)
def test_a_command_that_looks_like_a_name_stays_a_command(
    words: list[str], name: str, command: tuple[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for program in ("git", "npx"):
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    made = new_server(words, ServerForm())
    assert (made.name, (made.command, made.args)) == (name, command)


def test_a_program_of_this_folder_is_known_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather").touch()
    assert new_server(["./weather", "-v"], ServerForm()).command == str(tmp_path / "weather")
    assert new_server(["./weather"], ServerForm()).command == str(tmp_path / "weather")
    assert new_server(["./nothing", "-v"], ServerForm()).command == "./nothing"


@pytest.mark.slow
@pytest.mark.case("PRC-09")
@pytest.mark.parametrize("beside", [False, True])
def test_a_server_is_looked_at_used_switched_and_removed(home: Path, echo: Echo, beside: bool) -> None:
    if beside:
        with server(home):
            _whole_life(home, echo)
        assert "no MCP servers" in pilothouse(home, "mcp", "list").err
    else:
        _whole_life(home, echo)


def _whole_life(home: Path, echo: Echo) -> None:
    def mcp(*arguments: str, stdin: str = "") -> Outcome:
        return pilothouse(home, "mcp", *arguments, stdin=stdin)

    consented(home, echo)
    assert "Gives back what it is given." in mcp("tools").out
    tools = json.loads(mcp("tools", "echo", "--json").out)["tools"]
    assert "echo.echo" in [tool["qualifiedName"] for tool in tools]
    assert mcp("call", "echo.echo", "text=12").out == "12\n"
    assert mcp("call", "echo.echo", "-", stdin='{"text": "piped"}').out == "piped\n"
    assert json.loads(mcp("call", "Echo.echo", '{"text": "x"}', "--json").out)["ok"] is True
    assert_told(mcp("call", "echo.fail", "message=It broke."), 1, "It broke.")
    assert_told(mcp("call", "echo.nope"), 2, "no tool “nope”", "echo")
    assert_told(mcp("call", "echo.echo", "{"), 2, "not a JSON object")
    assert_told(mcp("call", "echo"), 2, "SERVER.TOOL")
    assert "2025-11-25" in mcp("status", "echo").out or "Idle" in mcp("status", "echo").out
    assert mcp("test", "echo").code == 0
    off = mcp("disable", "echo", "--tool", "fail")
    assert off.out == "echo: off are fail\n", off
    states = {tool["name"]: tool["state"] for tool in json.loads(mcp("tools", "echo", "--json").out)["tools"]}
    assert (states["echo"], states["fail"]) == ("offered", "off")
    assert mcp("enable", "echo", "--tool", "fail").out == "echo: off are none\n"
    assert "Disabled" in mcp("disable", "echo").out
    assert_told(mcp("test", "echo"), 1, "Echo")
    assert "Removed Echo" in mcp("remove", "echo").err
    assert_told(mcp("test", "echo"), 2, "no MCP server “echo”")


@pytest.mark.slow
def test_what_a_server_wrote_is_printed(home: Path, echo: Echo) -> None:
    with server(home):
        consented(home, echo)
        logged = pilothouse(home, "mcp", "logs", "echo")
        assert "A line in the log." in logged.out
        status = pilothouse(home, "mcp", "status").out
        assert "process" in status
        assert re.search(r"Connected \(\d+ tools\)", status)


@pytest.mark.slow
@pytest.mark.case("PRC-09")
@pytest.mark.parametrize("verb", ["stop", "disconnect"])
def test_a_server_that_is_stopped_ends_stays_switched_on_and_starts_with_its_next_call(
    home: Path, echo: Echo, verb: str
) -> None:
    with server(home):
        consented(home, echo)
        pid = int(pilothouse(home, "mcp", "call", "echo.pid").out)
        assert start_time(pid)
        stopped = pilothouse(home, "mcp", verb, "echo")
        assert (stopped.code, stopped.out) == (0, "echo: Idle\n"), stopped
        assert not start_time(pid)
        [listed] = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"]
        assert (listed["enabled"], listed["state"]) == (True, "idle")
        assert pilothouse(home, "mcp", "stop", "echo").code == 0
        again = int(pilothouse(home, "mcp", "call", "echo.pid").out)
        assert again != pid
        assert start_time(again)
    assert_told(pilothouse(home, "mcp", "stop", "nope"), 2, "no MCP server “nope”")


def test_a_server_whose_tools_are_not_known_says_why(home: Path, tmp_path: Path) -> None:
    assert "no MCP servers yet" in pilothouse(home, "mcp", "status").err
    script = tmp_path / "gone.py"
    added = pilothouse(home, "mcp", "add", "gone", "--", sys.executable, str(script))
    assert "mcp enable gone" in pilothouse(home, "mcp", "tools", "gone").err
    found = FINGERPRINT.search(added.err)
    assert found is not None
    told = f"“gone” does not start: there is no file {script}."
    assert_told(pilothouse(home, "mcp", "enable", "gone", "--consent", found[1]), 1, told, "whole path")
    assert_told(pilothouse(home, "mcp", "tools", "gone"), 1, told, "whole path")
    assert pilothouse(home, "mcp", "disable", "gone").code == 0
    assert "switched off" in pilothouse(home, "mcp", "tools", "gone").err
    assert f"command    {sys.executable}" in pilothouse(home, "mcp", "status", "gone").out


@pytest.mark.slow
@pytest.mark.case("SPAWN-10")
def test_what_a_server_wrote_outlives_the_command_that_started_it(home: Path, echo: Echo) -> None:
    consented(home, echo)
    logged = pilothouse(home, "mcp", "logs", "echo")
    assert "stderr   A line in the log." in logged.out
    assert "initialize OK" in logged.out
    lines = [json.loads(line) for line in pilothouse(home, "mcp", "logs", "echo", "--json").out.splitlines()]
    assert "A line in the log." in [line["text"] for line in lines]


def _conversations(home: Path) -> int:
    """Return how many there are, those that were deleted too."""
    with closing(sqlite3.connect(home / "pilothouse.db")) as base:
        return int(base.execute("select count(*) from conversations").fetchone()[0])


@pytest.mark.case("NAM-06", "NAM-09")
def test_a_run_uses_the_servers_it_is_told_and_asks_nobody_about_what_is_allowed(
    home: Path, echo: Echo, script: Script
) -> None:
    consented(home, echo)
    model = calling(script, "echo__echo", "{text: hello}")
    done = pilothouse(home, "run", "go", "--model", model, "--server", "Echo", "--allow", "echo.echo", "--json")
    assert done.code == 0, done.err
    results = [json.loads(line) for line in done.lines]
    assert any(event["type"] == "item.completed" and event["data"].get("phase") == "completed" for event in results)
    assert echo.called() == ["echo"]
    asked = pilothouse(home, "run", "go", "--model", model, "--server", "echo:echo,ask")
    assert_told(asked, 3, "Allow echo.echo?", '"text": "hello"', "For this task")
    assert echo.called() == ["echo"]
    command = next(line for line in asked.err.splitlines() if line.endswith("Allow once"))
    answered = pilothouse(home, *shlex.split(command)[1:4])
    assert (answered.code, answered.out) == (0, "It said so.\n"), answered
    assert echo.called() == ["echo", "echo"]
    assert_told(pilothouse(home, "run", "go", "--model", model, "--server", "nope"), 2, "no MCP server “nope”", "echo")
    assert_told(pilothouse(home, "run", "go", "--model", model, "--server", "echo:nope"), 2, "no tool “nope”")
    mistyped = pilothouse(home, "run", "go", "--model", model, "--server", "echo", "--allow", "eco.echo")
    assert_told(mistyped, 2, "nothing named “eco.echo”", "Near it: echo.*")
    assert _conversations(home) == 2


@pytest.mark.case("AGT-08")
def test_permission_to_call_is_asked_for_in_the_terminal_with_all_arguments(
    home: Path, echo: Echo, script: Script
) -> None:
    consented(home, echo)
    model = calling(script, "echo__echo", "{text: 'once and \\e[2J all'}".replace("'", '"'))
    with Screen(home, ["run", "go", "--model", model, "--server", "echo"]) as screen:
        screen.until(r"Allow echo\.echo\?")
        screen.until(r'"text": "once and \\u001b\[2J all"')
        screen.until("a  Allow once")
        screen.until("d  Deny")
        screen.until("›")
        screen.type("a")
        screen.until(r"Completed \(")
        screen.until("It said so.")
        assert screen.ended() == 0
    with Screen(home, ["run", "go", "--model", model, "--server", "echo"]) as screen:
        screen.until("t  Say what to do instead")
        screen.until("›")
        screen.type("t")
        screen.until("What to do instead")
        screen.type("Not today.\r")
        screen.until(r"Failed: The person did not allow this\. They\s+say: Not today\.")
        screen.until("It said so.")
        assert screen.ended() == 0


@pytest.mark.slow
@pytest.mark.case("TEXT-03")
def test_what_nobody_can_see_in_a_result_is_told(home: Path, echo: Echo, script: Script) -> None:
    consented(home, echo)
    for text, told in (("plain", False), ("pl" + "\\U000E0041" * 5 + "ain", True)):
        model = calling(script, "echo__echo", f'{{text: "{text}"}}')
        with Screen(home, ["run", "go", "--model", model, "--server", "echo", "--allow", "echo.*"]) as screen:
            screen.until("It said so.")
            assert screen.ended() == 0
            assert ("Invisible characters removed from its result: 5" in screen.text) is told


@pytest.mark.slow
def test_a_servers_form_is_filled_in_field_by_field(home: Path, echo: Echo, script: Script) -> None:
    consented(home, echo)
    model = calling(script, "echo__ask")
    with Screen(home, ["run", "go", "--model", model, "--server", "echo", "--allow", "echo.*"]) as screen:
        screen.until(r"What is your name\?")
        screen.until("asked by the server Echo")
        say(screen, "1", "name")
        say(screen, "Ada", "It said so.")
        assert screen.ended() == 0
    newest = pilothouse(home, "conversations", "list").lines[1].split()[0]
    assert "Ada" in pilothouse(home, "conversations", "show", newest, "--json").out


@pytest.mark.slow
def test_a_servers_form_waits_until_another_command_fills_it_in(home: Path, tmp_path: Path, script: Script) -> None:
    consented(home, Echo(tmp_path, "--era", "modern"))
    model = calling(script, "echo__ask")
    asked = pilothouse(home, "run", "go", "--model", model, "--server", "echo", "--allow", "echo.ask")
    assert_told(asked, 3, "What is your name?", "--content", "Decline")
    command = next(line for line in asked.err.splitlines() if "--content" in line).split()
    assert_told(pilothouse(home, "answer", command[2], "accept"), 2, "not filled in")
    assert_told(pilothouse(home, "answer", command[2], "accept", "--content", "["), 2, "not a JSON object")
    assert_told(pilothouse(home, "answer", command[2], "accept", "--content", '{"name": 7}'), 2, "name")
    assert_told(pilothouse(home, "answer", command[2]), 3, "stays open")
    answered = pilothouse(home, "answer", command[2], "accept", "--content", '{"name": "Ada"}')
    assert (answered.code, answered.out) == (0, "It said so.\n"), answered
    newest = pilothouse(home, "conversations", "list").lines[1].split()[0]
    assert "Ada" in pilothouse(home, "conversations", "show", newest, "--json").out


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (["no-such-program-anywhere"], ["no-such-program-anywhere"]),
        pytest.param([sys.executable, "-c", "import sys; sys.exit(7)"], ["7"], marks=pytest.mark.slow),
        pytest.param(
            [sys.executable, "-c", "import sys; sys.exit('MY_TOKEN is not set')"],
            ["needs its My token.", "pilothouse mcp keys"],
            marks=pytest.mark.slow,
        ),
        pytest.param([sys.executable, "-c", "print('<html>')"], [], marks=pytest.mark.slow),
        (["http://127.0.0.1:9/mcp"], ["127.0.0.1", "port 9", "Start the server"]),
        (["ftp://127.0.0.1/mcp"], ["is not an address; it begins with http://"]),
        (["--command-line", "npx 'open"], ["quotation mark"]),
        ([], ["command or a URL"]),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence_with_what_to_try(
    home: Path, command: list[str], parts: list[str]
) -> None:
    done = pilothouse(home, "mcp", "add", "--name", "bad", *command)
    if found := FINGERPRINT.search(done.err):
        done = pilothouse(home, "mcp", "test", "bad", "--consent", found[1])
    assert done.code in (1, 2), done
    assert 1 <= len(done.err.strip().splitlines()) <= 2, done.err
    assert_told(done, done.code, *parts)


HTML = Answer(200, b"<!doctype html><title>Hi</title>", {"content-type": "text/html"})
TOOLS_OF_NO_SHAPE = [
    {"name": "good", "inputSchema": {"type": "object"}},
    {"name": "bad", "inputSchema": {"type": "no such type"}},
]


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (HTML, ["web page"]),
        (Answer(401, b"{}", {"content-type": "application/json"}), ["Authentication failed. Check your API key."]),
        pytest.param(Answer(500, b"oops"), ["500"], marks=pytest.mark.slow),
    ],
)
async def test_an_address_that_is_no_server_is_told_with_what_to_try(
    home: Path, answer: Answer, parts: list[str]
) -> None:
    async with TinyHttp(lambda _request: answer) as site:
        done = await asyncio.to_thread(pilothouse, home, "mcp", "add", "--name", "bad", f"{site.url}/mcp")
    assert_told(done, 1, *parts)
    assert len(done.err.strip().splitlines()) == 2, done.err


@pytest.mark.slow
async def test_a_certificate_that_nobody_vouches_for_is_told_with_its_fingerprint(home: Path, tmp_path: Path) -> None:
    certificate = SelfSigned(tmp_path)
    async with TinyHttp(lambda _request: HTML, certificate.server()) as site:
        done = await asyncio.to_thread(pilothouse, home, "mcp", "add", "--name", "bad", f"{site.url}/mcp")
    assert_told(done, 1, "certificate", certificate.fingerprint)


def test_a_tool_whose_schema_is_none_is_set_aside_and_the_others_work(home: Path, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS_OF_NO_SHAPE))
    consented(home, Echo(tmp_path, "--tools", str(tmp_path / "tools.json")))
    listed = pilothouse(home, "mcp", "tools", "echo")
    assert "echo.good" in listed.out
    assert re.search(r"^echo\.bad: .+", listed.err, re.MULTILINE), listed


@pytest.mark.slow
def test_a_chat_lists_chooses_and_asks(home: Path, echo: Echo, script: Script) -> None:
    consented(home, echo)
    with Screen(home, ["chat", "--model", calling(script, "echo__echo", "{text: hello}")]) as screen:
        say(screen, "/servers", "Idle|Connect", "Used here: the usual ones")
        say(screen, "/servers nope", "no MCP server “nope”")
        say(screen, "/servers echo:echo", "from your next message on")
        say(screen, "go", r"Allow echo\.echo\?")
        screen.until("›")
        screen.type("w")
        screen.until(r"Completed \(")
        screen.until("It said so")
        leave(screen)
    assert echo.called() == ["echo"]


@pytest.mark.case("PRC-08")
def test_a_server_is_put_into_a_sandbox_and_taken_out_again(home: Path) -> None:
    added = pilothouse(home, "mcp", "add", "--name", "Held", "--sandbox", "--no-network", *scripted())
    assert_told(
        added, 3, "sandbox     Runs in a sandbox: only a folder of its own can be written to. It has no network."
    )
    found = FINGERPRINT.search(added.err)
    assert found is not None
    assert pilothouse(home, "mcp", "enable", "held", "--consent", found[1]).code == 0
    called = pilothouse(home, "mcp", "call", "held.echo", "text=inside")
    assert (called.code, called.out) == (0, "inside\n"), called
    freed = pilothouse(home, "mcp", "edit", "held", "--no-sandbox")
    assert_told(freed, 3, "changed since you agreed: Sandbox: was “Runs in a sandbox")
    settings = json.loads(pilothouse(home, "mcp", "list", "--json").out)["servers"][0]["settings"]
    assert "sandbox" not in settings
    assert "network" not in settings
    assert_told(pilothouse(home, "mcp", "edit", "held", "--no-network"), 2, "Only a server in a sandbox")
