"""An answer on its way in: what a question takes, and what it allows beyond the one call."""

from __future__ import annotations

import time

import msgspec

from pilothouse.host.messages import check_text
from pilothouse.json_schema.checking import complaint
from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.authority import LASTING, Grant, Pattern, Rule, arguments_digest
from pilothouse.types.durations import seconds_of
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import (
    AnswerData,
    ApprovalData,
    CollaborationData,
    ElicitationData,
    QuestionData,
    takes_own_words,
)
from pilothouse.types.items import Item, Question, is_a
from pilothouse.types.json import JsonObject, convert, encode, plain


class _Terms(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """How far a lasting answer reaches; what is left out is as it was proposed."""

    duration: str = ""
    pattern: Pattern | None = None


async def checked(item: Item, body: Answer, by: str) -> tuple[Question, AnswerData]:
    """Return the question, and what is kept of an answer to it; raise one sentence if it does not take that."""
    if not is_a(item, QuestionData):
        raise PilothouseError("bad_request", "That is not a question.")
    _check(item.data, body)
    if body.text is not None and len(body.text) > limits.OWN_WORDS_CHARS:
        raise PilothouseError("too_large", f"An answer has at most {limits.OWN_WORDS_CHARS:,} characters.")
    check_text(body.text or "")
    content, edited = await _content(item.data, body)
    changed = await _changed(item.data, body)
    said = AnswerData(
        by=by, at=time.time(), choice=body.choice, text=body.text, content=content, edited=edited, changed=changed
    )
    return item, said


async def _changed(question: QuestionData, body: Answer) -> str | None:
    """Return the digest of the arguments that the person put in place of the model's, if they did."""
    if body.arguments is None:
        return None
    if body.choice != "allow" or not isinstance(question, ApprovalData):
        raise PilothouseError("bad_request", "Changed arguments go along with “allow”, for the one call.")
    size = len(encode(body.arguments))
    if size > limits.ARGUMENT_BYTES:
        raise PilothouseError("too_large", f"A call takes at most {limits.ARGUMENT_BYTES // 1024 // 1024} MB.")
    wrong = await complaint(question.parameters or {}, body.arguments, size)
    if wrong is not None:
        raise PilothouseError("bad_request", f"{wrong}.")
    return arguments_digest(body.arguments)


def _check(question: QuestionData, body: Answer) -> None:
    """Raise one sentence unless a choice is one of those offered, or words are what is asked for."""
    choices = [choice.id for choice in question.choices]
    if body.choice is not None and body.choice not in choices:
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices) or '(text)'}.")
    if body.choice is not None:
        return
    if choices and not takes_own_words(question):
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices)}.")
    if not (body.text or "").strip():
        raise PilothouseError("bad_request", "Say something.")


async def _content(question: QuestionData, body: Answer) -> tuple[JsonObject | None, bool | None]:
    """Return what of an answer is more than its choice and its words, and whether it was edited."""
    if body.choice == "accept" and isinstance(question, ElicitationData) and question.mode == "form":
        return await _filled_in(question.schema or {}, body.content), None
    if body.choice in LASTING and isinstance(question, ApprovalData):
        return _reach(question, body.choice, body.content or {})
    if body.content is not None:
        which = "a lasting answer" if isinstance(question, ApprovalData) else "an accepted form"
        raise PilothouseError("bad_request", f"Only {which} has content.")
    return None, None


async def _filled_in(schema: JsonObject, content: JsonObject | None) -> JsonObject:
    if content is None and not schema.get("properties"):
        # A question with no fields is answered by the choice alone.
        content = {}
    if content is None:
        raise PilothouseError("bad_request", "The form is not filled in.", fix="Send its fields as `content`.")
    wrong = await complaint(schema, content, len(encode(content)), "field")
    if wrong is not None:
        raise PilothouseError("bad_request", f"{wrong}.")
    return content


def _reach(question: ApprovalData, choice: str, content: JsonObject) -> tuple[JsonObject, bool]:
    """Return how far a lasting answer reaches, and whether that is other than proposed."""
    try:
        terms = convert(content, _Terms)
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None
    if terms.duration and choice == "task":
        raise PilothouseError("bad_request", "“task” stands until the answer ends, so it has no duration.")
    offered = next(one.durations for one in question.choices if one.id == choice)
    duration = terms.duration or next(iter(offered), "")
    if duration:
        seconds_of(duration)
    proposed = question.proposal or Pattern()
    pattern = terms.pattern or proposed
    if pattern.tool == proposed.tool:
        # A permission for a server's tool is one for its exact definition, however the rest was edited.
        pattern = msgspec.structs.replace(pattern, definition=proposed.definition)
    if pattern.sources is None:
        # Nobody else's data than what the question was about, unless the answer says so.
        sources = proposed.sources if pattern.tool == proposed.tool else ()
        pattern = msgspec.structs.replace(pattern, sources=sources)
    return {**({"duration": duration} if duration else {}), "pattern": plain(pattern)}, pattern != proposed


def pattern_of(question: Question, answer: AnswerData) -> Pattern | None:
    """Return which calls an answer allows beyond the one that it is about; None when no others."""
    data = question.data
    if isinstance(data, ApprovalData) and answer.choice in LASTING and answer.content is not None:
        return convert(answer.content["pattern"], Pattern)
    if isinstance(data, CollaborationData) and data.authorizes and answer.choice == "approve":
        return Pattern(tool=data.authorizes, sources=())
    return None


def grant_of(question: Question, answer: AnswerData, owner: str) -> Grant | None:
    """Return the passing permission that an answer gives: to calls of a kind, or to what the agent asked for."""
    pattern, now = pattern_of(question, answer), time.time()
    if pattern is None or answer.choice == "always":
        return None
    asked = question.data.duration if isinstance(question.data, CollaborationData) else ""
    said = (answer.content or {}).get("duration") or asked
    return Grant(
        id=new_id("g"),
        owner=owner,
        conversation_id=question.conversation_id,
        pattern=pattern,
        created_at=now,
        expires_at=now + seconds_of(str(said)) if said else None,
        single_use=False,
        question_id=question.id,
        run_id=(question.run_id or "") if answer.choice == "task" else "",
    )


def rule_of(question: Question, answer: AnswerData) -> Rule | None:
    """Return the lasting rule that an answer makes."""
    pattern = pattern_of(question, answer)
    if pattern is None or answer.choice != "always":
        return None
    return Rule(id=new_id("u"), verdict="allow", pattern=pattern, created_at=time.time())


def alone(question: Item, body: Answer) -> bool:
    """Return whether an answer may only be given to this question by itself: it would let something stand out pass."""
    asked = question.data
    changes = body.arguments is not None
    return changes or (isinstance(asked, ApprovalData) and body.choice != "deny" and not asked.group)
