"""Gathering an answer's events while its lines are read.

Pieces of the same kind that arrive in one network read become one event: nothing is lost, order is
kept, and a burst costs everybody downstream a fraction. A thinking event with an `opaque` value
ends its block; the next thinking begins a new one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject, is_within
from pilothouse.types.stream import (
    CallArguments,
    CallEnd,
    CallStart,
    Notice,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    Usage,
)


class _Call:
    """A tool call whose arguments are still arriving."""

    __slots__ = ("fresh", "id", "index", "name", "parts", "size")

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.parts: list[str] = []
        # Pieces not yet told.
        self.fresh: list[str] = []
        self.size = 0


class Answer:
    """The events of one answer that are ready to be told, and its open tool calls by the provider's key."""

    def __init__(self) -> None:
        self._ready: list[StreamEvent] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._open: dict[object, _Call] = {}
        # What the provider counted so far, if that is news.
        self._so_far: Usage | None = None
        self.calls = 0

    @property
    def is_silent(self) -> bool:
        """Return whether nothing of the answer itself waits to be told."""
        waits = self._text or self._thinking or self._open
        return not waits and all(isinstance(event, Notice | Usage) for event in self._ready)

    def take(self) -> list[StreamEvent]:
        """Return what is ready and forget it."""
        self._flush()
        ready, self._ready = self._ready, []
        so_far, self._so_far = self._so_far, None
        return [so_far, *ready] if so_far is not None else ready

    def count(self, usage: Usage | None) -> None:
        """Note what was used so far: it is told with what is told next, so that it counts if the answer breaks off."""
        if usage is not None:
            self._so_far = msgspec.structs.replace(usage, estimated=True)

    def add(self, event: StreamEvent) -> None:
        """Add an event that is whole."""
        self._flush()
        if isinstance(event, Usage):
            self._so_far = None
        self._ready.append(event)

    def text(self, piece: str) -> None:
        """Add text of the answer."""
        if self._thinking or self._open:
            self._flush()
        self._text.append(piece)

    def thinking(self, piece: str) -> None:
        """Add text of the model's thinking."""
        if self._text or self._open:
            self._flush()
        self._thinking.append(piece)

    def opaque(self, value: JsonObject) -> None:
        """End a block of thinking with the provider's own proof."""
        self.add(ThinkingDelta("", value))

    def end_text(self, opaque: JsonObject | None = None) -> None:
        """End a block of text, with what the provider wants back with it."""
        self.add(TextEnd(opaque))

    def start(self, key: object, id: str | None, name: str) -> None:
        """Begin a tool call; one without an id gets a fresh one, for ids tell calls apart across answers too."""
        call = _Call(self.calls, id or f"call_{secrets.token_hex(8)}", name)
        self._open[key] = call
        self.calls += 1
        self.add(CallStart(call.index, call.id, name))

    def arguments(self, key: object, piece: str) -> None:
        """Add a piece of a call's arguments."""
        call = self._open[key]
        if self._text or self._thinking:
            self._flush()
        call.fresh.append(piece)

    def end(self, key: object, opaque: JsonObject | None = None, *, arguments: JsonObject | None = None) -> None:
        """End a tool call: its arguments are parsed, or kept as they are when they are not an object.

        Where the caller could make out more than strict JSON says, it gives the arguments.
        """
        self._flush()
        call = self._open.pop(key)
        raw = "".join(call.parts)
        given = arguments if arguments is not None else parsed(raw)
        self._ready.append(CallEnd(call.index, call.id, call.name, given, raw, opaque))

    def whole(self, id: str | None, name: str, arguments: object, opaque: JsonObject | None = None) -> None:
        """Add a call that came in one piece."""
        key = object()
        self.start(key, id, name)
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
        self.arguments(key, text)
        self.end(key, opaque)

    def open_keys(self) -> list[object]:
        """Return the keys of the calls that have not ended, in order."""
        return list(self._open)

    def open_id(self, key: object) -> str | None:
        """Return the id of an open call, None when there is none with this key."""
        call = self._open.get(key)
        return call.id if call else None

    def is_complete(self, key: object) -> bool:
        """Return whether an open call's arguments are a JSON object already."""
        call = self._open[key]
        raw = "".join(call.parts) + "".join(call.fresh)
        return bool(raw.strip()) and parsed(raw) is not None

    def _flush(self) -> None:
        if self._text:
            self._ready.append(TextDelta("".join(self._text)))
            self._text.clear()
        if self._thinking:
            self._ready.append(ThinkingDelta("".join(self._thinking)))
            self._thinking.clear()
        for call in self._open.values():
            if call.fresh:
                piece = "".join(call.fresh)
                call.fresh.clear()
                call.parts.append(piece)
                call.size += len(piece.encode())
                self._ready.append(CallArguments(call.index, piece, call.size))


def parsed(raw: str) -> JsonObject | None:
    """Return a call's arguments as an object, `{}` for none, or None when they are not one that a call takes."""
    if not raw.strip():
        return {}
    if len(raw) > limits.ARGUMENT_BYTES:
        return None
    try:
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if sum(_structure(member) for member in members.values()) > limits.ARGUMENT_STRUCTURE_BYTES:
            return None
        value: JsonObject = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return value if is_within(value, limits.JSON_DEPTH, limits.JSON_PIECES) else None


def _structure(member: msgspec.Raw) -> int:
    """Return how long a value is that is no text."""
    view = memoryview(member)
    return 0 if bytes(view[:1]) == b'"' else len(view)


async def passed_on(events: Iterable[StreamEvent]) -> AsyncIterator[StreamEvent]:
    """Yield events of which none is long, as a provider may send a whole answer in one line; others have their turn."""
    last = None
    for event in _in_pieces(events):
        if type(event) is type(last):
            await asyncio.sleep(0)
        yield event
        last = event


def _in_pieces(events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    for event in events:
        if isinstance(event, TextDelta) and len(event.text) > limits.DELTA_CHARS:
            yield from (TextDelta(piece) for piece in _cut(event.text))
        elif isinstance(event, ThinkingDelta) and len(event.text) > limits.DELTA_CHARS:
            yield from (ThinkingDelta(piece) for piece in _cut(event.text))
            if event.opaque is not None:
                yield ThinkingDelta("", event.opaque)
        elif isinstance(event, CallArguments) and len(event.text) > limits.DELTA_CHARS:
            size = event.size - len(event.text.encode())
            for piece in _cut(event.text):
                size += len(piece.encode())
                yield CallArguments(event.index, piece, size)
        else:
            yield event


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + limits.DELTA_CHARS] for start in range(0, len(text), limits.DELTA_CHARS))
