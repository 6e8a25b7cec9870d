"""The tool calls that a server works on, as a transport sees them pass."""

from __future__ import annotations

from pilothouse.mcp.client.channel import Garbage, Incoming, Message, Outgoing, RequestId


class PendingCalls:
    """Calls that were sent and neither answered nor given up; while there are any, silence proves nothing."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        # Those that may not have left yet, each with the byte that completes it.
        self._leaving: dict[RequestId, int] = {}
        # How many are over.
        self.ended = 0

    def leaving(self, message: Outgoing, complete: int) -> None:
        """See a message begin to go out, which is complete with this byte."""
        if message.method == "tools/call" and message.id is not None:
            self._leaving[message.id] = complete

    def left(self, gone: int) -> None:
        """Learn how many bytes went out."""
        for number in [number for number, complete in self._leaving.items() if complete <= gone]:
            del self._leaving[number]
            self._ids.add(number)

    def sent(self, message: Outgoing) -> None:
        """See a message go out at once."""
        self.leaving(message, 0)
        self.left(0)

    def came(self, incoming: Incoming) -> None:
        """See something come in; an answer ends its call."""
        if isinstance(incoming, Message):
            if "method" not in incoming.value:
                self.over(incoming.value.get("id"))
        elif isinstance(incoming, Garbage) and incoming.id is not None:
            self.over(incoming.id)

    def over(self, number: object) -> None:
        """Learn that nobody waits for a call any more, or that it was answered."""
        if isinstance(number, int | str) and (number in self._ids or number in self._leaving):
            self._ids.discard(number)
            self._leaving.pop(number, None)
            self.ended += 1

    @property
    def is_any(self) -> bool:
        return bool(self._ids)
