"""Terminals and background commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator

from pilothouse.types.api import PartData
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_terminals import Terminals
from pilothouse.types.lazy import Lazy
from pilothouse.types.records import Records
from pilothouse.types.terminals import (
    ProcessOutput,
    ProcessView,
    TerminalHost,
    TerminalList,
    TerminalSelection,
    TerminalSize,
    TerminalView,
)

_CAST = "application/x-asciicast"


class TerminalService(Terminals):
    """Terminals as people sit at them; everything belongs to a conversation of theirs."""

    def __init__(self, records: Records, terminals: Lazy[TerminalHost]) -> None:
        self._records = records
        self._terminals = terminals

    async def _owned(self, owner: str, conversation_id: str) -> Conversation:
        """Return the conversation; a terminal runs any program, so only the owner of this machine has one."""
        conversation = await self._records.conversation(owner, conversation_id)
        if owner != LOCAL_OWNER:
            raise PilothouseError("forbidden", "Only the owner of this installation may use its terminals.")
        return conversation

    async def list(self, owner: str, conversation_id: str) -> TerminalList:
        await self._owned(owner, conversation_id)
        return await self._terminals().terminals(conversation_id)

    async def open(self, owner: str, conversation_id: str, body: TerminalSize) -> TerminalView:
        conversation = await self._owned(owner, conversation_id)
        folder = conversation.settings.working_directory
        if not folder:
            raise PilothouseError(
                "conflict",
                "This conversation has no working directory.",
                fix="Choose a folder for it; its terminal starts there.",
            )
        real = await asyncio.to_thread(os.path.realpath, folder)
        return await self._terminals().open_terminal(conversation_id, real, body.columns, body.rows)

    async def close(self, owner: str, conversation_id: str) -> None:
        await self._owned(owner, conversation_id)
        await self._terminals().close_terminal(conversation_id)

    async def recording(self, owner: str, conversation_id: str) -> PartData:
        await self._owned(owner, conversation_id)
        recording = await self._terminals().recording(conversation_id)
        return PartData(media_type=_CAST, name=recording.name, data=recording.data)

    async def process_output(self, owner: str, conversation_id: str, process_id: str, from_: int = 0) -> ProcessOutput:
        await self._owned(owner, conversation_id)
        return await self._terminals().process_output(conversation_id, process_id, from_)

    async def stop_process(self, owner: str, conversation_id: str, process_id: str) -> ProcessView:
        await self._owned(owner, conversation_id)
        return await self._terminals().stop_process(conversation_id, process_id)

    async def output(self, owner: str, conversation_id: str, start: int) -> AsyncGenerator[tuple[int, bytes], None]:
        await self._owned(owner, conversation_id)
        return self._terminals().output(conversation_id, start)

    async def type(self, owner: str, conversation_id: str, data: bytes) -> None:
        """Give input to the session."""
        await self._owned(owner, conversation_id)
        await self._terminals().type(conversation_id, data)

    async def resize(self, owner: str, conversation_id: str, body: TerminalSize) -> None:
        await self._owned(owner, conversation_id)
        await self._terminals().resize(conversation_id, body.columns, body.rows)

    async def select(self, owner: str, conversation_id: str, body: TerminalSelection) -> None:
        await self._owned(owner, conversation_id)
        await self._terminals().select(conversation_id, body.text)
