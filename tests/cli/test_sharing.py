"""Several processes on one data folder: the first has it, the others are its clients, and one of them is its heir."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from pilothouse.host.address import read_address
from pilothouse.store.lock import FolderLock
from tests.cli.conftest import Script, leave, say
from tests.support.commands import COMMAND, RunningCommand, Screen, environment, pilothouse, pilothouse_process, server
from tests.support.ports import free_port
from tests.support.waiting import until

# Most of these start a process.
pytestmark = pytest.mark.slow

SLOW = "- [{text: 'Slow. '}, {wait: 60}]"
LOOP = "- [{call: think, arguments: {thought: again}}]"
LINK = re.compile(r"Pilothouse is at (http://127\.0\.0\.1:\d+) — open \1/\?in=[\w-]+#code=[\w-]{20,}")


def begun(home: Path, model: str, *more: str) -> RunningCommand:
    """Start a run that has begun to answer and takes its time."""
    started = RunningCommand(home, "run", "hi", "--json", "--model", model, *more)
    while "Slow." not in started.line():
        pass
    return started


def test_commands_work_beside_an_open_chat(home: Path, script: Script) -> None:
    model = script("- One.\n- Two.")
    with Screen(home, ["chat", "--model", model]) as screen:
        screen.until("›")
        assert "embedded" in pilothouse(home, "models", "list").out
        assert pilothouse(home, "mcp", "list").code == 0
        assert "All is well" in (looked := pilothouse(home, "doctor").out) or "It works" in looked
        assert "Another command (process" in looked
        assert pilothouse(home, "run", "hello", "--model", model).out == "One.\n"
        screen.type("hi there\r")
        screen.until("One")
        say(screen, "/list", "hello")
        screen.type("/quit\r")
        assert screen.ended() == 0
    assert not (home / "server.json").exists()


def test_serve_beside_a_chat_shows_its_page_and_takes_over_when_it_ends(home: Path) -> None:
    with Screen(home, ["chat"]) as screen:
        screen.until("›")
        with RunningCommand(home, "serve", "--no-browser") as serving:
            line = serving.line()
            assert LINK.fullmatch(line)
            owner = read_address(home)
            assert owner is not None
            assert (owner.pid, owner.kind) == (screen.pid, "command")
            screen.type("/quit\r")
            assert screen.ended() == 0
            until(lambda: (now := read_address(home)) is not None and now.kind == "server", "the server to take over")
            heir = read_address(home)
            assert heir is not None
            # The page that is open there goes on.
            assert heir.url == owner.url
            assert pilothouse(home, "models", "list").code == 0
            done = serving.stop()
    assert (done.code, done.out) == (0, "")
    assert "has ended; the server at" in done.err


def test_serve_and_the_bare_command_beside_a_server_show_that_one(home: Path) -> None:
    with server(home) as line:
        address = line.split()[3]
        for arguments in (
            ["serve", "--no-browser"],
            [],
            ["serve", "--no-browser", "--port", address.rpartition(":")[2]],
        ):
            beside = pilothouse_process(home, *arguments)
            assert beside.code == 0, beside.err
            assert LINK.fullmatch(beside.out.strip())
            assert address in beside.out
        elsewhere = pilothouse_process(home, "serve", "--no-browser", "--port", "1")
        assert elsewhere.code == 1
        assert f"already, at {address}" in elsewhere.err


def test_serve_waits_for_another_of_ours_that_still_has_its_port_and_leaves(home: Path) -> None:
    home.mkdir()
    lock, port = FolderLock(home), free_port()
    lock.acquire()
    held = socket.create_server(("127.0.0.1", port))
    with contextlib.closing(held), Screen(home, ["serve", "--no-browser", "--port", str(port)]) as screen:
        named = rf"Port {port} is taken: another Pilothouse \(process {os.getpid()}\) is using"
        screen.until(named.replace(" ", r"\s+"))
        screen.until(r"Waiting\s+until\s+it\s+ends")
        lock.release()
        held.close()
        screen.until(f"Pilothouse is at http://127.0.0.1:{port} ")
        screen.type("\x03")
        assert screen.ended() == 0


def test_a_port_of_a_program_that_is_not_ours_is_told_at_once(home: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        told = pilothouse_process(home, "serve", "--no-browser", "--port", str(port))
    assert (told.code, told.err.splitlines()[0]) == (1, f"Port {port} is taken by another program.")


def test_a_waiting_serve_can_be_stopped(home: Path) -> None:
    with Screen(home, ["chat"]) as screen:
        screen.until("›")
        with RunningCommand(home, "serve", "--no-browser") as serving:
            serving.line()
            assert serving.stop(signal.SIGINT).code == 0
        screen.type("/quit\r")
        assert screen.ended() == 0


def test_a_serve_that_waits_for_the_folder_of_one_that_comes_or_goes_can_be_stopped(home: Path) -> None:
    home.mkdir()
    lock = FolderLock(home)
    lock.acquire()
    try:
        with Screen(home, ["serve", "--no-browser", "--port", "0"]) as screen:
            screen.until(r"Waiting\s+until\s+it\s+ends")
            os.kill(screen.pid, signal.SIGTERM)
            assert screen.ended() == 0
    finally:
        lock.release()


def test_a_run_that_is_done_lets_others_finish_through_it(home: Path, script: Script, tmp_path: Path) -> None:
    first = script("- [{text: 'Slow. '}, {wait: 1.5}, {text: 'Done.'}]")
    with RunningCommand(home, "run", "hi", "--json", "--model", first) as owner:
        while "Slow." not in owner.line():
            pass
        other = tmp_path / "other.yaml"
        other.write_text("- [{text: 'Slow. '}, {wait: 4}, {text: 'Whole.'}]")
        with begun(home, f"scripted:{other}") as visitor:
            done = owner.wait()
            assert done.code == 0
            # Whoever reads its output in a program is told nothing that is not about its answer.
            assert done.err == ""
            end = visitor.wait()
            assert end.code == 0
            assert "Whole." in end.out
            assert json.loads(end.lines[-1])["run"]["recoveries"] == 0


def test_a_run_goes_on_in_its_own_process_when_the_owner_is_killed(home: Path, script: Script, tmp_path: Path) -> None:
    model = script(SLOW)
    with Screen(home, ["chat"]) as owner:
        owner.until("›")
        with begun(home, model) as visitor:
            script("- Back again.")
            os.kill(owner.pid, signal.SIGKILL)
            done = visitor.wait()
            assert done.code == 0, done.err
            assert "Back again." in done.out


def test_a_chat_goes_on_when_the_owner_leaves(home: Path, script: Script) -> None:
    model = script("- One.\n- Two.")
    with Screen(home, ["chat"]) as owner:
        owner.until("›")
        with Screen(home, ["chat", "--model", model]) as heir:
            heir.until("›")
            heir.type("first\r")
            heir.until("One")
            owner.type("/quit\r")
            assert owner.ended() == 0
            heir.until("›")
            heir.type("second\r")
            heir.until("in its place")
            heir.until("Two")
            # It listens for others now.
            assert "first" in pilothouse(home, "conversations", "list").out
            heir.type("/quit\r")
            assert heir.ended() == 0


def test_processes_that_start_in_the_same_instant_all_work(home: Path, script: Script) -> None:
    model = script("- ok")
    started = [RunningCommand(home, "run", "hi", "--model", model) for _ in range(4)]
    done = [one.wait() for one in started]
    assert [(one.code, one.out) for one in done] == [(0, "ok\n")] * 4, [one.err for one in done]
    assert len(pilothouse(home, "conversations", "list").lines) == 5


def test_a_suspended_owner_is_named_with_what_to_do(home: Path) -> None:
    with Screen(home, ["chat"]) as owner:
        owner.until("›")
        os.kill(owner.pid, signal.SIGSTOP)
        try:
            # Well before a busy one would be given up.
            held = pilothouse(home, "models", "list")
        finally:
            os.kill(owner.pid, signal.SIGCONT)
        assert held.code == 1
        assert f"process {owner.pid}" in held.err
        assert "`fg`" in held.err
        assert pilothouse(home, "models", "list").code == 0


def test_the_rest_of_an_answer_that_another_program_writes_is_shown_to_who_resumes_it(
    home: Path, script: Script, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    with begun(home, script(f"- [{{text: 'Slow. '}}, {{wait: 60, until: {go}}}, {{text: 'Done.'}}]")) as writing:
        (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
        # What is shown live is on record a moment later; until then it would be a part of the rest.
        until(lambda: "Slow." in pilothouse(home, "conversations", "show", one["id"]).out, "the beginning on record")
        with Screen(home, ["conversations", "resume", one["id"]]) as screen:
            screen.until("Another program is writing this answer")
            go.touch()
            screen.until(r"Done\.")
            assert screen.ended() == 0
            assert "Slow." not in screen.text
        assert writing.wait().code == 0


def test_who_resumes_an_answer_is_told_for_whom_it_waits(home: Path) -> None:
    home.mkdir(parents=True)
    lock = FolderLock(home)
    lock.acquire()
    try:
        with Screen(home, ["conversations", "resume", "c_1"]) as screen:
            screen.until(rf"Another Pilothouse \(process {os.getpid()}\) is using")
            screen.until(r"Waiting\s+until\s+it\s+answers\s+or\s+ends,\s+30\s+s\s+at\s+most")
            lock.release()
            screen.until("There is no such conversation")
            assert screen.ended() != 0
    finally:
        lock.release()


def test_the_page_of_a_command_asks_for_a_way_in_like_any_other(home: Path) -> None:
    with Screen(home, ["chat"]) as owner:
        owner.until("›")
        address = read_address(home)
        assert address is not None
        link = pilothouse(home, "open", "--no-browser").out.strip()
        assert link.startswith(f"{address.url}/?in=")
        code = f"""
import urllib.request, urllib.error
print(urllib.request.urlopen({address.url + "/"!r}).status)
try:
    urllib.request.urlopen({address.url + "/api/models"!r})
except urllib.error.HTTPError as error:
    print(error.code)
"""
        asked = subprocess.run(
            [COMMAND[0], "-c", code], capture_output=True, text=True, env=environment(home), check=False
        )
        assert asked.stdout.split() == ["200", "401"]


def _unread(port: int) -> bool:
    """Return whether a request waits on a connection to this port that its process has not read."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(one[1].endswith(f":{port:04X}") and one[3] == "01" and one[4][9:] != "00000000" for one in lines)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no other system tells what a process has not read")
def test_an_answer_that_reached_a_dying_owner_is_given_to_its_heir(home: Path, script: Script) -> None:
    with Screen(home, ["chat"]) as owner:
        owner.until("›")
        address = read_address(home)
        assert address is not None
        with Screen(home, ["chat", "--model", script(LOOP)]) as heir:
            heir.until("›")
            heir.type("loop\r")
            heir.until("Go on")
            heir.until("›")
            os.kill(owner.pid, signal.SIGSTOP)
            heir.type("stop\r")
            until(lambda: _unread(address.port), "the answer to reach the owner")
            os.kill(owner.pid, signal.SIGKILL)
            heir.until("in its place")
            heir.until("›")
            heir.type("/quit\r")
            assert heir.ended() == 0
            assert "does not answer" not in heir.text
    assert pilothouse(home, "answer").err == "No question waits for an answer.\n"


def test_a_question_that_was_answered_elsewhere_is_settled_in_the_chat_too(home: Path, script: Script) -> None:
    with Screen(home, ["chat", "--model", script(LOOP)]) as screen:
        say(screen, "loop", "Go on")
        screen.until("›")
        question = json.loads(pilothouse(home, "answer", "--json").out)["pending"][0]["itemId"]
        assert pilothouse(home, "answer", question, "stop").code == 0
        screen.type("stop\r")
        leave(screen)
        assert "already been answered" not in screen.text
