"""How a run's unfinished items end when the run is stopped, or when its process died."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pilothouse.agent.execution import STOPPED, account
from pilothouse.types.events import Event, ItemCompleted, ItemDelta, ItemUpdated
from pilothouse.types.item_data import CallData, CallError, ResponseData, ResponseError, SummaryData, TurnData
from pilothouse.types.items import Call, Item, ItemStatus, is_a, is_cut_off, patch
from pilothouse.types.runs import ENDED, RunStatus

_OPEN = ("streaming", "waiting")
# Phases of a call that nobody executes and that can go on from what the timeline has.
_RESTING = ("args_received", "waiting_approval", "input_required", "summarising")
_DIED = "The program stopped while this was being written."
_UNKNOWN = "The program stopped while this ran; it may or may not have happened. It was not repeated."
_FAILED = "The run failed while this ran; it may or may not have happened. It was not repeated."
_NO_SUMMARY = "the program stopped while it was being written"
_NOT_BEGUN = "The run failed before this was carried out."


def interrupted(items: Sequence[Item]) -> list[Event]:
    """Return the events that settle what a process left behind when it stopped.

    Text that was being written is kept and marked. A call that had begun has an unknown outcome. A call that
    had not begun, and a question, stay open: going on later picks them up.
    """
    return [event for item in items if item.status in _OPEN for event in _interrupt(item)]


def _interrupt(item: Item) -> Sequence[Event]:
    if item.kind == "question" or (is_a(item, CallData) and item.data.phase in _RESTING):
        return ()
    if item.kind == "notice":
        return (ItemCompleted(item_id=item.id, status="completed"),)
    if is_a(item, SummaryData):
        return (ItemCompleted(item_id=item.id, status="failed", data=patch(SummaryData, why=_NO_SUMMARY)),)
    if is_a(item, CallData) and item.data.phase == "executing":
        return _end_call(item, "unknown", "UNKNOWN_OUTCOME", _UNKNOWN)
    data = patch(ResponseData, cut_off=True, error=ResponseError(code="interrupted", message=_DIED))
    return (ItemCompleted(item_id=item.id, status="failed", data=data),)


def given_up(items: Sequence[Item]) -> list[Event]:
    """Return the events that settle what processes left behind that stopped too often: nothing stays open."""
    return [event for item in items if item.status in _OPEN for event in (_interrupt(item) or _fail(item))]


def resumed(items: Sequence[Item]) -> list[Event]:
    """Return the events that take back a half-said answer, because the run goes on and says it anew."""
    return [
        ItemUpdated(item_id=item.id, data=patch(TurnData, cut_off=True))
        for item in items
        if item.kind in ("response", "thinking") and item.status == "cancelled" and not is_cut_off(item)
    ]


def settled(status: RunStatus, items: Sequence[Item]) -> list[Event]:
    """Return the events that end what a run leaves open when it comes to this state."""
    if status in ("interrupted", "queued"):
        return interrupted(items)
    if status == "failed":
        return [event for item in items if item.status in _OPEN for event in _fail(item)]
    return cancelled(items) if status in ENDED else []


def _fail(item: Item) -> Sequence[Event]:
    """Return the events that end an item because its run failed: nobody said stop."""
    if not is_a(item, CallData) or item.data.phase == "started":
        return _cancel(item)
    if item.data.phase == "summarising":
        return _entered(item)
    if item.data.phase in ("executing", "input_required"):
        return _end_call(item, "unknown", "UNKNOWN_OUTCOME", _FAILED)
    return _end_call(item, "cancelled", "CANCELLED", _NOT_BEGUN)


def cancelled(items: Sequence[Item]) -> list[Event]:
    """Return the events that end everything because the person said stop."""
    return [event for item in items if item.status in _OPEN for event in _cancel(item)]


def _cancel(item: Item) -> Sequence[Event]:
    if not is_a(item, CallData):
        status: ItemStatus = "completed" if item.kind == "notice" else "cancelled"
        return (ItemCompleted(item_id=item.id, status=status),)
    if item.data.phase == "started":
        # The model had not finished asking; there is no call to report to it.
        data = patch(CallData, cut_off=True, phase="cancelled")
        return (ItemCompleted(item_id=item.id, status="cancelled", data=data),)
    if item.data.phase == "summarising":
        return _entered(item)
    return _end_call(item, "cancelled", "CANCELLED", STOPPED)


def _entered(call: Call) -> Sequence[Event]:
    """Return the events that end a call which was carried out and of whose result there is no summary."""
    phases = {**call.data.phases, "completed": time.time()}
    data = patch(CallData, phase="completed", phases=phases, excerpt=None)
    return (
        ItemDelta(item_id=call.id, offset=0, text=call.data.excerpt or ""),
        ItemCompleted(item_id=call.id, status="completed", data=data),
    )


def _end_call(call: Call, status: ItemStatus, code: str, message: str) -> Sequence[Event]:
    data = patch(
        CallData,
        phase=status,
        phases={**call.data.phases, status: time.time()},
        is_error=True,
        deadline_at=None,
        quiet_since=None,
        elapsed_ms=_elapsed(call),
        error=CallError(code=code, message=message),
    )
    return (
        ItemDelta(item_id=call.id, offset=0, text=account(message, call.data.cancellation)),
        ItemCompleted(item_id=call.id, status=status, data=data),
    )


def _elapsed(call: Call) -> int:
    began = call.data.phases.get("executing")
    return max(0, round((time.time() - began) * 1000)) if began is not None else 0
