"""A run as a person names it: by its own id, or by its conversation's for the last answer there."""

from __future__ import annotations

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.runs import Run

_FINISHED = ("completed", "failed", "cancelled")


async def run_named(api: ClientApi, given: str) -> Run:
    """Return a run by its id; of a conversation the last one that is finished, on the way that is shown."""
    try:
        return await api.runs.get(LOCAL_OWNER, given)
    except PilothouseError as error:
        if error.code != "not_found":
            raise
    try:
        found = await api.conversations.get(LOCAL_OWNER, given, limit=limits.SNAPSHOT_ITEMS)
    except PilothouseError as error:
        if error.code != "not_found":
            raise
        fix = "`pilothouse conversations list` lists conversations, `pilothouse conversations runs ID` their runs."
        raise PilothouseError("not_found", f"There is no run and no conversation {given[:80]}.", fix=fix) from None
    answers = [run for run in found.runs if run.status in _FINISHED and not run.options.is_summary]
    if not answers:
        raise PilothouseError("conflict", "No answer in this conversation is finished yet.")
    return answers[-1]
