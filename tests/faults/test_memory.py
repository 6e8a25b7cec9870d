"""What a server keeps in memory does not grow with what it has kept on disk.

`scripts/bench soak` lets ten conversations grow for a quarter of an hour and prints the memory at each minute.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from pilothouse.store.database import READERS, Database, sqlite_url
from pilothouse.store.opening import open_store
from pilothouse.store.slow_reads import THREADS
from pilothouse.store.sqlite_file import Bare
from pilothouse.timeline.journal import RunJournal
from pilothouse.types import limits
from pilothouse.types.api import ModelInput, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import ItemKind
from tests.support.chats import ME, Chat, open_chat
from tests.support.records import a_conversation, an_item
from tests.support.waiting import eventually

CONVERSATIONS, TURNS, ROUNDS = 4, 12, 4
# Bytes for each turn that is over; its text alone is twice that.
MOST_EACH = 1_000
# Bytes in memory for each of a history's text while a run is at work: the text, and what its items are beside it.
MOST_HELD = 1.9
# What is imported in the background meanwhile is not the run's.
NO_IMPORTS = tracemalloc.Filter(False, "<frozen importlib._bootstrap>", all_frames=True)
FRAMES = 25
ANSWER = "A few words of a longer answer. " * 60
# All pages of the database that are in memory, in KB.
MOST_PAGES = 32_000

GIVING_BACK = """
import asyncio, threading
from pathlib import Path
from pilothouse.wiring.housekeeping import giving_back
from pilothouse.types import limits

limits.GIVE_BACK_EVERY = float("{every}")

def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 1_000_000

def use(kept: list) -> None:
    used = []
    for number in range(5_000):
        used.append(bytearray(4_000))
        if number % 500 == 499:
            # Something that stays, above what goes.
            kept.append(bytearray(2_000))

async def main() -> None:
    kept: list = []
    before = resident()
    async with giving_back():
        threads = [threading.Thread(target=use, args=(kept,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        await asyncio.sleep(1.0)
        print(resident() - before)

asyncio.run(main())
"""


async def _turns(chats: list[Chat]) -> None:
    async def talk(chat: Chat) -> None:
        for number in range(TURNS):
            assert (await chat.say(f"Message {number}. " + "And so on. " * 20)).status == "completed"

    await asyncio.gather(*map(talk, chats))
    gc.collect()


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_conversations_that_grow_leave_nothing_in_memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What finds by meaning is loaded a while after the start, which on a slow machine is in the middle of this.
    monkeypatch.setattr(limits, "MEANING_START", 600.0)
    # What is remembered of so many runs is full before it counts.
    monkeypatch.setattr(limits, "OBSERVED_MOST", CONVERSATIONS)
    async with open_chat(home, [[{"text": ANSWER, "pieces": 400}]]) as first:
        settings = ConversationSettings(model_id=f"scripted:{first.script}")
        made = [
            await first.api.conversations.create(ME, NewConversation(title="Grows", settings=settings))
            for _ in range(CONVERSATIONS)
        ]
        chats = [Chat(first.host, one.id, first.script) for one in made]
        await _turns(chats)
        tracemalloc.start()
        try:
            await _turns(chats)
            before = tracemalloc.get_traced_memory()[0]
            # Several times: what stays within a bound is a part of it once. Of each connection sqlite3 keeps up to 200
            # cursors that are gone, 90 bytes each; together that can be as much as a hundred turns may leave.
            for _ in range(ROUNDS):
                await _turns(chats)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        turns = ROUNDS * CONVERSATIONS * TURNS
        print(f"{turns} turns left {grown:,} bytes")
        assert grown < turns * MOST_EACH


async def test_a_run_that_is_over_leaves_its_history_at_once(home: Path) -> None:
    async with open_chat(home) as chat:
        await chat.say()
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                await chat.say()
            await eventually(lambda: asyncio.sleep(0, not _journals()), "the history to go without being looked for")
        finally:
            gc.enable()


async def test_a_run_at_work_holds_its_history_once(home: Path) -> None:
    opened = open_store(_made(home), None, lambda _id, _events: None)
    conversation = await opened.store.add_conversation(a_conversation())
    kinds: tuple[ItemKind, ...] = ("user_message", "response") * 200
    items = [an_item(conversation.id, kind, "completed", f"{n} {ANSWER}") for n, kind in enumerate(kinds)]
    await opened.store.append(conversation.id, [ItemCreated(item=item) for item in items], None)
    text = sum(len(item.text) for item in items)
    del items
    await opened.close()
    async with open_chat(home, [[{"text": ANSWER, "pieces": 20, "every": 0.05}]]) as first:
        chat = Chat(first.host, conversation.id, first.script)
        await chat.use(ModelInput(name="s", provider="scripted", model=str(first.script), context_window=1_000_000))
        await chat.say()
        gc.collect()
        tracemalloc.start(FRAMES)
        try:
            run = (await chat.send()).run_id
            await eventually(lambda: _is_said(chat), "the answer to begin")
            gc.collect()
            snapshot = tracemalloc.take_snapshot().filter_traces([NO_IMPORTS])
            held = sum(trace.size for trace in snapshot.traces)
        finally:
            tracemalloc.stop()
        await chat.api.runs.cancel(ME, run)
        await chat.settled(run)
        print(f"{held / text:.2f} bytes for each of the history")
        assert held < text * MOST_HELD


async def _is_said(chat: Chat) -> bool:
    page = await chat.api.conversations.items(ME, chat.id, before=None, limit=1)
    return page.items[-1].kind == "response" and "words" in page.items[-1].text


def _made(home: Path) -> Path:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def _journals() -> list[object]:
    return [one for one in gc.get_objects() if isinstance(one, RunJournal)]


async def test_the_pages_of_the_database_that_are_in_memory_are_bounded(tmp_path: Path) -> None:
    database = Database(sqlite_url(tmp_path))
    try:
        written = await database.write(_cache)
        with ExitStack() as stack:
            others = [stack.enter_context(database.file.connection()) for _ in range(READERS + THREADS + 1)]
            kept = written + sum(map(_cache, others))
        print(f"{kept:,} KB on {len(others) + 1} connections")
        assert kept <= MOST_PAGES
    finally:
        database.close()


def _cache(connection: sa.Connection | Bare) -> int:
    """Return how many KB a connection may keep."""
    return -int(connection.execute(sa.text("PRAGMA cache_size")).scalar_one())


def test_memory_that_threads_have_used_is_given_back() -> None:
    def left(every: float) -> int:
        program = GIVING_BACK.replace("{every}", str(every))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        return int(done.stdout)

    kept, given_back = left(3600.0), left(0.05)
    print(f"{kept} MB kept, {given_back} MB once it was given back")
    assert given_back < kept / 2
    assert limits.GIVE_BACK_EVERY <= 60
