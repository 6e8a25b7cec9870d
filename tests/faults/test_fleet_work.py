"""Several processes on one PostgreSQL share the work: nothing twice, in order, and no slot is held by a question.

`FAULTS_SECONDS=600` posts two thousand messages.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from tests.faults import chance, mine
from tests.faults.fleet import Sender, all_ended, conversations, count, fleet, send, send_all
from tests.faults.slow_line import open_slow_line
from tests.support import invariants
from tests.support.replicas import set_master_key
from tests.support.servers import Server
from tests.support.waiting import until

# Of messages that pile up: conversations, and messages in each.
PILE = (20, 100) if chance.SECONDS >= 600 else (10, 20)
# A generous timeout: only a hang exceeds it.
AMPLE = 120.0
DIG = """
turns:
  - - call: mine__dig
      arguments: {thoughts: one}
  - - text: "Dug."
loop: true
"""


@pytest.fixture(autouse=True)
def _one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)


@pytest.mark.timeout(400 + chance.SECONDS)
def test_a_pile_of_messages_before_a_distant_database_is_accepted_and_answered_in_order(
    tmp_path: Path, postgres_url: str
) -> None:
    many, each = PILE
    with open_slow_line(postgres_url, 1.0) as (_line, url), fleet(tmp_path, postgres_url) as made:
        web = made.begin("web", "web", url=url)
        workers = [made.begin(name, "worker", "--slots", "10", url=url) for name in ("a", "b")]
        made.up(web, *workers)
        model = made.script("short", 3, 0.01)
        accepted: dict[str, list[str]] = {one: [] for one in conversations(web, many)}
        began = time.monotonic()

        def post(one: str) -> None:
            accepted[one] += [send(web, one, model, f"{one} {number}").run for number in range(each)]

        with ThreadPoolExecutor(many) as senders:
            list(senders.map(post, accepted))
        posted = time.monotonic() - began
        all_ended(made.kept, 300 + chance.SECONDS)
        counted = count(made.kept, accepted)
        print(f"{counted}, accepted in {posted:.1f} s, answered in {time.monotonic() - began:.1f} s")
        assert counted == (many * each, 0, 0, 0)
    invariants.check(postgres_url)


def _mining(folder: Path) -> str:
    script = folder / "dig.yaml"
    script.write_text(DIG, encoding="utf-8")
    return f"scripted:{script}"


@pytest.mark.case("F-36")
@pytest.mark.timeout(400)
def test_no_call_of_a_message_is_carried_out_twice_although_its_workers_are_killed(
    tmp_path: Path, postgres_url: str
) -> None:
    model = _mining(tmp_path)
    with fleet(tmp_path, postgres_url) as made:
        web = made.begin("web", "web", mine=True)
        workers = {name: made.begin(name, "worker", "--slots", "10", mine=True) for name in ("a", "b")}
        made.up(web, *workers.values())
        ids = conversations(web, 12)
        sender = Sender(lambda: [web])
        accepted: Mapping[str, list[str]] = {one: [] for one in ids}
        for number in range(6):
            for one in ids:
                body = {"text": "Go", "modelId": model, "idempotencyKey": f"{one} {number}", "allow": ["mine.*"]}
                accepted[one].append(sender.post(f"/api/conversations/{one}/messages", body, 202)["runId"])
            # A run that has lost its process more often would wait for the person.
            if number < limits.MAX_RECOVERIES - 1:
                name = "ab"[number % 2]
                workers[name].kill()
                workers[name] = made.begin(name, "worker", "--slots", "10", mine=True)
        sender.close()
        all_ended(made.kept, AMPLE)
        dug = Counter(call for name in workers for call in mine.dug(tmp_path / name / "home"))
        counted = count(made.kept, accepted)
        asked = [item for one in ids for item in _tool_calls(web, one)]
        # A model whose worker was killed while it wrote a call has asked for nothing.
        calls = {item["id"]: item["status"] for item in asked if not item["data"].get("cutOff")}
        print(f"{counted}, calls {dict(Counter(calls.values()))}, carried out {dict(Counter(dug.values()))}")
        assert counted == (72, 0, 0, 0)
        assert max(dug.values()) == 1
        assert dug.keys() <= calls.keys()
        # Each was carried out, but for those of which nobody can know.
        assert len(calls) >= 72
        assert set(calls.values()) <= {"completed", "unknown"}
        assert dug.keys() >= {call for call, status in calls.items() if status == "completed"}
    invariants.check(postgres_url)


def _tool_calls(web: Server, conversation: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = web.get(f"/api/conversations/{conversation}?limit=200")["items"]
    return [item for item in items if item["kind"] == "tool_call"]


def _question(web: Server, conversation: str) -> dict[str, Any] | None:
    items = web.get(f"/api/conversations/{conversation}?limit=50")["items"]
    return next((item for item in items if item["kind"] == "question" and item["status"] == "waiting"), None)


@pytest.mark.timeout(240)
def test_a_run_that_asks_holds_no_slot_and_goes_on_at_another_process(tmp_path: Path, postgres_url: str) -> None:
    model = _mining(tmp_path)
    with fleet(tmp_path, postgres_url) as made:
        web = made.begin("web", "web", mine=True)
        a = made.begin("a", "worker", "--slots", "1", mine=True)
        made.up(web, a)
        quick = made.script("quick", 2, 0.01)
        (asking,) = conversations(web, 1)
        run = send(web, asking, model, "asks").run
        question = until(lambda: _question(web, asking), "the question", AMPLE)
        web.wait_for_run(run, "waiting")
        until(lambda: not made.kept.jobs("doing"), "its job to end")
        # The only slot is free for others.
        for sent in send_all(web, conversations(web, 3), quick):
            web.wait_for_run(sent.run, "completed", within=AMPLE)
        assert web.run_status(run) == "waiting"
        a.kill()
        b = made.begin("b", "worker", "--slots", "1", mine=True)
        b.wait_until_up()
        web.post(f"/api/questions/{question['id']}/answer", {"choice": "allow"})
        web.wait_for_run(run, "completed", within=AMPLE)
        assert len(mine.dug(tmp_path / "b" / "home")) == 1
        assert not mine.dug(tmp_path / "a" / "home")
    invariants.check(postgres_url)


@pytest.mark.timeout(240)
def test_workers_keep_to_their_slots_and_a_process_for_the_page_executes_nothing(
    tmp_path: Path, postgres_url: str
) -> None:
    ending = tmp_path / "enough"
    with fleet(tmp_path, postgres_url) as made:
        web = made.begin("web", "web")
        web.wait_until_up()
        slow = made.script("slow", 100, 1.0, ending)
        sent = send_all(web, conversations(web, 12), slow)
        assert made.kept.statuses() == {"queued": 12}
        workers = [made.begin(name, "worker", "--slots", slots) for name, slots in (("a", "2"), ("b", "3"))]
        made.up(*workers)
        until(lambda: len(made.kept.held()) == 5, "all slots to be in use", AMPLE)
        until(lambda: sorted(len(made.kept.held_by(worker)) for worker in workers) == [2, 3], "each to have its own")
        assert not made.kept.held_by(web)
        assert made.kept.statuses() == {"queued": 7, "running": 5}
        ending.touch()
        all_ended(made.kept, AMPLE)
        assert made.kept.statuses() == {"completed": len(sent)}
    invariants.check(postgres_url)
