"""Terminals of the core that keeps everything in memory: there are none, and what is typed goes nowhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pilothouse.types.api import PartData
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.terminals import (
    ProcessOutput,
    ProcessView,
    SandboxView,
    TerminalList,
    TerminalSelection,
    TerminalSize,
    TerminalView,
)

NONE = PilothouseError("not_found", "There is no such terminal.")


class MemoryTerminals:
    """The part of HostApi that is about terminals."""

    known: dict[str, Conversation]

    def _at(self, owner: str, conversation_id: str) -> None:
        if conversation_id not in self.known or self.known[conversation_id].owner != owner:
            raise NONE

    async def terminals(self, owner: str, conversation_id: str) -> TerminalList:
        self._at(owner, conversation_id)
        return TerminalList(sessions=(), processes=(), sandbox=SandboxView(kind="none"))

    async def open_terminal(self, owner: str, conversation_id: str, body: TerminalSize) -> TerminalView:
        raise NONE

    async def close_terminal(self, owner: str, conversation_id: str) -> None:
        self._at(owner, conversation_id)

    async def terminal_recording(self, owner: str, conversation_id: str) -> PartData:
        raise NONE

    async def process_output(self, owner: str, conversation_id: str, process_id: str, start: int) -> ProcessOutput:
        raise NONE

    async def stop_process(self, owner: str, conversation_id: str, process_id: str) -> ProcessView:
        raise NONE

    async def terminal_output(
        self, owner: str, conversation_id: str, start: int
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        raise NONE

    async def type_in_terminal(self, owner: str, conversation_id: str, data: bytes) -> None:
        raise NONE

    async def resize_terminal(self, owner: str, conversation_id: str, body: TerminalSize) -> None:
        raise NONE

    async def select_in_terminal(self, owner: str, conversation_id: str, body: TerminalSelection) -> None:
        self._at(owner, conversation_id)
