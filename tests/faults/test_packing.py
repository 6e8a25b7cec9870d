"""A process that is killed while it packs what finished runs wrote: nothing is lost, and the next one goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from pilothouse.store.opening import open_store
from tests.store.test_packing import ALL, a_turn, checked, kinds, packed
from tests.support import forked
from tests.support.records import a_conversation

# Removing the events, adding the record, reading how far the conversation is, noting that it is done; and then all.
STATEMENTS = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


async def test_killed_at_any_statement_it_has_done_all_of_a_range_or_nothing(
    tmp_path: Path, database_url: str | None
) -> None:
    opened = open_store(tmp_path, database_url, lambda *_: None)
    conversation = await opened.store.add_conversation(a_conversation())
    await a_turn(opened.store, conversation.id)
    before = await opened.store.events(conversation.id, 0, ALL)
    head = (await checked(opened.store, conversation.id)).head
    for statement in range(1, STATEMENTS + 1):
        await opened.close()
        module = [
            "tests.faults.dying_packing",
            str(tmp_path),
            str(statement),
            *([database_url] if database_url else []),
        ]
        code, _, said = await asyncio.to_thread(forked.run, module, b"", env=os.environ, timeout=60)
        assert code == -signal.SIGKILL, f"it did not come to statement {statement}: {said.decode()}"
        opened = open_store(tmp_path, database_url, lambda *_: None)
        assert await opened.store.events(conversation.id, 0, ALL) == before
        check = await checked(opened.store, conversation.id)
        assert (check.sound, check.head) == (True, head)
        assert "packed" not in await kinds(opened, conversation.id)
    await packed(opened.store)
    assert await kinds(opened, conversation.id) == ["packed"]
    assert await opened.store.events(conversation.id, 0, ALL) == before
    await opened.close()
