"""A process that is killed while it packs what finished runs wrote: nothing is lost, and the next one goes on."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse.store.opening import open_store
from tests.faults.serving import ROOT
from tests.store.test_packing import ALL, a_turn, checked, kinds, packed
from tests.support.records import a_conversation

# Removing the events, adding the record, reading how far the conversation is, noting that it is done; and then all.
STATEMENTS = 4
DYING = """
import asyncio, os, signal, sys
from pathlib import Path
from pilothouse.store import packing
from pilothouse.store.opening import open_store
from pilothouse.store.statements import Statement

left = int(sys.argv[3])
carry_out, run = packing.carry_out, Statement._run

def counted(self, connection, values):
    global left
    found = run(self, connection, values)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

def dying(connection, planned):
    Statement._run = counted
    carry_out(connection, planned)

packing.carry_out = dying
store = open_store(Path(sys.argv[1]), sys.argv[2] or None, lambda *_: None)
asyncio.run(store.store.pack())
"""


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
        command = [sys.executable, "-c", DYING, str(tmp_path), database_url or "", str(statement)]
        died = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, timeout=60, check=False)
        assert died.returncode == -signal.SIGKILL, f"it did not come to statement {statement}"
        opened = open_store(tmp_path, database_url, lambda *_: None)
        assert await opened.store.events(conversation.id, 0, ALL) == before
        check = await checked(opened.store, conversation.id)
        assert (check.sound, check.head) == (True, head)
        assert "packed" not in await kinds(opened, conversation.id)
    await packed(opened.store)
    assert await kinds(opened, conversation.id) == ["packed"]
    assert await opened.store.events(conversation.id, 0, ALL) == before
    await opened.close()
