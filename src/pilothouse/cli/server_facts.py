"""`pilothouse mcp status` and `pilothouse mcp logs`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pilothouse.cli.options import AnyServer, AsJson, ServerName
from pilothouse.cli.servers import NO_SERVERS, find
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.servers import Latency, ServerStatus, ServerView

_ERRORS = 3


async def status(name: AnyServer = None, as_json: AsJson = False) -> int:
    """Show state, process, latencies and errors of servers."""
    async with connect_host() as api:
        chosen = [await find(api, name)] if name is not None else (await api.servers.list(LOCAL_OWNER)).servers
        report = await api.servers.status(LOCAL_OWNER)
    ids = {one.id for one in chosen}
    facts = {one.server_id: one for one in report.servers if one.server_id in ids}
    out = output()
    if as_json:
        rows = [{"server": one, "status": facts.get(one.id)} for one in chosen]
        out.json(rows)
        return 0
    if not chosen:
        messages().line(NO_SERVERS)
    for number, one in enumerate(chosen):
        if number:
            out.line()
        _show(one, facts.get(one.id), out)
    return 0


def _show(one: ServerView, facts: ServerStatus | None, out: Terminal) -> None:
    out.line(one_line(one.name), "bold")
    for label, value in _facts(one, facts):
        out.line(f"  {label:<10} {one_line(value)}")
    for line in facts.errors[-_ERRORS:] if facts is not None else ():
        out.line(f"  {_clock(line.at):<10} {one_line(line.text)}", "yellow")


def _facts(one: ServerView, facts: ServerStatus | None) -> Iterator[tuple[str, str]]:
    yield "state", one.label
    yield "command" if one.transport == "stdio" else "URL", one.address
    if one.tool_count:
        yield "tools", str(one.tool_count)
    if one.protocol_version:
        yield (
            "protocol",
            f"{one.protocol_version} ({one.server_version})" if one.server_version else one.protocol_version,
        )
    if one.protocol_note:
        yield "", one.protocol_note
    if one.process is not None:
        memory = f", {one.process.memory_bytes / 2**20:.0f} MB" if one.process.memory_bytes else ""
        yield "process", f"{one.process.pid}{memory}, for {_age(time.time() - one.process.started_at)}"
    for warning in one.warnings:
        yield "", warning
    if one.restarts:
        yield "restarts", str(one.restarts)
    if facts is not None and facts.calls:
        yield "calls", _latencies(facts.calls)
    if one.last_error:
        yield "last error", f"{one.last_error} {one.fix}".strip()


def _latencies(calls: tuple[Latency, ...]) -> str:
    ordered = sorted(call.seconds for call in calls)
    failed = sum(not call.ok for call in calls)
    middle, slow = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    told = f", {failed} failed" if failed else ""
    return f"{len(calls)}{told}, half within {middle:.3f} s, 95% within {slow:.3f} s"


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


async def logs(name: ServerName, as_json: AsJson = False) -> int:
    """Print what a server wrote, oldest first."""
    async with connect_host() as api:
        server = await find(api, name)
        log = await api.servers.log(LOCAL_OWNER, server.id)
    out = output()
    if not log.lines:
        messages().line("It wrote nothing yet.")
    for line in log.lines:
        if as_json:
            out.json(line)
        else:
            out.line(f"{_clock(line.at)}  {line.source:<7}  {one_line(line.text)}")
    return 0


def _clock(at: float) -> str:
    then, today = time.localtime(at), time.localtime()
    day = "" if then[:3] == today[:3] else "%Y-%m-%d "
    return time.strftime(f"{day}%H:%M:%S", then)
