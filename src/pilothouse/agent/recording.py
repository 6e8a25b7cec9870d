"""How a call stands in the timeline: its phases, its words, who decided about it, and its one result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pilothouse.agent.call_log import tell_end
from pilothouse.agent.seen import brings
from pilothouse.types.access import Access, Shown
from pilothouse.types.authority import Decision
from pilothouse.types.events import Event, ItemCompleted, ItemDelta, ItemUpdated
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import Journal, Tool, ToolOutput

# What a call is, and who allowed it: nothing that a tool or a server brings along may change it.
_FIXED = frozenset(
    {"tool", "server", "serverTool", "definition", "callId", "arguments", "turn", "opaque", "cutOff", "paused"}
    | {"sealed", "masked"}
    | {"shown", "decision", "access", "brings", "cancelRequested"}
)
# Takes the secrets out of what is kept.
Masked = Callable[[JsonObject], JsonObject]


class Recorder:
    """Writes what becomes of a run's calls."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def phase(
        self, call: Item, phase: str, *, status: ItemStatus | None = None, data: JsonObject | None = None
    ) -> ItemUpdated:
        """Return the event by which a call comes to a phase."""
        return ItemUpdated(item_id=call.id, status=status, data=self._phases(call, phase) | (data or {}))

    async def conclude(
        self,
        call: Item,
        output: ToolOutput,
        elapsed: float = 0.0,
        *,
        progress: JsonObject | None = None,
        facts: JsonObject | None = None,
    ) -> None:
        """Write a call's one result."""
        status = _status(output)
        tell_end(call, status, output, elapsed)
        data: JsonObject = {key: value for key, value in output.data.items() if key not in _FIXED}
        data |= self._phases(call, status) | (facts or {})
        data |= {"isError": output.error is not None, "elapsedMs": round(elapsed * 1000)}
        data |= {"deadlineAt": None, "quietSince": None}
        if call.data.get("sealed"):
            # What was needed to make the call is needed no more.
            data["sealed"] = None
        if progress is not None:
            data["progress"] = progress
        if output.error is not None:
            data["error"] = plain(output.error)
        events: list[Event] = [ItemCompleted(item_id=call.id, status=status, data=data)]
        if output.text:
            events.insert(0, ItemDelta(item_id=call.id, offset=0, text=output.text))
        await self._journal.write(*events)

    def _phases(self, call: Item, phase: str) -> JsonObject:
        now = self._journal.item(call.id).data
        data: JsonObject = {"phase": phase, "phases": {**now.get("phases", {}), phase: time.time()}}
        if now.get("shown"):
            data["shown"] = {**now["shown"], "status": phase}
        return data


def decided(decision: Decision, access: Access | None, masked: Masked) -> JsonObject:
    """Return what a call's item keeps of a decision about it."""
    facts: JsonObject = {"decision": plain(decision) | {"why": masked({"why": decision.why}).get("why", "")}}
    if access is not None:
        touched: JsonObject = plain(access)
        del touched["preview"]
        facts["access"] = masked(touched) | {"effects": sorted(access.effects), "brings": sorted(access.brings)}
    return facts


def begun(decision: Decision, access: Access, masked: Masked) -> JsonObject:
    """Return what a call's item keeps when it begins: who allowed it, and what it brings along."""
    return decided(decision, access, masked) | {"brings": brings(access)}


def identity(tool: Tool) -> JsonObject:
    """Return what a call's item says about its tool."""
    about: JsonObject = {"tool": tool.spec.name}
    if not tool.server:
        return about
    return about | {"server": tool.server, "serverTool": tool.qualified_name, "definition": tool.grant_key}


def words(tool: Tool, arguments: Mapping[str, object]) -> JsonObject:
    """Return a call in words; arguments that nobody has checked yet must not break it."""
    try:
        shown = tool.shown(arguments)
    except Exception:
        name = tool.qualified_name
        shown = Shown.by_name(name)
    return {"display": shown.summary, "shown": plain(shown) | {"status": "args_received"}}


def _status(output: ToolOutput) -> ItemStatus:
    if output.error is None:
        return "completed"
    if output.error.code == "CANCELLED":
        return "cancelled"
    return "timed_out" if output.error.code == "TIMEOUT" else "failed"
