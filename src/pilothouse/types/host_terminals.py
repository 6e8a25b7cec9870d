"""The verbs about terminals: a part of `types/host`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pilothouse.types.api import PartData
from pilothouse.types.terminals import (
    ProcessOutput,
    ProcessView,
    TerminalList,
    TerminalSelection,
    TerminalSize,
    TerminalView,
)
from pilothouse.types.verbs import Service, verb

# A byte of what a command wrote.
_Place = Annotated[int, Meta(ge=0)]


class Terminals(Service):
    """The terminals and background commands of conversations."""

    @verb("get_terminals", "GET", "/api/conversations/{id}/terminal")
    async def list(self, owner: str, conversation_id: str) -> TerminalList:
        """A conversation's terminal session and background commands, and what holds them."""

    @verb("open_terminal", "POST", "/api/conversations/{id}/terminal")
    async def open(self, owner: str, conversation_id: str, body: TerminalSize) -> TerminalView:
        """Open a conversation's terminal; the one that runs in its folder is used again."""

    @verb("close_terminal", "DELETE", "/api/conversations/{id}/terminal")
    async def close(self, owner: str, conversation_id: str) -> None:
        """End a conversation's terminal session and everything in it."""

    @verb("select_in_terminal", "POST", "/api/conversations/{id}/terminal/selection")
    async def select(self, owner: str, conversation_id: str, body: TerminalSelection) -> None:
        """Let the agent see what is selected in the terminal."""

    @verb("terminal_recording", "GET", "/api/conversations/{id}/terminal/recording")
    async def recording(self, owner: str, conversation_id: str) -> PartData:
        """The recording of a conversation's terminal, as an asciicast."""

    @verb("process_output", "GET", "/api/conversations/{id}/processes/{process}")
    async def process_output(
        self, owner: str, conversation_id: str, process_id: str, from_: _Place = 0
    ) -> ProcessOutput:
        """What a background command wrote, from a byte on."""

    @verb("stop_process", "POST", "/api/conversations/{id}/processes/{process}/stop")
    async def stop_process(self, owner: str, conversation_id: str, process_id: str) -> ProcessView:
        """End a background command and everything that it started."""
