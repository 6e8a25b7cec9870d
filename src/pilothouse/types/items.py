"""Items: one per thing that happens in a conversation, each with a lifecycle."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen, JsonObject

ItemKind = Literal[
    "user_message",
    "response",
    "thinking",
    "tool_call",
    "tool_summary",
    "question",
    "notice",
    "compaction",
    "reminder",
]
ItemStatus = Literal["streaming", "waiting", "completed", "failed", "cancelled", "timed_out", "unknown"]

# A call that reached one of these has its result; it is never executed again.
CLOSED: frozenset[ItemStatus] = frozenset({"completed", "failed", "cancelled", "timed_out", "unknown"})


class Item(Frozen, frozen=True):
    """One thing in the timeline; `data` holds what completing it must not lose.

    user_message: data.content [ResultPart]: what was attached
    response:     data.usage, data.firstTokenMs, data.durationMs, data.model, data.native, data.cutOff, data.turn,
                  data.tokensPerSecond (where it says something)
    thinking:     data.durationMs, data.opaque, data.turn
    tool_call:    data.callId, data.tool, data.server, data.arguments, data.argumentBytes, data.phase,
                  data.phases {phase: time}, data.isError, data.error {code, message, retryable},
                  data.turn, data.opaque, data.display, data.content [ResultPart], data.cut (more was left out
                  than is kept), data.hiddenCharacters (taken out for the model); text is the result
                  data.shown (Shown), data.decision (Decision), data.access (Access without its preview),
                  data.brings {private, untrusted, source}, data.changes [{path, kind, diff, added, removed}],
                  data.todos (TodoList, after a todo call), data.processId
    question:     data.kind ("approval", "elicitation", "collaboration", "limit"), data.callItemId, data.toolCallId,
                  data.choices [{id, label}], data.answer; text is the question
    notice:       data.level ("info", "warning", "error"), data.code, data.todos (after the person changed them);
                  text is the sentence
    reminder:     data.name, data.before (the id of the message that it stands before); text is what the model is told;
                  without a name it says that an answer goes on after later ones
    compaction:   data.seen (what the conversation had seen until then); text is the summary that stands for it
    """

    id: str
    conversation_id: str
    run_id: str | None
    kind: ItemKind
    status: ItemStatus
    # The sequence number of the event that created it: the item's place in the conversation.
    position: int
    text: str
    data: JsonObject
    created_at: float
    updated_at: float
