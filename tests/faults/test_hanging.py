"""A database that hangs holds nobody up for long: not the other processes, not the readers, not the end of a server."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pilothouse.store.opening import open_store
from pilothouse.types import limits
from tests.faults.scenario import let_go, write_held
from tests.support import invariants
from tests.support.records import a_conversation, a_posting
from tests.support.servers import ROOT, TOKEN, Server
from tests.support.stalling_line import open_stalling_line
from tests.support.waiting import until

ANSWER = "".join(f"word{n} " for n in range(40))
# What a server needs to see that its database hangs, and then some for a busy machine.
NOTICED_WITHIN = 40.0
ENDED_WITHIN = 45.0
HANGS = "The database does not answer."

# Holds a conversation's row in a transaction, as a process does that is stopped in the middle of a write.
HOLDER = """
import sys, time
import sqlalchemy as sa
from pilothouse.store.database import Database
from pilothouse.types.errors import PilothouseError

def work(connection):
    connection.execute(sa.text("SELECT 1 FROM conversations WHERE id = :id FOR UPDATE"), {"id": sys.argv[2]})
    print("held", flush=True)
    sys.stdin.readline()
    connection.execute(sa.text("SELECT 1"))

database = Database(sys.argv[1])
try:
    database.write_now(work)
except PilothouseError as error:
    print(error.code, flush=True)
finally:
    database.close()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write_held(tmp_path, ANSWER)


def _begin(server: Server, script: Path) -> tuple[str, str]:
    """Begin a long answer; return the conversation and the run."""
    conversation = server.post("/api/conversations", {}, 201)["id"]
    body = {"text": "Go", "modelId": f"scripted:{script}"}
    run = server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]
    until(lambda: "word3" in str(server.get(f"/api/conversations/{conversation}?limit=20")), "the answer to begin")
    return conversation, run


def _check_answer(server: Server, conversation: str) -> None:
    items = server.get(f"/api/conversations/{conversation}?limit=100")["items"]
    standing = [item["text"] for item in items if item["kind"] == "response" and not item["data"].get("cutOff")]
    assert standing == [ANSWER]


@contextmanager
def _stopped_holder(url: str, conversation: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a conversation's row and is stopped."""
    command = [sys.executable, "-c", HOLDER, url, conversation]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            holder.send_signal(signal.SIGSTOP)
            yield holder
        finally:
            holder.send_signal(signal.SIGCONT)
            holder.kill()


@pytest.mark.timeout(120)
def test_a_process_that_is_stopped_while_it_holds_a_row_does_not_hold_up_the_others(
    tmp_path: Path, script: Path, postgres_url: str
) -> None:
    with Server(tmp_path / "home", database_url=postgres_url) as server:
        conversation = server.post("/api/conversations", {}, 201)["id"]
        body = {"text": "Go", "modelId": f"scripted:{script}"}
        let_go(script)
        with _stopped_holder(postgres_url, conversation) as holder:
            server.client.timeout = 60
            run = server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]
            server.wait_for_run(run, "completed", within=60)
            # And who comes back finds out that its row is gone, as something that passes.
            holder.send_signal(signal.SIGCONT)
            assert holder.communicate("go on\n", timeout=30)[0] == "database\n"
        _check_answer(server, conversation)
    invariants.check(postgres_url)


async def test_who_writes_beside_a_process_that_is_stopped_waits_no_longer_than_it_may_hold_a_row(
    tmp_path: Path, postgres_url: str
) -> None:
    opened = open_store(tmp_path, postgres_url, lambda *_: None)
    try:
        store = opened.store
        held, *others = [(await store.add_conversation(a_conversation())).id for _ in range(30)]
        with _stopped_holder(postgres_url, held):
            waiting = asyncio.ensure_future(store.post_message(a_posting(held)))
            await asyncio.gather(*(store.post_message(a_posting(other)) for other in others))
            # All others have theirs while it still waits.
            assert not waiting.done()
            # The one who is stopped loses the row, before whoever waits for it would give up.
            await waiting
    finally:
        await opened.close()


class Told:
    """What a reader of a conversation is told about the server, in a thread."""

    def __init__(self, server: Server, conversation: str) -> None:
        self.notices: list[dict[str, Any]] = []
        self.events = 0
        self.client = httpx2.Client(timeout=60, trust_env=False)
        self._url = f"{server.url}/api/conversations/{conversation}/events"
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with self.client.stream("GET", self._url, headers=headers) as stream:
            kind = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: ") and kind == "notice":
                    self.notices.append(json.loads(line[6:]))
                elif line.startswith("data: "):
                    self.events += 1

    def levels(self) -> list[str]:
        return [notice["level"] for notice in self.notices]

    def close(self) -> None:
        self._thread.join(30)
        self.client.close()


@pytest.mark.timeout(180)
@pytest.mark.case("F-46")
def test_readers_are_told_when_the_database_hangs_and_when_it_is_back_and_the_answer_goes_on(
    tmp_path: Path, script: Path, postgres_url: str
) -> None:
    with open_stalling_line(postgres_url) as (line, url), Server(tmp_path / "home", database_url=url) as server:
        until(lambda: server.client.get("/api/ready").status_code == 200, "the server to be ready")
        conversation, run = _begin(server, script)
        told = Told(server, conversation)
        until(lambda: told.events, "the reader to read")
        line.stall()
        until(told.levels, "the reader to be told", NOTICED_WITHIN)
        assert told.notices[0]["message"].startswith(HANGS)
        _check_unready(server)
        line.go_on()
        until(lambda: "info" in told.levels(), "the reader to be told that it is back", NOTICED_WITHIN)
        let_go(script)
        server.wait_for_run(run, "completed", within=60)
        _check_answer(server, conversation)
        until(lambda: server.client.get("/api/ready").status_code == 200, "the server to be ready again")
        server.close()
        told.close()
    invariants.check(postgres_url)


def _check_unready(server: Server) -> None:
    """The server lives and says so; what needs the database is refused in a sentence, and soon."""
    assert server.get("/api/health") == {"status": "up"}
    unready = server.client.get("/api/ready")
    assert (unready.status_code, unready.json()["code"]) == (503, "database")
    refused = server.client.get("/api/conversations")
    assert (refused.status_code, refused.json()["message"]) == (503, HANGS)
    assert refused.headers["retry-after"] == unready.headers["retry-after"] == str(limits.RETRY_AFTER)


@pytest.mark.timeout(180)
@pytest.mark.case("F-37")
def test_a_server_whose_database_hangs_ends_when_it_is_asked_to(
    tmp_path: Path, script: Path, postgres_url: str
) -> None:
    with open_stalling_line(postgres_url) as (line, url), Server(tmp_path / "home", database_url=url) as server:
        conversation, run = _begin(server, script)
        line.stall()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(ENDED_WITHIN) == 0, server.log.read_text()
    let_go(script)
    with Server(tmp_path / "home", database_url=postgres_url) as again:
        again.wait_for_run(run, "completed", within=60)
        _check_answer(again, conversation)
    invariants.check(postgres_url)


@pytest.mark.timeout(120)
def test_a_start_on_a_database_that_hangs_says_so_and_ends(tmp_path: Path, postgres_url: str) -> None:
    with open_stalling_line(postgres_url) as (line, url):
        line.stall()
        server = Server(tmp_path / "home", database_url=url)
        try:
            assert server.process.wait(ENDED_WITHIN) == 1
            assert "cannot be reached" in server.log.read_text()
        finally:
            server.close()
