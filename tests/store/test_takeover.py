"""What a process leaves behind on a shared database when it dies, wherever it stood still."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psycopg
import pytest_asyncio

from pilothouse.host.recovery import settling
from pilothouse.store.connections import Connections
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.statements import Statement
from pilothouse.types.processes import ProcessAbout
from pilothouse.types.runs import Run
from pilothouse.types.settings import Settings
from tests.support.records import a_conversation, a_posting

_HOLD = Statement("SELECT 1 FROM conversations WHERE id = :id FOR UPDATE")
_STAY = Statement("SET LOCAL idle_in_transaction_session_timeout = 0")
DEAD = "p_dead"
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


@pytest_asyncio.fixture
async def living(tmp_path: Path, postgres_url: str) -> AsyncIterator[OpenStore]:
    store = open_store(tmp_path / "living", postgres_url, lambda *_: None)
    yield store
    await store.close()


async def _claimed(living: OpenStore, count: int) -> list[Run]:
    found = []
    for _ in range(count):
        conversation = await living.store.add_conversation(a_conversation())
        await living.store.post_message(a_posting(conversation.id))
        run = await living.store.claim_next(conversation.id, DEAD)
        assert run is not None
        found.append(run)
    return found


def _say_of(url: str, about: ProcessAbout) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        said = msgspec.json.encode(about).decode()
        connection.execute("INSERT INTO processes (id, seen_at, about) VALUES (%s, 0, %s)", (DEAD, said))


async def _take_over(living: OpenStore) -> list[Run]:
    async with asyncio.timeout(AMPLE):
        return list(await living.store.take_over(DEAD, settling(DEAD, Settings)))


async def test_a_process_that_stands_still_in_the_middle_of_a_transaction_holds_nothing_back(
    tmp_path: Path, postgres_url: str, living: OpenStore
) -> None:
    runs = await _claimed(living, 3)
    connections = Connections()
    stopped = open_store(tmp_path / "stopped", postgres_url, lambda *_: None, connections)
    _say_of(postgres_url, ProcessAbout(role="worker", connections=connections.name))
    held, go_on = threading.Event(), threading.Event()

    def stand_still(connection: object) -> None:
        # The database itself would end it after a while.
        _STAY.run(connection, {})  # type: ignore[arg-type]
        # Its answer is read, so that the database has it; what follows never comes.
        _HOLD.first(connection, {"id": runs[0].conversation_id})  # type: ignore[arg-type]
        held.set()
        go_on.wait()

    writing = asyncio.create_task(stopped.database.write(stand_still))
    try:
        assert await asyncio.to_thread(held.wait, AMPLE)
        taken = await _take_over(living)
        assert [(run.id, run.status) for run in taken] == [(run.id, "queued") for run in runs]
    finally:
        go_on.set()
        await asyncio.wait([writing])
        assert writing.exception() is not None
        await stopped.close()


async def test_what_a_dead_worker_had_taken_and_not_begun_is_in_the_queue_again(
    postgres_url: str, living: OpenStore
) -> None:
    conversation = await living.store.add_conversation(a_conversation())
    await living.store.post_message(a_posting(conversation.id))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        (worker,) = connection.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id").fetchone() or ()
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", (worker,))
        _say_of(postgres_url, ProcessAbout(role="worker", worker=worker))
        assert await _take_over(living) == []
        jobs = connection.execute("SELECT lock, status FROM procrastinate_jobs").fetchall()
    assert jobs == [(conversation.id, "todo")]
