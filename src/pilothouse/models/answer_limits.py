"""An answer that does not end is ended: what came of it stays, and why it ended is told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pilothouse.models.signature_owners import marked
from pilothouse.types import limits
from pilothouse.types.json import encode
from pilothouse.types.messages import ModelRequest
from pilothouse.types.ports import Model
from pilothouse.types.stream import (
    CallArguments,
    CallStart,
    Cited,
    Failed,
    NativeDelta,
    PictureDelta,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
)

_ANSWER = (
    "The model did not stop by itself, so its answer was ended at {:,} characters. What came is kept. "
    "Ask for less, or set longest_answer in config.json."
)
_ARGUMENTS = "The model did not stop writing the arguments of a call, so its answer was ended at {:,} bytes of them."


class Bounded:
    """A model whose answers end, if not by themselves then at a bound."""

    def __init__(self, model: Model, home: str = "") -> None:
        """Take the model, and the mark of its home for what its provider wants back."""
        self._model = model
        self._home = home

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        left = request.longest_answer
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                left -= _size(event)
                if left < 0:
                    yield Failed("answer_too_long", _ANSWER.format(request.longest_answer))
                    return
                if type(event) is CallArguments and event.size > limits.ARGUMENT_BYTES_MOST:
                    yield Failed("answer_too_long", _ARGUMENTS.format(limits.ARGUMENT_BYTES_MOST))
                    return
                yield marked(event, self._home) if self._home and type(event) is not TextDelta else event


def _size(event: StreamEvent) -> int:
    """Return what an event adds to the answer, in characters."""
    match event:
        case TextDelta() | CallArguments():
            return len(event.text)
        case ThinkingDelta():
            return len(event.text) + (len(encode(event.opaque)) if event.opaque is not None else 0)
        case CallStart():
            return len(event.id) + len(event.name)
        case NativeDelta():
            return len(encode(event.raw))
        case TextEnd():
            return len(encode(event.opaque)) if event.opaque is not None else 0
        case PictureDelta():
            # How large and how many they may be has bounds of its own, where they are kept.
            return limits.PICTURE_CHARS
        case Cited():
            return len(event.url) + len(event.title) + len(event.quote)
        case _:
            return 0
