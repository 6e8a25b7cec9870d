"""The server, killed with SIGKILL at every event of making branches and of choosing one: none is lost or made twice.

At some of the events, others each time; TEST_LONG=1 takes every one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.faults import chance
from tests.support import invariants
from tests.support.servers import Server, set_resume, wait_for_death
from tests.support.waiting import until

# There are at least so many events, and not this one.
EVENTS = 45
NEVER = 200
# Of those at which the server is killed where there is no time for all.
SOME = 3
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
# Each way of making a branch, and what is said there; the scripted model counts the answers that it is sent.
PATHS = {
    0: ["A", "One.", "B", "Two.", "Which?", "Three."],
    1: ["A", "One.", "B, but better", "Two."],
    2: ["A", "One.", "B", "Two."],
    3: ["A", "One.", "B", "Two.", "Which?", "Other three."],
}


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


class Killed(Exception):
    """The server is dead."""


class Story:
    """One conversation with every way of making a branch, and one kill."""

    def __init__(self, number: int, models: list[str]) -> None:
        self.number = number
        self.models = models
        self.conversation = ""
        self.sent: dict[str, Any] = {}

    def tell(self, server: Server) -> None:
        """Do everything that is not done yet; what was sent when the server died is sent again with the same key."""
        if not self.conversation:
            settings = {"modelId": self.models[0]}
            body = {"title": f"kill {self.number}", "settings": settings}
            self.conversation = self._post(server, "/api/conversations", body, 201)["id"]
        messages = f"/api/conversations/{self.conversation}/messages"
        self._step(server, "A", messages, {"text": "A", "branch": 0})
        self._step(server, "B", messages, {"text": "B", "branch": 0})
        edited = {"text": "B, but better", "insteadOf": self.sent["B"][0]["itemId"]}
        self._step(server, "edit", messages, edited)
        self._step(server, "retry", f"/api/runs/{self.sent['B'][0]['runId']}/retry", {"temperature": 0.5})
        choose = f"/api/conversations/{self.conversation}/branch"
        self._post(server, choose, {"branch": 0})
        self._step(server, "compare", f"/api/conversations/{self.conversation}/compare", {"text": "Which?"})
        self._post(server, choose, {"branch": 3})
        self._post(server, choose, {"branch": 1})

    def _step(self, server: Server, name: str, path: str, body: dict[str, Any]) -> None:
        key = {"idempotencyKey": f"{name} {self.number}"}
        if name not in self.sent:
            if name == "compare":
                wish = {"message": body | key, "modelIds": self.models}
                self.sent[name] = self._post(server, path, wish, 202)["accepted"]
            else:
                self.sent[name] = [self._post(server, path, body | key, 202)]
        for each in self.sent[name]:
            self._wait(server, each["runId"])

    def _wait(self, server: Server, run_id: str) -> None:
        def ended() -> bool:
            try:
                status = server.run_status(run_id)
                if status == "interrupted":
                    server.post(f"/api/runs/{run_id}/resume")
                assert status in ("queued", "running", "interrupted", "completed"), status
                return status == "completed"
            except httpx2.TransportError:
                wait_for_death(server, None, AMPLE)
                raise Killed from None

        until(ended, f"run {run_id} to end", AMPLE)

    def _post(self, server: Server, path: str, body: dict[str, Any], status: int = 200) -> Any:
        try:
            return server.post(path, body, status)
        except httpx2.TransportError:
            wait_for_death(server, None, AMPLE)
            raise Killed from None

    def check(self, server: Server) -> None:
        """Each branch is there once, with its path, and the one that was chosen last is shown."""
        tree = server.get(f"/api/conversations/{self.conversation}/branches")
        assert tree["chosen"] == 1
        assert [node["number"] for node in tree["branches"]] == [0, 1, 2, 3]
        for branch, expected in PATHS.items():
            snapshot = server.get(f"/api/conversations/{self.conversation}?branch={branch}&limit=200")
            standing = [item for item in snapshot["items"] if not item["data"].get("cutOff")]
            said = [item["text"] for item in standing if item["kind"] in ("user_message", "response")]
            assert said == expected, (branch, said)
        shown = server.get(f"/api/conversations/{self.conversation}")
        assert (shown["branch"], shown["conversation"]["branches"]) == (1, 3)


def scripts(folder: Path) -> list[str]:
    """Write the two models; return their names."""
    made = []
    for name, last in (("first", "Three."), ("other", "Other three.")):
        file = folder / f"{name}.json"
        file.write_text(json.dumps({"turns": ["One.", "Two.", last]}))
        made.append(f"scripted:{file}")
    return made


@pytest.mark.case("CHT-02")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_killed_at_every_event_of_making_and_choosing_branches_loses_none(
    home: Path, tmp_path: Path, database_url: str | None, when: str
) -> None:
    models = scripts(tmp_path)
    home.mkdir(mode=0o700)
    # Each database takes one of the two moments at even numbers and the other at odd ones: half the time, all numbers.
    numbers = range(1 + ((database_url is None) ^ (when == "after")), NEVER if chance.LONG else EVENTS, 2)
    story: Story | None = None
    died = 0
    for number in (*chance.some(numbers, SOME, f"{database_url is None} {when}"), NEVER):
        resume = "ask" if number % 8 < 4 else "auto"
        set_resume(home, database_url, resume)
        with Server(home, database_url=database_url, dying=(when, number)) as server:
            if story is not None:
                story.tell(server)
                story.check(server)
            story = Story(number, models)
            try:
                story.tell(server)
            except Killed:
                died += 1
            else:
                story.check(server)
                break
    assert story is not None
    assert story.number > EVENTS
    assert died >= (20 if chance.LONG else SOME)
    invariants.check(database_url or f"sqlite:///{home / 'pilothouse.db'}")
