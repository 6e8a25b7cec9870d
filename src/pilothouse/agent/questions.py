"""Questions to the person: what is asked about a call, what an answer settles, and what it still counts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pilothouse.types.authority import Approval
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, PermitNeeded, Tool
from pilothouse.types.runs import Run

ALLOW, CONVERSATION, DENY = "allow", "conversation", "deny"
_ONCE = {"id": ALLOW, "label": "Allow once"}
_LASTING = {"id": CONVERSATION, "label": "Allow in this conversation"}
_NEVER = {"id": DENY, "label": "Deny"}
_REPLIES = [
    {"id": "accept", "label": "Send"},
    {"id": "decline", "label": "Decline"},
    {"id": "cancel", "label": "Cancel"},
]
# What of a tool's description stands beside the question; the tools page has all of it.
_DESCRIPTION_CHARS = 2_000


def approval(call: Item, tool: Tool, needed: PermitNeeded) -> JsonObject:
    """Return the data of a question whether a call may be executed; its arguments are shown from the call."""
    return {
        "kind": "approval",
        "callItemId": call.id,
        "rule": needed.decision.rule,
        "why": needed.decision.why,
        "callHash": needed.decision.call_hash,
        "tool": tool.spec.name,
        "serverTool": tool.qualified_name,
        "server": tool.server,
        "grantKey": tool.grant_key,
        "description": tool.spec.description[:_DESCRIPTION_CHARS],
        # A lasting permission is for a server's tools: it is bound to their exact definition.
        "choices": [_ONCE, _LASTING, _NEVER] if tool.server else [_ONCE, _NEVER],
    }


def elicitation(call: Item, tool: Tool, ask: Ask) -> JsonObject:
    """Return the data of a question that a server asks in the middle of a call."""
    return {
        "kind": "elicitation",
        "callItemId": call.id,
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


def granted(items: Iterable[Item]) -> frozenset[str]:
    """Return the keys of what the person allowed for the whole conversation."""
    return frozenset(
        str(item.data["grantKey"])
        for item in items
        if item.kind == "question"
        and item.status == "completed"
        and item.data.get("answer", {}).get("choice") == CONVERSATION
    )


def reply(question: Item) -> JsonObject:
    """Return the person's answer as the server is told it; a question that was withdrawn is cancelled."""
    answer = question.data.get("answer") or {}
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
    return _going_on(run, len(questions) > len(settled)), done


def _same_grant(question: Item, other: Item, answer: JsonObject) -> bool:
    """Return whether a lasting permission answers another open question too."""
    lasting = answer.get("choice") == CONVERSATION and question.data.get("grantKey")
    return bool(lasting) and other.id != question.id and other.data.get("grantKey") == question.data["grantKey"]


def call_cancelled(run: Run, left: Sequence[Item], item_id: str) -> tuple[Run, list[Event]]:
    """Mark a call as unwanted, withdraw what is asked about it, and let a parked run go on without it."""
    if not any(item.id == item_id for item in left):
        raise PilothouseError("conflict", "This has already ended.")
    questions = [item for item in left if item.kind == "question" and item.status == "waiting"]
    withdrawn = [item for item in questions if item.data.get("callItemId") == item_id]
    events: list[Event] = [ItemUpdated(item_id=item_id, data={"cancelRequested": True})]
    events += [ItemCompleted(item_id=item.id, status="cancelled") for item in withdrawn]
    return _going_on(run, len(questions) > len(withdrawn)), events


def _going_on(run: Run, still_asked: bool) -> Run:
    parked = run.status == "waiting" and not still_asked
    return msgspec.structs.replace(run, status="queued", process=None) if parked else run


def paused(items: Iterable[Item]) -> list[str]:
    """Return the calls that wait for answers to what their server asked."""
    return [item.id for item in items if item.kind == "tool_call" and item.data.get("phase") == "input_required"]
