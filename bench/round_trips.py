"""A database elsewhere: many conversations at once, each answered by a script, over a line that takes its time.

The floor is the same over the same line without a delay: what more it takes is waiting. On a PostgreSQL of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.hosting import hold
from bench.results import table, verdict
from pilothouse.types.api import NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.wiring import open_host
from tests.faults.slow_line import open_slow_line
from tests.support.postgres import Postgres

MOST_SECONDS = 5.0
# Enough for every thread to have its connection.
WARMING = 16


class Measured(NamedTuple):
    """What one way took."""

    seconds: float
    cpu: float
    # Of one conversation.
    round_trips: float


async def measure(url: str, home: Path, conversations: int, milliseconds: float) -> Measured:
    """Hold conversations, all at once, with a database so far away."""
    script = home.parent / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "A few words, one after the other. " * 4, "pieces": 8}]]}))
    settings = ConversationSettings(model_id=f"scripted:{script}", mode="ask")

    async def one() -> None:
        _conversation_id, outcome = await hold(host.api, settings, NewMessage(text="Go."))
        if outcome != "done":
            raise RuntimeError(outcome)

    with open_slow_line(url, milliseconds) as (line, there):
        async with open_host(home, there, role="server") as host:
            await asyncio.gather(*(one() for _ in range(WARMING)))
            trips, cpu, began = line.round_trips(), time.process_time(), time.monotonic()
            await asyncio.gather(*(one() for _ in range(conversations)))
            seconds, cpu = time.monotonic() - began, time.process_time() - cpu
            trips = line.round_trips() - trips
    return Measured(seconds, cpu / seconds, trips / conversations)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Have a PostgreSQL for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        server = Postgres.start(Path(folder))
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--milliseconds", type=float, default=1.0, help="the delay each way")
    options = parser.parse_args()
    found: dict[str, Measured] = {}
    with postgres() as server:
        for name, delay in (("floor", 0.0), ("delayed", options.milliseconds)):
            with server.database() as url, tempfile.TemporaryDirectory(prefix="bench-") as folder:
                found[name] = asyncio.run(measure(url, Path(folder) / "home", options.conversations, delay))
    table(
        f"{options.conversations} conversations at once, {options.milliseconds * 2:g} ms there and back",
        [
            row
            for name, one in found.items()
            for row in (
                (f"time, {name}", f"{one.seconds:.1f} s"),
                (f"CPU, {name}", f"{one.cpu:.0%} of a core"),
                (f"round trips of a conversation, {name}", f"{one.round_trips:.1f}"),
            )
        ],
    )
    verdict("all answered", found["delayed"].seconds, MOST_SECONDS, " s")


if __name__ == "__main__":
    main()
