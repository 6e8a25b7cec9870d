"""`pilothouse runs` and `pilothouse processes`: what is at work where."""

from __future__ import annotations

from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.operations import ProcessEntry, ProcessList, RunEntry
from pilothouse.types.paging import Page

_ROLES = {"server": "all", "once": "command", "heir": "command"}


async def runs(status: str, limit: int, *, as_json: bool) -> int:
    """Print so many of the runs in these states."""
    async with connect_host() as api:
        found = await api.operations.runs(LOCAL_OWNER, status, Page(limit))
    out = output()
    if as_json:
        out.json(found)
        return 0
    rows = [_run(run) for run in found.runs]
    if not rows:
        # What was asked for, and no word aside.
        out.line("There are none.")
        return 0
    show_table(out, ("run", "state", "since", "process", "conversation", "title"), rows)
    if found.next is not None:
        say(messages(), "There are more: --limit shows more of them.")
    return 0


def _run(run: RunEntry) -> tuple[str, ...]:
    state = "stopping" if run.cancel_requested and run.status == "running" else run.status
    return (run.id, state, when(run.since), _short(run.process or ""), run.conversation_id, run.title)


def _short(process: str) -> str:
    """Return what tells a process from others; the rest of its name proves whether it lives."""
    return process.partition("@")[0]


async def processes(*, as_json: bool) -> int:
    """Print the processes of the installation."""
    async with connect_host() as api:
        found = await api.operations.processes(LOCAL_OWNER)
    out = output()
    if as_json:
        out.json(found)
        return 0
    rows = [_process(found, one) for one in found.processes]
    show_table(out, ("process", "role", "at work", "last seen", "started", "version", "host"), rows)
    say(out, f"{counted(found.queued, 'run')} waiting, {found.at_work} at work.")
    return 0


def _process(found: ProcessList, one: ProcessEntry) -> tuple[str, ...]:
    about = one.about
    busy = f"{about.at_work} of {about.slots}" if about.slots else "none"
    seen = f"{max(found.now - one.seen_at, 0):.0f} s ago"
    role = _ROLES.get(about.role, about.role)
    if about.role == "worker" and not about.programs:
        role = f"{role}, no programs"
    return (_short(one.id), role, busy, seen, when(about.started_at), about.version, about.host)
