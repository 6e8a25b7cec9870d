"""From the model's wish to leave for it: find the tool, check the arguments, see what it touches, have it decided."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from pilothouse.agent import budget, questions
from pilothouse.agent.execution import STOPPED, failure
from pilothouse.agent.naming import Meant, Names
from pilothouse.agent.recording import Masked, decided
from pilothouse.agent.seen import seen
from pilothouse.agent.validation import complaint
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import Mode, Seen
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import (
    Authorizer,
    CallContext,
    Journal,
    Permit,
    PermitNeeded,
    PermitRefused,
    Results,
    Resumed,
    Tool,
    ToolError,
    ToolOutput,
)
from pilothouse.types.timeouts import ToolTimeouts

# Of a call that had begun before it asked something.
_PERHAPS = "It may have been carried out; check before you repeat it."
# Stands for arguments that were sealed and do not open.
_LOST = object()
_CANNOT_OPEN = (
    "This call's arguments hold a secret, and what was kept of it cannot be opened any more. "
    "Nothing was carried out; make the call again."
)


def _asking() -> Mode:
    return "ask"


class CallSetting(msgspec.Struct, frozen=True):
    """What is the same for all calls of a run."""

    conversation_id: str
    run_id: str
    working_directory: str | None
    unattended: bool
    context_window: int
    # What needs no question in this run, by the person's explicit word.
    allow: tuple[str, ...] = ()
    timeouts: ToolTimeouts = ToolTimeouts()
    owner: str = ""
    # Asked for each call: the person may change it while the run is at work.
    mode: Callable[[], Mode] = _asking


class Prepared(msgspec.Struct, frozen=True):
    """A call that may be executed."""

    call: Item
    tool: Tool
    arguments: JsonObject
    context: CallContext
    access: Access
    permit: Permit

    @property
    def lane(self) -> str:
        """Return in whose company it must be executed one after the other."""
        return self.access.lane


class Asked(msgspec.Struct, frozen=True):
    """A call that the person must allow first."""

    call: Item
    tool: Tool
    access: Access
    needed: PermitNeeded

    @property
    def lane(self) -> str:
        """Return in whose company it must be executed one after the other."""
        return self.access.lane


class Ended(msgspec.Struct, frozen=True):
    """A call that ends before it begins, and what its item keeps of that."""

    call: Item
    output: ToolOutput
    facts: JsonObject = {}
    # Whether an earlier call, once executed, may change the outcome.
    early: bool = False


class _SoFar(NamedTuple):
    """What a run's conversation comes to, at one moment."""

    items: Sequence[Item]
    mine: Sequence[Item]
    user_text: str
    iterations_left: int
    iterations_added: int
    seen: Seen


class Preparing:
    """Prepares the calls of one run."""

    def __init__(
        self, setting: CallSetting, names: Names, authorizer: Authorizer, results: Results, journal: Journal
    ) -> None:
        self._setting = setting
        self._names = names
        self._authorizer = authorizer
        self._results = results
        self._journal = journal
        self._known: _SoFar | None = None

    async def prepare(self, call: Item, *, unwanted: bool) -> Prepared | Asked | Ended:
        """Return a call with leave, a call to ask about, or how it ended."""
        if unwanted or call.data.get("cancelRequested"):
            return Ended(call, failure("CANCELLED", STOPPED))
        name = str(call.data.get("tool") or "")
        meant = self._names.find(name)
        if meant is None:
            begun = f" {_PERHAPS}" if call.data.get("paused") else ""
            return Ended(call, failure("TOOL_NOT_FOUND", f"There is no tool named {name or '(empty)'}.{begun}"))
        arguments = await self._arguments(call, meant.tool)
        if arguments is _LOST:
            return Ended(call, failure("ARGUMENTS_LOST", _CANNOT_OPEN, retryable=True))
        wrong = await _complaint(meant, arguments, int(call.data.get("argumentBytes") or 0))
        if wrong is not None or not isinstance(arguments, dict):
            return Ended(call, failure("INVALID_ARGUMENTS", wrong or "", retryable=True))
        return await self._looked_at(call, meant.tool, meant.arguments(arguments))

    async def _arguments(self, call: Item, tool: Tool) -> object:
        """Return the arguments with the secrets in them, for whoever may have those."""
        arguments, sealed = call.data.get("arguments"), call.data.get("sealed")
        # What touches nothing only keeps what it is told, and is told what may be kept.
        if not sealed or (not tool.server and not tool.effects):
            return arguments
        real = await self._results.real_arguments(str(sealed), call.id)
        return _LOST if real is None else real

    async def _looked_at(self, call: Item, tool: Tool, arguments: JsonObject) -> Prepared | Asked | Ended:
        context = self._context(call)
        access = await _access(tool, arguments, context)
        if isinstance(access, ToolOutput):
            return Ended(call, access, early=True)
        context = msgspec.structs.replace(context, access=access)
        approval = questions.begun_with(call) or questions.approval_of(call, self._journal.items)
        decision = await self._authorizer.decide(tool, arguments, context, approval)
        if isinstance(decision, PermitNeeded):
            return Asked(call, tool, access, decision)
        if isinstance(decision, PermitRefused):
            # The model is told how to ask; a person who reads the call knows why.
            error = ToolError("PERMISSION_DENIED", decision.decision.why)
            return Ended(
                call, ToolOutput(decision.reason, error), decided(decision.decision, access, self._results.masked)
            )
        return Prepared(call, tool, arguments, context, access, decision)

    def _so_far(self) -> _SoFar:
        """Return what led up to now; calls that are prepared together have the same behind them."""
        items = self._journal.items
        if self._known is None or self._known.items is not items:
            mine = [item for item in items if item.run_id == self._setting.run_id]
            self._known = _SoFar(
                items,
                mine,
                next((item.text for item in mine if item.kind == "user_message"), ""),
                budget.iterations_left(mine),
                budget.iterations_added(mine),
                seen(items, self._setting.run_id, self._names.servers),
            )
        return self._known

    def _context(self, call: Item) -> CallContext:
        setting, so_far = self._setting, self._so_far()
        return CallContext(
            conversation_id=setting.conversation_id,
            run_id=setting.run_id,
            call_id=call.id,
            working_directory=setting.working_directory,
            earlier_calls=_earlier(so_far.mine, call),
            unattended=setting.unattended,
            resumed=self._resumed(call),
            allow=setting.allow,
            owner=setting.owner,
            model_call_id=str(call.data.get("callId") or call.id),
            at=time.time(),
            external=setting.unattended,
            user_text=so_far.user_text,
            mode=setting.mode(),
            iterations_left=so_far.iterations_left,
            iterations_added=so_far.iterations_added,
            seen=so_far.seen,
            tools=self._names.offered,
        )

    def _resumed(self, call: Item) -> Resumed | None:
        paused = call.data.get("paused")
        if not paused:
            return None
        asked = {ask: self._journal.item(item_id) for ask, item_id in paused["questions"].items()}
        return Resumed(paused["state"], {ask: questions.reply(question) for ask, question in asked.items()})


def taken_back(ready: Prepared, why: str, masked: Masked) -> JsonObject:
    """Return what a call's item keeps whose leave did not stand any more when it was to begin."""
    now = msgspec.structs.replace(ready.permit.decision, verdict="deny", why=why, at=time.time())
    return decided(now, ready.access, masked)


def _earlier(mine: Sequence[Item], call: Item) -> tuple[str, ...]:
    """Return the tools called before this call in its run."""
    calls = (item for item in mine if item.kind == "tool_call" and not item.data.get("cutOff"))
    return tuple(str(item.data.get("tool") or "") for item in calls if item.position < call.position)


async def _complaint(meant: Meant, arguments: object, size: int) -> str | None:
    if size > limits.ARGUMENT_BYTES:
        most = limits.ARGUMENT_BYTES // 1024 // 1024
        return f"The arguments have {size / 1024 / 1024:.1f} MB; a call takes at most {most} MB."
    if not isinstance(arguments, dict):
        return "The arguments are not a JSON object."
    return await complaint(meant.tool.spec.input_schema, meant.arguments(arguments), size)


async def _access(tool: Tool, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
    """Return what a call would touch; a tool that cannot say so is not called."""
    try:
        async with asyncio.timeout(limits.LOOK_TIME):
            return await tool.access(arguments, context)
    except TimeoutError:
        return failure("TIMEOUT", "The tool did not say in time what the call would touch.", retryable=True)
    except Exception as error:
        return failure("EXECUTION_FAILED", f"The tool failed: {error}" if str(error) else "The tool failed.")
