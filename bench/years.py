"""Years of use: 20,000 conversations with a million events; what starting, listing, opening and searching cost."""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import uvloop

from bench.processes import Server, server
from bench.results import table
from bench.seeding import open_folder
from pilothouse.store.store import Store
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, RunUpdated
from tests.support.records import a_conversation, a_posting, an_item

FEW = 100
TURNS = 4
PIECES = 6
AT_ONCE = 200
DAY = 86_400.0
WORDS = ("server", "client", "message", "answer", "question", "tool", "result", "index", "model", "event")
RARE = "quicksilver"


class Writing:
    """Words as they come, and how many bytes of them there are; the same each time."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        self._words = [*WORDS, *(f"word{number}" for number in range(3_000))]
        self.bytes = 0

    def words(self, count: int) -> str:
        """Return some words."""
        said = " ".join(self._random.choices(self._words, k=count))
        self.bytes += len(said)
        return said

    def day(self) -> float:
        """Return a time of the last year."""
        return time.time() - self._random.random() * 365 * DAY


async def fill(home: Path, conversations: int) -> int:
    """Write conversations as they are written while answers stream; return the bytes of text in them."""
    writing, room = Writing(), asyncio.Semaphore(AT_ONCE)
    opened = open_folder(home)

    async def one(number: int) -> None:
        async with room:
            await converse(opened.store, writing, f" {RARE}" if number == conversations // 2 else "")

    try:
        await asyncio.gather(*map(one, range(conversations)))
    finally:
        await opened.close()
    return writing.bytes


async def converse(store: Store, writing: Writing, ending: str) -> None:
    """Write one conversation."""
    at = writing.day()
    made = msgspec.structs.replace(
        a_conversation(), title=writing.words(5), title_source="person", created_at=at, updated_at=at
    )
    conversation = await store.add_conversation(made)
    for _ in range(TURNS):
        await store.append(conversation.id, turn(conversation.id, writing, ending), None)


def turn(conversation_id: str, writing: Writing, ending: str) -> list[Event]:
    """Return the events of a message and of an answer that comes in pieces."""
    posting = a_posting(conversation_id, writing.words(20))
    answer = an_item(conversation_id, "response", "streaming", run_id=posting.run.id)
    events: list[Event] = [ItemCreated(item=posting.item), RunUpdated(run=posting.run)]
    events += [RunUpdated(run=msgspec.structs.replace(posting.run, status="running", epoch=1, process="p_before"))]
    events += [ItemCreated(item=answer)]
    offset = 0
    for piece in range(PIECES):
        text = f"{writing.words(12)}{ending if piece == 0 else ''} "
        events.append(ItemDelta(item_id=answer.id, offset=offset, text=text))
        offset += len(text)
    events += [ItemCompleted(item_id=answer.id, status="completed", data={"model": "m"})]
    events += [RunUpdated(run=msgspec.structs.replace(posting.run, status="completed", epoch=1))]
    return events


class Cost(NamedTuple):
    """What is measured of one folder; times in seconds, sizes in bytes."""

    times: dict[str, float]
    memory: float
    text: int
    written: int
    rested: int


def size(home: Path) -> int:
    """Return what a folder takes on disk."""
    return sum(file.stat().st_blocks * 512 for file in home.rglob("*") if file.is_file())


def took(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def asked(running: Server, path: str, **query: Any) -> Any:
    """Ask the API."""
    answer = running.http.get(path, params=query)
    answer.raise_for_status()
    return answer.json()


def use(home: Path, rounds: int) -> tuple[dict[str, float], float]:
    """Use a server as a person does; return what each thing took, and its memory."""
    began = time.perf_counter()
    with server(home, "") as running:
        times = {"start, until it answers": time.perf_counter() - began}
        listed = asked(running, "/api/conversations")
        middle = listed["conversations"][-1]["id"]
        ways: dict[str, Callable[[], object]] = {
            "list: the newest": lambda: asked(running, "/api/conversations"),
            "list: the page after": lambda: asked(running, "/api/conversations", cursor=listed["next"]),
            "open one": lambda: asked(running, f"/api/conversations/{middle}"),
            "search: one has the word": lambda: asked(running, "/api/search", q=RARE),
            "search: nearly all have the word": lambda: asked(running, "/api/search", q="server"),
            "start a conversation": lambda: running.post("/api/conversations", {"title": "One more"}),
        }
        for name, way in ways.items():
            way()
            times[name] = statistics.median(took(way) for _ in range(rounds))
        return times, running.peak_memory()


async def pack(home: Path) -> None:
    """Do at once what a server does little by little when nobody asks for anything."""
    opened = open_folder(home)
    try:
        while await opened.store.pack():
            pass
    finally:
        await opened.close()


def measure(conversations: int, rounds: int) -> Cost:
    """Fill a folder and use it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "home"
        text = uvloop.run(fill(home, conversations))
        written = size(home)
        uvloop.run(pack(home))
        rested = size(home)
        times, memory = use(home, rounds)
        return Cost(times, memory, text, written, rested)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    few, many = (measure(count, options.rounds) for count in (FEW, options.conversations))
    rows = [
        (name, f"{few.times[name] * 1e3:.1f} ms", f"{taken * 1e3:.1f} ms", f"{taken / few.times[name]:.1f}")
        for name, taken in many.times.items()
    ]
    rows += [("memory", f"{few.memory:.0f} MB", f"{many.memory:.0f} MB", f"{many.memory / few.memory:.1f}")]
    rows += [
        (name, f"{few_bytes / few.text:.1f}", f"{many_bytes / many.text:.1f}", f"{many_bytes / 1e6:.0f} MB")
        for name, few_bytes, many_bytes in (
            ("bytes on disk for each byte of text, as written", few.written, many.written),
            ("the same, packed", few.rested, many.rested),
        )
    ]
    head = ("", f"{FEW} conversations", f"{options.conversations:,}", "ratio")
    events = options.conversations * (1 + TURNS * (PIECES + 6))
    table(f"years of use, about {events:,} events", [head, *rows])


if __name__ == "__main__":
    main()
