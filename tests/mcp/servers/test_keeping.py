"""What is kept of servers in memory, when they are left alone, and what their last words mean."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.start_errors import local_failure, needs_person
from pilothouse.mcp.client.traffic import Traffic
from pilothouse.mcp.servers.breaker import Breaker
from pilothouse.mcp.servers.entries import parse_entry
from pilothouse.mcp.servers.history import History
from pilothouse.types import limits
from pilothouse.types.servers import ServerEntry

SERVER = ("one", "Files")


def hide(text: str) -> str:
    return text.replace("s3cr3t", "[redacted]")


def local(kind: str = "command", identifier: str = "server") -> ServerEntry:
    return parse_entry({"id": "one", "name": "GitHub", "package": {"type": kind, "identifier": identifier}})


@pytest.mark.case("ERR-15")
def test_a_server_that_fails_again_and_again_is_left_alone_and_tried_once() -> None:
    now = [0.0]
    breaker = Breaker(lambda: now[0])
    for _ in range(limits.BREAKER_FAILURES):
        assert breaker.wait() == 0
        breaker.failed()
    assert breaker.wait() == limits.BREAKER_OPEN
    now[0] += limits.BREAKER_OPEN
    assert breaker.wait() == 0
    assert breaker.wait() > 0, "only one call tries"
    breaker.failed()
    assert breaker.wait() > 0
    now[0] += limits.BREAKER_OPEN
    assert breaker.wait() == 0
    breaker.succeeded()
    assert [breaker.wait() for _ in range(3)] == [0, 0, 0]


@pytest.mark.case("ERR-15")
def test_a_cancelled_call_says_nothing_about_the_server() -> None:
    now = [0.0]
    breaker = Breaker(lambda: now[0])
    for _ in range(limits.BREAKER_FAILURES):
        breaker.failed()
    now[0] += limits.BREAKER_OPEN
    assert breaker.wait() == 0
    breaker.undecided()
    assert breaker.wait() == 0


@pytest.mark.case("SPAWN-10")
def test_what_a_server_wrote_is_kept_masked_and_bounded() -> None:
    history = History(hide)
    for number in range(limits.SERVER_LOG_LINES + 10):
        history.line("stderr", "info", f"{number} token=s3cr3t {'x' * 10_000}")
    assert len(history.lines) == limits.SERVER_LOG_LINES
    assert "s3cr3t" not in history.lines[-1].text
    assert len(history.lines[-1].text) <= limits.SERVER_LOG_CHARS + 10


@pytest.mark.case("OBS-07")
def test_messages_are_recorded_only_when_wanted_and_without_secrets() -> None:
    traffic = Traffic(hide)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"key": "s3cr3t"}}
    traffic.message(SERVER, "out", request, 80)
    assert traffic.page(0, None).messages == ()
    traffic.switch(True)
    traffic.message(SERVER, "out", request, 80)
    traffic.message(SERVER, "in", {"jsonrpc": "2.0", "id": 1, "result": {}}, 40)
    traffic.message(SERVER, "in", {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, 40)
    traffic.message(("two", "Other"), "in", {"jsonrpc": "2.0", "id": 9, "error": {"code": 1}}, 40)
    traffic.garbage(SERVER, "Listening on s3cr3t")
    page = traffic.page(0, None)
    assert [message.kind for message in page.messages] == ["request", "response", "notification", "error", "garbage"]
    assert "s3cr3t" not in str(page)
    assert page.messages[1].method == "tools/call"
    assert page.messages[1].seconds is not None
    assert [message.seq for message in traffic.page(page.messages[2].seq, "one").messages] == [page.last_seq]
    traffic.switch(False)
    assert traffic.page(0, None).messages == ()


@pytest.mark.case("OBS-07")
def test_recorded_messages_are_bounded_in_number_and_size() -> None:
    traffic = Traffic(hide)
    traffic.switch(True)
    for number in range(limits.TRAFFIC_MESSAGES + 5):
        traffic.message(SERVER, "out", {"id": number, "method": "x", "params": {"text": "y" * 100}}, 200)
    assert len(traffic.page(0, None).messages) == limits.TRAFFIC_MESSAGES
    for number in range(300):
        traffic.message(SERVER, "in", {"id": number, "result": {"text": "y" * 1_000_000}}, 1_000_000)
    kept = traffic.page(0, None).messages
    assert sum(len(message.text) for message in kept) <= limits.TRAFFIC_TOTAL_CHARS
    assert kept[-1].bytes == 1_000_000


@pytest.mark.case("ERR-09", "F-02")
@pytest.mark.parametrize(
    ("entry", "code", "words", "message", "fix"),
    [
        (local(), 3, ["starting", "boom", ""], "“GitHub” ended with exit code 3: boom", "log"),
        (
            local(),
            1,
            ["node:internal/x:1", "    throw err;", "TypeError: no such thing", "    at y", "", "Node.js v24.19.0"],
            "“GitHub” ended with exit code 1: TypeError: no such thing",
            "log",
        ),
        (
            local("npm", "x"),
            1,
            ["npm error could not determine executable to run", "npm error A complete log of this run is in: /x.log"],
            "“GitHub” ended with exit code 1: npm error could not determine executable to run",
            "log",
        ),
        (
            local(),
            1,
            ["Error: Cannot find module '/opt/mine/dist/index.js'", "    at x", "Node.js v24.19.0"],
            "“GitHub” does not start: there is no file /opt/mine/dist/index.js.",
            "whole path",
        ),
        (
            local(),
            2,
            ["python: can't open file '/opt/mine/server.py': [Errno 2] No such file or directory"],
            "“GitHub” does not start: there is no file /opt/mine/server.py.",
            "whole path",
        ),
        (
            local(),
            2,
            ["usage: srv [-h] --root ROOT [--on-error MODE]", "srv: error: argument --mode: invalid choice: 'c'"],
            "“GitHub” ended with exit code 2: srv: error: argument --mode: invalid choice: 'c'",
            "log",
        ),
        (
            local(),
            1,
            ["error: unknown option '--foo'", "Usage: srv [options]", "Options:", "  --on-error <mode>  error mode"],
            "“GitHub” ended with exit code 1: error: unknown option '--foo'",
            "log",
        ),
        (
            local(),
            1,
            ["Options:", "  --root  [string] [required]", "", "Missing required argument: root"],
            "“GitHub” ended with exit code 1: Missing required argument: root",
            "log",
        ),
        (
            local(),
            1,
            ["Need a folder to serve", "Usage: srv FOLDER", "  -v  verbose", "Try 'srv --help' for help."],
            "“GitHub” ended with exit code 1: Need a folder to serve",
            "log",
        ),
        (
            local(),
            1,
            ["[2026-01-01 10:00:00] ERROR no database", "[2026-01-01 10:00:01] ERROR could not clean up"],
            "“GitHub” ended with exit code 1: [2026-01-01 10:00:00] ERROR no database",
            "log",
        ),
        (
            local(),
            1,
            [
                *("Traceback (most recent call last):", '  File "s.py", line 3', "KeyError: 'x'", ""),
                *("The above exception was the direct cause of the following exception:", ""),
                *("Traceback (most recent call last):", '  File "s.py", line 5', "RuntimeError: cannot read config"),
            ],
            "“GitHub” ended with exit code 1: RuntimeError: cannot read config",
            "log",
        ),
        (
            local("npm", "x"),
            1,
            ['npm warn Unknown user config "nodedir".', "Error: connect ECONNREFUSED 127.0.0.1:5432", "    at x"],
            "“GitHub” ended with exit code 1: Error: connect ECONNREFUSED 127.0.0.1:5432",
            "log",
        ),
        (
            local("npm", "x"),
            1,
            ["npm warn deprecated y@1: use z", "(node:7) [DEP0040] DeprecationWarning: The `punycode` module"],
            "“GitHub” ended with exit code 1 and said nothing.",
            "Check the command.",
        ),
        (
            local("pypi", "x"),
            1,
            ["Installed 30 packages in 12ms", "error: 404 Not Found from the API"],
            "“GitHub” ended with exit code 1: error: 404 Not Found from the API",
            "log",
        ),
        (
            local("npm", "x"),
            1,
            ["node:events:502", "      throw er;", "", "Error: listen EADDRINUSE: address already in use :::3000"],
            "“GitHub” ended with exit code 1: Error: listen EADDRINUSE: address already in use :::3000",
            "log",
        ),
        (
            local(),
            1,
            ['TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be a string. Received undefined'],
            "“GitHub” ended with exit code 1: TypeError [ERR_INVALID_ARG_TYPE]: "
            'The "path" argument must be a string. Received undefined',
            "log",
        ),
        (
            local("npm", "x"),
            127,
            ["env: ‘node’: No such file or directory"],
            "“GitHub” does not start: there is no program node here.",
            "Install it",
        ),
        (
            local("docker", "x"),
            1,
            ["Unable to find image 'x:latest' locally", "Status: Downloaded newer image for x:latest", "Error: no key"],
            "“GitHub” ended with exit code 1: Error: no key",
            "log",
        ),
        (local(), -9, [], "“GitHub” ended by signal 9 and said nothing.", "Check the command."),
        (local("npm", "x"), 1, ["npm ERR! code ENOTFOUND"], "Failed to install GitHub. Check network.", ""),
        (
            local("pypi", "x"),
            1,
            ["error: Failed to fetch: `https://…`"],
            "Failed to install GitHub. Check network.",
            "",
        ),
        (local("npm", "x"), 1, ["npm error code E404"], "There is no package x on npm.", "name"),
        (
            local("pypi", "mcp-server-x"),
            1,
            ["AttributeError: 'Server' object has no attribute 'list_tools'"],
            "“GitHub” does not work with the mcp package it was installed with.",
            "uvx --with 'mcp<2' mcp-server-x",
        ),
        (
            local(),
            1,
            ["Error: GITHUB_TOKEN environment variable is required"],
            "“GitHub” needs its GitHub token.",
            "Give it in Settings, MCP, or with `pilothouse mcp keys GitHub`.",
        ),
        (
            local(),
            1,
            ["Traceback (most recent call last):", '  File "<frozen os>", line 685', "KeyError: 'MY_API_KEY'"],
            "“GitHub” needs its My API key.",
            "Settings",
        ),
        (
            local(),
            1,
            [
                *("Traceback (most recent call last):", '  File "s.py", line 3'),
                *("pydantic_core.ValidationError: 1 validation error for Settings", "url"),
                *("  Field required [type=missing]", "    For further information visit a page"),
            ],
            "“GitHub” ended with exit code 1: pydantic_core.ValidationError: 1 validation error for Settings "
            "url Field required [type=missing]",
            "log",
        ),
        (
            local(),
            1,
            ["Traceback (most recent call last):"],
            "“GitHub” ended with exit code 1 and said nothing.",
            "Check",
        ),
        (local(), 1, ["Please set the BRAVE_API_KEY"], "“GitHub” needs its Brave API key.", "Settings"),
        (local("docker", "x"), 1, ["Cannot connect to the Docker daemon at unix:"], "Docker is not running.", "Start"),
        (local("docker", "x"), 125, ["Unable to find image 'x'"], "Failed to install GitHub. Check network.", "image"),
    ],
)
def test_the_end_of_a_local_server_is_told_in_one_sentence(
    entry: ServerEntry, code: int, words: list[str], message: str, fix: str
) -> None:
    told = local_failure(entry, ChannelError("It ended."), code, words)
    assert told.message == message
    assert fix in told.fix


def test_a_variable_that_was_given_is_not_told_to_be_missing() -> None:
    entry = local()
    given = msgspec.structs.replace(entry, config=msgspec.structs.replace(entry.config, env={"MY_TOKEN": "x"}))
    told = local_failure(given, ChannelError("It ended."), 1, ["Error: MY_TOKEN was not found on the server"])
    assert told.message == "“GitHub” ended with exit code 1: Error: MY_TOKEN was not found on the server"


@pytest.mark.case("PRC-08")
@pytest.mark.parametrize(
    ("kind", "words"),
    [("npm", "npm error code ENOTCACHED"), ("pypi", "hint: unavailable because the network was disabled.")],
)
def test_a_package_that_was_never_downloaded_does_not_start_off_the_network(kind: str, words: str) -> None:
    entry = local(kind, "x")
    held = msgspec.structs.replace(entry, config=msgspec.structs.replace(entry.config, sandbox=True, network=False))
    told = local_failure(held, ChannelError("It ended."), 1, [words])
    assert told.message == "“GitHub” was never downloaded, and may not use the network."
    assert needs_person(told)


def test_some_failures_stay_until_the_person_does_something() -> None:
    assert needs_person(ChannelError("x", status=401))
    assert not needs_person(ChannelError("x", status=503))
    assert not needs_person(ChannelError("x"))
    assert needs_person(local_failure(local("npm", "x"), ChannelError("x"), 1, ["npm error code E404"]))
