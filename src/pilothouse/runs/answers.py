"""An answer on its way in: what a question takes, and what it allows beyond the one call."""

from __future__ import annotations

import time

import msgspec

from pilothouse.agent.validation import complaint
from pilothouse.runs.messages import check_text
from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.authority import Grant, Pattern, Rule
from pilothouse.types.durations import seconds_of
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, convert, encode, plain

# Answers to a question about a call that stand for more calls of its kind.
LASTING = frozenset({"conversation", "always"})
_DEFAULT = "5m"


class _Terms(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """How far a lasting answer reaches; what is left out is as it was proposed."""

    duration: str = _DEFAULT
    pattern: Pattern | None = None


async def checked(question: Item, body: Answer, by: str) -> JsonObject:
    """Return what is kept of an answer; raise one sentence if the question does not take it."""
    if question.kind != "question":
        raise PilothouseError("bad_request", "That is not a question.")
    _check(question, body)
    if body.text is not None and len(body.text) > limits.OWN_WORDS_CHARS:
        raise PilothouseError("too_large", f"An answer has at most {limits.OWN_WORDS_CHARS:,} characters.")
    check_text(body.text or "")
    said: JsonObject = {"by": by, "at": time.time()}
    said |= {"choice": body.choice} if body.choice is not None else {}
    said |= {"text": body.text} if body.text is not None else {}
    return said | await _content(question, body)


def _check(question: Item, body: Answer) -> None:
    """Raise one sentence unless a choice is one of those offered, or words are what is asked for."""
    choices = [choice["id"] for choice in question.data.get("choices", ())]
    if body.choice is not None and body.choice not in choices:
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices) or '(text)'}.")
    if body.choice is not None:
        return
    # The agent hears whatever the person says to its question; leave takes an explicit choice.
    own_words = question.data.get("kind") == "collaboration" and not question.data.get("authorizes")
    if choices and not own_words:
        raise PilothouseError("bad_request", f"Choose one of: {', '.join(choices)}.")
    if not (body.text or "").strip():
        raise PilothouseError("bad_request", "Say something.")


async def _content(question: Item, body: Answer) -> JsonObject:
    if body.choice == "accept" and question.data.get("mode") == "form":
        return {"content": await _filled_in(question, body.content)}
    if body.choice in LASTING and question.data.get("kind") == "approval":
        return _reach(question, body.content or {})
    if body.content is not None:
        which = "a lasting answer" if question.data.get("kind") == "approval" else "an accepted form"
        raise PilothouseError("bad_request", f"Only {which} has content.")
    return {}


async def _filled_in(question: Item, content: JsonObject | None) -> JsonObject:
    if content is None and not (question.data.get("schema") or {}).get("properties"):
        # A question with no fields is answered by the choice alone.
        content = {}
    if content is None:
        raise PilothouseError("bad_request", "The form is not filled in.", fix="Send its fields as `content`.")
    wrong = await complaint(question.data.get("schema") or {}, content, len(encode(content)), "field")
    if wrong is not None:
        raise PilothouseError("bad_request", f"{wrong}.")
    return content


def _reach(question: Item, content: JsonObject) -> JsonObject:
    """Return how far a lasting answer reaches, and whether that is other than proposed."""
    try:
        terms = convert(content, _Terms)
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None
    seconds_of(terms.duration)
    proposed = convert(question.data.get("proposal") or {}, Pattern)
    pattern = terms.pattern or proposed
    if pattern.tool == proposed.tool:
        # A permission for a server's tool is one for its exact definition, however the rest was edited.
        pattern = msgspec.structs.replace(pattern, definition=proposed.definition)
    kept = {"duration": terms.duration, "pattern": plain(pattern)}
    return {"content": kept, "edited": pattern != proposed}


def pattern_of(question: Item, answer: JsonObject) -> Pattern | None:
    """Return which calls an answer allows beyond the one that it is about; None when no others."""
    data, choice = question.data, answer.get("choice")
    if data.get("kind") == "approval" and choice in LASTING:
        return convert(answer["content"]["pattern"], Pattern)
    if data.get("kind") == "collaboration" and data.get("authorizes") and choice == "approve":
        return Pattern(tool=str(data["authorizes"]))
    return None


def grant_of(question: Item, answer: JsonObject, owner: str) -> Grant | None:
    """Return the passing permission that an answer gives: to calls of a kind, or to what the agent asked for."""
    pattern, now = pattern_of(question, answer), time.time()
    if pattern is None or answer["choice"] == "always":
        return None
    said = (answer.get("content") or {}).get("duration") or question.data.get("duration") or _DEFAULT
    return Grant(
        id=new_id("g"),
        owner=owner,
        conversation_id=question.conversation_id,
        pattern=pattern,
        created_at=now,
        expires_at=now + seconds_of(str(said)),
        single_use=False,
        question_id=question.id,
    )


def rule_of(question: Item, answer: JsonObject) -> Rule | None:
    """Return the lasting rule that an answer makes."""
    pattern = pattern_of(question, answer)
    if pattern is None or answer["choice"] != "always":
        return None
    return Rule(id=new_id("u"), verdict="allow", pattern=pattern, created_at=time.time())


def alone(question: Item, body: Answer) -> bool:
    """Return whether an answer may only be given to this question by itself: it would let something stand out pass."""
    return question.data.get("kind") == "approval" and body.choice != "deny" and not question.data.get("group")
