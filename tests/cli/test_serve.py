"""`pilothouse serve` and `open`, and commands beside a running server."""

from __future__ import annotations

import json
import re
import signal
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Script
from tests.support.commands import RunningCommand, pilothouse, serve_command, server
from tests.support.waiting import until

# Most of these start a process.
pytestmark = pytest.mark.slow

LINE = re.compile(r"Pilothouse is at (http://127\.0\.0\.1:\d+) — open \1/\?in=[\w-]+#code=[\w-]{20,}")
HELLO = "- [{thinking: hm}, {text: Hello there., pieces: 3}]\n- You said more."


ALSO = pytest.mark.slow


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=ALSO), pytest.param(signal.SIGHUP, marks=ALSO)]
)
def test_the_server_prints_one_line_and_stops_well_on_a_signal(home: Path, number: int) -> None:
    with serve_command(home) as started:
        assert LINE.fullmatch(started.line())
        assert stat.S_IMODE((home / "server.json").stat().st_mode) == 0o600
        done = started.stop(number)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert not (home / "server.json").exists()


def test_open_prints_another_link_of_the_running_server(home: Path) -> None:
    away = pilothouse(home, "open")
    assert away.code == 1
    assert "pilothouse serve" in away.err
    with server(home) as line:
        address = line.split()[3]
        links = {pilothouse(home, "open", "--no-browser").out.strip() for _ in range(2)}
    assert len(links) == 2
    assert all(link.startswith(f"{address}/?in=") for link in links)


def test_a_browser_is_opened_where_there_is_a_screen_and_never_waited_for(home: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened} && sleep 3\n')
    browser.chmod(0o755)
    with RunningCommand(home, "serve", "--port", "0", BROWSER=f"{browser} %s &", DISPLAY=":9") as started:
        link = started.line().split()[-1]
        until(opened.exists, "the browser to be opened")
        assert opened.read_text().strip() == link
        assert started.stop().code == 0


def test_a_run_beside_a_server_goes_through_it(home: Path, script: Script) -> None:
    model = script(HELLO)
    with server(home):
        first = pilothouse(home, "run", "hi", "--json", "--model", model)
        assert first.code == 0, first.err
        events = [json.loads(line) for line in first.lines]
        assert {event["run"]["process"] for event in events if event["type"] == "run.updated"} != {None}
        assert not any(str(event.get("run", {}).get("process", "")).startswith("once") for event in events)
        conversation = events[0]["conversation"]["id"]
        again = pilothouse(home, "run", "more", "--conversation", conversation)
        assert (again.code, again.out) == (0, "You said more.\n")
        listed = pilothouse(home, "conversations", "list").out
        assert conversation in listed
    # The same after the server has ended: one truth.
    assert pilothouse(home, "conversations", "list").out == listed
    numbers = [event["seq"] for event in events if event["seq"]]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.slow
def test_problems_of_a_server_are_told_like_our_own(home: Path, script: Script) -> None:
    with server(home):
        unknown = pilothouse(home, "run", "hi", "--model", "nope")
        assert (unknown.code, unknown.out) == (2, "")
        assert "There are: embedded" in unknown.err
        assert "no conversations" in pilothouse(home, "conversations", "list").err
        assert pilothouse(home, "run", "hi", "--conversation", "../../models").code == 2
        assert pilothouse(home, "run", "hi", "--model", script("- [{fault: 401}]")).code == 1


def test_a_run_beside_a_server_is_cancelled_in_the_server(home: Path, script: Script) -> None:
    with server(home):
        with RunningCommand(
            home, "run", "hi", "--json", "--model", script("- [{text: 'Slow. '}, {wait: 60}]")
        ) as started:
            while "Slow." not in started.line():
                pass
            done = started.stop(signal.SIGINT)
        assert done.code == 130
        assert json.loads(done.lines[-1])["run"]["status"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=ALSO)])
def test_a_run_goes_on_when_its_server_ends(home: Path, script: Script, number: int) -> None:
    model = script("- [{text: 'Slow. '}, {wait: 60}]")
    with serve_command(home) as serving:
        serving.line()
        with RunningCommand(home, "run", "hi", "--model", model, "--json") as started:
            while "Slow." not in started.line():
                pass
            script("- Back again.")
            serving.stop(number)
            # Whichever of the two takes the folder over, the other is its client.
            with server(home):
                done = started.wait()
    assert done.code == 0, done.err
    assert "Back again." in done.out


def test_a_run_does_not_go_on_by_itself_where_a_person_wants_to_be_asked(home: Path, script: Script) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.json").write_text('{"resume_after_restart": "ask"}')
    with serve_command(home) as serving:
        serving.line()
        with RunningCommand(
            home, "run", "hi", "--json", "--model", script("- [{text: 'Slow. '}, {wait: 60}]")
        ) as started:
            while "Slow." not in started.line():
                pass
            script("- Back again.")
            serving.stop()
            done = started.wait()
    assert done.code == 1
    assert "stopped before the answer was complete" in done.err
    conversation = done.err.split("--conversation ")[1].split()[0]
    assert pilothouse(home, "run", "Go on.", "--conversation", conversation).out == "Back again.\n"


def test_a_run_can_be_left_while_its_server_is_away(home: Path, script: Script) -> None:
    with serve_command(home) as serving:
        serving.line()
        with RunningCommand(
            home, "run", "hi", "--json", "--model", script("- [{text: 'Slow. '}, {wait: 60}]")
        ) as started:
            while "Slow." not in started.line():
                pass
            serving.stop(signal.SIGKILL)
            done = started.stop(signal.SIGINT)
    assert done.code == 130


@pytest.mark.slow
def test_models_are_changed_in_the_running_server(home: Path) -> None:
    add = ("models", "add", "--id", "local", "--provider", "ollama", "--model", "m")
    with server(home):
        assert pilothouse(home, *add).out == "local\n"
        assert pilothouse(home, "models", "default").out == "local\n"
        assert pilothouse(home, "models", "default", "embedded").out == "embedded\n"
        assert pilothouse(home, "models", "default", "local").out == "local\n"
        assert "A server runs at" in pilothouse(home, "doctor").out
    assert pilothouse(home, "models", "default").out == "local\n"


@pytest.mark.slow
def test_commands_share_a_postgresql_with_a_server(home: Path, script: Script, postgres_url: str) -> None:
    model = script(HELLO)
    with server(home, PILOTHOUSE_DATABASE_URL=postgres_url):
        first = pilothouse(home, "run", "hi", "--json", "--model", model, PILOTHOUSE_DATABASE_URL=postgres_url)
        assert first.code == 0, first.err
        events = [json.loads(line) for line in first.lines]
        # The command executes its own run; the server leaves it alone.
        assert any(str(event.get("run", {}).get("process")).startswith("once") for event in events)
        conversation = events[0]["conversation"]["id"]
        arguments = ("run", "more", "--conversation", conversation)
        assert pilothouse(home, *arguments, PILOTHOUSE_DATABASE_URL=postgres_url).out == "You said more.\n"
