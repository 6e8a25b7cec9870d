"""The tool calls that a server works on, as a transport sees them pass."""

from __future__ import annotations

from pilothouse.mcp.channel import Garbage, Incoming, Message, Outgoing, RequestId


class Underway:
    """Calls that were sent and neither answered nor given up; while there are any, silence proves nothing."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()

    def sent(self, message: Outgoing) -> None:
        """See a message go out."""
        if message.method == "tools/call" and message.id is not None:
            self._ids.add(message.id)

    def came(self, incoming: Incoming) -> None:
        """See something come in; an answer ends its call."""
        if isinstance(incoming, Message):
            if "method" not in incoming.value:
                self.over(incoming.value.get("id"))
        elif isinstance(incoming, Garbage) and incoming.id is not None:
            self.over(incoming.id)

    def over(self, number: object) -> None:
        """Learn that nobody waits for a call any more, or that it was answered."""
        if isinstance(number, int | str):
            self._ids.discard(number)

    def besides(self, number: RequestId | None = None) -> bool:
        """Return whether there is any other than this one."""
        return bool(self._ids - {number})
