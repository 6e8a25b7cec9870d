"""`pilothouse audit`: the record of what was done, and whether it is whole."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pilothouse.cli.tables import counted
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import AuditCheck, AuditReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import whole


async def export(conversation_id: str | None) -> int:
    """Print the record as JSON."""
    async with connect_host() as api:
        report = await whole(lambda page: api.audit(LOCAL_OWNER, conversation_id, cursor=page.cursor))
    output().json(report)
    if report.more:
        messages().line("There are more calls than one export holds; export single conversations.", "yellow")
    return 0


async def verify(conversation_id: str | None, against: Path | None) -> int:
    """Say whether every event is as it was written, and what was exported earlier is still there."""
    earlier = _checks_in(against) if against is not None else ()
    async with connect_host() as api:
        report = await whole(lambda page: api.audit(LOCAL_OWNER, conversation_id, cursor=page.cursor))
        wrong = [_broken(check) for check in report.checks if not check.sound]
        for check in earlier:
            if conversation_id in (None, check.conversation_id) and not await _holds(api, check):
                wrong.append(f"{check.conversation_id}: what was exported is not there any more as it was.")
    for said in wrong:
        messages().line(said, "red")
    if wrong:
        return 1
    events = sum(check.events for check in report.checks)
    output().line(
        f"{counted(len(report.checks), 'conversation')}, {counted(events, 'event')}: all as they were written."
    )
    return 0


def _broken(check: AuditCheck) -> str:
    return f"{check.conversation_id}: event {check.first_bad} is not as it was written."


async def _holds(api: ClientApi, check: AuditCheck) -> bool:
    try:
        (now,) = (await api.audit(LOCAL_OWNER, check.conversation_id, check.events)).checks
    except PilothouseError as error:
        if error.code != "not_found":
            raise
        return False
    return now.sound and (now.events, now.head) == (check.events, check.head)


def _checks_in(file: Path) -> tuple[AuditCheck, ...]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=AuditReport).checks
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise PilothouseError(
            "bad_request", f"{file} is not a record that was exported.", fix="Make one: pilothouse audit export"
        ) from None
