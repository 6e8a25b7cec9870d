"""Several transactions write side by side on PostgreSQL: in order for each conversation, and none holds up another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy as sa

from pilothouse.store import postgres
from pilothouse.store.database import Database, Unsure
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.statements import Statement
from pilothouse.store.writer import Transaction, Writer
from pilothouse.types import limits
from pilothouse.types.errors import PASSING, PilothouseError
from pilothouse.types.events import ItemCreated
from tests.support.records import a_conversation, a_posting, an_item
from tests.support.stalling_line import open_stalling_line
from tests.support.waiting import AT_ONCE, eventually

_HOLD = Statement("SELECT 1 FROM conversations WHERE id = :id FOR UPDATE")
_STAY = Statement("SET LOCAL idle_in_transaction_session_timeout = 0")
_SLEEP = Statement("SELECT pg_sleep(0.2)")
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let connections that are opened from now on wait for a row for as long as it is held."""
    for limit in ("lock_timeout", "statement_timeout"):
        monkeypatch.setitem(postgres._SESSION, limit, 10 * AMPLE)


@pytest_asyncio.fixture
async def shared(tmp_path: Path, postgres_url: str) -> AsyncIterator[OpenStore]:
    store = open_store(tmp_path, postgres_url, lambda *_: None)
    yield store
    await store.close()


@pytest.fixture
def writer(shared: OpenStore) -> Writer:
    return shared.store._writer


async def some_conversations(shared: OpenStore, count: int) -> list[str]:
    made = await asyncio.gather(*(shared.store.add_conversation(a_conversation()) for _ in range(count)))
    return [conversation.id for conversation in made]


def creating(conversation_id: str, text: str) -> Callable[[Transaction], object]:
    item = an_item(conversation_id, "notice", "completed", text)
    return lambda tx: tx.append(conversation_id, [ItemCreated(item=item)])


async def test_what_is_written_to_a_conversation_stands_in_the_order_in_which_it_came(
    shared: OpenStore, writer: Writer
) -> None:
    ids = await some_conversations(shared, 5)
    writes = [(number, key) for number in range(40) for key in ids]
    # Nobody waits for one before the next.
    await asyncio.gather(*(writer.write(creating(key, str(number)), key=key) for number, key in writes))
    for key in ids:
        items = (await shared.store.snapshot("local", key, 100)).items
        assert [item.text for item in items] == [str(number) for number in range(40)]


async def test_several_conversations_are_written_to_at_once(shared: OpenStore, writer: Writer) -> None:
    ids = await some_conversations(shared, limits.DATABASE_WRITERS)
    together = threading.Barrier(limits.DATABASE_WRITERS)
    # None of them ends before all have begun.
    await asyncio.gather(*(writer.write(lambda _tx: together.wait(AT_ONCE), key=key) for key in ids))


async def test_two_of_one_conversation_or_of_none_are_never_at_work_at_once(shared: OpenStore, writer: Writer) -> None:
    names = [*await some_conversations(shared, 1), ""]
    at_work, most = dict.fromkeys(names, 0), 0

    def unit(tx: Transaction, name: str) -> None:
        nonlocal most
        at_work[name] += 1
        most = max(most, at_work[name])
        _SLEEP.first(tx.connection, {})
        at_work[name] -= 1

    def writing() -> list[asyncio.Future[None]]:
        return [asyncio.ensure_future(writer.write(partial(unit, name=name), key=name)) for name in names]

    first = writing()
    # They are at work when the others come.
    await asyncio.sleep(0)
    await asyncio.gather(*first, *writing(), *writing())
    assert most == 1


@contextmanager
def held(url: str, conversation_id: str) -> Iterator[None]:
    """Hold a conversation's row, as another process does that stopped in the middle."""
    other, begun, over = Database(url), threading.Event(), threading.Event()

    def hold(connection: sa.Connection) -> None:
        # The database would end by itself what does nothing.
        _STAY.run(connection, {})
        _HOLD.first(connection, {"id": conversation_id})
        begun.set()
        over.wait()

    holding = threading.Thread(target=other.write_now, args=(hold,))
    holding.start()
    try:
        assert begun.wait(AMPLE)
        yield
    finally:
        over.set()
        holding.join(AMPLE)
        other.close()


# Before there is a connection.
@pytest.mark.usefixtures("patient")
async def test_who_waits_for_a_row_that_another_process_holds_holds_up_no_other_conversation(
    shared: OpenStore, writer: Writer, postgres_url: str
) -> None:
    ids = await some_conversations(shared, 60)
    with held(postgres_url, ids[7]):
        writes = {key: asyncio.ensure_future(writer.write(creating(key, "x"), key=key)) for key in ids}
        others = [write for key, write in writes.items() if key != ids[7]]
        done, _ = await asyncio.wait(others, timeout=AMPLE)
        assert (len(done), writes[ids[7]].done()) == (59, False)
    await writes[ids[7]]


async def test_two_that_wait_for_each_other_are_both_written(
    shared: OpenStore, writer: Writer, postgres_url: str
) -> None:
    ids = await some_conversations(shared, 2)
    turn = threading.Barrier(2)
    tries = 0

    def crossed(tx: Transaction, *wanted: str) -> None:
        nonlocal tries
        tries += 1
        first_time = tries <= 2
        tx.hold(wanted[0])
        _SLEEP.first(tx.connection, {})
        if first_time:
            turn.wait(AT_ONCE)
        tx.hold(wanted[1])
        _SLEEP.first(tx.connection, {})

    other = Database(postgres_url)
    try:
        await asyncio.gather(
            writer.write(lambda tx: crossed(tx, *ids)),
            Writer(other, lambda *_: None).write(lambda tx: crossed(tx, *reversed(ids))),
        )
    finally:
        other.close()
    # At least one of them was undone, and done again.
    assert tries > 2


async def test_what_may_have_been_committed_is_not_written_again(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All in one group.
    monkeypatch.setattr(limits, "DATABASE_WRITERS", 1)
    calls = 0

    def unit(tx: Transaction, key: str) -> None:
        nonlocal calls
        calls += 1
        creating(key, "once")(tx)
        # All is said; what is left is to commit, and that comes to nobody's ears.
        line.loses_answers = calls == len(ids)

    with open_stalling_line(postgres_url) as (line, url):
        shared = open_store(tmp_path, url, lambda *_: None)
        try:
            ids = await some_conversations(shared, 4)
            writes = (shared.store._writer.write(partial(unit, key=key), key=key) for key in ids)
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
            line.loses_answers = False
            texts = [[item.text for item in (await shared.store.snapshot("local", key, 9)).items] for key in ids]
        finally:
            await shared.close()
    assert [type(outcome) for outcome in outcomes] == [Unsure] * 4
    assert all(isinstance(error, PilothouseError) and error.code in PASSING for error in outcomes)
    assert (calls, texts) == (4, [["once"]] * 4)


async def test_a_pool_whose_connections_all_hang_holds_up_no_event_loop(tmp_path: Path, postgres_url: str) -> None:
    with open_stalling_line(postgres_url) as (line, url):
        shared = open_store(tmp_path, url, lambda *_: None)
        (key,) = await some_conversations(shared, 1)
        line.stall()
        # More than there are threads and connections.
        asked: list[asyncio.Future[object]] = []
        for _ in range(60):
            asked.append(asyncio.ensure_future(shared.store.conversation("local", key)))
            asked.append(asyncio.ensure_future(shared.store.post_message(a_posting(key))))
        turns = 0

        async def turned() -> bool:
            nonlocal turns
            turns += 1
            return turns > 100

        await eventually(turned, "the loop to turn", AT_ONCE)
        assert not any(one.done() for one in asked)
        line.go_on()
        await asyncio.gather(*asked)
        await shared.close()
