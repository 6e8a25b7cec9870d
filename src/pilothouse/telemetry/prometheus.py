"""What was counted, in the format that Prometheus reads. Loaded when someone asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from pilothouse.telemetry.counters import Counters, Histogram


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked up at the moment that someone asks."""

    # How many runs wait, for any process on the database; None where that could not be found out.
    queued: int | None
    # How many read a conversation, and how many the list.
    readers: tuple[int, int]
    taken_over: int
    at_work: int
    database_errors: int
    loop_lag: float
    # Of this process: its role and its version.
    role: str
    version: str


class _Collector:
    """One answer; made for a single reading."""

    def __init__(self, counters: Counters, now: Now) -> None:
        self._counters = counters
        self._now = now

    def collect(self) -> Iterator[Metric]:
        yield from self._runs()
        yield from self._models()
        yield from self._process()

    def _runs(self) -> Iterator[Metric]:
        counters, queued = self._counters, self._now.queued
        ended = CounterMetricFamily("pilothouse_runs_ended", "Runs that came to their end.", labels=["status"])
        for status, count in counters.runs_ended.items():
            ended.add_metric([status], count)
        yield ended
        yield GaugeMetricFamily("pilothouse_runs_at_work", "Runs at work in this process.", self._now.at_work)
        if queued is not None:
            text = "Runs that wait for a slot, of all processes on the database together."
            yield GaugeMetricFamily("pilothouse_runs_queued", text, queued)
        text = "Seconds from a message's acceptance to the beginning of its run."
        waited = HistogramMetricFamily("pilothouse_run_wait_seconds", text)
        waited.add_metric([], *_buckets(counters.waited))
        yield waited
        text = "Runs that this process took over from others that died."
        yield CounterMetricFamily("pilothouse_take_overs", text, self._now.taken_over)

    def _models(self) -> Iterator[Metric]:
        counters = self._counters
        seconds = HistogramMetricFamily(
            "pilothouse_model_request_seconds", "Seconds that a model's answer took.", labels=["model", "outcome"]
        )
        for (model, outcome), histogram in counters.requests.items():
            seconds.add_metric([model, outcome], *_buckets(histogram))
        yield seconds
        tokens = CounterMetricFamily("pilothouse_tokens", "Tokens that models used.", labels=["model", "type"])
        for (model, kind), count in counters.tokens.items():
            tokens.add_metric([model, kind], count)
        yield tokens
        calls = CounterMetricFamily("pilothouse_tool_calls", "Tool calls that ended.", labels=["tool", "outcome"])
        for (tool, outcome), count in counters.calls.items():
            calls.add_metric([tool, outcome], count)
        yield calls

    def _process(self) -> Iterator[Metric]:
        now = self._now
        yield CounterMetricFamily("pilothouse_database_errors", "Statements that failed.", now.database_errors)
        text = "Readers that are connected now: of conversations, and of the list of them."
        readers = GaugeMetricFamily("pilothouse_readers", text, labels=["of"])
        for kind, count in zip(("conversation", "list"), now.readers, strict=True):
            readers.add_metric([kind], count)
        yield readers
        text = "Seconds that the event loop last took to get to what it was given."
        yield GaugeMetricFamily("pilothouse_event_loop_lag_seconds", text, now.loop_lag)
        about = GaugeMetricFamily("pilothouse_process", "What this process is; always 1.", labels=["role", "version"])
        about.add_metric([now.role, now.version], 1)
        yield about


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Return a histogram as Prometheus has it, each bucket with all below it, and the sum."""
    names = [*map(str, histogram.bounds), "+Inf"]
    below = 0
    found: list[tuple[str, float]] = []
    for name, count in zip(names, histogram.counts, strict=True):
        below += count
        found.append((name, float(below)))
    return found, histogram.total


def render(counters: Counters, now: Now) -> bytes:
    """Return the text that Prometheus reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(counters, now))
    return generate_latest(registry)
