"""One turn: the model's answer, written down as it arrives.

Calls become executable only in the transaction that completes the answer they belong to: an answer that
broke off leaves no half-made call behind that anyone could execute.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from pilothouse.types import limits, stream
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.invisible import sound
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest
from pilothouse.types.ports import Journal, Model

_DECLINED = "The model declined to answer."
_EMPTY = "The model gave an empty answer."

# From a tool's name, and once they are there its arguments (or the text that should have been some) and the id of its
# item, to what the item says about the call: without secrets.
Describe = Callable[[str, JsonObject | str | None, str], Awaitable[JsonObject]]


class TurnId(msgspec.Struct, frozen=True):
    """Which turn of the run, and which attempt at it."""

    turn: int
    attempt: int

    @property
    def tag(self) -> str:
        """Return the mark that the turn's items carry."""
        return f"{self.turn}.{self.attempt}"


async def take_turn(model: Model, request: ModelRequest, writer: TurnWriter) -> stream.Failed | None:
    """Ask the model and write its answer; return the failure if there was one."""
    async with aclosing(model.stream(request)) as events:
        async for told in events:
            if type(told) is stream.TextDelta:
                await writer.text(told.text)
                continue
            event = _sound(told)
            if isinstance(event, stream.Failed):
                await writer.broke_off(event)
                return event
            await writer.take(event)
    return await writer.finish()


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

    def __init__(self, journal: Journal, turn: TurnId, model_id: str, describe: Describe) -> None:
        self._journal = journal
        self._turn = turn
        self._model_id = model_id
        self._describe = describe
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
        self._usage: stream.Usage | None = None
        self._stopped: stream.Stopped | None = None

    # --- what the stream brings ---

    async def text(self, text: str) -> None:
        """Take a piece of the answer; an empty one says nothing."""
        if not text:
            return
        if self._response is None:
            await self._end_thinking()
            item = self._journal.new("response", data=self._about())
            await self._write(ItemCreated(item=item))
            self._response = item.id
        self._piece()
        self._journal.delta(self._response, text)

    async def take(self, event: stream.StreamEvent) -> None:
        """Take anything but text and failure."""
        match event:
            case stream.ThinkingDelta():
                await self._think(event)
            case stream.CallStart():
                await self._call_started(event)
            case stream.CallArguments():
                self._piece()
                if event.index in self._calls:
                    self._journal.note(self._calls[event.index].item.id, {"argumentBytes": event.size})
            case stream.CallEnd():
                await self._call_received(event)
            case stream.NativeDelta():
                self._native.append(event.raw)
            case stream.Retrying():
                await self._retrying(event)
            case stream.Usage():
                self._usage = event
            case stream.Stopped():
                self._stopped = event
            case _:
                pass

    async def _think(self, event: stream.ThinkingDelta) -> None:
        if self._thinking is None:
            item = self._journal.new("thinking", data=self._about())
            await self._write(ItemCreated(item=item))
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
        data = self._about() | {"callId": self._call_id(event.id), "argumentBytes": 0}
        data |= await self._describe(event.name, None, "")
        item = self._journal.new("tool_call", data=data | _phase("started"))
        self._begin()
        self._journal.soon(item)
        self._calls[event.index] = _Call(item)

    def _call_id(self, given: str) -> str:
        """Return the model's id for the call, or a fresh one where it gave none or one that is taken."""
        if self._call_ids is None:
            calls = (item for item in self._journal.items if item.kind == "tool_call")
            self._call_ids = {str(call.data.get("callId")) for call in calls}
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
        call.data = await self._describe(event.name, given, call.item.id) | {"argumentBytes": len(event.raw.encode())}
        if event.opaque is not None:
            call.data["opaque"] = event.opaque
        self._journal.note(call.item.id, call.data | _phase("args_received"))

    async def _retrying(self, event: stream.Retrying) -> None:
        data: JsonObject = {
            "level": "warning",
            "code": "retrying",
            "attempt": event.attempt,
            "until": time.time() + event.wait,
            "waitSeconds": event.wait,
        }
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
        unfinished = [call for call in self._calls.values() if not call.data]
        if unfinished:
            failure = stream.Failed("stream_broken", "The model's tool call broke off.", retryable=True)
            await self.broke_off(failure)
            return failure
        events: list[Event] = [*self._end_retry(), *self._thinking_end("completed")]
        data = self._measures()
        if self._response is None:
            events.append(
                ItemCreated(item=self._journal.new("response", status="completed", data=self._about() | data))
            )
        else:
            events.append(ItemCompleted(item_id=self._response, status="completed", data=data))
        for call in self._calls.values():
            phase = _phase("args_received", call.item.data["phases"])
            events.append(ItemUpdated(item_id=call.item.id, status="waiting", data=call.data | phase))
        events += [ItemCreated(item=notice) for notice in self._notices()]
        # What follows from it is a promise: the run's end, a question, or the intent of a call.
        await self._journal.write(*events, promised=False)
        return None

    async def broke_off(self, failure: stream.Failed) -> None:
        """End everything this attempt began; its text stays visible, marked."""
        error = {"code": failure.code, "message": failure.message}
        events: list[Event] = [*self._end_retry(), *self._thinking_end("failed", cut_off=True)]
        if self._response is not None:
            data = self._measures() | {"cutOff": True, "error": error}
            events.append(ItemCompleted(item_id=self._response, status="failed", data=data))
        for call in self._calls.values():
            data = {"cutOff": True, "error": {"code": "CUT_OFF", "message": failure.message, "retryable": True}}
            events.append(ItemCompleted(item_id=call.item.id, status="failed", data=data | _phase("failed")))
        if events:
            await self._journal.write(*events, promised=False)

    # --- parts ---

    def _about(self) -> JsonObject:
        return {"turn": self._turn.tag}

    async def _write(self, event: Event) -> None:
        if not (isinstance(event, ItemCreated) and event.item.kind == "notice"):
            self._begin()
        await self._journal.write(event, promised=False)

    def _begin(self) -> None:
        if self._first_token is None:
            self._first_token = time.monotonic()

    async def _end_thinking(self) -> None:
        events = [*self._end_retry(), *self._thinking_end("completed")]
        if events:
            await self._journal.write(*events, promised=False)

    def _thinking_end(self, status: ItemStatus, *, cut_off: bool = False) -> list[Event]:
        if self._thinking is None:
            return []
        data: JsonObject = {"durationMs": round((time.monotonic() - self._thinking_began) * 1000)}
        if self._opaque:
            data["opaque"] = self._opaque
        if cut_off:
            data["cutOff"] = True
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
        if self._usage is None or self._pieces < limits.SPEED_PIECES or spent < limits.SPEED_SECONDS:
            return None
        # Thinking that is not shown was over before the first piece.
        tokens = self._usage.output - (0 if self._thought else self._usage.reasoning)
        return round(tokens / spent, 1) if tokens >= limits.SPEED_TOKENS else None

    def _measures(self) -> JsonObject:
        now = time.monotonic()
        data: JsonObject = {"model": self._model_id, "durationMs": round((now - self._began) * 1000)}
        if self._first_token is not None:
            data["firstTokenMs"] = round((self._first_token - self._began) * 1000)
        if self._usage is not None:
            usage = msgspec.structs.asdict(self._usage)
            data["usage"] = {"cacheRead": usage.pop("cache_read"), "cacheWrite": usage.pop("cache_write"), **usage}
        if (speed := self._speed()) is not None:
            data["tokensPerSecond"] = speed
        if self._stopped is not None:
            data["stop"] = self._stopped.reason
        if self._native:
            data["native"] = self._native
        return data

    def _said_nothing(self) -> bool:
        refused = self._stopped is not None and self._stopped.reason == "refusal"
        return refused or (self._response is None and not self._calls and not self._native)

    def _notices(self) -> list[Item]:
        """Return what the person should know about an answer that stands."""
        said: list[tuple[str, str]] = []
        if self._said_nothing():
            refused = self._stopped is not None and self._stopped.reason == "refusal"
            said.append(("refused", _DECLINED) if refused else ("empty_answer", _EMPTY))
        if self._left_out:
            asked = len(self._calls) + self._left_out
            text = f"The model asked for {asked} calls at once; only the first {len(self._calls)} were taken."
            said.append(("calls_left_out", text))
        return [
            self._journal.new("notice", status="completed", text=text, data={"level": "warning", "code": code})
            for code, text in said
        ]


def _phase(phase: str, earlier: JsonObject | None = None) -> JsonObject:
    return {"phase": phase, "phases": {**(earlier or {}), phase: time.time()}}
