"""An answer that does not end is ended: what came of it stays, and why it ended is told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pilothouse.types import limits
from pilothouse.types.json import encode
from pilothouse.types.messages import ModelRequest
from pilothouse.types.ports import Model
from pilothouse.types.stream import (
    CallArguments,
    CallStart,
    Failed,
    NativeDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

_ANSWER = (
    "The model did not stop by itself, so its answer was ended at {:,} characters. What came is kept. "
    "Ask for less, or set longest_answer in config.json."
)
_ARGUMENTS = "The model did not stop writing the arguments of a call, so its answer was ended at {:,} bytes of them."


class Bounded:
    """A model whose answers end, if not by themselves then at a bound."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as far as it may go; closing the stream stops the model."""
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
                yield event


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
        case _:
            return 0
