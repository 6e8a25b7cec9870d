"""What it costs that an accepted message is on disk: alone and fifty at once, against bare SQLite on the same disk.

    in the system's hands   the commit returns before the disk has it: a power cut can take it
    on disk                 the commit returns when the disk has it

The floor inserts one row of the same size. All four take turns in the same minute, in folders side by side.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import sqlalchemy as sa

from bench.results import table, verdict
from bench.seeding import open_folder
from pilothouse.store import changes
from pilothouse.store.opening import OpenStore
from pilothouse.store.schema import runs
from pilothouse.store.writer import Writer
from pilothouse.types.json import encode
from tests.support.records import a_conversation, a_posting

TEXT = "Question: how does this part of the machine work, and why?"
Way = Callable[[], Awaitable[object]]


class Bare:
    """A table and nothing else."""

    def __init__(self, file: Path, size: int, *, on_disk: bool) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._row = "x" * size
        for pragma in ("journal_mode=WAL", f"synchronous={'FULL' if on_disk else 'NORMAL'}", "fullfsync=ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("CREATE TABLE messages (body TEXT)")

    async def insert(self, rows: int) -> None:
        """Insert rows in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        for _ in range(rows):
            self._connection.execute("INSERT INTO messages VALUES (?)", (self._row,))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class Accepting:
    """The store, and conversations that take messages."""

    def __init__(self, opened: OpenStore, conversations: list[str]) -> None:
        self._database = opened.database
        self._writer = Writer(opened.database, lambda conversation_id, events: None)
        self._conversations = conversations

    async def accept(self, messages: int, *, promised: bool) -> None:
        """Accept so many messages at one moment, each in a conversation of its own."""
        async with asyncio.TaskGroup() as group:
            for conversation in self._conversations[:messages]:
                group.create_task(self._one(conversation, promised))

    async def _one(self, conversation: str, promised: bool) -> None:
        posting = a_posting(conversation, TEXT)
        await self._writer.write(lambda tx: changes.post_message(tx, posting), promised=promised)

    async def answered(self) -> None:
        """Have no message wait any longer: a host takes only so many."""
        done = sa.update(runs).values(status="completed")
        await self._database.write(lambda connection: connection.execute(done))


async def in_turns(ways: dict[str, Way], times: int, between: Way) -> dict[str, float]:
    """Return the median time of each way, in seconds; what is done between the rounds does not count."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            began = time.perf_counter()
            await way()
            taken[name].append(time.perf_counter() - began)
        await between()
    return {name: statistics.median(each) for name, each in taken.items()}


async def measure(folder: Path, together: int, times: int) -> dict[int, dict[str, float]]:
    """Return what one message takes, and so many at once."""
    opened = open_folder(folder / "home")
    size = len(encode(a_posting("c", TEXT)))
    bare = {on_disk: Bare(folder / f"bare-{on_disk}.db", size, on_disk=on_disk) for on_disk in (False, True)}
    try:
        made = [await opened.store.add_conversation(a_conversation()) for _ in range(together)]
        ours = Accepting(opened, [conversation.id for conversation in made])
        await ours.accept(together, promised=True)
        found = {}
        for messages in (1, together):
            ways: dict[str, Way] = {
                "bare SQLite, in the system's hands": lambda n=messages: bare[False].insert(n),  # type: ignore[misc]
                "bare SQLite, on disk": lambda n=messages: bare[True].insert(n),  # type: ignore[misc]
                "Pilothouse, in the system's hands": lambda n=messages: ours.accept(n, promised=False),  # type: ignore[misc]
                "Pilothouse, on disk": lambda n=messages: ours.accept(n, promised=True),  # type: ignore[misc]
            }
            found[messages] = await in_turns(ways, times, ours.answered)
        return found
    finally:
        await opened.close()
        for each in bare.values():
            each.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--together", type=int, default=50)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where to measure: the disk that counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as folder:
        found = asyncio.run(measure(Path(folder), options.together, options.times))
    prices = {}
    for messages, taken in found.items():
        of_each = {name: seconds / messages * 1e3 for name, seconds in taken.items()}
        what = "one message" if messages == 1 else f"{messages} messages at once: each"
        table(what, [(name, f"{each:.3f} ms") for name, each in of_each.items()])
        bare_off, bare_on, ours_off, ours_on = of_each.values()
        prices[messages] = ours_on - ours_off
        print(f"  the disk's part: {ours_on - ours_off:.3f} ms, of bare SQLite {bare_on - bare_off:.3f} ms")
    # Never nothing, so that a disk that costs nothing can be measured as well.
    one, many = (max(price, 1e-6) for price in prices.values())
    floor = max(found[1]["bare SQLite, on disk"] - found[1]["bare SQLite, in the system's hands"], 1e-9) * 1e3
    # A message is a dozen pages of tables and indexes, which the disk takes with the same fsync.
    verdict("the disk's part of a message to that of a bare row", one / floor, 2.0)
    verdict(f"the disk's part of one of {options.together} to that of one alone", many / one, 0.2)


if __name__ == "__main__":
    main()
