"""How a model's tools are offered and its calls understood: natively, by lines of text, or in enforced JSON.

Whatever the way, the same events come out, so everything that follows is the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.bounded import Bounded
from pilothouse.models.constrained import SaidOrCalled, constrained
from pilothouse.models.lowering import in_text
from pilothouse.models.native_tools import lacking
from pilothouse.models.text_calls import TextCalls
from pilothouse.models.tool_names import ToolNames
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import (
    CallArguments,
    CallEnd,
    CallStart,
    Failed,
    Retrying,
    Stopped,
    StreamEvent,
    TextDelta,
)


class _TextReader(Protocol):
    """What makes calls of text."""

    @property
    def complete(self) -> bool:
        """Return whether nothing more is wanted of the model."""
        ...

    def feed(self, piece: str) -> None:
        """Take more text."""
        ...

    def finish(self, *, cut: bool = False) -> None:
        """Take the end of the text."""
        ...


class ToolCalling:
    """A model that calls tools in the way that a request says."""

    def __init__(self, model: Model, config: ModelConfig, rounds: int) -> None:
        self.model: Model = Bounded(model)
        self._config = config
        # How often a model that is held to a schema may call before it must say something.
        self._rounds = rounds

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it arrives."""
        if missing := lacking(self._config, request):
            return _refused(missing)
        if request.call_style == "text":
            return self._by_text(request)
        if not request.tools:
            return self.model.stream(request)
        return self._constrained(request) if request.call_style == "constrained" else self._natively(request)

    async def _natively(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the model's own answer; calls that it wrote at its beginning as text are taken for calls."""
        answer = Answer()
        reader = TextCalls(answer, ToolNames(request.tools), only_first=True)
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                if type(event) is TextDelta and not reader.only_text:
                    reader.feed(event.text)
                    for made in answer.take():
                        yield made
                    continue
                if isinstance(event, Stopped | Failed | CallStart):
                    reader.finish(cut=not isinstance(event, Stopped) or event.reason == "length")
                    for made in answer.take():
                        yield made
                yield _after_calls(event, answer.calls)

    async def _by_text(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = Answer()
        reader = TextCalls(answer, ToolNames(request.tools))
        async with aclosing(self._read(in_text(request), answer, reader)) as events:
            async for event in events:
                yield event

    async def _constrained(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = Answer()
        reader = SaidOrCalled(answer, ToolNames(request.tools))
        asked = constrained(request, self._rounds)
        refused = False
        async with aclosing(self._read(asked, answer, reader)) as events:
            first = True
            async for event in events:
                refused = first and isinstance(event, Failed) and event.code == "model_refused"
                if refused:
                    break
                first = first and isinstance(event, Retrying)
                yield event
        if refused:
            # This server enforces no such schema; lines of text need nobody's help.
            async with aclosing(self._by_text(request)) as events:
                async for event in events:
                    yield event

    async def _read(
        self, request: ModelRequest, answer: Answer, reader: _TextReader
    ) -> AsyncGenerator[StreamEvent, None]:
        """Ask in plain text and yield what the reader makes of it; once the calls are complete the model is stopped."""
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    reader.feed(event.text)
                elif isinstance(event, Stopped | Failed):
                    reader.finish(cut=isinstance(event, Failed) or event.reason == "length")
                for made in answer.take():
                    yield made
                if reader.complete:
                    break
                if not isinstance(event, TextDelta):
                    yield _after_calls(event, answer.calls)
        if reader.complete:
            # Only now: the next request begins when this one is closed for certain.
            yield Stopped("tool")


async def _refused(why: str) -> AsyncGenerator[StreamEvent, None]:
    yield Failed("model_refused", why)


def _after_calls(event: StreamEvent, calls: int) -> StreamEvent:
    """Return an event of the model itself, when calls were found in its text before."""
    match event:
        case Stopped(reason="end" | "other") if calls:
            return Stopped("tool", event.raw)
        case CallStart() | CallArguments() | CallEnd() if calls:
            return msgspec.structs.replace(event, index=event.index + calls)
        case _:
            return event
