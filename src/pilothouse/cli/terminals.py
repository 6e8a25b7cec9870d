"""`pilothouse terminal`: what runs in a conversation, and its recording."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, ConversationId, command, new_app
from pilothouse.cli.previews import sandbox_words
from pilothouse.cli.tables import show_table, when
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.terminals import ProcessView, TerminalView

app = new_app()


@command(app, "list")
async def list_terminals(conversation: ConversationId, json: AsJson = False) -> int:
    """List a conversation's session and background commands.

    It says what holds them, too.
    """
    async with connect_host() as api:
        found = await api.terminals.list(LOCAL_OWNER, conversation)
    out = output()
    if json:
        out.json(found)
        return 0
    out.line(f"Commands run {sandbox_words(found.sandbox.kind)}.", "dim")
    if found.sandbox.warning:
        messages().line(found.sandbox.warning, "yellow")
    rows = [*map(_session, found.sessions), *map(_process, found.processes)]
    none = "Nothing runs or ran in this conversation's terminal."
    show_table(out, ("id", "state", "since", "what"), rows, none=none)
    return 0


def _session(view: TerminalView) -> tuple[str, ...]:
    where = f"{view.shell} in {one_line(view.working_directory)}"
    return ("session", _state(view.running, view.exit_code), when(view.started_at), where)


def _process(view: ProcessView) -> tuple[str, ...]:
    return (view.id, _state(view.ended_at is None, view.exit_code), when(view.started_at), one_line(view.command))


def _state(running: bool, exit_code: int | None) -> str:
    if running:
        return "running"
    return "ended" if exit_code is None else f"ended ({exit_code})"


@command(app)
async def stop(
    conversation: ConversationId,
    process: Annotated[
        str | None, typer.Argument(metavar="PROCESS", help="A background command; none means the session.")
    ] = None,
) -> int:
    """End a session or a background command.

    Everything that it started ends with it.
    """
    async with connect_host() as api:
        if process is None:
            if not any(one.running for one in (await api.terminals.list(LOCAL_OWNER, conversation)).sessions):
                raise PilothouseError("conflict", "No terminal is open in this conversation.")
            await api.terminals.close(LOCAL_OWNER, conversation)
        else:
            await api.terminals.stop_process(LOCAL_OWNER, conversation, process)
    messages().line("Stopped.")
    return 0


@command(app)
async def recording(
    conversation: ConversationId,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; `-` prints it.")] = None,
) -> int:
    """Save the recording of a conversation's terminal.

    It is an asciicast: what was written, with its times. Players of asciinema show it.
    """
    async with connect_host() as api:
        found = await api.terminals.recording(LOCAL_OWNER, conversation)
    if file is not None and str(file) == "-":
        sys.stdout.buffer.write(found.data)
        return 0
    path = file or Path(f"{conversation}.cast")
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
