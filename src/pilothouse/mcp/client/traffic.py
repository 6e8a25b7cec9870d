"""Every message to and from servers, while the person wants to see them: masked, cut, bounded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.server_traffic import TrafficMessage, TrafficPage

Direction = Literal["out", "in"]
Kind = Literal["request", "response", "notification", "error", "garbage"]


class Traffic:
    """The newest messages of all servers; nothing is kept until recording is switched on."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self.recording = False
        self._messages: deque[TrafficMessage] = deque()
        self._chars = 0
        self._seq = 0
        # When each request was sent, by server, direction and id.
        self._asked: dict[tuple[str, Direction, str], tuple[float, str]] = {}

    def switch(self, recording: bool) -> None:
        """Begin to record, or stop and forget."""
        self.recording = recording
        if not recording:
            self._messages.clear()
            self._asked.clear()
            self._chars = 0

    def page(self, after: int, server_id: str | None) -> TrafficPage:
        """Return the messages after a number, oldest first."""
        wanted = tuple(
            message
            for message in self._messages
            if message.seq > after and (server_id is None or message.server_id == server_id)
        )
        return TrafficPage(messages=wanted, last_seq=self._seq, recording=self.recording)

    def message(self, server: tuple[str, str], direction: Direction, value: JsonObject, size: int) -> None:
        """Keep a message as it went over the wire."""
        if not self.recording:
            return
        kind, method, number = _facts(value)
        seconds: float | None = None
        now = time.monotonic()
        if kind == "request":
            self._asked[server[0], direction, number] = (now, method)
            if len(self._asked) > limits.TRAFFIC_MESSAGES:
                self._asked.pop(next(iter(self._asked)))
        elif number and kind != "notification":
            asked = self._asked.pop((server[0], "in" if direction == "out" else "out", number), None)
            if asked is not None:
                seconds, method = round(now - asked[0], 6), asked[1]
        text = msgspec.json.encode(value)[: limits.TRAFFIC_TEXT_CHARS * 4].decode(errors="replace")
        self._keep(server, direction, (kind, method, number), text, (size, seconds))

    def garbage(self, server: tuple[str, str], text: str) -> None:
        """Keep what came and is no message."""
        if self.recording:
            self._keep(server, "in", ("garbage", "", ""), text, (len(text.encode()), None))

    def _keep(
        self,
        server: tuple[str, str],
        direction: Direction,
        facts: tuple[Kind, str, str],
        text: str,
        measures: tuple[int, float | None],
    ) -> None:
        self._seq += 1
        # Masked before it is cut: half a secret is one too.
        shown = self._redact(text)[: limits.TRAFFIC_TEXT_CHARS]
        kept = TrafficMessage(
            seq=self._seq,
            at=time.time(),
            server_id=server[0],
            server=server[1],
            direction=direction,
            kind=facts[0],
            method=facts[1],
            id=facts[2],
            bytes=measures[0],
            text=shown,
            seconds=measures[1],
        )
        self._messages.append(kept)
        self._chars += len(shown)
        while len(self._messages) > limits.TRAFFIC_MESSAGES or self._chars > limits.TRAFFIC_TOTAL_CHARS:
            self._chars -= len(self._messages.popleft().text)


def _facts(value: JsonObject) -> tuple[Kind, str, str]:
    method, number = value.get("method"), value.get("id")
    shown = "" if number is None else str(number)
    if isinstance(method, str):
        return ("notification" if number is None else "request"), method, shown
    return ("error" if "error" in value else "response"), "", shown
