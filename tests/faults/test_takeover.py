"""Two servers on one PostgreSQL: readers of one see what the other does, and one goes on for the other."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from pilothouse.store.opening import open_store
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.wiring.host import open_host
from tests.faults.fleet import TAKEN_OVER_WITHIN, Kept, signs_until_left
from tests.faults.scenario import begin_held, let_go, write_held
from tests.support import invariants
from tests.support.commands import pilothouse
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
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
    script = write_held(tmp_path, ANSWER, said=200)
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
    with Server(homes[0], database_url=postgres_url) as a:
        try:
            reader = Reader(a, conversation)
            until(lambda: len(reader.text()) > 150, "A to show what B writes")
            with closing(Kept(postgres_url)) as kept:
                ((_, _, held_by_b),) = kept.held()
        finally:
            b.kill()
        with closing(Kept(postgres_url)) as kept:
            assert signs_until_left(kept, [run], held_by_b, AMPLE) <= TAKEN_OVER_WITHIN
        until(lambda: a.get(f"/api/runs/{run}")["epoch"] > 1, "A to take over")
        let_go(script)
        a.wait_for_run(run, "completed", within=AMPLE)
        reader.join(AMPLE)
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
    script = write_held(home.parent, ANSWER)
    with Server(home, database_url=postgres_url) as server:
        conversation, run = begin_held(server, script)
        server.kill()
    let_go(script)
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
    script = write_held(tmp_path, ANSWER)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        Server(tmp_path / "a" / "home", database_url=postgres_url) as a,
        Server(tmp_path / "b" / "home", database_url=postgres_url) as b,
    ):
        conversation = b.post("/api/conversations", {}, 201)["id"]
        body = {"text": "Go", "modelId": f"scripted:{script}"}
        run = b.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]
        a.wait_for_run(run, "running")
        a.post(f"/api/runs/{run}/cancel")
        a.wait_for_run(run, "cancelled")
