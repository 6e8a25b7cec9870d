"""The server, killed with SIGKILL at every event of a run: nothing is lost, nothing happens twice, it goes on.

At some of the events, others each time; with TEST_LONG=1 at every one, of which each database takes half.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults import chance, mine
from tests.faults.scenario import ANSWER, TURNS, write_script
from tests.support import invariants
from tests.support.servers import Server, set_resume, wait_for_death


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
# A run has at least so many events, and not this one.
EVENTS = 40
NEVER = 200
# Of those at which the server is killed where there is no time for all.
SOME = 2


class Story:
    """One conversation, one message, one kill."""

    def __init__(self, number: int, script: Path) -> None:
        self.number = number
        self.model = f"scripted:{script}"
        self.conversation = ""
        self.run = ""

    def tell(self, server: Server) -> None:
        """Send the message; a server that dies meanwhile is no reason to stop: the same is sent again later."""
        try:
            if not self.conversation:
                created = server.post("/api/conversations", {"title": f"kill {self.number}"}, 201)
                self.conversation = created["id"]
            key = f"message {self.number}"
            body = {"text": "Go", "modelId": self.model, "idempotencyKey": key, "allow": ["mine.*"]}
            self.run = server.post(f"/api/conversations/{self.conversation}/messages", body, 202)["runId"]
        except httpx2.TransportError:
            assert server.process.wait(AMPLE) != 0

    def finish(self, server: Server, home: Path, *, ask: bool) -> None:
        """Let the run go on after the restart, and look at how it ended."""
        self.tell(server)
        status = server.wait_for_run(self.run, "completed", "interrupted", within=AMPLE)
        if ask and status == "interrupted":
            server.post(f"/api/runs/{self.run}/resume")
        server.wait_for_run(self.run, "completed", within=AMPLE)
        snapshot = server.get(f"/api/conversations/{self.conversation}?limit=200")
        self.check(snapshot["items"], mine.dug(home))

    def check(self, items: list[dict[str, Any]], dug: list[str]) -> None:
        """One message, one whole answer, every step's call once, and no effect twice."""
        standing = [item for item in items if not item["data"].get("cutOff")]
        assert [item["text"] for item in standing if item["kind"] == "user_message"] == ["Go"]
        answers = [item["text"] for item in standing if item["kind"] == "response"]
        assert answers[-1] == ANSWER
        assert len(answers) == TURNS
        calls = [item["data"]["arguments"]["thoughts"] for item in standing if item["kind"] == "tool_call"]
        assert calls == [f"step {n}" for n in range(1, TURNS)]
        assert not [item for item in items if item["status"] in ("streaming", "waiting")]
        digs = [item for item in standing if item["data"].get("tool") == "mine__dig"]
        assert len(digs) == TURNS // 2 - 1
        for item in digs:
            assert dug.count(item["id"]) <= 1
            assert item["status"] in ("completed", "unknown")
            assert item["status"] == "unknown" or item["id"] in dug


@pytest.mark.case("F-36")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_killed_at_every_event_of_a_run_goes_on_where_it_was(
    home: Path, tmp_path: Path, database_url: str | None, when: str, half: int
) -> None:
    script = write_script(tmp_path, tool="mine__dig")
    home.mkdir(mode=0o700)
    # Each database takes one of the two moments at even numbers and the other at odd ones: half the time, all numbers.
    numbers = range(1 + ((database_url is None) ^ (when == "after")), NEVER if chance.LONG else EVENTS, 2)[half::2]
    story: Story | None = None
    died = 0
    for number in (*chance.some(numbers, SOME, f"{database_url is None} {when} {half}"), NEVER):
        ask = number % 8 < 4
        set_resume(home, database_url, "ask" if ask else "auto")
        with Server(home, database_url=database_url, dying=(when, number)) as server:
            if story is not None:
                story.finish(server, home, ask=ask)
            story = Story(number, script)
            story.tell(server)
            if not wait_for_death(server, (story.run, "completed") if story.run else None, AMPLE):
                break
            died += 1
    assert story is not None
    assert story.number > EVENTS
    assert died >= (10 if chance.LONG else SOME)
    invariants.check(database_url or f"sqlite:///{home / 'pilothouse.db'}")
