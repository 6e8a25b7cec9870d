"""`pilothouse terminal`: what runs in a conversation, and its recording."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from pilothouse.cli.previews import sandbox_words
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.terminals import ProcessView, TerminalView


async def list_terminals(conversation_id: str, *, as_json: bool) -> int:
    """List them."""
    async with connect_host() as api:
        found = await api.terminals(LOCAL_OWNER, conversation_id)
    out = output()
    if as_json:
        out.json(found)
        return 0
    out.line(f"Commands run {sandbox_words(found.sandbox.kind)}.", "dim")
    if found.sandbox.warning:
        messages().line(found.sandbox.warning, "yellow")
    rows = [*map(_session, found.sessions), *map(_process, found.processes)]
    if not rows:
        messages().line("Nothing runs or ran in this conversation's terminal.")
        return 0
    show_table(out, ("id", "state", "since", "what"), rows)
    return 0


def _session(view: TerminalView) -> tuple[str, ...]:
    return ("session", _state(view.running, view.exit_code), _when(view.started_at), f"{view.shell} in {_at(view)}")


def _process(view: ProcessView) -> tuple[str, ...]:
    return (view.id, _state(view.ended_at is None, view.exit_code), _when(view.started_at), one_line(view.command))


def _at(view: TerminalView) -> str:
    return one_line(view.working_directory)


def _state(running: bool, exit_code: int | None) -> str:
    if running:
        return "running"
    return "ended" if exit_code is None else f"ended ({exit_code})"


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


async def stop(conversation_id: str, process_id: str | None) -> int:
    """End the session, or a background command."""
    async with connect_host() as api:
        if process_id is None:
            if not any(one.running for one in (await api.terminals(LOCAL_OWNER, conversation_id)).sessions):
                raise PilothouseError("conflict", "No terminal is open in this conversation.")
            await api.close_terminal(LOCAL_OWNER, conversation_id)
        else:
            await api.stop_process(LOCAL_OWNER, conversation_id, process_id)
    messages().line("Stopped.")
    return 0


async def recording(conversation_id: str, target: Path | None) -> int:
    """Save the recording to a file, or print it."""
    async with connect_host() as api:
        found = await api.terminal_recording(LOCAL_OWNER, conversation_id)
    if target is not None and str(target) == "-":
        sys.stdout.buffer.write(found.data)
        return 0
    path = target or Path(f"{conversation_id}.cast")
    try:
        await asyncio.to_thread(_write_new, path, found.data)
    except FileExistsError:
        raise PilothouseError("bad_request", f"{path} exists already.", fix="Name another file.") from None
    except OSError as error:
        raise PilothouseError("bad_request", f"{path} cannot be written: {error.strerror}.") from None
    messages().line(f"Saved {path} ({len(found.data):,} bytes).")
    return 0


def _write_new(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
