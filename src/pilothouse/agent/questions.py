"""Questions to the person: what is asked about a call, what an answer settles, and what it still counts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pilothouse.agent.recording import Masked
from pilothouse.types import limits
from pilothouse.types.authority import Approval
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, PermitNeeded, Tool
from pilothouse.types.runs import Run, RunStatus
from pilothouse.types.tool_names import COLLABORATION

# Answers that stand for more than the one call.
_LASTING = frozenset({"conversation", "always"})
_REPLIES = [
    {"id": "accept", "label": "Send"},
    {"id": "decline", "label": "Decline"},
    {"id": "cancel", "label": "Cancel"},
]
# What of a tool's description stands beside the question; the tools page has all of it.
_DESCRIPTION_CHARS = 2_000


def approval(call: Item, tool: Tool, needed: PermitNeeded, items: Iterable[Item]) -> JsonObject:
    """Return the data of a question whether a call may be executed; its arguments are shown from the call."""
    return needed.data | {
        "kind": "approval",
        "callItemId": call.id,
        "toolCallId": call.data.get("callId"),
        "rule": needed.decision.rule,
        "why": needed.decision.why,
        "callHash": needed.decision.call_hash,
        "tool": tool.spec.name,
        "serverTool": tool.qualified_name,
        "server": tool.server,
        "description": tool.spec.description[:_DESCRIPTION_CHARS],
        "modelSays": _said_before(call, items),
    }


# What of a question about a call says what the call is about, and may hold what its arguments hold.
_WORDS = ("why", "description", "modelSays", "dangerous", "proposal", "proposalText", "access", "preview")


def masked(text: str, data: JsonObject, mask: Masked) -> tuple[str, JsonObject]:
    """Return a question about a call without secrets; a permission that would hold one is not offered."""
    words = {key: data[key] for key in _WORDS if key in data}
    kept = {key: None for key in words} | mask(words)
    clean = data | kept
    if kept.get("proposal") != data.get("proposal"):
        once = [choice for choice in data["choices"] if choice["id"] not in _LASTING]
        clean |= {"proposal": None, "proposalText": "", "group": "", "choices": once}
    return mask({"text": text}).get("text", ""), clean


def _said_before(call: Item, items: Iterable[Item]) -> str:
    """Return what the model wrote in the turn in which it asked for the call."""
    turn = (call.run_id, call.data.get("turn"))
    said = [item.text for item in items if item.kind == "response" and (item.run_id, item.data.get("turn")) == turn]
    return " ".join(said).strip()[: limits.MODEL_SAYS_CHARS]


def elicitation(call: Item, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of a question that a server asks in the middle of a call."""
    return {
        "kind": "elicitation",
        "callItemId": call.id,
        "toolCallId": call.data.get("callId"),
        "askId": ask.id,
        # Becomes the question's text.
        "message": ask.message,
        "mode": ask.kind,
        "schema": ask.schema,
        "url": ask.url,
        "server": tool.server,
        "serverTool": tool.qualified_name,
        "choices": _REPLIES,
    }


def collaboration(call: Item, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of a question that the agent itself asks."""
    may_ask_leave = tool.spec.name == COLLABORATION and not tool.server
    return {
        "kind": "collaboration",
        "callItemId": call.id,
        "toolCallId": call.data.get("callId"),
        "askId": ask.id,
        # Becomes the question's text.
        "message": ask.message,
        "context": ask.context,
        "choices": [{"id": choice.id, "label": choice.label} for choice in ask.choices],
        "authorizes": ask.authorizes if may_ask_leave else "",
        "duration": ask.duration,
    }


def asked(call: Item, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of what a call asks before it goes on."""
    return collaboration(call, tool, ask) if ask.kind == "question" else elicitation(call, tool, ask)


def approval_of(call: Item, items: Iterable[Item]) -> Approval | None:
    """Return what the person chose when last asked about this call."""
    for item in reversed(list(items)):
        if item.kind == "question" and item.data.get("callItemId") == call.id and item.data.get("kind") == "approval":
            if item.status != "completed":
                return None
            answer = item.data.get("answer", {})
            return Approval(
                choice=str(answer.get("choice")),
                call_hash=str(item.data.get("callHash")),
                by=str(answer.get("by", "")),
                reason=str(answer.get("text") or ""),
            )
    return None


def begun_with(call: Item) -> Approval | None:
    """Return the leave with which a call began that paused to ask something: going on is no second call."""
    decision = call.data.get("decision") or {}
    if not call.data.get("paused") or decision.get("verdict") != "allow":
        return None
    return Approval(choice="allow", call_hash=str(decision.get("callHash")), by=str(decision.get("by", "")))


def reply(question: Item) -> JsonObject:
    """Return the person's answer as whoever asked is told it; a question that was withdrawn is cancelled."""
    answer = question.data.get("answer") or {}
    if question.data.get("kind") == "collaboration" and answer:
        return {"action": "accept", "choice": answer.get("choice"), "text": answer.get("text") or ""}
    action = answer.get("choice") or "cancel"
    return {"action": action, "content": answer["content"]} if answer.get("content") is not None else {"action": action}


# --- rules for the store: from a run and what it left open to what both are then ----------------


def answered(run: Run, left: Sequence[Item], item_id: str, answer: JsonObject) -> tuple[Run, list[Event]]:
    """Keep the first answer to a question, and queue the run once nothing is asked any more."""
    questions = [item for item in left if item.kind == "question" and item.status == "waiting"]
    question = next((item for item in questions if item.id == item_id), None)
    if question is None:
        raise PilothouseError("conflict", "This question has already been answered or withdrawn.")
    settled = [question, *(item for item in questions if _same_grant(question, item, answer))]
    done: list[Event] = [
        ItemCompleted(item_id=item.id, status="completed", data={"answer": answer}) for item in settled
    ]
    # Whoever answers a run that a restart interrupted wants it to go on.
    return _going_on(run, len(questions) > len(settled), resting=("waiting", "interrupted")), done


def _same_grant(question: Item, other: Item, answer: JsonObject) -> bool:
    """Return whether a permission that was given as it was proposed answers another open question too."""
    lasting = answer.get("choice") in _LASTING and question.data.get("group") and not answer.get("edited")
    return bool(lasting) and other.id != question.id and other.data.get("group") == question.data["group"]


def call_cancelled(run: Run, left: Sequence[Item], item_id: str) -> tuple[Run, list[Event]]:
    """Mark a call as unwanted, withdraw what is asked about it, and let a parked run go on without it."""
    if not any(item.id == item_id for item in left):
        raise PilothouseError("conflict", "This has already ended.")
    questions = [item for item in left if item.kind == "question" and item.status == "waiting"]
    withdrawn = [item for item in questions if item.data.get("callItemId") == item_id]
    events: list[Event] = [ItemUpdated(item_id=item_id, data={"cancelRequested": True})]
    events += [ItemCompleted(item_id=item.id, status="cancelled") for item in withdrawn]
    return _going_on(run, len(questions) > len(withdrawn)), events


def _going_on(run: Run, still_asked: bool, resting: tuple[RunStatus, ...] = ("waiting",)) -> Run:
    parked = run.status in resting and not still_asked
    return msgspec.structs.replace(run, status="queued", process=None) if parked else run


def paused(items: Iterable[Item]) -> list[str]:
    """Return the calls that wait for answers to what their server asked."""
    return [item.id for item in items if item.kind == "tool_call" and item.data.get("phase") == "input_required"]
