"""`pilothouse audit`: the record of what was done, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pilothouse.cli.options import OneConversation, command, new_app
from pilothouse.cli.tables import counted
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import AuditCheck, AuditReport
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import REPORT, whole

app = new_app()
_AGAINST = "A record that was exported earlier: what it has must still be there."


@command(app)
async def export(conversation: OneConversation = None) -> int:
    """Print the record as JSON: every call with who allowed it and why."""
    async with connect_host() as api:
        report = await _record(api, conversation)
    output().json(report)
    if report.more:
        messages().line("There are more calls than one export holds; export single conversations.", "yellow")
    return 0


@command(app)
async def verify(
    conversation: OneConversation = None,
    against: Annotated[Path | None, typer.Option(metavar="FILE", help=_AGAINST, show_default=False)] = None,
) -> int:
    """Find out whether anyone changed the record.

    Ends with 1 and names the first event that is not as it was written.
    """
    earlier = _checks_in(against) if against is not None else ()
    async with connect_host() as api:
        report = await _record(api, conversation)
        wrong = [_broken(check) for check in report.checks if not check.sound]
        for check in earlier:
            if conversation in (None, check.conversation_id) and not await _holds(api, check):
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


async def _record(api: ClientApi, conversation_id: str | None) -> AuditReport:
    """Return all of the record, of one conversation or of every one."""
    return await whole(
        lambda page: api.permissions.audit(LOCAL_OWNER, conversation_id, limit=page.limit, cursor=page.cursor), REPORT
    )


async def _holds(api: ClientApi, check: AuditCheck) -> bool:
    try:
        (now,) = (await api.permissions.audit(LOCAL_OWNER, check.conversation_id, check.events)).checks
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
