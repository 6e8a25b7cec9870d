"""The queue on PostgreSQL: who takes what, in which order, and what happens when an answer of the database is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from pilothouse.host.recovery import process_name
from pilothouse.queue.engine import Connecting, Placing, QueueEngine
from pilothouse.queue.manager import AWAY
from pilothouse.store import postgres
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.types import limits
from pilothouse.types.ids import new_id
from pilothouse.types.queue import GO_ON, MESSAGES, TASKS, Queue, queue_at
from tests.support.stalling_line import StallingLine, open_stalling_line
from tests.support.waiting import eventually


class Work:
    """Executes nothing: it notes what it was to go on with, and holds it until it is let go."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.begun: list[str] = []
        self.at_work: set[str] = set()
        self.most = 0
        self.go = asyncio.Event()
        self.go.set()

    async def go_on(self, conversation_id: str) -> bool:
        self.begun.append(conversation_id)
        self.at_work.add(conversation_id)
        self.most = max(self.most, len(self.at_work))
        await self.go.wait()
        self.at_work.discard(conversation_id)
        return True

    async def tell_waiting(self, line: Sequence[str]) -> None: ...

    async def drain(self) -> None:
        self.go.set()

    async def end(self) -> None: ...


async def _here(_conversation_id: str, _declined: Sequence[str]) -> str | None:
    return None


async def _nothing(*_: object) -> None: ...


@pytest_asyncio.fixture
async def tables(tmp_path: Path, postgres_url: str) -> AsyncIterator[OpenStore]:
    """The queue's tables."""
    store = open_store(tmp_path, postgres_url, lambda *_: None)
    yield store
    await store.close()


def _put(url: str, queue: Queue, *locks: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for lock in locks:
            connection.execute(
                "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(%s, %s, %s, %s, NULL, "
                "jsonb_build_object('conversation_id', %s::text), NULL)::procrastinate_job_to_defer_v1])",
                (queue.name, GO_ON, queue.priority, lock, lock),
            )


def _jobs(url: str) -> list[tuple[str, str]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute("SELECT lock, status::text FROM procrastinate_jobs ORDER BY id").fetchall()


@asynccontextmanager
async def taking(
    url: str, work: Work, name: str = "p_one", other: Callable[[str, Sequence[str]], Awaitable[str | None]] = _here
) -> AsyncIterator[QueueEngine]:
    async def limited(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)

    connecting = Connecting(postgres.line_to(url), limited)
    engine = QueueEngine(connecting, work, name, Placing(other, _nothing), takes=True)
    await engine.begin(_nothing)
    try:
        yield engine
    finally:
        await engine.stop()


async def test_a_message_begins_before_tasks_that_were_queued_earlier(postgres_url: str, tables: OpenStore) -> None:
    _put(postgres_url, TASKS, *(f"task{number}" for number in range(10)))
    _put(postgres_url, MESSAGES, "message")
    work = Work(1)
    async with taking(postgres_url, work):
        await eventually(lambda: _is(len(work.begun) == 11), "everything to be done")
    assert work.begun == ["message", *(f"task{number}" for number in range(10))]


async def test_the_last_slot_is_kept_for_messages_and_no_more_are_used_than_there_are(
    postgres_url: str, tables: OpenStore
) -> None:
    work = Work(3)
    work.go.clear()
    _put(postgres_url, TASKS, *(f"task{number}" for number in range(10)))
    async with taking(postgres_url, work):
        await eventually(lambda: _is(len(work.at_work) == 2), "the tasks to begin")
        _put(postgres_url, MESSAGES, "first", "second")
        await eventually(lambda: _is("first" in work.at_work), "the message to begin")
        work.go.set()
        await eventually(lambda: _is(len(work.begun) == 12), "everything to be done")
    assert work.most == 3


async def test_a_queue_that_stops_lets_go_of_a_query_that_it_cancels(
    postgres_url: str, tables: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WAITING_TOLD", 0.01)
    asked, released = asyncio.Event(), []

    async def query(*_: object) -> list[dict[str, str]]:
        try:
            asked.set()
            await asyncio.Event().wait()
        finally:
            # The driver asks the database to cancel the query, on a connection of its own.
            async with await psycopg.AsyncConnection.connect(postgres_url):
                released.append(True)
        return []

    async with taking(postgres_url, Work(1)) as engine:
        monkeypatch.setattr(engine.manager.connector, "execute_query_all_async", query)
        await asked.wait()
    assert released


async def test_jobs_of_one_conversation_are_done_one_after_the_other_by_whoever_takes_them(
    postgres_url: str, tables: OpenStore
) -> None:
    works = [Work(5), Work(5)]
    async with taking(postgres_url, works[0]), taking(postgres_url, works[1], "p_two"):
        _put(postgres_url, MESSAGES, *(["one"] * 20))
        await eventually(lambda: _is(sum(len(work.begun) for work in works) == 20), "everything to be done", 60)
    assert max(work.most for work in works) == 1
    assert not _jobs(postgres_url)


class _Losing:
    """Loses the answer to what the queue is asked, once it was carried out."""

    def __init__(self, engine: QueueEngine, what: str) -> None:
        self._ask = getattr(engine.manager.connector, what)
        self.lost = 0
        self.loses = ""
        setattr(engine.manager.connector, what, self.asked)

    async def asked(self, query: str, **arguments: Any) -> Any:
        answer = await self._ask(query, **arguments)
        if self.loses and self.loses in query:
            self.loses = ""
            self.lost += 1
            raise AWAY[0]
        return answer


@pytest.mark.parametrize(
    ("what", "question"), [("execute_query_one_async", "fetch_job"), ("execute_query_async", "finish_job")]
)
async def test_a_lost_answer_of_the_database_holds_no_conversation_up_for_ever(
    postgres_url: str, tables: OpenStore, monkeypatch: pytest.MonkeyPatch, what: str, question: str
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    monkeypatch.setattr(limits, "QUEUE_POLL", 0.2)
    work = Work(4)
    async with taking(postgres_url, work) as engine:
        losing = _Losing(engine, what)
        _put(postgres_url, MESSAGES, "before")
        await eventually(lambda: _is(work.begun == ["before"] and not _jobs(postgres_url)), "a job to be done")
        losing.loses = question
        _put(postgres_url, MESSAGES, "one")
        await eventually(lambda: _is(bool(losing.lost)), "the answer to be lost")
        _put(postgres_url, MESSAGES, "one")
        await eventually(lambda: _is(not _jobs(postgres_url)), "the conversation to go on")
        await eventually(lambda: _is(not engine.manager.at_work), "the slots to be free")
    assert work.begun == ["before", "one", "one"]


@asynccontextmanager
async def _through_a_line(url: str) -> AsyncIterator[tuple[StallingLine, str]]:
    with open_stalling_line(url) as made:
        yield made


async def test_a_queue_that_is_cut_off_says_so_and_goes_on_when_it_is_back(
    postgres_url: str, tables: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    monkeypatch.setattr(limits, "QUEUE_POLL", 0.2)
    work = Work(4)
    async with _through_a_line(postgres_url) as (line, url), taking(url, work) as engine:
        await eventually(lambda: _is(not engine.trouble), "it to begin")
        line.cut()
        _put(postgres_url, MESSAGES, "one")
        await eventually(lambda: _is(engine.trouble == "the database does not answer"), "it to say so")
        line.mend()
        await eventually(lambda: _is(work.begun == ["one"]), "it to go on", 30)
        await eventually(lambda: _is(not engine.trouble), "it to be well")


async def _is(answer: bool) -> bool:
    return answer


async def test_what_only_another_process_can_do_is_handed_to_it_at_once(postgres_url: str, tables: OpenStore) -> None:
    one, two = Work(4), Work(4)
    # As long as they are on a machine.
    names = [process_name(new_id("p"), one_shot=False) + number for number in ("1", "2")]
    asked: list[tuple[str, Sequence[str]]] = []

    async def at_two(conversation_id: str, declined: Sequence[str]) -> str | None:
        asked.append((conversation_id, declined))
        return names[1]

    async with taking(postgres_url, one, names[0], at_two):
        _put(postgres_url, MESSAGES, "c_one")
        await eventually(lambda: _handed(postgres_url), "the job to wait for the other")
        async with taking(postgres_url, two, names[1]):
            await eventually(lambda: _true(two.begun == ["c_one"]), "the other to take it")
    assert (one.begun, asked) == ([], [("c_one", ())])


async def _handed(url: str) -> bool:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT queue_name, args->'declined' FROM procrastinate_jobs WHERE status = 'todo'")
        return [queue.startswith("at ") and len(declined) == 1 for queue, declined in found] == [True]


async def _true(value: bool) -> bool:
    return value


async def test_what_waits_for_a_process_that_is_gone_is_for_all(postgres_url: str, tables: OpenStore) -> None:
    _put(postgres_url, Queue(queue_at("p_gone"), 10), "c_one")
    await tables.store.beat("p_alive")
    _put(postgres_url, Queue(queue_at("p_alive"), 10), "c_two")
    await tables.store.go_on_with_forgotten()
    work = Work(4)
    async with taking(postgres_url, work):
        await eventually(lambda: _true(work.begun == ["c_one"]), "it to be taken")
    assert _jobs(postgres_url) == [("c_two", "todo")]
