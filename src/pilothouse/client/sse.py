"""Reading a conversation's server-sent events back into what the feed gave."""

from __future__ import annotations

from pilothouse.net.lines import Lines
from pilothouse.types.feed import FeedEvent, Lagged


class EventReader:
    """Turns the bytes of a stream into events; an id holds for its own event only, as live ones have none."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._seq = 0
        self._kind = ""
        self._data = b""

    def feed(self, chunk: bytes) -> list[FeedEvent]:
        """Take more bytes and return the events that are now complete."""
        events: list[FeedEvent] = []
        for line in self._lines.feed(chunk):
            name, _, value = line.partition(b": ")
            match name:
                case b"id":
                    self._seq = int(value)
                case b"event":
                    self._kind = value.decode()
                case b"data":
                    self._data = value
                case b"" if self._kind:
                    events.append(self._event())
        # What is said about the whole server is no event of the conversation.
        return [event for event in events if event.kind != "notice"]

    def _event(self) -> FeedEvent:
        if self._kind == "lagged":
            raise Lagged
        event = FeedEvent(self._seq, self._kind, self._data)
        self._seq, self._kind, self._data = 0, "", b""
        return event
