"""More messages than can be answered at once: those who fit wait and are answered, the others are told to come again.

`FAULTS_SECONDS=600` sends to a thousand conversations at the same moment.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.faults import chance
from tests.support import invariants
from tests.support.chats import database_of
from tests.support.commands import Screen, pilothouse
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

MANY = 1000 if chance.SECONDS >= 600 else 60
AT_ONCE, WAITING = MANY // 10, MANY // 3


def _home(tmp_path: Path, at_once: int, waiting: int) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = {"version": "1.0", "runs_at_once": at_once, "most_waiting": waiting}
    (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return home


def _script(tmp_path: Path, go: Path) -> Path:
    script = tmp_path / "script.json"
    held = ["Let me see. ", {"wait": 2 * chance.AMPLE, "until": str(go)}, "Done."]
    script.write_text(json.dumps({"turns": [held]}), encoding="utf-8")
    return script


def _answers(server: Server, path: str, script: Path, conversations: list[str]) -> list[httpx2.Response]:
    """Send a message to each conversation, many at the same time."""

    def send(conversation: str) -> httpx2.Response:
        return client.post(path.format(conversation), json={"text": "Go", "modelId": f"scripted:{script}"})

    bearer = {"authorization": f"Bearer {TOKEN}"}
    client = httpx2.Client(base_url=server.url, headers=bearer, trust_env=False, timeout=60)
    with client, ThreadPoolExecutor(20) as people:
        return list(people.map(send, conversations))


@pytest.mark.timeout(3 * chance.AMPLE)
def test_what_is_accepted_is_answered_and_what_is_not_is_told_when_to_come_again(tmp_path: Path) -> None:
    home, go = _home(tmp_path, AT_ONCE, WAITING), tmp_path / "go"
    script = _script(tmp_path, go)
    with Server(home) as server:
        made = [server.post("/api/conversations", {"title": "One of many"}, 201)["id"] for _ in range(MANY)]
        answers = _answers(server, "/api/conversations/{}/messages", script, made)
        counts = Counter(answer.status_code for answer in answers)
        print(f"{MANY} messages at once: {counts[202]} accepted, {counts[429]} refused")
        assert set(counts) == {202, 429}
        # Some of those that wait find a slot while others are still sent.
        assert WAITING <= counts[202] <= WAITING + AT_ONCE
        for refused in (answer for answer in answers if answer.status_code == 429):
            assert refused.headers["retry-after"] == "5"
            assert refused.json()["code"] == "too_many"
            assert "was not taken" in refused.json()["message"]
        go.touch()
        runs = [answer.json()["runId"] for answer in answers if answer.status_code == 202]
        for run in runs:
            server.wait_for_run(run, "completed", within=chance.AMPLE)
        kept = [server.get(f"/api/conversations/{one}?limit=20")["items"] for one in made]
        assert sum(bool(items) for items in kept) == len(runs), "nothing of a refused message is kept"
        again = _answers(server, "/api/conversations/{}/messages", script, made[-5:])
        assert [answer.status_code for answer in again] == [202] * 5
        for answer in again:
            server.wait_for_run(answer.json()["runId"], "completed")
    invariants.check(database_of(home))


@pytest.mark.timeout(120)
def test_a_command_that_finds_no_room_says_so_and_what_to_do(tmp_path: Path) -> None:
    home, go = _home(tmp_path, 1, 1), tmp_path / "go"
    script = _script(tmp_path, go)
    with Server(home) as server:
        made = [server.post("/api/conversations", {}, 201)["id"] for _ in range(2)]
        first = _answers(server, "/api/conversations/{}/messages", script, made[:1])[0].json()["runId"]
        until(lambda: server.run_status(first) == "running", "the slot to be taken")
        waits = _answers(server, "/api/conversations/{}/messages", script, made[1:])[0].json()["runId"]
        ended = pilothouse(home, "run", "--model", f"scripted:{script}", "Hello")
        assert (ended.code, ended.out) == (1, "")
        assert "1 message waits for its answer already, so this one was not taken." in ended.err
        assert "Send it again in 5 seconds or more" in ended.err
        assert "Traceback" not in ended.err
        listed = server.get("/api/conversations")["conversations"]
        assert {one["id"] for one in listed} == set(made), "no empty conversation is left"
        go.touch()
        for run in (first, waits):
            server.wait_for_run(run, "completed")


@pytest.mark.timeout(120)
def test_a_command_that_waits_for_a_slot_says_so(tmp_path: Path) -> None:
    home, go = _home(tmp_path, 1, 5), tmp_path / "go"
    script = _script(tmp_path, go)
    with Server(home) as server:
        made = server.post("/api/conversations", {}, 201)["id"]
        first = _answers(server, "/api/conversations/{}/messages", script, [made])[0].json()["runId"]
        until(lambda: server.run_status(first) == "running", "the slot to be taken")
        with Screen(home, ["run", "--model", f"scripted:{script}", "Hello"]) as screen:
            screen.until("Waiting for a free slot: it is next")
            go.touch()
            screen.until("Let me see. Done.")
            assert screen.ended() == 0
        server.wait_for_run(first, "completed")
