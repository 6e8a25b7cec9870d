"""`pilothouse terminal`, beside a real server whose terminal is in use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.cli.conftest import Script
from tests.support.commands import pilothouse
from tests.support.processes import all_ended, processes_with
from tests.support.servers import TOKEN, Server
from tests.support.terminals import wait_for_shell
from tests.support.waiting import until

pytestmark = pytest.mark.slow


def test_a_terminal_is_listed_recorded_and_stopped_from_the_command_line(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with Server(home) as server:
        body = {"settings": {"workingDirectory": str(folder)}}
        conversation = server.post("/api/conversations", body, 201)["id"]
        nothing = pilothouse(home, "terminal", "list", conversation)
        assert "Commands run in a sandbox (bubblewrap)." in nothing.out
        assert "Nothing runs" in nothing.err
        address = f"ws://127.0.0.1:{server.port}/api/conversations/{conversation}/terminal/socket"
        with connect(address, additional_headers={"Authorization": f"Bearer {TOKEN}"}, proxy=None) as window:
            window.send(json.dumps({"type": "open", "columns": 80, "rows": 24, "from": 0}))
            wait_for_shell(window)
            window.send(json.dumps({"type": "input", "data": "echo on-ta''pe; sleep 90488901\r"}))
            until(lambda: processes_with("90488901"), "the command")
        listed = pilothouse(home, "terminal", "list", conversation)
        assert f"bash in {folder}" in listed.out
        assert "running" in listed.out
        as_json = json.loads(pilothouse(home, "terminal", "list", conversation, "--json").out)
        assert as_json["sessions"][0]["workingDirectory"] == str(folder)
        assert "on-tape" in pilothouse(home, "terminal", "recording", conversation, "-").out
        target = tmp_path / "tape.cast"
        assert pilothouse(home, "terminal", "recording", conversation, str(target)).code == 0
        assert json.loads(target.read_text().splitlines()[0])["version"] == 2
        again = pilothouse(home, "terminal", "recording", conversation, str(target))
        assert (again.code, "exists already" in again.err) == (2, True)
        assert pilothouse(home, "terminal", "stop", conversation).code == 0
        assert all_ended("90488901")
        again = pilothouse(home, "terminal", "stop", conversation)
        assert (again.code, again.err) == (1, "No terminal is open in this conversation.\n")
        unknown = pilothouse(home, "terminal", "stop", conversation, "p_unknown")
        assert (unknown.code, "no background command p_unknown" in unknown.err) == (2, True)


def test_the_doctor_says_what_holds_commands(home: Path, tmp_path: Path) -> None:
    assert "Commands run in a sandbox (bubblewrap)" in pilothouse(home, "doctor").out
    empty = tmp_path / "bin"
    empty.mkdir()
    assert "Commands run in a sandbox (Landlock)" in pilothouse(home, "doctor", PATH=str(empty)).out


def test_a_question_about_a_command_says_where_it_would_run(home: Path, tmp_path: Path, script: Script) -> None:
    call = "- [{call: terminal_operations, arguments: {operation: run_command, command: make all}}]"
    asked = pilothouse(home, "run", "Make it", "--model", script(call), "--folder", str(tmp_path), "--mode", "ask")
    assert asked.code == 3, asked
    assert "  $ make all\n  in a sandbox (bubblewrap)\n" in asked.err
