"""Terminals and commands under a host that is told to stop, twice, or dies: nothing of them is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from websockets.sync.client import connect

from tests.support.processes import all_ended, processes_with
from tests.support.servers import TOKEN, Server
from tests.support.terminals import wait_for_shell
from tests.support.waiting import until

# A generous timeout: only a hang exceeds it.
AMPLE = 30.0
# A number of seconds that nobody else sleeps for: tests beside this one have theirs.
MARK = f"9{os.getpid():07}"


def write_script(folder: Path) -> Path:
    """A model that leaves one command in the background and waits for another."""
    turns = [
        [
            {
                "call": "terminal_operations",
                "arguments": {"operation": "run_command", "command": f"sleep {MARK}1", "is_background": True},
            }
        ],
        [
            {
                "call": "terminal_operations",
                "arguments": {"operation": "run_command", "command": f"(setsid sleep {MARK}2 &); sleep {MARK}3"},
            }
        ],
        "Done.",
    ]
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
    return path


@contextlib.contextmanager
def busy(server: Server, folder: Path, script: Path) -> Iterator[str]:
    """A conversation with a background command, one that is waited for, and a terminal with a job in it; its path."""
    body = {"settings": {"workingDirectory": str(folder)}}
    conversation = server.post("/api/conversations", body, 201)["id"]
    path = f"/api/conversations/{conversation}/terminal"
    message = {"text": "Go", "modelId": f"scripted:{script}", "allow": ["terminal_operations.*"]}
    server.post(f"/api/conversations/{conversation}/messages", message, 202)
    address = f"ws://127.0.0.1:{server.port}{path}/socket"
    with connect(address, additional_headers={"Authorization": f"Bearer {TOKEN}"}, proxy=None) as window:
        window.send(json.dumps({"type": "open", "columns": 80, "rows": 24, "from": 0}))
        wait_for_shell(window)
        window.send(json.dumps({"type": "input", "data": f"setsid sleep {MARK}4 &\r"}))
        until(lambda: all(processes_with(f"{MARK}{each}") for each in "1234"), "all four to run")
        yield path


@pytest.mark.case("F-37", "F-59")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_host_that_is_told_to_stop_ends_every_terminal_and_command(
    number: signal.Signals, home: Path, tmp_path: Path, work: Path
) -> None:
    with Server(home) as server, busy(server, work, write_script(tmp_path)) as path:
        server.process.send_signal(number)
        server.process.wait(AMPLE)
    assert all_ended(MARK)
    assert not (home / "scratch").exists()
    # The conversation, its terminal's folder and its recording are there again.
    with Server(home) as server:
        (session,) = server.get(path)["sessions"]
        assert (session["running"], session["workingDirectory"]) == (False, str(work))
        assert server.client.get(f"{path}/recording").status_code == 200


@pytest.mark.case("F-37")
def test_a_second_signal_ends_the_host_at_once_and_its_commands_with_it(home: Path, tmp_path: Path, work: Path) -> None:
    with Server(home) as server, busy(server, work, write_script(tmp_path)):
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(AMPLE)
    until(lambda: not processes_with(MARK), "everything to be gone")


@pytest.mark.case("F-38")
def test_a_host_that_is_killed_takes_every_terminal_and_command_with_it(home: Path, tmp_path: Path, work: Path) -> None:
    with Server(home) as server, busy(server, work, write_script(tmp_path)) as path:
        server.process.kill()
        server.process.wait(AMPLE)
    until(lambda: not processes_with(MARK), "everything to be gone")
    with Server(home) as server:
        (session,) = server.get(path)["sessions"]
        assert not session["running"]
        # What the killed one left in its temporary folders is swept up.
        until(lambda: {path.name for path in (home / "scratch").glob("*")} <= {str(server.process.pid)}, "the sweep")


@pytest.mark.case("SECRET-09")
def test_the_host_writes_no_core_file_and_lets_no_other_program_look_in(home: Path) -> None:
    with Server(home) as server:
        process = psutil.Process(server.process.pid)
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        # The kernel gives the files about such a process to root.
        assert os.stat(f"/proc/{process.pid}/environ").st_uid == 0
        if os.getuid() == 0:
            nobody = ["setpriv", "--reuid", "65534", "--clear-groups", "cat", f"/proc/{process.pid}/environ"]
            assert subprocess.run(nobody, capture_output=True, check=False).returncode != 0
        assert TOKEN not in " ".join(process.cmdline())
