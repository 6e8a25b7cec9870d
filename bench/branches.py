"""A conversation with 200 branches: what opening it, appending to it and a run's first request cost, against none.

The floor is a conversation without branches whose only path is as long as the one that is opened, measured in turns in
the same minute. `--postgres` measures on a PostgreSQL of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.results import table, verdict
from bench.seeding import ANSWER, QUESTION
from pilothouse.store.changes import post_message
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.branches import ForkWish
from pilothouse.types.events import ItemCreated, RunUpdated
from pilothouse.types.runs import Run
from tests.support.postgres import Postgres
from tests.support.records import OWNER, a_conversation, a_posting, an_item

Way = Callable[[], Awaitable[object]]
# Exchanges in each branch, and how many are written at once.
EACH, TOGETHER = 5, 50


class Talk:
    """A conversation that is written by the store itself."""

    def __init__(self, opened: OpenStore, conversation_id: str) -> None:
        self.store = opened.store
        self.id = conversation_id
        self.branches = 0
        # The runs on the way to its end, of the first branch.
        self.runs: list[Run] = []

    async def grow(self, exchanges: int, fork: ForkWish | None = None, branch: int = 0) -> list[Run]:
        """Add questions and answers to a branch, or to a new one; return their runs."""
        units = [self._exchange(number, fork if number == 0 else None, branch) for number in range(exchanges)]
        made: list[Run] = []
        for at in range(0, exchanges, TOGETHER):
            made += await asyncio.gather(*map(self.store._writer.write, units[at : at + TOGETHER]))
        return made

    def _exchange(self, number: int, fork: ForkWish | None, branch: int) -> Callable[[Transaction], Run]:
        def unit(tx: Transaction) -> Run:
            posting = a_posting(self.id, QUESTION.format(number=number))
            accepted = post_message(tx, msgspec.structs.replace(posting, fork=fork, branch=branch))
            run = msgspec.structs.replace(posting.run, status="completed", branch=accepted.branch, created_at=tx.now)
            said = an_item(self.id, "response", "completed", ANSWER.format(number=number), run.id)
            tx.append(self.id, [ItemCreated(item=said), RunUpdated(run=run)])
            return run

        return unit

    async def fork(self, branches: int) -> None:
        """Make branches all over its later half, each with some exchanges of its own."""
        later = self.runs[len(self.runs) // 2 :]
        for number in range(branches):
            place = later[number * len(later) // branches].id
            fork = ForkWish(kind="edit", instead_of=place, chosen=False)
            await self.grow(EACH, fork, number + 1)
        self.branches = branches


async def talk(opened: OpenStore, exchanges: int, branches: int) -> Talk:
    """Write a conversation with a first branch of so many exchanges, and others beside it."""
    made = msgspec.structs.replace(a_conversation(), title=f"{branches} branches", title_source="person")
    written = Talk(opened, (await opened.store.add_conversation(made)).id)
    written.runs = await written.grow(exchanges)
    await written.fork(branches)
    return written


def ways(of: Talk) -> dict[str, Way]:
    """Return what is measured on one conversation."""
    store, page, last = of.store, limits.SNAPSHOT_ITEMS, of.runs[-1]

    def append() -> Awaitable[object]:
        posting = a_posting(of.id, "One more message, as people write them.")
        run = msgspec.structs.replace(posting.run, status="completed")
        return store.post_message(msgspec.structs.replace(posting, branch=0, run=run))

    return {
        f"open: the newest {page} items": lambda: store.snapshot(OWNER, of.id, page, 0),
        "scroll up: 50 items from the middle": lambda: store.items(OWNER, of.id, len(of.runs), 50, 0),
        "open the newest branch": lambda: store.snapshot(OWNER, of.id, page, of.branches),
        "scroll up there": lambda: store.items(OWNER, of.id, len(of.runs), 50, of.branches),
        "append one message": append,
        "a run's first request": lambda: store.briefing(last),
    }


async def measure(opened: OpenStore, exchanges: int, counts: tuple[int, ...], rounds: int) -> dict[str, list[float]]:
    """Return the median times of each way, in turns: without branches, and with so many of them."""
    talks = [await talk(opened, exchanges, branches) for branches in (0, *counts)]
    if not opened.store._database.is_sqlite:
        # As PostgreSQL does by itself, some time after so much was written.
        with opened.store._database.writing() as connection:
            connection.exec_driver_sql("ANALYZE")
    each = [ways(one) for one in talks]
    found: dict[str, list[float]] = {}
    for name in each[0]:
        taken: list[list[float]] = [[] for _ in each]
        for number in range(rounds + 1):
            for place, one in enumerate(each):
                began = time.perf_counter()
                await one[name]()
                if number:
                    taken[place].append(time.perf_counter() - began)
        found[name] = list(map(statistics.median, taken))
    return found


@contextmanager
def database(folder: Path, *, postgres: bool) -> Iterator[OpenStore]:
    """Open a database, in a file or on a PostgreSQL that is started for it."""
    server = Postgres.start(folder / "postgres") if postgres else None
    (folder / "home").mkdir(mode=0o700)
    try:
        if server is not None:
            server.execute('CREATE DATABASE "bench"')
        yield open_store(
            folder / "home", server.url("bench") if server is not None else None, lambda _id, _events: None
        )
    finally:
        if server is not None:
            server.stop()


async def _main(options: argparse.Namespace) -> dict[str, list[float]]:
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        database(Path(folder), postgres=options.postgres) as opened,
    ):
        try:
            return await measure(opened, options.exchanges, (1, options.branches), options.rounds)
        finally:
            await opened.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--exchanges", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own instead of SQLite")
    options = parser.parse_args()
    found = asyncio.run(_main(options))
    rows = [
        (
            name,
            *(f"{value * 1e3:.2f} ms" for value in taken),
            f"{taken[1] / taken[0]:.2f}",
            f"{taken[2] / taken[0]:.2f}",
        )
        for name, taken in found.items()
    ]
    heads = ("", "no branch", "1 branch", f"{options.branches} branches", "1 to none", f"{options.branches} to none")
    where = "PostgreSQL" if options.postgres else "SQLite"
    table(f"a conversation of {2 * options.exchanges:,} items with branches, {where}", [heads, *rows])
    for name, (floor, _, many) in found.items():
        about = f"{name}, {options.branches} branches to none"
        verdict(about, many / floor, 1.15 if name.startswith(("open: ", "scroll up: ")) else 1.5)


if __name__ == "__main__":
    main()
