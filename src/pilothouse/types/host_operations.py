"""The verbs about the operation of an installation: what is at work where. A part of `types/host`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.operations import ProcessList, RunList
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.verbs import Service, verb

Statuses = Annotated[str, Meta(max_length=limits.STATUSES_CHARS)]
USUAL = "queued,running,waiting"


class Operations(Service):
    """Runs by their state, and the processes that work on them."""

    @verb("list_runs", "GET", "/api/runs")
    async def runs(self, owner: str, status: Statuses = USUAL, page: Page = FIRST) -> RunList:
        """Runs in these states, separated by commas: those that go on oldest first, those that ended newest first."""

    @verb("list_processes", "GET", "/api/processes")
    async def processes(self, owner: str) -> ProcessList:
        """The processes of this installation: what each is, how much it does, and when it was last heard of."""
