"""From the model's wish to its permit: find the tool, check the arguments, see what it touches, have it decided."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from pilothouse.agent import budget, questions
from pilothouse.agent.execution import STOPPED, failure
from pilothouse.agent.recording import Masked, decided
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.agent.results.summaries import Summarising
from pilothouse.agent.taint import joined, seen, sending
from pilothouse.agent.tool_lookup import FoundTool, ToolLookup
from pilothouse.json_schema.checking import complaint
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import Mode, Seen
from pilothouse.types.item_data import Brought, CallData, MessageData, QuestionData
from pilothouse.types.items import Call, Item, Question, is_a, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.large_results import LargeResults
from pilothouse.types.ports import (
    Authorizer,
    CallContext,
    Journal,
    Permit,
    PermitNeeded,
    PermitRefused,
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
# What the model is told of a call that a limit cut, and what the person is.
_CUT = "The limit of tokens for one answer cut this call, so it was not carried out."
_CALL_CUT = (Path(__file__).parent / "call_cut.md").read_text().strip()


async def _asking() -> Mode:
    return "ask"


class CallSetting(msgspec.Struct, frozen=True):
    """What is the same for all calls of a run."""

    conversation_id: str
    run_id: str
    working_directory: str | None
    unattended: bool
    context_window: int
    # The branch in which the run answers.
    branch: int = 0
    # What needs no question in this run, by the person's explicit word.
    allow: tuple[str, ...] = ()
    timeouts: ToolTimeouts = ToolTimeouts()
    owner: str = ""
    # Asked for each call: the person may change it while the run is at work.
    mode: Callable[[], Awaitable[Mode]] = _asking
    # How large results enter, and who sums them up; None where nobody does.
    large_results: LargeResults = LargeResults()
    summarising: Summarising | None = None


class Wanted(msgspec.Struct, frozen=True):
    """A call that could be carried out, and what it would touch."""

    call: Call
    tool: Tool
    arguments: JsonObject
    context: CallContext
    access: Access

    @property
    def brings(self) -> frozenset[str]:
        """Return where the private data comes from that its result brings along."""
        return frozenset({self.access.source or self.tool.spec.name} if "private" in self.access.brings else ())


class Prepared(msgspec.Struct, frozen=True):
    """A call that may be executed."""

    call: Call
    tool: Tool
    arguments: JsonObject
    context: CallContext
    access: Access
    permit: Permit

    @property
    def sends(self) -> Seen:
        """Return what it counts for the others of its turn."""
        return sending(self.access, self.permit.decision.bits)


class Asked(msgspec.Struct, frozen=True):
    """A call that the person must allow first."""

    call: Call
    tool: Tool
    access: Access
    needed: PermitNeeded


class Ended(msgspec.Struct, frozen=True):
    """A call that ends before it begins, and what its item keeps of that."""

    call: Call
    output: ToolOutput
    facts: JsonObject = {}
    # Whether an earlier call, once executed, may change the outcome.
    early: bool = False


class _SoFar(NamedTuple):
    """What a run's conversation comes to, at one moment."""

    items: Sequence[Item]
    mine: Sequence[Item]
    user_text: str
    typed: tuple[str, ...]
    iterations_left: int
    iterations_added: int
    seen: Seen


class CallPreparation:
    """Prepares the calls of one run."""

    def __init__(
        self, setting: CallSetting, names: ToolLookup, authorizer: Authorizer, results: Pipeline, journal: Journal
    ) -> None:
        self._setting = setting
        self._names = names
        self._authorizer = authorizer
        self._results = results
        self._journal = journal
        self._known: _SoFar | None = None

    async def look(self, call: Call, *, unwanted: bool) -> Wanted | Ended:
        """Return a call with what it would touch, or how it ended before it could begin."""
        if unwanted or call.data.cancel_requested:
            return Ended(call, failure("CANCELLED", STOPPED))
        if call.data.cut_short:
            return Ended(call, ToolOutput(_CALL_CUT, ToolError("CUT_SHORT", _CUT, retryable=True)))
        name = call.data.tool
        meant = self._names.find(name)
        if meant is None:
            begun = f" {_PERHAPS}" if call.data.paused else ""
            return Ended(call, failure("TOOL_NOT_FOUND", f"There is no tool named {name or '(empty)'}.{begun}"))
        arguments = await self._arguments(call, meant.tool)
        if arguments is _LOST:
            return Ended(call, failure("ARGUMENTS_LOST", _CANNOT_OPEN, retryable=True))
        wrong = await _complaint(meant, arguments, call.data.argument_bytes)
        if wrong is not None or not isinstance(arguments, dict):
            return Ended(call, failure("INVALID_ARGUMENTS", wrong or "", retryable=True))
        return await self._looked_at(call, meant.tool, meant.arguments(arguments))

    async def _arguments(self, call: Call, tool: Tool) -> object:
        """Return the arguments with the secrets in them, for whoever may have those."""
        arguments, sealed = call.data.arguments, call.data.sealed
        # What touches nothing only keeps what it is told, and is told what may be kept.
        if not sealed or (not tool.server and not tool.effects):
            return arguments
        real = await self._results.real_arguments(sealed, call.id)
        return _LOST if real is None else real

    async def _looked_at(self, call: Call, tool: Tool, arguments: JsonObject) -> Wanted | Ended:
        context = self._context(call, await self._setting.mode())
        access = await _access(tool, arguments, context)
        if isinstance(access, ToolOutput):
            # Whoever looks at what a call would touch may say what is there.
            told = patch(CallData, brings=Brought(private=True, source=tool.spec.name)) if tool.effects else {}
            return Ended(call, access, told, early=True)
        return Wanted(call, tool, arguments, context, access)

    async def decide(self, wanted: Wanted, beside: Seen) -> Prepared | Asked | Ended:
        """Return a call with permission, a call to ask about, or how it ended; `beside` is what its siblings do."""
        call, tool, arguments, access = wanted.call, wanted.tool, wanted.arguments, wanted.access
        others = msgspec.structs.replace(beside, private=beside.private - wanted.brings)
        context = msgspec.structs.replace(wanted.context, access=access, seen=joined(wanted.context.seen, others))
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
            used = budget.spent(mine)
            self._known = _SoFar(
                items,
                mine,
                next((item.text for item in mine if item.kind == "user_message"), ""),
                tuple(filter(None, map(_typed, items))),
                budget.iterations_left(mine, used),
                used.added,
                seen(items, self._setting.run_id),
            )
        return self._known

    def _context(self, call: Call, mode: Mode) -> CallContext:
        setting, so_far = self._setting, self._so_far()
        return CallContext(
            conversation_id=setting.conversation_id,
            run_id=setting.run_id,
            branch=setting.branch,
            call_id=call.id,
            working_directory=setting.working_directory,
            earlier_calls=_earlier(so_far.mine, call),
            unattended=setting.unattended,
            resumed=self._resumed(call),
            allow=setting.allow,
            owner=setting.owner,
            model_call_id=call.data.call_id or call.id,
            at=time.time(),
            external=setting.unattended,
            user_text=so_far.user_text,
            typed=so_far.typed,
            mode=mode,
            iterations_left=so_far.iterations_left,
            iterations_added=so_far.iterations_added,
            result_room=budget.result_room(setting.context_window),
            seen=so_far.seen,
            tools=self._names.offered,
            room=budget.result_room(setting.context_window),
        )

    def _resumed(self, call: Call) -> Resumed | None:
        paused = call.data.paused
        if paused is None:
            return None
        asked = {ask: cast(Question, self._journal.item(item_id)) for ask, item_id in paused.questions.items()}
        return Resumed(paused.state, {ask: questions.reply(question) for ask, question in asked.items()})


def taken_back(ready: Prepared, why: str, masked: Masked) -> JsonObject:
    """Return what a call's item keeps whose permit did not stand any more when it was to begin."""
    now = msgspec.structs.replace(ready.permit.decision, verdict="deny", why=why, at=time.time())
    return decided(now, ready.access, masked)


def _typed(item: Item) -> str:
    """Return what the person wrote themselves: a message, or an answer in their own words."""
    if is_a(item, MessageData):
        # What a program or a file told may be anyone's.
        return item.text[: item.data.typed_chars]
    return (item.data.answer.text or "") if is_a(item, QuestionData) and item.data.answer is not None else ""


def _earlier(mine: Sequence[Item], call: Call) -> tuple[str, ...]:
    """Return the tools called before this call in its run."""
    calls = (item for item in mine if is_a(item, CallData) and not item.data.cut_off)
    return tuple(item.data.tool for item in calls if item.position < call.position)


async def _complaint(meant: FoundTool, arguments: object, size: int) -> str | None:
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
