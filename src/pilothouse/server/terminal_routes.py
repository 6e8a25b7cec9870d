"""Terminals and background commands, over HTTP; a person who sits at one has a socket."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types.api import PartData
from pilothouse.types.terminals import (
    ProcessOutput,
    ProcessView,
    TerminalList,
    TerminalSelection,
    TerminalSize,
    TerminalView,
)


class OutputQuery(msgspec.Struct, frozen=True):
    """Output from this byte on."""

    start: Annotated[int, Meta(ge=0)] = msgspec.field(default=0, name="from")


async def get_terminals(call: Call[None, NoQuery]) -> TerminalList:
    """List them."""
    return await call.host.terminals(call.owner, call.id)


async def open_terminal(call: Call[TerminalSize, NoQuery]) -> TerminalView:
    """Open it."""
    return await call.host.open_terminal(call.owner, call.id, call.body)


async def close_terminal(call: Call[None, NoQuery]) -> None:
    """Close it."""
    await call.host.close_terminal(call.owner, call.id)


async def select_in_terminal(call: Call[TerminalSelection, NoQuery]) -> None:
    """Remember the selection."""
    await call.host.select_in_terminal(call.owner, call.id, call.body)


async def terminal_recording(call: Call[None, NoQuery]) -> PartData:
    """Return the recording."""
    return await call.host.terminal_recording(call.owner, call.id)


async def process_output(call: Call[None, OutputQuery]) -> ProcessOutput:
    """Return output."""
    return await call.host.process_output(call.owner, call.id, call.process, call.query.start)


async def stop_process(call: Call[None, NoQuery]) -> ProcessView:
    """End it."""
    return await call.host.stop_process(call.owner, call.id, call.process)


async def terminal_socket(call: Call[None, NoQuery]) -> None:
    """Sit at it; `terminal_socket.py` serves it, the table describes it."""


_PATH = "/api/conversations/{id}/terminal"

TERMINAL_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path=_PATH,
        handler=get_terminals,
        reply=TerminalList,
        summary="A conversation's terminal session and background commands, and what holds them.",
    ),
    Route(
        method="POST",
        path=_PATH,
        handler=open_terminal,
        body=TerminalSize,
        reply=TerminalView,
        summary="Open a conversation's terminal; the one that runs in its folder is used again.",
    ),
    Route(
        method="DELETE",
        path=_PATH,
        handler=close_terminal,
        status=204,
        kind="empty",
        summary="End a conversation's terminal session and everything in it.",
    ),
    Route(
        method="POST",
        path=f"{_PATH}/selection",
        handler=select_in_terminal,
        body=TerminalSelection,
        status=204,
        kind="empty",
        summary="Let the agent see what is selected in the terminal.",
    ),
    Route(
        method="GET",
        path=f"{_PATH}/recording",
        handler=terminal_recording,
        reply=PartData,
        kind="file",
        summary="The recording of a conversation's terminal, as an asciicast.",
    ),
    Route(
        method="GET",
        path=f"{_PATH}/socket",
        handler=terminal_socket,
        kind="socket",
        summary="A conversation's terminal, live: TerminalCommand and TerminalFrame as text, output as binary frames.",
    ),
    Route(
        method="GET",
        path="/api/conversations/{id}/processes/{process}",
        handler=process_output,
        query=OutputQuery,
        reply=ProcessOutput,
        summary="What a background command wrote, from a byte on.",
    ),
    Route(
        method="POST",
        path="/api/conversations/{id}/processes/{process}/stop",
        handler=stop_process,
        reply=ProcessView,
        summary="End a background command and everything that it started.",
    ),
)
