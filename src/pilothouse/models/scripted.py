"""The scripted model: answers from a file, the same every time, faults included.

Which turn answers is read off the request, so a restart changes nothing. Only a fault with `times` has a
memory: it counts per script, turn and step within this process.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os.path
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from typing import NoReturn

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.failures import Refused, Teller
from pilothouse.models.retries import patiently
from pilothouse.models.script import (
    CallStep,
    CiteStep,
    FaultStep,
    PictureStep,
    Script,
    Step,
    StopStep,
    TextStep,
    ThinkingStep,
    Turn,
    UsageStep,
    WaitStep,
    load_script,
)
from pilothouse.models.wire import ending
from pilothouse.types import limits
from pilothouse.types.home_paths import at_home
from pilothouse.types.messages import ModelRequest, TextBlock
from pilothouse.types.stream import Cited, PictureDelta, Stopped, StopReason, StreamEvent, Usage

# How often a pause looks for the file that ends it.
_LOOK_EVERY = 0.02
_met: Counter[tuple[str, int, int]] = Counter()


class ScriptedModel:
    """A model that says what its script says."""

    def __init__(
        self,
        path: str,
        *,
        first_byte: float = limits.FIRST_BYTE_TIMEOUT,
        silence: float = limits.SILENCE_TIMEOUT,
        first_wait: float = limits.RETRY_FIRST_WAIT,
    ) -> None:
        self.script: Script = load_script(path)
        self._first_byte = first_byte
        self._silence = silence
        self._first_wait = first_wait
        self._teller = Teller("The script", (), "")

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Answer with the turn that the request calls for."""
        answers, since, text = _place(request)
        turn = self.script.turn(text, answers, since)
        return patiently(lambda: self._attempt(request, turn, answers), self._first_wait)

    async def _attempt(self, request: ModelRequest, turn: Turn, answers: int) -> AsyncGenerator[StreamEvent, None]:
        """Tell the turn's events up to the first fault that is due."""
        answer = Answer()
        told = _Told(request)
        try:
            for number, step in enumerate(turn.steps):
                await self._perhaps_fail(turn, told.events, number)
                if isinstance(step, PictureStep):
                    answer.add(await asyncio.to_thread(self._picture, step))
                for pause in _played(step, answer, told, f"call_{answers + 1}_{number + 1}"):
                    for event in answer.take():
                        told.count(event)
                        yield event
                        await self._perhaps_fail(turn, told.events)
                    await _rest(pause, getattr(step, "until", ""))
        except Refused as refusal:
            yield Stopped("refusal", str(refusal) or None)
            return
        ending(answer, told.usage(), told.stop, None)
        for event in answer.take():
            yield event

    def _picture(self, step: PictureStep) -> PictureDelta:
        """Return a picture with its bytes; one that cannot be read has none."""
        try:
            data = at_home(self.script.path).parent.joinpath(at_home(step.picture)).read_bytes()
        except OSError:
            data = b""
        return PictureDelta(step.type, base64.b64encode(data).decode())

    async def _perhaps_fail(self, turn: Turn, events: int, at: int | None = None) -> None:
        """Fail if a fault is due: at the step we are at, or after so many events."""
        for number, step in enumerate(turn.steps):
            if not isinstance(step, FaultStep):
                continue
            here = number == at if step.after is None else at is None and step.after == events
            if here and self._is_due((self.script.path, turn.number, number), step.times):
                await self._fail(step, events)

    def _is_due(self, key: tuple[str, int, int], times: int | None) -> bool:
        _met[key] += 1
        return times is None or _met[key] <= times

    async def _fail(self, fault: FaultStep, events: int) -> NoReturn:
        match fault.fault:
            case "refusal":
                raise Refused(fault.message)
            case "stall":
                limit = self._silence if events else self._first_byte
                await asyncio.sleep(limit)
                raise self._teller.stalled(f"nothing came for {limit:g} s")
            case "cut":
                raise self._teller.broken(fault.message or "the other side closed the connection")
            case "bad_chunk":
                raise self._teller.broken("it sent something that is not what this provider sends")
            case "context_too_long":
                raise self._teller.status(400, fault.message or "the maximum context length is exceeded")
            case int() as status:
                setback = self._teller.status(status, fault.message)
                setback.retry_after = fault.retry_after
                raise setback


class _Told:
    """What a turn has told so far, for its counts and its end."""

    def __init__(self, request: ModelRequest) -> None:
        self.events = 0
        self.stop: StopReason = "end"
        self.given: Usage | None = None
        self._request = request
        self._chars = 0

    def count(self, event: StreamEvent) -> None:
        """Take in that an event was told."""
        self.events += 1
        self._chars += len(getattr(event, "text", ""))

    def usage(self) -> Usage:
        """Return the script's counts, else an estimate by length."""
        asked = len(msgspec.json.encode((self._request.system, self._request.messages)))
        per_token = limits.CHARS_PER_TOKEN
        return self.given or Usage(input=asked // per_token + 1, output=self._chars // per_token + 1)


def _place(request: ModelRequest) -> tuple[int, int, str]:
    """Return how many answers the request holds, how many since the person's last words, and these words."""
    answers = since = 0
    text = ""
    for message in request.messages:
        if message.role == "assistant":
            answers += 1
            since += 1
        elif said := "".join(block.text for block in message.content if isinstance(block, TextBlock)):
            text, since = said, 0
    return answers, since, text


def _played(step: Step, answer: Answer, told: _Told, key: str) -> Iterator[float]:
    """Add a step to the answer piece by piece; after each comes the pause that follows it."""
    match step:
        case TextStep() | ThinkingStep():
            say, words = (answer.text, step.text) if isinstance(step, TextStep) else (answer.thinking, step.thinking)
            for piece in _cut(words, step.pieces):
                say(piece)
                yield step.every
        case CallStep():
            yield from _called(step, answer, step.id or key)
        case PictureStep():
            yield 0.0
        case CiteStep():
            answer.add(Cited(step.cite, step.title, step.quote))
            yield 0.0
        case WaitStep():
            yield step.wait
        case UsageStep():
            told.given = step.usage
        case StopStep():
            told.stop = step.stop


async def _rest(seconds: float, until: str) -> None:
    """Pause, no longer than until the file is there."""
    if not until:
        await asyncio.sleep(seconds)
        return
    for _ in range(math.ceil(seconds / _LOOK_EVERY)):
        if await asyncio.to_thread(os.path.exists, until):
            return
        await asyncio.sleep(_LOOK_EVERY)


def _called(step: CallStep, answer: Answer, key: str) -> Iterator[float]:
    answer.start(key, key, step.call)
    yield 0.0
    given = step.arguments
    for piece in _cut(given if isinstance(given, str) else msgspec.json.encode(given).decode(), step.pieces):
        answer.arguments(key, piece)
        yield step.every
    answer.end(key)
    yield 0.0


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
