"""What is at work where."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast, get_args

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_operations import USUAL, Operations
from pilothouse.types.operations import ProcessEntry, ProcessList, RunList
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.processes import ProcessView
from pilothouse.types.records import Records
from pilothouse.types.runs import RunStatus

_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)


class OperationService(Operations):
    """Runs and processes; of runs only the owner's own, of processes only the owner of the installation is told."""

    def __init__(self, records: Records, alone: Callable[[], ProcessView] | None) -> None:
        self._records = records
        # This process, where it is the only one; several say of themselves what they are.
        self._alone = alone

    async def runs(self, owner: str, status: str = USUAL, page: Page = FIRST) -> RunList:
        return await self._records.run_list(owner, _statuses(status), page)

    async def processes(self, owner: str) -> ProcessList:
        if owner != LOCAL_OWNER:
            raise PilothouseError("forbidden", "Only the owner of this installation may see its processes.")
        found = [self._alone()] if self._alone is not None else await self._records.processes()
        # One of an earlier release says nothing of itself.
        known = [ProcessEntry(one.id, one.seen_at, one.about) for one in found if one.about is not None]
        known.sort(key=lambda one: (one.about.started_at, one.id))
        return ProcessList(
            processes=tuple(known),
            queued=await self._records.queued(),
            at_work=sum(one.about.at_work for one in known),
            now=time.time(),
        )


def _statuses(typed: str) -> tuple[RunStatus, ...]:
    named = [one.strip() for one in typed.split(",")]
    wrong = [one for one in named if one not in _STATUSES]
    if wrong:
        raise PilothouseError(
            "bad_request", f"There is no state “{wrong[0]}” of runs.", fix=f"There are: {', '.join(_STATUSES)}."
        )
    return tuple(cast(RunStatus, one) for one in dict.fromkeys(named))
