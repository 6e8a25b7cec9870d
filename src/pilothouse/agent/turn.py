"""One turn: the model's answer, written down as it arrives.

Calls become executable only in the transaction that completes the answer they belong to: an answer that
broke off leaves no half-made call behind that anyone could execute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress

import msgspec

from pilothouse.agent.answer_order import AnswerOrder
from pilothouse.agent.metering import Meter, kept_when_stopped
from pilothouse.agent.pictures import Pictures
from pilothouse.types import limits, stream
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.invisible import sound
from pilothouse.types.item_data import CallData, CallError, Level, NoticeData, ResponseData, ResponseError, ThinkingData
from pilothouse.types.items import Item, ItemStatus, TurnId, is_a, patch, read
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Journal, Model
from pilothouse.types.sources import Source

_DECLINED = "The model declined to answer."
_EMPTY = "The model gave an empty answer."
_PARAGRAPH = "\n\n"
_UNREADABLE = "The model made a call that its provider could not read"

# From a tool's name, and once they are there its arguments (or the text that should have been some) and the id of its
# item, to what the item says about the call: without secrets.
Describe = Callable[[str, JsonObject | str | None, str], Awaitable[JsonObject]]


async def take_turn(model: Model, request: ModelRequest, writer: TurnWriter) -> stream.Failed | None:
    """Ask the model and write its answer; return the failure if there was one."""
    async with writer.stoppable(), aclosing(model.stream(request)) as events:
        async for told in events:
            if type(told) is stream.TextDelta:
                await writer.text(told.text)
                continue
            event = _sound(told)
            if isinstance(event, stream.Failed):
                break
            await writer.take(event)
        else:
            event = None
    if event is None:
        return await writer.finish()
    await writer.broke_off(event)
    return event


def _sound(event: stream.StreamEvent) -> stream.StreamEvent:
    """Return an event that can be written down: models write escapes, and half of a pair is no character."""
    unsound = {
        name: sounded
        for name in event.__struct_fields__
        if (sounded := sound(value := getattr(event, name))) is not value
    }
    return msgspec.structs.replace(event, **unsound) if unsound else event


class _Call:
    """A call while the model makes it."""

    __slots__ = ("data", "item")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.data: JsonObject = {}


class TurnWriter:
    """Turns a model's stream into items."""

    def __init__(
        self, journal: Journal, turn: TurnId, config: ModelConfig, describe: Describe, meter: Meter | None = None
    ) -> None:
        self._journal = journal
        self._meter = meter or Meter(0)
        self._turn = turn
        self._config = config
        self._describe = describe
        self._order = AnswerOrder()
        # Whether anything but text came since the last of it, and what that was.
        self._turned = False
        self._last_text = ""
        self._began = time.monotonic()
        self._first_token: float | None = None
        # When the first and the last piece of it came, how many there were, and whether its thinking was among them.
        self._pieces = 0
        self._first_piece = 0.0
        self._last_piece = 0.0
        self._thought = False
        self._response: str | None = None
        self._thinking: str | None = None
        self._thinking_began = 0.0
        self._opaque: list[JsonObject] = []
        self._retry: str | None = None
        self._calls: dict[int, _Call] = {}
        # The ids of all calls of the conversation, once one more begins.
        self._call_ids: set[str] | None = None
        # How many calls were beyond what one answer may ask for.
        self._left_out = 0
        self._native: list[JsonObject] = []
        self._pictures = Pictures(journal)
        # By address, or by title where there is none: a source is told once.
        self._sources: dict[str, Source] = {}
        self._told: list[stream.Notice] = []
        self._stopped: stream.Stopped | None = None

    # --- what the stream brings ---

    async def text(self, text: str) -> None:
        """Take a piece of the answer; an empty one says nothing."""
        if not text:
            return
        response = self._response
        if response is None or self._turned:
            response = await self._turn_to_text(text)
        self._piece()
        self._meter.wrote(len(text))
        self._order.length += len(text)
        self._last_text = text
        self._journal.delta(response, text)

    async def _turn_to_text(self, text: str) -> str:
        """Return the item of the answer's text after something else; what is not one paragraph is not shown as one."""
        self._turned = False
        if self._response is None:
            await self._end_thinking()
            return await self._respond()
        await self._end_thought()
        if self._order.is_apart and not (self._last_text[-1:].isspace() or text[0].isspace()):
            self._order.show(len(_PARAGRAPH))
            self._journal.delta(self._response, _PARAGRAPH)
        self._order.is_apart = False
        return self._response

    async def _respond(self) -> str:
        """Return the item of the answer's text, which begins with its first piece or picture."""
        if self._response is None:
            item = self._journal.new("response", data=self._about_response())
            try:
                await self._write(ItemCreated(item=item))
            except asyncio.CancelledError:
                # Stopped while it was being written: it may be there all the same, and is the one answer then.
                with suppress(KeyError):
                    self._response = self._journal.item(item.id).id
                raise
            self._response = item.id
        return self._response

    async def take(self, event: stream.StreamEvent) -> None:
        """Take anything but text and failure."""
        self._meter.take(event)
        if isinstance(event, stream.Usage):
            return
        self._turned = True
        match event:
            case stream.ThinkingDelta():
                await self._think(event)
            case stream.CallStart():
                await self._call_started(event)
            case stream.CallArguments():
                self._piece()
                if event.index in self._calls:
                    self._journal.note(self._calls[event.index].item.id, patch(CallData, argument_bytes=event.size))
            case stream.CallEnd():
                await self._call_received(event)
            case stream.Retrying():
                await self._retrying(event)
            case stream.Stopped():
                self._stopped = event
            case _:
                await self._take_beside(event)

    async def _take_beside(self, event: stream.StreamEvent) -> None:
        """Take what stands beside the answer's words, and where these end."""
        match event:
            case stream.TextEnd():
                if event.opaque is not None:
                    await self._end_thought()
                self._order.end_block(event.opaque)
            case stream.NativeDelta():
                await self._end_thought()
                self._native.append(event.raw)
                self._order.add("native")
            case stream.PictureDelta():
                await self._picture(event)
            case stream.Cited():
                self._cited(event)
            case stream.Notice():
                self._told.append(event)
            case _:
                pass

    async def _think(self, event: stream.ThinkingDelta) -> None:
        if event.opaque is not None and not self._order.ends_with_thinking:
            # What is sealed stands here, and not where thinking without a seal was left for other things.
            await self._end_thinking()
        if self._thinking is None:
            item = self._journal.new("thinking", data=patch(ThinkingData, turn=self._turn.tag))
            await self._write(ItemCreated(item=item))
            self._order.add("thinking")
            self._thinking, self._thinking_began = item.id, time.monotonic()
        if event.opaque is not None:
            self._opaque.append(event.opaque)
        if event.text:
            self._piece()
            self._thought = True
            self._journal.delta(self._thinking, event.text)

    async def _call_started(self, event: stream.CallStart) -> None:
        if len(self._calls) >= limits.CALLS_PER_TURN:
            self._left_out += 1
            return
        await self._end_thought()
        self._order.add("call")
        data = patch(CallData, turn=self._turn.tag, call_id=self._call_id(event.id), argument_bytes=0)
        data |= await self._describe(event.name, None, "")
        item = self._journal.new("tool_call", data=data | _phase("started"))
        self._begin()
        self._journal.soon(item)
        self._calls[event.index] = _Call(item)

    def _call_id(self, given: str) -> str:
        """Return the model's id for the call, or a fresh one where it gave none or one that is taken."""
        if self._call_ids is None:
            self._call_ids = {item.data.call_id for item in self._journal.items if is_a(item, CallData)}
        taken = self._call_ids
        chosen = given
        if not given or given in taken:
            chosen = f"call_{self._turn.tag.replace('.', '_')}_{len(self._calls)}_{len(taken)}"
        taken.add(chosen)
        return chosen

    async def _call_received(self, event: stream.CallEnd) -> None:
        call = self._calls.get(event.index)
        if call is None:
            return
        given = event.raw if event.arguments is None else event.arguments
        call.data = await self._describe(event.name, given, call.item.id)
        call.data |= patch(CallData, argument_bytes=len(event.raw.encode()))
        if event.opaque is not None:
            call.data |= patch(CallData, opaque=event.opaque)
        self._journal.note(call.item.id, call.data | _phase("args_received"))

    async def _picture(self, event: stream.PictureDelta) -> None:
        """Keep a picture beside the timeline, where readers find it as soon as it came."""
        part = await self._pictures.checked(event)
        if part is None:
            return
        await self._end_thought()
        item_id = await self._respond()
        self._order.add_picture(len(self._pictures.content), event.opaque)
        content = await self._pictures.keep(item_id, part, self._order.length)
        await self._write(ItemUpdated(item_id=item_id, data=content))

    def _cited(self, event: stream.Cited) -> None:
        key, most = event.url or event.title, limits.SOURCE_CHARS
        # An address that was cut would lead elsewhere.
        if not key or len(event.url) > most or key in self._sources or len(self._sources) >= limits.ANSWER_SOURCES:
            return
        self._sources[key] = Source(url=event.url, title=event.title[:most], quote=event.quote[:most])

    async def _retrying(self, event: stream.Retrying) -> None:
        data = patch(
            NoticeData,
            level="warning",
            code="retrying",
            attempt=event.attempt,
            until=time.time() + event.wait,
            wait_seconds=event.wait,
        )
        if self._retry is not None:
            await self._write(*self._end_retry())
        item = self._journal.new("notice", status="waiting", text=event.why, data=data)
        await self._write(ItemCreated(item=item))
        self._retry = item.id

    # --- how it ends ---

    async def finish(self) -> stream.Failed | None:
        """Complete the answer and make its calls executable, together."""
        if self._stopped is None:
            failure = stream.Failed("stream_broken", "The model's answer broke off.", retryable=True)
            await self.broke_off(failure)
            return failure
        if self._stopped.reason == "malformed":
            failure = _unreadable(self._stopped.raw or "")
            await self.broke_off(failure)
            return failure
        cut = self._cut_calls()
        if any(not call.data for call in self._calls.values() if call not in cut):
            failure = stream.Failed("stream_broken", "The model's tool call broke off.", retryable=True)
            await self.broke_off(failure)
            return failure
        events: list[Event] = [*self._end_retry(), *self._thinking_end("completed")]
        data = self._measures()
        if (order := self._order.kept()) is not None:
            data |= patch(ResponseData, order=order)
        if self._response is None:
            events.append(self._unsaid("completed", data))
        else:
            events.append(ItemCompleted(item_id=self._response, status="completed", data=data))
        for call in self._calls.values():
            phase = _phase("args_received", read(CallData, call.item.raw).phases)
            about = call.data | (patch(CallData, cut_short=True) if call in cut else {})
            events.append(ItemUpdated(item_id=call.item.id, status="waiting", data=about | phase))
        events += [ItemCreated(item=notice) for notice in self._notices()]
        # What follows from it is a promise: the run's end, a question, or the intent of a call.
        if not (self._calls and self._journal.later(*events)):
            await self._journal.write(*events, promised=False)
        return None

    async def broke_off(self, failure: stream.Failed) -> None:
        """End everything this attempt began; its text stays visible, marked."""
        self._meter.take(failure)
        error = ResponseError(code=failure.code, message=failure.message)
        events: list[Event] = [*self._end_retry(), *self._thinking_end("failed", cut_off=True)]
        data = self._measures() | patch(ResponseData, cut_off=True, error=error)
        if self._response is not None:
            events.append(ItemCompleted(item_id=self._response, status="failed", data=data))
        elif self._meter.usage is not None:
            # Nothing was said, and what was thought or asked for until then was paid for.
            events.append(self._unsaid("failed", data))
        for call in self._calls.values():
            lost = CallError(code="CUT_OFF", message=failure.message, retryable=True)
            data = patch(CallData, cut_off=True, error=lost)
            events.append(ItemCompleted(item_id=call.item.id, status="failed", data=data | _phase("failed")))
        if events:
            await self._journal.write(*events, promised=False)

    def stoppable(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which what was used counts also if the person, or the program's end, stops it."""
        return kept_when_stopped(self._journal, self._stopped_event)

    def _stopped_event(self) -> Event | None:
        if self._meter.usage is None:
            return None
        if self._response is not None:
            return ItemUpdated(item_id=self._response, data=self._measures())
        return self._unsaid("cancelled", self._measures() | patch(ResponseData, cut_off=True))

    # --- parts ---

    def _unsaid(self, status: ItemStatus, data: JsonObject) -> ItemCreated:
        """Return an answer of which nothing was said."""
        return ItemCreated(item=self._journal.new("response", status=status, data=self._about_response() | data))

    def _about_response(self) -> JsonObject:
        about, continues = patch(ResponseData, turn=self._turn.tag), self._turn.continues
        return about | (patch(ResponseData, continues=continues) if continues else {})

    def _cut_calls(self) -> list[_Call]:
        """Return the calls that a limit cut: they look complete, or broken, and are neither."""
        if self._stopped is None or self._stopped.reason not in stream.CUT:
            return []
        calls = list(self._calls.values())
        # Only the last may have lost all its arguments: a call before it that has none takes none.
        return [call for call in calls if _is_broken(call) or (call is calls[-1] and _is_empty(call))]

    async def _write(self, event: Event) -> None:
        if not (isinstance(event, ItemCreated) and event.item.kind == "notice"):
            self._begin()
        await self._journal.write(event, promised=False)

    def _begin(self) -> None:
        if self._first_token is None:
            self._first_token = time.monotonic()

    async def _end_thought(self) -> None:
        """End thinking that its provider has sealed, because something else follows it; what follows that is new."""
        if self._opaque and not self._order.is_full:
            await self._end_thinking()

    async def _end_thinking(self) -> None:
        events = [*self._end_retry(), *self._thinking_end("completed")]
        if events:
            await self._journal.write(*events, promised=False)

    def _thinking_end(self, status: ItemStatus, *, cut_off: bool = False) -> list[Event]:
        if self._thinking is None:
            return []
        data = patch(ThinkingData, duration_ms=round((time.monotonic() - self._thinking_began) * 1000))
        if self._opaque:
            data |= patch(ThinkingData, opaque=tuple(self._opaque))
        if cut_off:
            data |= patch(ThinkingData, cut_off=True)
        item_id, self._thinking, self._opaque = self._thinking, None, []
        return [ItemCompleted(item_id=item_id, status=status, data=data)]

    def _end_retry(self) -> list[Event]:
        if self._retry is None:
            return []
        item_id, self._retry = self._retry, None
        return [ItemCompleted(item_id=item_id, status="completed")]

    def _piece(self) -> None:
        """Count a piece of the answer."""
        self._last_piece = time.monotonic()
        if self._pieces == 0:
            self._first_piece = self._last_piece
        self._pieces += 1

    def _speed(self) -> float | None:
        """Return how many tokens came in a second; None for what came at once, or in too short a time to tell."""
        spent = self._last_piece - self._first_piece
        usage = self._meter.usage
        if usage is None or usage.estimated or self._pieces < limits.SPEED_PIECES or spent < limits.SPEED_SECONDS:
            return None
        # Thinking that is not shown was over before the first piece.
        tokens = usage.output - (0 if self._thought else usage.reasoning)
        return round(tokens / spent, 1) if tokens >= limits.SPEED_TOKENS else None

    def _measures(self) -> JsonObject:
        now = time.monotonic()
        data = patch(ResponseData, model=self._config.id, duration_ms=round((now - self._began) * 1000))
        if self._first_token is not None:
            data |= patch(ResponseData, first_token_ms=round((self._first_token - self._began) * 1000))
        if (used := self._config.used(self._meter.usage)) is not None:
            data |= patch(ResponseData, usage=used.usage)
            data |= patch(ResponseData, cost=used.cost) if used.cost is not None else {}
        if (speed := self._speed()) is not None:
            data |= patch(ResponseData, tokens_per_second=speed)
        if self._stopped is not None:
            data |= patch(ResponseData, stop=self._stopped.reason)
        if self._native:
            data |= patch(ResponseData, native=tuple(self._native))
        if self._sources:
            data |= patch(ResponseData, sources=tuple(self._sources.values()))
        return data

    def _said_nothing(self) -> bool:
        reason = self._stopped.reason if self._stopped is not None else "other"
        # What was cut or paused says so by itself, and so does what is asked for again.
        if reason in ("length", "context", "pause"):
            return False
        return reason == "refusal" or not (self._response or self._calls or self._native or self._pictures.left_out)

    def _notices(self) -> list[Item]:
        """Return what the person should know about an answer that stands."""
        said: list[tuple[str, str]] = []
        if self._said_nothing():
            refused = self._stopped is not None and self._stopped.reason == "refusal"
            said.append(("refused", _DECLINED) if refused else ("empty_answer", _EMPTY))
        said += [("picture_left_out", why) for why in self._pictures.left_out]
        if self._left_out:
            asked = len(self._calls) + self._left_out
            text = f"The model asked for {asked} calls at once; only the first {len(self._calls)} were taken."
            said.append(("calls_left_out", text))
        return [self._notice(code, text, "warning") for code, text in said] + self._notices_of_model()

    def _notices_of_model(self) -> list[Item]:
        """Return what the model's side says about the request, unless the conversation has it already."""
        if not self._told:
            return []
        known = {(item.data.code, item.text) for item in self._journal.items if is_a(item, NoticeData)}
        fresh = dict.fromkeys(notice for notice in self._told if (notice.code, notice.text) not in known)
        return [self._notice(notice.code, notice.text, "info") for notice in fresh]

    def _notice(self, code: str, text: str, level: Level) -> Item:
        data = patch(NoticeData, level=level, code=code)
        return self._journal.new("notice", status="completed", text=text, data=data)


def _unreadable(words: str) -> stream.Failed:
    """Return the failure of a call that its provider could not read, in the provider's words if it has any."""
    said = " ".join(words.split())[: limits.ERROR_TEXT_CHARS]
    message = f"{_UNREADABLE}: “{said}”." if " " in said else f"{_UNREADABLE}."
    return stream.Failed("call_unreadable", message, retryable=True)


def _is_empty(call: _Call) -> bool:
    return not read(CallData, call.data).argument_bytes


def _is_broken(call: _Call) -> bool:
    return read(CallData, call.data).arguments is None


def _phase(phase: str, earlier: dict[str, float] | None = None) -> JsonObject:
    return patch(CallData, phase=phase, phases={**(earlier or {}), phase: time.time()})
