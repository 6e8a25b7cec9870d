"""Who watches over a process: its counters, and traces where an endpoint for them is set."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack
from socket import gethostname
from typing import TYPE_CHECKING

from pilothouse import __version__
from pilothouse.host.engine import Runner
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.processes import ProcessAbout, ProcessRole, ProcessView
from pilothouse.wiring.foundation import TRACE_ENDPOINTS, Foundation

if TYPE_CHECKING:
    from pilothouse.models.catalogue import ModelCatalogue
    from pilothouse.telemetry.counters import Counters
    from pilothouse.telemetry.facts import Sink
    from pilothouse.wiring.fleet import Fleet


class Metrics:
    """What operators are told in numbers."""

    def __init__(
        self, base: Foundation, counters: Counters, role: ProcessRole, fleet: Fleet | None, runner: Runner
    ) -> None:
        self._base = base
        self._runner = runner
        self._counters = counters
        self._role = role
        self._fleet = fleet

    async def __call__(self, loop_lag: float) -> bytes:
        """Return them as Prometheus reads them; a database that is away takes only its own number along."""
        from pilothouse.telemetry.prometheus import Now, render

        now = Now(
            queued=await self._queued(),
            readers=self._base.feed.readers(),
            at_work=self._runner.at_work,
            taken_over=self._fleet.taken_over if self._fleet is not None else 0,
            database_errors=self._base.connections.failures,
            loop_lag=loop_lag,
            role=self._role,
            version=__version__,
        )
        return render(self._counters, now)

    async def _queued(self) -> int | None:
        try:
            async with asyncio.timeout(limits.READY_PATIENCE):
                return await self._base.opened.store.queued()
        except (PilothouseError, TimeoutError):
            return None


def observe(
    stack: AsyncExitStack, base: Foundation, models: ModelCatalogue, process: str, *, counted: bool
) -> Counters | None:
    """Have what happens counted where someone may ask for it, and traced where an endpoint is set; else nothing."""
    sinks: list[Sink] = []
    counters = None
    if counted:
        from pilothouse.telemetry.counters import Counters

        counters = Counters()
        sinks.append(counters)
    if any(os.environ.get(name) for name in TRACE_ENDPOINTS):
        from pilothouse.wiring.tracing import tracer

        if (traced := tracer(stack, models)) is not None:
            sinks.append(traced)
    if sinks:
        from pilothouse.telemetry.listening import Listening

        base.feed.subscribe(Listening(process, sinks).heard)
    return counters


def about_self(process: str, role: ProcessRole, runner: Runner, began: float) -> ProcessView:
    """Return what this process is, which has its folder alone."""
    about = ProcessAbout(
        role=role,
        slots=runner.slots,
        at_work=runner.at_work,
        host=gethostname(),
        version=__version__,
        started_at=began,
    )
    return ProcessView(id=process, seen_at=time.time(), about=about)
