"""A conversation of 10,000 items: what opening, appending to and searching it cost, against one of 100."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.results import table
from bench.seeding import open_folder, seed
from pilothouse.store.opening import OpenStore
from pilothouse.types import limits
from pilothouse.types.events import ItemCreated
from tests.support.records import OWNER, an_item

Way = Callable[[], Awaitable[object]]


def ways(opened: OpenStore, conversation: str, items: int) -> dict[str, Way]:
    """Return what is measured on one conversation."""
    store, page = opened.store, limits.SNAPSHOT_ITEMS

    def append() -> Awaitable[object]:
        item = an_item(conversation, "user_message", "completed", "One more message, as people write them.")
        return store.append(conversation, [ItemCreated(item=item)], None)

    return {
        f"open: the newest {page} items": lambda: store.snapshot(OWNER, conversation, page),
        "open: the newest 50 items": lambda: store.snapshot(OWNER, conversation, 50),
        "scroll up: 50 items from the middle": lambda: store.items(OWNER, conversation, items // 2, 50),
        "append one message": append,
        "search: one message has the word": lambda: store.search(OWNER, f"step({items // 5})", limits.SEARCH_HITS),
        "search: every answer has the words": lambda: store.search(OWNER, "works like this", limits.SEARCH_HITS),
        "whole history, for a model": lambda: store.history(conversation),
    }


async def cost(way: Way, rounds: int) -> float:
    """Return the median time of one call, in seconds."""
    await way()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        await way()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def measure(items: int, rounds: int) -> dict[str, float]:
    """Return the costs on a database with one conversation of so many items."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        opened = open_folder(Path(folder) / "home")
        try:
            conversation = await seed(opened, items)
            return {name: await cost(way, rounds) for name, way in ways(opened, conversation, items).items()}
        finally:
            await opened.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    few, many = (asyncio.run(measure(items, options.rounds)) for items in (100, options.items))
    rows = [
        (name, f"{few[name] * 1e3:.2f} ms", f"{many[name] * 1e3:.2f} ms", f"{many[name] / few[name]:.1f}")
        for name in few
    ]
    table("a long conversation", [("", "100 items", f"{options.items:,} items", "ratio"), *rows])


if __name__ == "__main__":
    main()
