"""How a model's tools are offered and its calls understood: natively, by lines of text, or in enforced JSON.

Whatever the way, the same events come out, so everything that follows is the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.answer_limits import Bounded
from pilothouse.models.learned_limits import SCHEMAS, Lesson, ModelLessons
from pilothouse.models.native_tools import lacking
from pilothouse.models.signature_owners import home_of_model
from pilothouse.models.text_calls import TextCalls
from pilothouse.models.tool_names import ToolNames
from pilothouse.models.translation import keeps_proofs, translated
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import (
    CUT,
    CallArguments,
    CallEnd,
    CallStart,
    Failed,
    NativeDelta,
    Notice,
    PictureDelta,
    Retrying,
    Stopped,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
)

# ruff: noqa: PLC0415 - most models call tools natively, and whoever asks one of those need not wait for the other ways.
if TYPE_CHECKING:
    from pilothouse.models.constrained import SaidOrCalled

# What cannot stand inside a call that is written as text.
_DECIDES = (Stopped, Failed, CallStart, NativeDelta, PictureDelta)
# What comes after a block of text has ended.
_GOES_ON = (TextDelta, ThinkingDelta, TextEnd)


class ToolCalling:
    """A model that calls tools in the way that a request says."""

    def __init__(self, model: Model, config: ModelConfig, rounds: int, lessons: ModelLessons | None = None) -> None:
        self._home = home_of_model(config) if keeps_proofs(config.provider) else ""
        self.model: Model = Bounded(model, self._home)
        self._lessons = lessons or ModelLessons()
        self._config = config
        # How often a model that is held to a schema may call before it must say something.
        self._rounds = rounds

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if missing := lacking(self._config, request):
            return _refused(missing)
        asked, notice = translated(request, self._config.provider, self._home)
        answer = self._asked(asked)
        return _with_notice(notice, answer) if notice else answer

    def _asked(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.call_style == "text":
            return self._by_text(request)
        if not request.tools:
            return self.model.stream(request)
        if request.call_style != "constrained":
            return self._natively(request)
        self._lessons.refresh()
        return self._by_text(request) if self._lessons.has(SCHEMAS) else self._constrained(request)

    async def _natively(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the model's own answer; calls that it wrote at its beginning as text are taken for calls."""
        answer = Answer()
        reader = TextCalls(answer, ToolNames(request), only_first=True)
        # The end of a block of text of which it is not decided yet whether it is a call.
        held: TextEnd | None = None
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                if not reader.only_text:
                    if type(event) is TextDelta and held is None:
                        reader.feed(event.text)
                        for made in answer.take():
                            yield made
                        continue
                    if isinstance(event, TextEnd) and held is None:
                        held = event
                        continue
                    if isinstance(event, _DECIDES) or (held and isinstance(event, _GOES_ON)):
                        reader.finish(cut=not isinstance(event, Stopped) or event.reason in CUT)
                        for made in answer.take():
                            yield made
                        if held and not answer.calls:
                            yield held
                yield _after_calls(event, answer.calls)

    async def _by_text(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        from pilothouse.models.text_protocol import in_text

        answer = Answer()
        reader = TextCalls(answer, ToolNames(request))
        async with aclosing(self._read(in_text(request), answer, reader)) as events:
            async for event in events:
                yield event

    async def _constrained(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        from pilothouse.models.constrained import SaidOrCalled, constrained

        answer = Answer()
        reader = SaidOrCalled(answer, ToolNames(request))
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
                    if isinstance(event, Stopped):
                        await self._lessons.keep([Lesson(SCHEMAS)])
                    yield event

    async def _read(
        self, request: ModelRequest, answer: Answer, reader: TextCalls | SaidOrCalled
    ) -> AsyncGenerator[StreamEvent, None]:
        """Ask in plain text and yield what the reader makes of it; once the calls are complete the model is stopped."""
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    reader.feed(event.text)
                elif isinstance(event, Stopped | Failed):
                    reader.finish(cut=isinstance(event, Failed) or event.reason in CUT)
                for made in answer.take():
                    yield made
                if reader.complete:
                    break
                # Where a block of text ended says nothing about what the reader made of it.
                if not isinstance(event, TextDelta | TextEnd):
                    yield _after_calls(event, answer.calls)
        if reader.complete:
            # Only now: the next request begins when this one is closed for certain.
            yield Stopped("tool")


async def _refused(why: str) -> AsyncGenerator[StreamEvent, None]:
    yield Failed("model_refused", why)


async def _with_notice(notice: Notice, answer: AsyncGenerator[StreamEvent, None]) -> AsyncGenerator[StreamEvent, None]:
    yield notice
    async with aclosing(answer) as events:
        async for event in events:
            yield event


def _after_calls(event: StreamEvent, calls: int) -> StreamEvent:
    """Return an event of the model itself, when calls were found in its text before."""
    match event:
        case Stopped(reason="end" | "other") if calls:
            return Stopped("tool", event.raw)
        case CallStart() | CallArguments() | CallEnd() if calls:
            return msgspec.structs.replace(event, index=event.index + calls)
        case _:
            return event
