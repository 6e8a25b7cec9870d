"""What one run costs a PostgreSQL and the process that works on it, when answers stream as fast as people read.

What is said and asked while nothing happens is measured first, and taken off. docs/scaling.md counts with these.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from bench.hosting import hold
from bench.results import table
from bench.round_trips import postgres
from pilothouse.types.api import NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.wiring import open_host
from tests.faults.slow_line import open_slow_line

# An answer of some 375 tokens, at 50 of them a second.
CHARACTERS = 1_500
PIECE = 10
EVERY = 0.05
IDLE = 5.0


class Counted(NamedTuple):
    """What has been counted so far."""

    commits: float
    wal: float
    trips: float
    notes: float
    cpu: float
    at: float
    size: float

    def since(self, before: Counted) -> Counted:
        """Return what was added."""
        return Counted(*(now - then for now, then in zip(self, before, strict=True)))


class Looking:
    """Looks at a database from outside, and hears what is told in it."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._ears = psycopg.connect(url, autocommit=True)
        for channel in ("pilothouse", "pilothouse_live", "procrastinate_any_queue"):
            self._ears.execute(f"LISTEN {channel}")
        self._notes = 0

    def look(self, trips: int) -> Counted:
        """Count."""
        self._notes += sum(1 for _ in self._ears.notifies(timeout=0.3))
        row = self._one(
            "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'), pg_database_size(datname) "
            "FROM pg_stat_database WHERE datname = current_database()"
        )
        commits, wal, size = (float(each) for each in row)
        return Counted(commits, wal, trips, self._notes, time.process_time(), time.monotonic(), size)

    def connections(self) -> int:
        """Return how many others are connected."""
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return int(self._one(count)[0]) - 2

    def close(self) -> None:
        """Stop looking."""
        self._connection.close()
        self._ears.close()

    def _one(self, query: str) -> Any:
        return self._connection.execute(query).fetchone()


async def measure(url: str, home: Path, runs: int) -> list[tuple[str, str]]:
    """Hold conversations, all at once; return what one of them cost."""
    script = home.parent / "script.json"
    text = ("A few plain words. " * CHARACTERS)[:CHARACTERS]
    script.write_text(json.dumps({"turns": [[{"text": text, "pieces": PIECE, "every": EVERY}]]}))
    settings = ConversationSettings(model_id=f"scripted:{script}", mode="ask")

    async def one() -> None:
        _conversation_id, outcome = await hold(host.api, settings, NewMessage(text="Go."))
        if outcome != "done":
            raise RuntimeError(outcome)

    with open_slow_line(url, 0) as (line, there):
        async with open_host(home, there, role="server") as host:
            looking = Looking(url)
            await one()
            await asyncio.sleep(2)
            before = looking.look(line.round_trips())
            await asyncio.sleep(IDLE)
            idle = looking.look(line.round_trips())
            await asyncio.gather(*(one() for _ in range(runs)))
            done = looking.look(line.round_trips())
            connections = looking.connections()
            looking.close()
    rest, work = idle.since(before), done.since(idle)
    share = work.at / rest.at

    def per_run(name: str) -> float:
        added: float = getattr(work, name) - getattr(rest, name) * share
        return added / runs

    return [
        ("seconds", f"{work.at:.1f}"),
        ("transactions", f"{per_run('commits'):.1f}"),
        ("round trips", f"{per_run('trips'):.1f}"),
        ("notes by NOTIFY", f"{per_run('notes'):.1f}"),
        ("bytes of WAL", f"{per_run('wal'):,.0f}"),
        ("bytes in the database, before packing", f"{per_run('size'):,.0f}"),
        ("processor time", f"{per_run('cpu') * 1000:.0f} ms"),
        ("transactions a second while nothing happens", f"{rest.commits / rest.at:.1f}"),
        ("connections of the process", str(connections)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    with (
        postgres() as server,
        server.database() as url,
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
    ):
        rows = asyncio.run(measure(url, Path(folder) / "home", options.runs))
    table(f"one of {options.runs} runs at once, each an answer of {CHARACTERS:,} characters", rows)


if __name__ == "__main__":
    main()
