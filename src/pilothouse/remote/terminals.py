"""The terminals in a running server's core, as far as they need no line of their own."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at
from pilothouse.types.api import PartData
from pilothouse.types.terminals import ProcessOutput, ProcessView, TerminalList, TerminalSize, TerminalView


class RemoteTerminals:
    """The part of `ClientApi` that is about terminals, over HTTP."""

    _calling: Calling

    async def terminals(self, owner: str, conversation_id: str) -> TerminalList:
        """Return what runs in a conversation, and what holds it."""
        return await self._calling.ask("GET", at("conversations", conversation_id, "terminal"), TerminalList)

    async def open_terminal(self, owner: str, conversation_id: str, body: TerminalSize) -> TerminalView:
        """Return the conversation's session; started if there is none or the folder is another."""
        path = at("conversations", conversation_id, "terminal")
        return await self._calling.ask("POST", path, TerminalView, body=body)

    async def close_terminal(self, owner: str, conversation_id: str) -> None:
        """End the session and everything in it."""
        await self._calling.tell("DELETE", at("conversations", conversation_id, "terminal"))

    async def terminal_recording(self, owner: str, conversation_id: str) -> PartData:
        """Return the recording of the conversation's sessions as a file."""
        return await self._calling.file(at("conversations", conversation_id, "terminal", "recording"))

    async def process_output(self, owner: str, conversation_id: str, process_id: str, start: int) -> ProcessOutput:
        """Return what a background command wrote, from an index on."""
        path = at("conversations", conversation_id, "processes", process_id)
        return await self._calling.ask("GET", path, ProcessOutput, query={"from": start})

    async def stop_process(self, owner: str, conversation_id: str, process_id: str) -> ProcessView:
        """End a background command and everything it started."""
        path = at("conversations", conversation_id, "processes", process_id, "stop")
        return await self._calling.ask("POST", path, ProcessView)
