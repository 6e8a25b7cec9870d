"""What a million conversations a day would need: the assumptions, and the arithmetic; `scripts/tables` writes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pilothouse.types import limits

_DAY = 86_400.0
_PER_RUN = "measured: `scripts/bench per_run`"


@dataclass(frozen=True)
class Load:
    """What is assumed and what was measured; see `docs/scaling.md` for where each is from."""

    conversations: float = 1_000_000
    runs: float = 5
    peak: float = 3
    seconds: float = 20
    reading: float = 600
    text: float = 4_000
    slots: float = 200
    use: float = 0.7
    readers: float = 500
    transactions: float = 50
    trips: float = 110
    wal: float = 50_000
    written: float = 39_000
    packed: float = 3.9
    cpu: float = 0.08
    connections: float = 26
    streaming: float = 0.4
    piece: float = 250

    @property
    def peak_runs(self) -> float:
        """Return how many runs begin in a second of the busiest hour."""
        return self.conversations * self.runs / _DAY * self.peak

    @property
    def at_work(self) -> float:
        """Return how many runs are at work at once: as many as begin in a second, times the seconds each takes."""
        return self.peak_runs * self.seconds

    @property
    def workers(self) -> int:
        return math.ceil(self.at_work / (self.slots * self.use))

    @property
    def open_pages(self) -> float:
        """Return how many people read along at once."""
        return self.conversations / _DAY * self.peak * self.reading

    @property
    def webs(self) -> int:
        return math.ceil(self.open_pages / self.readers)

    @property
    def all_connections(self) -> float:
        return (self.workers + self.webs) * self.connections

    @property
    def pieces(self) -> float:
        """Return how many pieces of answers that stream are told to other processes in a second."""
        return self.at_work * self.streaming / limits.LIVE_FLUSH

    @property
    def day_bytes(self) -> float:
        """Return what a day adds to the disk once it is packed."""
        return self.conversations * self.runs * self.text * self.packed


def assumptions(load: Load) -> Iterator[str]:
    """Yield the lines of what is counted with."""
    yield "| counted with | | from |\n|---|---|---|\n"
    for name, value, source in (
        ("conversations a day", f"{load.conversations:,.0f}", "assumed"),
        ("messages in each, and so runs", f"{load.runs:g}", "assumed"),
        ("the busiest hour against the mean", f"{load.peak:g}", "assumed: most people sleep at night"),
        ("seconds of a run", f"{load.seconds:g}", "assumed: two requests to a model and a call"),
        ("seconds that a page is open", f"{load.reading:g}", "assumed"),
        ("bytes of text in a run", f"{load.text:,.0f}", "assumed: message, thoughts, a call's result, answer"),
        ("slots of a worker", f"{load.slots:g}", "chosen; `scripts/bench many` holds 200 conversations in one process"),
        ("of them in use in the busiest hour", f"{load.use:.0%}", "chosen: room for those of a worker that dies"),
        ("readers of a process for the page", f"{load.readers:g}", "chosen"),
        ("transactions of a run", f"{load.transactions:g}", f"{_PER_RUN} with 50 at once, 25 with 150 at once"),
        ("round trips to the database of a run", f"{load.trips:g}", f"{_PER_RUN}, 85 with 150 at once"),
        ("bytes of WAL of a run", f"{load.wal:,.0f}", _PER_RUN),
        ("bytes in PostgreSQL for a run before packing", f"{load.written:,.0f}", f"{_PER_RUN}, 1,500 bytes of text"),
        ("bytes on disk for a byte of text, packed", f"{load.packed:g}", "measured: `scripts/bench disk`, on SQLite"),
        ("processor time of a run", f"{load.cpu * 1000:g} ms", f"{_PER_RUN}, on a busy machine"),
        ("connections of a process", f"{load.connections:g}", _PER_RUN),
        ("of a run's time, text streams in", f"{load.streaming:.0%}", "assumed: 375 tokens at 50 a second"),
        (
            "bytes of a piece of live text, as told to others",
            f"{load.piece:g}",
            "assumed: a few words and their envelope",
        ),
    ):
        yield f"| {name} | {value} | {source} |\n"


def needs(load: Load) -> Iterator[str]:
    """Yield the lines of what follows from it."""
    yield "| in the busiest hour | | how |\n|---|---|---|\n"
    unpacked = load.peak_runs * limits.PACK_EVERY * load.written
    for name, value, how in (
        ("runs that begin in a second", f"{load.peak_runs:,.0f}", "conversations × messages ÷ 86,400 × peak"),
        ("runs at work at once", f"{load.at_work:,.0f}", "begun in a second × seconds of each (Little's law)"),
        ("workers", f"{load.workers}", "at work ÷ (slots × use)"),
        ("processor cores of all workers", f"{load.peak_runs * load.cpu:,.0f}", "begun × processor time"),
        ("pages open at once", f"{load.open_pages:,.0f}", "conversations ÷ 86,400 × peak × seconds open"),
        ("processes for the page", f"{load.webs}", "pages ÷ readers of each"),
        ("transactions in a second", f"{load.peak_runs * load.transactions:,.0f}", "begun × transactions of a run"),
        ("round trips in a second", f"{load.peak_runs * load.trips:,.0f}", "begun × round trips of a run"),
        ("WAL in a second", f"{load.peak_runs * load.wal / 1e6:,.1f} MB", "begun × bytes of WAL"),
        ("not packed yet", f"{unpacked / 1e6:,.0f} MB", "begun × seconds until a run is packed × bytes before"),
        ("connections to the database", f"{load.all_connections:,.0f}", "processes × connections of each"),
        (
            "pieces of live text told in a second",
            f"{load.pieces:,.0f}",
            "at work × streaming ÷ seconds a piece is gathered",
        ),
        (
            "that each process hears in a second",
            f"{load.pieces * load.piece / 1e6:,.1f} MB",
            "pieces × bytes of a piece",
        ),
        ("that PostgreSQL hands out in a second", f"{_handed_out(load) / 1e6:,.0f} MB", "the same × processes"),
        ("added to the disk in a day", f"{load.day_bytes / 1e9:,.0f} GB", "runs × text × bytes for a byte"),
        ("added in a year", f"{load.day_bytes * 365 / 1e12:,.0f} TB", "the same × 365"),
    ):
        yield f"| {name} | {value} | {how} |\n"


def _handed_out(load: Load) -> float:
    return load.pieces * load.piece * (load.workers + load.webs)


def lines() -> Iterator[str]:
    """Yield both tables."""
    load = Load()
    yield from assumptions(load)
    yield "\n"
    yield from needs(load)
