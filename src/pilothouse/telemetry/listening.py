"""Reads off the timeline's events what happened: a hearer of the feed, so that nothing that works pays for it.

Of an event only the few fields that are counted are decoded; text that streams, which is most of what is written, is
not looked at. Only what this process wrote is heard, so that several of them add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec

from pilothouse.telemetry.facts import AnswerFacts, CallFacts, RunFacts, Sink
from pilothouse.types import limits
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import CLOSED, ItemStatus
from pilothouse.types.runs import ENDED, RunStatus

_ANSWERS = frozenset({"response", "tool_summary", "compaction"})
_CALL = "tool_call"


class _Coded(msgspec.Struct, frozen=True):
    code: str = ""


class _Tokens(msgspec.Struct, frozen=True):
    input: int = 0
    output: int = 0


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an item's data."""

    model: str = ""
    duration_ms: float | None = None
    usage: _Tokens | None = None
    stop: str = ""
    error: _Coded | None = None
    tool: str = ""
    server: str = ""
    server_tool: str = ""
    call_id: str = ""
    elapsed_ms: float | None = None
    # In a replay nothing is executed.
    recorded: str = ""


_NOTHING = _Data()


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    kind: str
    status: ItemStatus
    run_id: str | None = None
    data: _Data = _NOTHING


class _Created(msgspec.Struct, frozen=True):
    item: _Item
    at: float = 0.0


class _Completed(msgspec.Struct, frozen=True, rename="camel"):
    item_id: str
    status: ItemStatus
    at: float = 0.0
    data: _Data = _NOTHING


class _Run(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    conversation_id: str
    status: RunStatus
    created_at: float = 0.0
    epoch: int = 0
    process: str | None = None
    error: _Coded | None = None


class _RunUpdated(msgspec.Struct, frozen=True):
    run: _Run
    at: float = 0.0


_created = msgspec.json.Decoder(_Created)
_completed = msgspec.json.Decoder(_Completed)
_updated = msgspec.json.Decoder(_RunUpdated)


class Listening:
    """Tells sinks what the events of this process say."""

    def __init__(self, process: str, sinks: Sequence[Sink]) -> None:
        self._process = process
        self._sinks = sinks
        # The runs at work here, and what of them is not at its end yet.
        self._runs: dict[str, RunFacts] = {}
        self._open: dict[str, _Item] = {}
        # Runs whose end was told, the newest last: an end may be written again with more about it.
        self._over: dict[tuple[str, int], None] = {}

    def heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Take what was written to a conversation."""
        for event in events:
            if event.seq and (take := self._takes.get(event.kind)) is not None:
                take(self, conversation_id, event.json)

    def _take_created(self, conversation_id: str, json: bytes) -> None:
        created = _created.decode(json)
        item = created.item
        if item.kind != _CALL and item.kind not in _ANSWERS:
            return
        if item.status in CLOSED:
            self._close(conversation_id, item, item.data, item.status, created.at)
            return
        self._open[item.id] = item
        while len(self._open) > limits.OBSERVED_MOST:
            del self._open[next(iter(self._open))]

    def _take_completed(self, conversation_id: str, json: bytes) -> None:
        completed = _completed.decode(json)
        if (item := self._open.pop(completed.item_id, None)) is not None:
            self._close(conversation_id, item, completed.data, completed.status, completed.at)

    def _close(self, conversation_id: str, item: _Item, data: _Data, status: ItemStatus, at: float) -> None:
        run_id = item.run_id or ""
        error = data.error.code if data.error is not None else ""
        if item.kind == _CALL:
            if item.data.recorded or data.recorded:
                return
            call = _call(item.data, data, conversation_id, run_id, (status, at, error))
            for sink in self._sinks:
                sink.called(call)
        elif model := data.model or item.data.model:
            usage = data.usage or _Tokens()
            answer = AnswerFacts(
                run_id=run_id,
                conversation_id=conversation_id,
                model=model,
                ended_at=at,
                seconds=data.duration_ms / 1000 if data.duration_ms is not None else None,
                input_tokens=usage.input,
                output_tokens=usage.output,
                stop=data.stop,
                error=error,
            )
            for sink in self._sinks:
                sink.answered(answer)

    def _take_run(self, conversation_id: str, json: bytes) -> None:
        updated = _updated.decode(json)
        run = updated.run
        if run.status == "running":
            self._begin(run, updated.at)
            return
        if run.status in ENDED:
            self._end(run)
        if (facts := self._runs.pop(run.id, None)) is not None:
            error = run.error.code if run.error is not None else ""
            for sink in self._sinks:
                sink.left(facts, run.status, updated.at, error)

    def _begin(self, run: _Run, at: float) -> None:
        # Also whoever asks a run at work to stop writes it, and another process may be at work on it.
        if run.process != self._process or run.id in self._runs:
            return
        facts = self._runs[run.id] = RunFacts(run.id, run.conversation_id, at, run.epoch)
        # By two clocks, perhaps; who is claimed anew has waited for something else.
        waited = max(at - run.created_at, 0.0) if run.epoch == 1 else None
        for sink in self._sinks:
            sink.began(facts, waited)

    def _end(self, run: _Run) -> None:
        if (run.id, run.epoch) in self._over:
            return
        self._over[run.id, run.epoch] = None
        while len(self._over) > limits.OBSERVED_MOST:
            del self._over[next(iter(self._over))]
        for sink in self._sinks:
            sink.ended(run.status)

    _takes: ClassVar[dict[str, Callable[[Listening, str, bytes], None]]] = {
        "item.created": _take_created,
        "item.completed": _take_completed,
        "run.updated": _take_run,
    }


def _call(
    begun: _Data, data: _Data, conversation_id: str, run_id: str, end: tuple[ItemStatus, float, str]
) -> CallFacts:
    status, at, error = end
    server = begun.server or data.server
    return CallFacts(
        run_id=run_id,
        conversation_id=conversation_id,
        tool=(begun.server_tool or data.server_tool if server else "") or begun.tool or data.tool,
        server=server,
        call_id=begun.call_id or data.call_id,
        outcome=status,
        ended_at=at,
        seconds=(data.elapsed_ms or 0) / 1000,
        error=error,
    )
