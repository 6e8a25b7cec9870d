"""Terminals and commands under a host that is told to stop, twice, or dies: nothing of them is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from websockets.sync.client import connect

from tests.faults.serving import TOKEN, Server, serving
from tests.support.terminals import alive, gone, wait_for_shell
from tests.support.waiting import until

MARK = "90477"


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
        until(lambda: all(alive(f"{MARK}{each}") for each in "1234"), "all four to run")
        yield path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.mark.case("F-37", "F-59")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_host_that_is_told_to_stop_ends_every_terminal_and_command(
    number: signal.Signals, home: Path, tmp_path: Path, folder: Path
) -> None:
    with serving(home) as server, busy(server, folder, write_script(tmp_path)) as path:
        began = time.monotonic()
        server.process.send_signal(number)
        server.process.wait(15)
        assert time.monotonic() - began < 10
    assert gone(MARK)
    assert not (home / "scratch").exists()
    # The conversation, its terminal's folder and its recording are there again.
    with serving(home) as server:
        (session,) = server.get(path)["sessions"]
        assert (session["running"], session["workingDirectory"]) == (False, str(folder))
        assert server.client.get(f"{path}/recording").status_code == 200


@pytest.mark.case("F-37")
def test_a_second_signal_ends_the_host_at_once_and_its_commands_with_it(
    home: Path, tmp_path: Path, folder: Path
) -> None:
    with serving(home) as server, busy(server, folder, write_script(tmp_path)):
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(5)
    until(lambda: not alive(MARK), "everything to be gone")


@pytest.mark.case("F-38")
def test_a_host_that_is_killed_takes_every_terminal_and_command_with_it(
    home: Path, tmp_path: Path, folder: Path
) -> None:
    with serving(home) as server, busy(server, folder, write_script(tmp_path)) as path:
        server.process.kill()
        server.process.wait(5)
    until(lambda: not alive(MARK), "everything to be gone")
    with serving(home) as server:
        (session,) = server.get(path)["sessions"]
        assert not session["running"]
        # What the killed one left in its temporary folders is swept up.
        until(lambda: {path.name for path in (home / "scratch").glob("*")} <= {str(server.process.pid)}, "the sweep")


@pytest.mark.case("SECRET-09")
def test_the_host_writes_no_core_file_and_lets_no_other_program_look_in(home: Path) -> None:
    with serving(home) as server:
        process = psutil.Process(server.process.pid)
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        # The kernel gives the files about such a process to root.
        assert os.stat(f"/proc/{process.pid}/environ").st_uid == 0
        if os.getuid() == 0:
            nobody = ["setpriv", "--reuid", "65534", "--clear-groups", "cat", f"/proc/{process.pid}/environ"]
            assert subprocess.run(nobody, capture_output=True, check=False).returncode != 0
        assert TOKEN not in " ".join(process.cmdline())
