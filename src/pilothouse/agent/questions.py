"""Questions to the person: what is asked about a call, what an answer settles, and what it still counts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pilothouse.agent.recording import Masked
from pilothouse.types import limits
from pilothouse.types.authority import LASTING, Approval
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemUpdated
from pilothouse.types.item_data import (
    AnswerData,
    ApprovalData,
    CallData,
    ChoiceShown,
    CollaborationData,
    ElicitationData,
    QuestionData,
    ResponseData,
)
from pilothouse.types.items import Call, Item, Question, is_a, patch, turn_of
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import Ask, PermitNeeded, Tool
from pilothouse.types.runs import Run, RunStatus
from pilothouse.types.tool_names import COLLABORATION

_REPLIES = (
    ChoiceShown(id="accept", label="Send"),
    ChoiceShown(id="decline", label="Decline"),
    ChoiceShown(id="cancel", label="Cancel"),
)
_SIGNING_IN = (
    ChoiceShown(id="accept", label="Sign in"),
    ChoiceShown(id="decline", label="Do not sign in"),
)
# What of a tool's description stands beside the question; the tools page has all of it.
_DESCRIPTION_CHARS = 2_000


def approval(call: Call, tool: Tool, needed: PermitNeeded, items: Iterable[Item]) -> JsonObject:
    """Return the data of a question whether a call may be executed; its arguments are shown from the call."""
    return needed.data | patch(
        ApprovalData,
        kind="approval",
        call_item_id=call.id,
        tool_call_id=call.data.call_id,
        rule=needed.decision.rule,
        why=needed.decision.why,
        call_hash=needed.decision.call_hash,
        tool=tool.spec.name,
        server_tool=tool.qualified_name,
        server=tool.server,
        description=tool.spec.description[:_DESCRIPTION_CHARS],
        model_says=_said_before(call, items),
        parameters=schema if len(encode(schema := tool.spec.input_schema)) <= limits.SHOWN_SCHEMA_BYTES else None,
    )


# What of a question about a call says what the call is about, and may hold what its arguments hold.
_WORDS = ("why", "description", "modelSays", "dangerous", "proposal", "proposalText", "access", "preview", "cure")


def masked(text: str, data: JsonObject, mask: Masked) -> tuple[str, JsonObject]:
    """Return a question about a call without secrets; a permission that would hold one is not offered."""
    words = {key: data[key] for key in _WORDS if key in data}
    kept = {key: None for key in words} | mask(words)
    clean = data | kept
    if kept.get("proposal") != data.get("proposal"):
        once = [choice for choice in data["choices"] if choice["id"] not in LASTING]
        clean |= {"proposal": None, "proposalText": "", "group": "", "choices": once}
    return mask({"text": text}).get("text", ""), clean


def _said_before(call: Call, items: Iterable[Item]) -> str:
    """Return what the model wrote in the turn in which it asked for the call."""
    turn = (call.run_id, call.data.turn)
    said = [item.text for item in items if is_a(item, ResponseData) and (item.run_id, turn_of(item)) == turn]
    return " ".join(said).strip()[: limits.MODEL_SAYS_CHARS]


def elicitation(call: Call, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of a question that a server asks in the middle of a call."""
    return patch(
        ElicitationData,
        kind="elicitation",
        call_item_id=call.id,
        tool_call_id=call.data.call_id,
        ask_id=ask.id,
        mode=ask.kind,
        schema=ask.schema,
        url=ask.url,
        server=tool.server,
        server_tool=tool.qualified_name,
        choices=_SIGNING_IN if ask.kind == "sign_in" else _REPLIES,
    )


def collaboration(call: Call, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of a question that the agent itself asks."""
    may_ask_permission = tool.spec.name == COLLABORATION and not tool.server
    return patch(
        CollaborationData,
        kind="collaboration",
        call_item_id=call.id,
        tool_call_id=call.data.call_id,
        ask_id=ask.id,
        context=ask.context,
        choices=tuple(ChoiceShown(id=choice.id, label=choice.label) for choice in ask.choices),
        authorizes=ask.authorizes if may_ask_permission else "",
        duration=ask.duration,
    )


def asked(call: Call, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of what a call asks before it goes on."""
    return collaboration(call, tool, ask) if ask.kind == "question" else elicitation(call, tool, ask)


def approval_of(call: Call, items: Iterable[Item]) -> Approval | None:
    """Return what the person chose when last asked about this call."""
    for item in reversed(list(items)):
        asked = item.data if is_a(item, QuestionData) else None
        if isinstance(asked, ApprovalData) and asked.call_item_id == call.id:
            if item.status != "completed":
                return None
            answer = asked.answer or AnswerData()
            return Approval(
                choice=str(answer.choice),
                call_hash=asked.call_hash,
                by=answer.by,
                reason=answer.text or "",
                why=asked.why or "",
                changed=answer.changed or "",
            )
    return None


def begun_with(call: Call) -> Approval | None:
    """Return the permission with which a call began that paused to ask something: going on is no second call."""
    decision = call.data.decision
    if not call.data.paused or decision is None or decision.verdict != "allow":
        return None
    return Approval(choice="allow", call_hash=decision.call_hash, by=decision.by)


def reply(question: Question) -> JsonObject:
    """Return the person's answer as whoever asked is told it; a question that was withdrawn is cancelled."""
    answer = question.data.answer
    if isinstance(question.data, CollaborationData) and answer is not None:
        return {"action": "accept", "choice": answer.choice, "text": answer.text or ""}
    action = (answer.choice if answer is not None else None) or "cancel"
    content = answer.content if answer is not None else None
    return {"action": action, "content": content} if content is not None else {"action": action}


# --- rules for the store: from a run and what it left open to what both are then ----------------


def answered(
    run: Run, left: Sequence[Item], item_id: str, answer: AnswerData, changed: JsonObject | None = None
) -> tuple[Run, list[Event]]:
    """Keep the first answer to a question, and queue the run once nothing is asked any more.

    `changed` is what the item of its call says from then on, where the person changed what it is given.
    """
    questions = [item for item in left if is_a(item, QuestionData) and item.status == "waiting"]
    question = next((item for item in questions if item.id == item_id), None)
    if question is None:
        raise PilothouseError("conflict", "This question has already been answered or withdrawn.")
    settled = [question, *(item for item in questions if _same_grant(question, item, answer))]
    kept = patch(QuestionData, answer=answer)
    done: list[Event] = [ItemCompleted(item_id=item.id, status="completed", data=kept) for item in settled]
    if changed is not None:
        done.insert(0, ItemUpdated(item_id=question.data.call_item_id, data=changed))
    # Whoever answers a run that a restart interrupted wants it to go on.
    return _going_on(run, len(questions) > len(settled), resting=("waiting", "interrupted")), done


def _same_grant(question: Question, other: Question, answer: AnswerData) -> bool:
    """Return whether a permission that was given as it was proposed answers another open question too."""
    group = _group(question) if answer.choice in LASTING and not answer.edited else ""
    return bool(group) and other.id != question.id and _group(other) == group


def _group(question: Question) -> str:
    return question.data.group if isinstance(question.data, ApprovalData) else ""


def call_cancelled(run: Run, left: Sequence[Item], item_id: str) -> tuple[Run, list[Event]]:
    """Mark a call as unwanted, withdraw what is asked about it, and let a parked run go on without it."""
    if not any(item.id == item_id for item in left):
        raise PilothouseError("conflict", "This has already ended.")
    questions = [item for item in left if is_a(item, QuestionData) and item.status == "waiting"]
    withdrawn = [item for item in questions if item.data.call_item_id == item_id]
    events: list[Event] = [ItemUpdated(item_id=item_id, data=patch(CallData, cancel_requested=True))]
    events += [ItemCompleted(item_id=item.id, status="cancelled") for item in withdrawn]
    return _going_on(run, len(questions) > len(withdrawn)), events


def _going_on(run: Run, still_asked: bool, resting: tuple[RunStatus, ...] = ("waiting",)) -> Run:
    parked = run.status in resting and not still_asked
    return msgspec.structs.replace(run, status="queued", process=None) if parked else run


def paused(items: Iterable[Item]) -> list[str]:
    """Return the calls that wait for answers to what their server asked."""
    return [item.id for item in items if is_a(item, CallData) and item.data.phase == "input_required"]
