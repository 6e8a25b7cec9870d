"""The power is cut right after a promise: what was not synced is gone, and every promise is kept.

Each server is killed, its folder is put back to what it had synced, and another one starts from there.
TEST_LONG=1 cuts it at every early event of a run and at some later ones, `FAULTS_SECONDS=600` at every one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults import chance, mine
from tests.faults.scenario import TURNS, write_script
from tests.faults.test_kill_loop import Story
from tests.faults.unsynced_disk import Disk
from tests.support import invariants
from tests.support.servers import Server, wait_for_death
from tests.support.waiting import until

# From the answer to the kill; nothing else can be synced meanwhile.
SLOW = 0.4
# Of one run, when nothing is lost.
DIGS = TURNS // 2 - 1
# The last events are not those of a run that is still at work.
EVENTS = 200
# All of these in a long run, and some of those after them.
EARLY = 40
LATER_STEP = 1 if chance.SECONDS >= 600 else 14
NEVER = 1_000
# Of the events at which it is cut where there is no time for all.
SOME = 2


class Place:
    """A folder with its disk, and servers that lose their power."""

    def __init__(self, home: Path, disk: Disk, folder: Path) -> None:
        self.home = home
        self.disk = disk
        self.folder = folder

    @contextmanager
    def cut_after(self) -> Iterator[Server]:
        """Start a server on a slow disk, and cut the power when the block ends."""
        with Server(self.home) as server:
            self.disk.slow_down(SLOW)
            try:
                yield server
            finally:
                server.kill()
        self.cut()

    def cut(self) -> None:
        lost = self.disk.cut_power()
        # What calls did out in the world stays done.
        if (lost / mine.FILE).exists():
            shutil.copy(lost / mine.FILE, self.home / mine.FILE)
        # Looked at as a copy: whoever opens a database changes its files.
        copy = lost.with_name(f"{lost.name}-back")
        shutil.copytree(self.home, copy)
        invariants.check(f"sqlite:///{copy / 'pilothouse.db'}", at_rest=False)

    def model(self, *turns: Any) -> str:
        """Write a script and return its model."""
        path = self.folder / "script.json"
        path.write_text(json.dumps({"turns": turns}))
        return f"scripted:{path}"

    def held(self) -> str:
        """Return a model that says nothing until it may."""
        return self.model([{"wait": 60, "until": str(self.folder / "go")}, {"text": "Yes."}])

    def let_go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def place(synced_library: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    disk = Disk(synced_library, home, tmp_path / "disk", copies=True)
    for name, value in disk.environment.items():
        monkeypatch.setenv(name, value)
    return Place(home, disk, tmp_path)


def body_of(server: Server, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    answer = server.client.request(method, path, json=body)
    assert answer.status_code in (200, 201, 204), answer.text
    return answer.json() if answer.content else None


@pytest.mark.case("F-47")
def test_a_conversation_stays_as_it_was_last_told_to_be(place: Place) -> None:
    with place.cut_after() as server:
        made = server.post("/api/conversations", {"title": "Kept"}, 201)["id"]
    path = f"/api/conversations/{made}"
    with place.cut_after() as server:
        assert server.get(path)["conversation"]["title"] == "Kept"
        body_of(server, "PATCH", path, {"title": "Renamed"})
    with place.cut_after() as server:
        assert server.get(path)["conversation"]["title"] == "Renamed"
        body_of(server, "DELETE", path)
    with Server(place.home) as server:
        assert server.client.get(path).status_code == 404
        assert server.get("/api/conversations")["conversations"] == []


@pytest.mark.case("F-47")
def test_an_accepted_message_is_answered_once_and_its_key_still_known(place: Place) -> None:
    message = {"text": "Go", "modelId": place.held(), "idempotencyKey": "mine"}
    with place.cut_after() as server:
        path = f"/api/conversations/{server.post('/api/conversations', {}, 201)['id']}"
        accepted = server.post(f"{path}/messages", message, 202)
    place.let_go()
    with Server(place.home) as server:
        assert server.post(f"{path}/messages", message, 202) == accepted
        server.wait_for_run(accepted["runId"], "completed")
        items = server.get(path)["items"]
        assert [item["text"] for item in items if item["kind"] == "user_message"] == ["Go"]
        assert [item["text"] for item in items if item["kind"] == "response"] == ["Yes."]


@pytest.mark.case("F-47")
def test_an_answer_to_a_question_is_not_asked_for_again(place: Place) -> None:
    arguments = {"operation": "run_command", "command": "echo once >> ran.txt"}
    model = place.model([{"call": "terminal_operations", "arguments": arguments}], "Done.")
    place.folder.joinpath("work").mkdir()
    with place.cut_after() as server:
        settings = {"workingDirectory": str(place.folder / "work"), "mode": "ask"}
        path = f"/api/conversations/{server.post('/api/conversations', {'settings': settings}, 201)['id']}"
        run = server.post(f"{path}/messages", {"text": "Go", "modelId": model}, 202)["runId"]
        server.wait_for_run(run, "waiting")
        (question,) = [item for item in server.get(path)["items"] if item["kind"] == "question"]
        server.post(f"/api/questions/{question['id']}/answer", {"choice": "allow"})
    with Server(place.home) as server:
        server.wait_for_run(run, "completed")
        (asked,) = [item for item in server.get(path)["items"] if item["kind"] == "question"]
        assert asked["data"]["answer"]["choice"] == "allow"
    assert (place.folder / "work" / "ran.txt").read_text() == "once\n"


@pytest.mark.case("F-47")
def test_a_call_that_has_begun_to_work_is_known_and_not_made_again(place: Place) -> None:
    work = place.folder / "work"
    work.mkdir()
    ran = work / "ran.txt"
    command = "echo once >> ran.txt; while [ ! -e go ]; do sleep 0.05; done"
    arguments = {"operation": "run_command", "command": command}
    model = place.model([{"call": "terminal_operations", "arguments": arguments}], "Done.")
    with place.cut_after() as server:
        created = server.post("/api/conversations", {"settings": {"workingDirectory": str(work)}}, 201)
        path = f"/api/conversations/{created['id']}"
        message = {"text": "Go", "modelId": model, "allow": ["terminal_operations.*"]}
        run = server.post(f"{path}/messages", message, 202)["runId"]
        until(lambda: ran.exists() and ran.read_text() == "once\n", "the command to have its effect")
    (work / "go").touch()
    with Server(place.home) as server:
        server.wait_for_run(run, "completed")
        (call,) = [item for item in server.get(path)["items"] if item["kind"] == "tool_call"]
        assert call["status"] == "unknown"
    assert ran.read_text() == "once\n"


@pytest.mark.case("F-47")
def test_settings_and_secrets_are_kept_as_they_were_told_to_be(place: Place) -> None:
    mine_too = {"name": "Mine", "provider": "openai-compatible", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}
    with place.cut_after() as server:
        body_of(server, "PATCH", "/api/config", {"resumeAfterRestart": "ask"})
    with place.cut_after() as server:
        assert server.get("/api/config")["resumeAfterRestart"] == "ask"
        server.post("/api/models", mine_too | {"apiKey": "sk-of-mine"}, 201)
    with Server(place.home) as server:
        (model,) = [each for each in server.get("/api/models")["models"] if each["name"] == "Mine"]
        assert model["key"]["present"]


@pytest.mark.case("F-36", "F-47")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_at_any_event_of_a_run_costs_no_promise_and_repeats_nothing(place: Place, when: str) -> None:
    script = write_script(place.folder, tool="mine__dig")
    story: Story | None = None
    cuts = 0
    every = [*range(4 if when == "before" else 8, EARLY)]
    if chance.LONG:
        every += range(EARLY, EVENTS, LATER_STEP)
    for number in (*chance.some(every, SOME, when), NEVER):
        with Server(place.home, dying=(when, number)) as server:
            if story is not None:
                story.finish(server, place.home, ask=False)
            story = Story(number, script)
            story.tell(server)
            died = wait_for_death(server, (story.run, "completed") if story.run else None)
        if not died:
            break
        place.cut()
        cuts += 1
    assert cuts >= (3 if chance.LONG else SOME)
    # Whatever became of their records, no dig happened twice.
    assert len(mine.dug(place.home)) <= (cuts + 1) * DIGS
