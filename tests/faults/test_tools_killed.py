"""Writes and commands under a host that dies or is told to stop: none happens twice, and what is not known is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults import chance
from tests.support import invariants
from tests.support.servers import Server, wait_for_death

STEPS = 6
# A run has at least so many events, and not this one.
EVENTS = 26
NEVER = 200
# Of those at which the host is killed where there is no time for all.
SOME = 3
ANSWER = "Everything is written."
LEAVE = ["file_operations.*", "terminal_operations.*"]


def write_script(folder: Path) -> Path:
    """A model that writes lines, by the file tool and by commands in turn; a repeated one would show."""
    turns: list[Any] = []
    for step in range(1, STEPS + 1):
        if step % 2:
            arguments = {"operation": "insert_edit", "filePath": "notes.txt", "startLine": 1, "content": f"{step}\n"}
            turns.append([{"call": "file_operations", "arguments": arguments}])
        else:
            arguments = {"operation": "run_command", "command": f"echo {step} >> ran.txt"}
            turns.append([{"call": "terminal_operations", "arguments": arguments}])
    path = folder / "hands.json"
    path.write_text(json.dumps({"turns": [*turns, ANSWER]}), encoding="utf-8")
    return path


def lines_in(folder: Path) -> list[str]:
    """Return what was written, by whichever way."""
    files = [folder / "notes.txt", folder / "ran.txt"]
    return [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").split()]


class Story:
    """One conversation with a folder of its own, one message, one kill."""

    def __init__(self, number: int, script: Path, folder: Path) -> None:
        self.number = number
        self.model = f"scripted:{script}"
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("begin\n", encoding="utf-8")
        self.conversation = ""
        self.run = ""

    def tell(self, server: Server) -> None:
        """Send the message; a server that dies meanwhile is no reason to stop."""
        try:
            if not self.conversation:
                body = {"title": f"kill {self.number}", "settings": {"workingDirectory": str(self.folder)}}
                self.conversation = server.post("/api/conversations", body, 201)["id"]
            message = {"text": "Go", "modelId": self.model, "idempotencyKey": f"m{self.number}", "allow": LEAVE}
            self.run = server.post(f"/api/conversations/{self.conversation}/messages", message, 202)["runId"]
        except httpx2.TransportError:
            assert wait_for_death(server, None)

    def finish(self, server: Server) -> None:
        """Let the run go on after the restart, and look at what happened to the file."""
        self.tell(server)
        server.wait_for_run(self.run, "completed")
        items = server.get(f"/api/conversations/{self.conversation}?limit=200")["items"]
        calls = [item for item in items if item["kind"] == "tool_call" and not item["data"].get("cutOff")]
        assert len(calls) == STEPS
        lines = lines_in(self.folder)
        for step, call in enumerate(calls, 1):
            times = lines.count(str(step))
            if call["status"] == "completed":
                assert times == 1, f"step {step} of kill {self.number} happened {times} times: {call}"
            else:
                assert call["status"] == "unknown", call["text"]
                assert times <= 1, f"step {step} of kill {self.number} happened {times} times"
                assert "may or may not have happened" in call["text"]
        assert "begin" in lines
        assert [item["text"] for item in items if item["kind"] == "response"][-1] == ANSWER
        left = {path.name for path in self.folder.iterdir()} - {"notes.txt", "ran.txt"}
        assert not left, f"left behind: {left}"


@pytest.mark.case("F-36")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_host_killed_in_the_middle_of_writes_and_commands_does_none_of_them_twice(
    home: Path, tmp_path: Path, when: str
) -> None:
    script = write_script(tmp_path)
    story: Story | None = None
    died = 0
    every = range(4 if when == "before" else 6, NEVER if chance.LONG else EVENTS, 3)
    for number in (*chance.some(every, SOME, when), NEVER):
        with Server(home, dying=(when, number)) as server:
            if story is not None:
                story.finish(server)
            story = Story(number, script, tmp_path / f"folder-{number}")
            story.tell(server)
            if not wait_for_death(server, (story.run, "completed") if story.run else None):
                story.finish(server)
                break
            died += 1
    assert died >= (8 if chance.LONG else SOME)
    invariants.check(f"sqlite:///{home / 'pilothouse.db'}")
