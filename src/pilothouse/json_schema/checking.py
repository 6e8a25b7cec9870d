"""Checks what models, people and servers send against a schema. Neither is ours, so neither may hold anyone up.

The validator is quick, but it keeps the interpreter to itself and cannot be interrupted. So what a check costs at
most is counted before. What is not sure to be short is done in a process of its own, which is ended in time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import closing
from typing import TYPE_CHECKING, Literal

import msgspec

from pilothouse.json_schema.cost import Cost, Endless, Unforeseen, Unusable, cost
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode, is_within

if TYPE_CHECKING:
    from pilothouse.json_schema.validator import Validator

_UNUSABLE = "The tool's own description of its {noun}s cannot be used."
_TOO_SLOW = "The {noun}s could not be checked in time."

_known: OrderedDict[int, _Schema] = OrderedDict()


class TooSlow(Exception):
    """It could not be said in time whether a value fits."""


class Mismatch(msgspec.Struct, frozen=True):
    """Where a value differs from its schema, and how."""

    path: tuple[str, ...]
    message: str


class Question(msgspec.Struct, frozen=True):
    """A schema and a value, as JSON."""

    schema: bytes
    value: bytes


class Verdict(msgspec.Struct, frozen=True):
    """What came of a check in another process."""

    trouble: Literal["", "unusable", "slow"] = ""
    mismatch: Mismatch | None = None


async def complaint(schema: JsonObject, value: JsonObject, size: int, noun: str = "parameter") -> str | None:
    """Return what is wrong with a value in one sentence, or None; `size` is its length as JSON, 0 if unknown."""
    try:
        missing = next((name for name in schema.get("required", ()) if name not in value), None)
        if missing is not None:
            return f"Missing required {noun}: {missing}"
        wrong = await mismatch(schema, value, size or len(encode(value)))
    except TooSlow:
        return _TOO_SLOW.format(noun=noun)
    except Exception:
        # A schema comes from whoever wrote the tool; a broken one fails the call, not the run.
        return _UNUSABLE.format(noun=noun)
    if wrong is None:
        return None
    place = ".".join(wrong.path)
    return f"Invalid {noun} {place}: {wrong.message}" if place else f"Invalid {noun}s: {wrong.message}"


async def mismatch(schema: JsonObject, value: object, size: int) -> Mismatch | None:
    """Return how a value differs from a schema, or None; raise Unusable or TooSlow when that cannot be said."""
    known = _schema(schema)
    if known.is_endless:
        raise Unusable
    left = limits.CHECKED_STEPS - known.cost.searched(size)
    if known.validator is not None and known.cost.is_within(left, value, size):
        if known.validator.fits(value):
            return None
        # Saying what is wrong takes far longer than finding out that something is.
        if known.cost.is_within(limits.EXPLAINED_STEPS, value, size):
            return known.validator.mismatch(value)
    return await asyncio.to_thread(_apart, Question(encode(schema), encode(value)))


def check(question: Question) -> Verdict:
    """Check a value, however long it takes; for a process that is ended in time."""
    from pilothouse.json_schema import validator  # noqa: PLC0415

    schema, value = msgspec.json.decode(question.schema), msgspec.json.decode(question.value)
    try:
        compiled = validator.Validator(schema, validator.BACKTRACKING)
        return Verdict(mismatch=compiled.mismatch(value))
    except Unusable:
        return Verdict("unusable")
    except TooSlow:
        return Verdict("slow")


def _apart(question: Question) -> Mismatch | None:
    # Few schemas come here, so the process does not wait for the next one.
    from pilothouse.helper.client import Helper, Unreadable  # noqa: PLC0415

    with closing(Helper()) as helper:
        try:
            verdict = helper.ask(check, question, limits.CHECKING_SECONDS)
        except Unreadable:
            raise TooSlow from None
    if verdict.trouble:
        raise Unusable if verdict.trouble == "unusable" else TooSlow
    return verdict.mismatch


def _schema(schema: JsonObject) -> _Schema:
    """Return what is known of a schema, found out once for as long as it is used."""
    known = _known.get(id(schema))
    if known is None:
        # It holds its schema, so that no other gets the same id while this one is known.
        known = _known[id(schema)] = _Schema(schema)
        if len(_known) > limits.SCHEMAS_KEPT:
            _known.popitem(last=False)
    else:
        _known.move_to_end(id(schema))
    return known


class _Schema:
    """One schema: what a check costs, and the validator if there may be one in this process."""

    def __init__(self, schema: JsonObject) -> None:
        self._held = schema
        self.cost = Cost((0,), (0,))
        self.validator: Validator | None = None
        self.is_endless = False
        if not is_within(schema, limits.SCHEMA_LEVELS_AT_ONCE, limits.SCHEMA_PARTS_AT_ONCE):
            return
        from pilothouse.json_schema import validator  # noqa: PLC0415

        try:
            self.cost = cost(schema)
            self.validator = validator.Validator(schema, validator.LINEAR)
        except Endless:
            self.is_endless = True
        except (Unforeseen, Unusable):
            # Whether it is of any use is found out elsewhere.
            return
