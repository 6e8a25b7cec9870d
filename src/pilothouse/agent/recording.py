"""How a call stands in the timeline: its phases, its words, who decided about it, and its one result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from pilothouse.agent.call_log import CallLog
from pilothouse.agent.taint import brings
from pilothouse.types.access import Access, Shown
from pilothouse.types.authority import Decision
from pilothouse.types.events import Event, ItemCompleted, ItemDelta, ItemUpdated
from pilothouse.types.item_data import CallData, CallError, Progress, ShownCall
from pilothouse.types.items import Call, ItemStatus, patch
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import Journal, Tool, ToolOutput

# What a call is, and who allowed it: nothing that a tool or a server brings along may change it.
_FIXED = frozenset(
    {"tool", "server", "serverTool", "definition", "callId", "arguments", "askedArguments", "turn", "opaque", "paused"}
    | {"sealed", "masked", "cutOff", "cutShort", "byName", "onDemand"}
    | {"shown", "decision", "access", "brings", "cancelRequested", "recorded"}
)
# Takes the secrets out of what is kept.
Masked = Callable[[JsonObject], JsonObject]


class Recorder:
    """Writes what becomes of a run's calls."""

    def __init__(self, journal: Journal, log: CallLog) -> None:
        self._journal = journal
        self._log = log

    def phase(
        self, call: Call, phase: str, *, status: ItemStatus | None = None, data: JsonObject | None = None
    ) -> ItemUpdated:
        """Return the event by which a call comes to a phase."""
        return ItemUpdated(item_id=call.id, status=status, data=self.phases(call, phase) | (data or {}))

    def told(self, output: ToolOutput) -> JsonObject:
        """Return what a result says beside its text, as far as that may be kept."""
        return {key: value for key, value in output.data.items() if key not in _FIXED}

    async def conclude(
        self,
        call: Call,
        output: ToolOutput,
        elapsed: float = 0.0,
        *,
        progress: Progress | None = None,
        facts: JsonObject | None = None,
        promised: bool = True,
    ) -> None:
        """Write a call's one result."""
        status = _status(output)
        code = output.error.code if output.error is not None else ""
        self._log.tell("ended", call, status=status, code=code, elapsedMs=round(elapsed * 1000))
        data = self.told(output) | self.phases(call, status) | (facts or {})
        data |= patch(
            CallData,
            is_error=output.error is not None,
            elapsed_ms=round(elapsed * 1000),
            deadline_at=None,
            quiet_since=None,
        )
        if call.data.sealed:
            # What was needed to make the call is needed no more.
            data |= patch(CallData, sealed=None)
        if progress is not None:
            data |= patch(CallData, progress=progress)
        if output.error is not None:
            data |= patch(CallData, error=CallError(**msgspec.structs.asdict(output.error)))
        events: list[Event] = [ItemCompleted(item_id=call.id, status=status, data=data)]
        if output.text:
            events.insert(0, ItemDelta(item_id=call.id, offset=0, text=output.text))
        # Whatever follows from it is written together with it or after it.
        if not self._journal.later(*events, promised=promised):
            await self._journal.write(*events, promised=promised)

    def phases(self, call: Call, phase: str) -> JsonObject:
        """Return what a call's item says of the phase that it comes to."""
        now = cast(Call, self._journal.item(call.id)).data
        data = patch(CallData, phase=phase, phases={**now.phases, phase: time.time()})
        return data | (patch(CallData, shown=msgspec.structs.replace(now.shown, status=phase)) if now.shown else {})


def decided(decision: Decision, access: Access | None, masked: Masked) -> JsonObject:
    """Return what a call's item keeps of a decision about it."""
    why = masked({"why": decision.why}).get("why", "")
    facts = patch(CallData, decision=msgspec.structs.replace(decision, why=why))
    if access is not None:
        touched: JsonObject = plain(access)
        del touched["preview"]
        facts["access"] = masked(touched) | {"effects": sorted(access.effects), "brings": sorted(access.brings)}
    return facts


def changed_words(call: Call, tool: Tool, phase: str) -> JsonObject:
    """Return a call in words whose arguments the person changed; nothing where they did not."""
    if call.data.asked_arguments is None:
        return {}
    about = words(tool, call.data.arguments or {})
    return about | {"shown": {**about["shown"], "status": phase}}


def begun(decision: Decision, access: Access, masked: Masked) -> JsonObject:
    """Return what a call's item keeps when it begins: who allowed it, and what it brings along."""
    return decided(decision, access, masked) | patch(CallData, brings=brings(access))


def identity(tool: Tool) -> JsonObject:
    """Return what a call's item says about its tool."""
    name = tool.spec.name
    if not tool.server:
        return patch(CallData, tool=name)
    return patch(CallData, tool=name, server=tool.server, server_tool=tool.qualified_name, definition=tool.grant_key)


def words(tool: Tool, arguments: Mapping[str, object]) -> JsonObject:
    """Return a call in words; arguments that nobody has checked yet must not break it."""
    try:
        shown = tool.shown(arguments)
    except Exception:
        shown = Shown.by_name(tool.qualified_name)
    told = ShownCall(**msgspec.structs.asdict(shown), status="args_received")
    return patch(CallData, display=shown.summary, shown=told)


def _status(output: ToolOutput) -> ItemStatus:
    if output.error is None:
        return "completed"
    if output.error.code == "CANCELLED":
        return "cancelled"
    return "timed_out" if output.error.code == "TIMEOUT" else "failed"
