"""A server killed with SIGKILL at every event of a replay: it goes on from the record, and no tool is ever called.

At some of the events, others each time; TEST_LONG=1 takes every other one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults import chance, mine
from tests.support import invariants
from tests.support.servers import Server, wait_for_death

pytestmark = pytest.mark.slow
# A replay of this script has fewer events; and at least as many as are looked at where there is no time for all.
EVENTS = 40
FEWER_EVENTS = 14
SOME = 3
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
SCRIPT = """
turns:
  - - thinking: Where is coal?
    - call: mine__dig
      arguments: {depth: 1}
    - call: mine__dig
      arguments: {depth: 2}
  - - text: Once more.
    - call: mine__dig
      arguments: {depth: 1}
  - Coal.
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


class Story:
    """A run that was recorded, and a replay of it that is killed at one event."""

    def __init__(self, server: Server, model: str, offset: int) -> None:
        made = server.post("/api/conversations", {"title": "recorded", "settings": {"modelId": model}}, 201)
        self.conversation = made["id"]
        body = {"text": "Dig", "allow": ["mine.*"]}
        self.run = server.post(f"/api/conversations/{self.conversation}/messages", body, 202)["runId"]
        server.wait_for_run(self.run, "completed", within=AMPLE)
        # Naming it is an event, too.
        self.number = server.get(f"/api/conversations/{self.conversation}")["lastSeq"] + 1 + offset
        named = server.client.patch(f"/api/conversations/{self.conversation}", json={"title": f"kill {self.number}"})
        assert named.status_code == 200, named.text
        self.replay = ""

    def begin(self, server: Server) -> None:
        """Ask for the replay; the same is asked for again where the server died meanwhile."""
        try:
            body = {"idempotencyKey": f"replay {self.conversation}"}
            self.replay = server.post(f"/api/runs/{self.run}/replay", body, 202)["runId"]
        except httpx2.TransportError:
            assert server.process.wait(AMPLE) != 0

    def finish(self, server: Server) -> None:
        self.begin(server)
        server.wait_for_run(self.replay, "completed", within=AMPLE)
        found = server.get(f"/api/runs/{self.run}/difference?other={self.replay}")
        assert (found["sameCalls"], found["sameAnswer"]) == (True, True)
        snapshot = server.get(f"/api/conversations/{self.conversation}?limit=200&branch=1")
        calls = [item for item in snapshot["items"] if _stands(item)]
        assert [(item["status"], item["text"]) for item in calls] == [("completed", "coal")] * 3
        recorded = server.get(f"/api/conversations/{self.conversation}?limit=200&branch=0")
        # Each has the result of its own call, also where another process goes on.
        assert [item["data"]["recorded"] for item in calls] == [
            each["id"] for each in filter(_stands, recorded["items"])
        ]
        assert snapshot["conversation"]["branch"] == 0
        assert len(snapshot["branches"]) == 1


def _stands(item: dict[str, Any]) -> bool:
    return item["kind"] == "tool_call" and not item["data"].get("cutOff")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_killed_at_every_event_of_a_replay_goes_on_and_calls_nothing(
    home: Path, tmp_path: Path, database_url: str | None, when: str
) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    # Each database takes one of the two moments at even numbers and the other at odd ones; every other one of those.
    start = 1 + ((database_url is None) ^ (when == "after"))
    every = range(start, EVENTS if chance.LONG else FEWER_EVENTS, 2)
    offsets = chance.some(every, SOME, f"{database_url is None} {when}")
    with Server(home, database_url=database_url, dying=("before", 10_000)) as server:
        stories = [Story(server, f"scripted:{tmp_path / 'script.yaml'}", offset) for offset in offsets]
    dug = mine.dug(home)
    assert len(dug) == 3 * len(stories)
    before: Story | None = None
    died = 0
    for story in stories:
        with Server(home, database_url=database_url, dying=(when, story.number)) as server:
            if before is not None:
                before.finish(server)
            story.begin(server)
            before = story
            if not wait_for_death(server, (story.replay, "completed") if story.replay else None, AMPLE):
                break
            died += 1
    with Server(home, database_url=database_url, dying=("before", 10_000)) as server:
        assert before is not None
        before.finish(server)
    assert died >= (4 if chance.LONG else SOME)
    assert mine.dug(home) == dug
    invariants.check(database_url or f"sqlite:///{home / 'pilothouse.db'}")
