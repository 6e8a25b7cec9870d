"""Two servers on one PostgreSQL: readers of one see what the other does, and one goes on for the other."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from pilothouse.store.opening import open_store
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.wiring.host import open_host
from tests.faults.serving import TOKEN, Server, serving
from tests.support import invariants
from tests.support.commands import pilothouse
from tests.support.waiting import until

TAKEN_OVER_WITHIN = 15.0
ANSWER = "".join(f"word{n} " for n in range(120))


class Reader:
    """Follows a conversation on one server by SSE, in a thread."""

    def __init__(self, server: Server, conversation_id: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.lines = 0
        self._stop = False
        self._url = f"{server.url}/api/conversations/{conversation_id}/events"
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with (
            httpx2.Client(timeout=60, trust_env=False) as client,
            client.stream("GET", self._url, headers=headers) as stream,
        ):
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line[6:]))
                if self._stop or self.ended():
                    return

    def numbers(self) -> list[int]:
        return [event["seq"] for event in self.events if event["seq"]]

    def ended(self) -> bool:
        return any(event["type"] == "run.updated" and event["run"]["status"] == "completed" for event in self.events)

    def text(self) -> str:
        """Fold the standing answer by the rule for deltas: take what lies beyond the text there is."""
        texts: dict[str, str] = {}
        for event in self.events:
            if event["type"] == "item.created" and event["item"]["kind"] == "response":
                texts[event["item"]["id"]] = event["item"]["text"]
            elif event["type"] == "item.delta" and event["itemId"] in texts:
                have = texts[event["itemId"]]
                if event["offset"] <= len(have):
                    texts[event["itemId"]] = have + event["text"][len(have) - event["offset"] :]
        return list(texts.values())[-1] if texts else ""

    def join(self, within: float) -> None:
        self._thread.join(within)
        assert not self._thread.is_alive(), "the reader never saw the end"


@pytest.mark.timeout(180)
def test_another_server_takes_over_when_one_dies_in_the_middle_of_an_answer(tmp_path: Path, postgres_url: str) -> None:
    script = tmp_path / "slow.yaml"
    script.write_text(f'turns:\n  - - text: "{ANSWER}"\n      pieces: 8\n      every: 0.03\n', encoding="utf-8")
    homes = [tmp_path / name / "home" for name in ("a", "b")]
    for home in homes:
        home.parent.mkdir()
    b = Server(homes[1], database_url=postgres_url)
    try:
        b.wait_until_up()
        conversation = b.post("/api/conversations", {}, 201)["id"]
        body = {"text": "Go", "modelId": f"scripted:{script}"}
        run = b.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]
        b.wait_for_run(run, "running")
    except BaseException:
        b.kill()
        raise
    # Only now: each of them takes what is queued.
    with serving(homes[0], database_url=postgres_url) as a:
        try:
            reader = Reader(a, conversation)
            until(lambda: len(reader.text()) > 150, "A to show what B writes")
        finally:
            b.kill()
        killed = time.monotonic()
        a.wait_for_run(run, "running", within=TAKEN_OVER_WITHIN)
        until(lambda: a.get(f"/api/runs/{run}")["epoch"] > 1, "A to take over", TAKEN_OVER_WITHIN)
        assert time.monotonic() - killed < TAKEN_OVER_WITHIN
        a.wait_for_run(run, "completed", within=30)
        reader.join(10)
        assert reader.text() == ANSWER
        assert reader.numbers() == list(range(1, len(reader.numbers()) + 1))
        items = a.get(f"/api/conversations/{conversation}?limit=100")["items"]
        standing = [item["text"] for item in items if item["kind"] == "response" and not item["data"].get("cutOff")]
        cut_off = [item["text"] for item in items if item["kind"] == "response" and item["data"].get("cutOff")]
        assert standing == [ANSWER]
        assert len(cut_off) == 1
        assert ANSWER.startswith(cut_off[0])
    invariants.check(postgres_url)


def _killed(home: Path, postgres_url: str) -> tuple[str, str]:
    """Kill the only server in the middle of an answer; return the conversation and the run."""
    script = home.parent / "slow.yaml"
    script.write_text(f'turns:\n  - - text: "{ANSWER}"\n      pieces: 8\n      every: 0.01\n', encoding="utf-8")
    with serving(home, database_url=postgres_url) as server:
        body = {"settings": {"modelId": f"scripted:{script}"}}
        conversation = server.post("/api/conversations", body, 201)["id"]
        run = server.post(f"/api/conversations/{conversation}/messages", {"text": "Go"}, 202)["runId"]
        until(lambda: "word3" in str(server.get(f"/api/conversations/{conversation}?limit=20")), "the answer to begin")
        server.kill()
    return conversation, run


async def _moved(home: Path, postgres_url: str, run_id: str) -> None:
    """Let a run be held by a process of which nobody here can say whether it lives."""
    opened = open_store(home, postgres_url, lambda _id, _events: None)
    await opened.store.change_run(run_id, lambda run: msgspec.structs.replace(run, process="p_elsewhere"))
    await opened.close()


@pytest.mark.timeout(120)
async def test_what_a_process_of_this_machine_held_is_free_as_soon_as_it_is_dead(
    tmp_path: Path, postgres_url: str
) -> None:
    _, run = await asyncio.to_thread(_killed, tmp_path / "home", postgres_url)
    async with open_host(tmp_path / "home", postgres_url) as host:
        assert (await host.api.runs.get(LOCAL_OWNER, run)).status == "queued"


@pytest.mark.timeout(120)
def test_a_command_goes_on_with_an_answer_whose_server_was_killed(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    conversation, _ = _killed(home, postgres_url)
    resumed = pilothouse(home, "conversations", "resume", conversation, PILOTHOUSE_DATABASE_URL=postgres_url)
    assert (resumed.code, resumed.out) == (0, f"{ANSWER}\n")
    invariants.check(postgres_url)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("command", ["resume", "run"])
def test_what_a_process_of_another_machine_held_goes_on_when_that_is_taken_for_dead(
    tmp_path: Path, postgres_url: str, command: str
) -> None:
    home = tmp_path / "home"
    conversation, run = _killed(home, postgres_url)
    asyncio.run(_moved(home, postgres_url, run))
    arguments = (
        ("conversations", "resume", conversation) if command == "resume" else ("run", "More.", "-c", conversation)
    )
    told = pilothouse(home, *arguments, PILOTHOUSE_DATABASE_URL=postgres_url)
    assert (told.code, told.out) == (0, f"{ANSWER}\n")
    if command == "resume":
        said = " ".join(told.err.split())
        assert said.startswith("Another program is writing this answer; what it writes from now on is shown here."), (
            told.err
        )
        assert f"If nothing is heard of that program for {limits.LEASE_DEAD:.0f} s, the answer goes on here." in said
    invariants.check(postgres_url)


@pytest.mark.timeout(120)
def test_stop_pressed_on_one_server_ends_a_run_on_the_other(tmp_path: Path, postgres_url: str) -> None:
    script = tmp_path / "slow.yaml"
    script.write_text(f'turns:\n  - - text: "{ANSWER}"\n      pieces: 4\n      every: 0.1\n', encoding="utf-8")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        serving(tmp_path / "a" / "home", database_url=postgres_url) as a,
        serving(tmp_path / "b" / "home", database_url=postgres_url) as b,
    ):
        conversation = b.post("/api/conversations", {}, 201)["id"]
        body = {"text": "Go", "modelId": f"scripted:{script}"}
        run = b.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]
        a.wait_for_run(run, "running")
        a.post(f"/api/runs/{run}/cancel")
        a.wait_for_run(run, "cancelled", within=5)
