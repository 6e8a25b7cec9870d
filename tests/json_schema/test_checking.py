"""Arguments against schemas that nobody of us wrote: told exactly, in bounded time, without holding anyone up."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable
from random import Random
from typing import Any, TypeVar

import pytest

from pilothouse.json_schema import checking
from pilothouse.json_schema.checking import Question, Verdict, check, complaint
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode
from tests.support.lag import HELD, least_hold

T = TypeVar("T")
TICK = 0.002
# Generous, for busy machines: what these tests are about would hold the loop for as long as they run.
STALL = 1.0
EVIL = r"^(a+)+$"


async def said(schema: JsonObject, value: JsonObject) -> str | None:
    return await complaint(schema, value, len(encode(value)))


def apart(schema: JsonObject, value: JsonObject) -> Verdict:
    """Return what the other process would say."""
    return check(Question(encode(schema), encode(value)))


async def without_a_stall(work: Awaitable[T]) -> tuple[T, float]:
    """Await something, and return the longest time for which the event loop did nothing else."""
    longest, last, over = 0.0, time.thread_time(), asyncio.Event()

    async def tick() -> None:
        nonlocal longest, last
        while not over.is_set():
            await asyncio.sleep(TICK)
            longest, last = max(longest, time.thread_time() - last), time.thread_time()

    ticking = asyncio.ensure_future(tick())
    try:
        return await work, longest
    finally:
        over.set()
        await ticking


CASES: list[tuple[JsonObject, Any, bool]] = [
    ({"type": "object"}, {"any": 1}, True),
    ({"properties": {"a": {"type": "string"}}}, {"a": "x", "b": 1}, True),
    ({"properties": {"a": {"type": "string"}}, "additionalProperties": False}, {"b": 1}, False),
    ({"properties": {"n": {"type": "integer"}}}, {"n": 3.0}, True),
    ({"properties": {"n": {"type": "integer"}}}, {"n": 3.5}, False),
    ({"properties": {"n": {"type": "integer"}}}, {"n": True}, False),
    ({"properties": {"n": {"type": "integer"}}}, {"n": "3"}, False),
    ({"properties": {"n": {"type": "number"}}}, {"n": 3}, True),
    ({"properties": {"n": {"type": "number"}}}, {"n": False}, False),
    ({"properties": {"b": {"type": "boolean"}}}, {"b": 1}, False),
    ({"properties": {"x": {"type": ["string", "null"]}}}, {"x": None}, True),
    ({"properties": {"x": {"type": ["string", "null"]}}}, {"x": 1}, False),
    ({"properties": {"e": {"enum": ["a", "b"]}}}, {"e": "b"}, True),
    ({"properties": {"e": {"enum": ["a", "b"]}}}, {"e": "c"}, False),
    ({"properties": {"e": {"enum": [1, 2]}}}, {"e": True}, False),
    ({"properties": {"e": {"enum": [1, 2]}}}, {"e": 1}, True),
    ({"properties": {"l": {"type": "array", "items": {"type": "string"}}}}, {"l": ["a"]}, True),
    ({"properties": {"l": {"type": "array", "items": {"type": "string"}}}}, {"l": ["a", 1]}, False),
    ({"properties": {"l": {"items": {"type": "string"}}}}, {"l": "not a list"}, True),
    ({"properties": {"o": {"properties": {"x": {"type": "string"}}, "required": ["x"]}}}, {"o": {}}, False),
    ({"properties": {"o": {"properties": {"x": {"type": "string"}}}}}, {"o": 3}, True),
    ({"properties": {"s": {"type": "string", "minLength": 2}}}, {"s": "a"}, False),
    ({"properties": {"s": {"type": "string", "pattern": "^b"}}}, {"s": "a"}, False),
    ({"properties": {"s": {"type": "string", "pattern": "^b"}}}, {"s": "ba"}, True),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"c": 1}, False),
    ({"properties": {"a": True, "b": False}}, {"a": 1}, True),
    ({"properties": {"a": True, "b": False}}, {"b": 1}, False),
    ({"$defs": {"t": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/t"}}}, {"a": 1}, False),
    ({"patternProperties": {"^x": {"type": "string"}}}, {"xa": 1}, False),
    ({"patternProperties": {"^x": {"type": "string"}}}, {"ya": 1}, True),
]


@pytest.mark.case("AGT-06", "TOOL-09")
@pytest.mark.parametrize(("schema", "value", "fits"), CASES)
async def test_a_value_fits_or_not_on_the_spot_and_in_another_process_alike(
    schema: JsonObject, value: JsonObject, fits: bool
) -> None:
    assert (await said(schema, value) is None) == fits
    assert (apart(schema, value).mismatch is None) == fits


@pytest.mark.case("AGT-06")
async def test_the_sentence_names_the_place_and_stays_short() -> None:
    schema: JsonObject = {"properties": {"list": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    assert await said(schema, {"list": [{"n": 1}, {"n": "x"}]}) == (
        "Invalid parameter list.1.n: 'x' is not of type 'integer'"
    )
    long = await said({"properties": {"n": {"type": "integer"}}}, {"n": "x" * 100_000})
    assert long is not None
    assert len(long) < 400
    query = await said({"properties": {"query": {"maxLength": 400}}}, {"query": "many words " * 80})
    assert query is not None
    assert len(query) < 300
    assert query.endswith("is longer than 400 characters")


@pytest.mark.case("TOOL-07", "TOOL-09")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": EVIL}}},
        {"patternProperties": {EVIL: {"type": "integer"}}},
        {"properties": {"a": {"pattern": "^.*.*.*.*.*.*x$"}}},
    ],
)
async def test_a_pattern_that_would_run_for_ever_is_looked_for_all_the_same(schema: JsonObject) -> None:
    text = "a" * 5_000
    sentence, stall = await without_a_stall(said(schema, {"a": f"{text}!", text: "no number"}))
    assert sentence is not None
    assert sentence.startswith("Invalid parameter")
    assert stall < STALL


NEVER_ENDING = [
    r"^(a|aa)+\1b$",
    r"^(?=(a|aa)+\1b)a",
    r"^((a{1,99}){1,99}){1,99}$",
    # Each step back from a look ahead takes long by itself.
    "^" + "(?:(?=" * 8 + "a*$" + ")a)*" * 8 + "b$",
]


@pytest.mark.slow
@pytest.mark.case("TOOL-07", "TOOL-09")
@pytest.mark.parametrize("pattern", NEVER_ENDING)
async def test_a_pattern_that_cannot_be_followed_in_time_refuses_the_call(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHECKING_SECONDS", 0.3)
    sentence, stall = await without_a_stall(said({"properties": {"a": {"pattern": pattern}}}, {"a": "a" * 5_000 + "!"}))
    assert sentence == "The parameters could not be checked in time."
    assert stall < STALL


@pytest.mark.slow
@pytest.mark.case("TOOL-09")
@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        (r"^[a-z0-9-]+$", "a-slug", "No Slug"),
        # A group under a quantifier is harmless.
        (r"^[a-z0-9]+(-[a-z0-9]+)*$", "a-usual-name-of-something", "a-usual-name-of-somethinG"),
        (EVIL, "a" * 60, "a" * 60 + "!"),
        (r"(?i)^(a+)+$", "aA", "aA!"),
        # These look around, or back.
        (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rdPassw0rd", "password"),
        (r"^(?!-)[a-z-]+(?<!-)$", "a-b", "a-b-"),
        (r"^(a+)\1+$", "aaaa", "a" * 200 + "!"),
        (r"^(['\"]).*\1$", "'x'", "'x\""),
    ],
)
async def test_usual_patterns_and_those_that_look_around_are_followed(pattern: str, fitting: str, other: str) -> None:
    schema: JsonObject = {"properties": {"a": {"pattern": pattern}}}
    assert await said(schema, {"a": fitting}) is None
    sentence = await said(schema, {"a": other})
    assert sentence is not None
    assert sentence.startswith("Invalid parameter a: ")
    assert "does not match" in sentence


def a_pattern(random: Random, depth: int = 0) -> str:
    """Return any pattern that means the same to everyone."""
    kind = random.random()
    if depth > 3 or kind < 0.35:
        return random.choice(["a", "b", "[ab]", "[^a]", r"\d", r"\w", r"\W", "[a-b0-9]", r"\b", "^", "$", r"\s"])
    if kind < 0.7:
        return a_pattern(random, depth + 1) + a_pattern(random, depth + 1)
    if kind < 0.82:
        return f"(?:{a_pattern(random, depth + 1)}|{a_pattern(random, depth + 1)})"
    return f"({a_pattern(random, depth + 1)}){random.choice(['*', '+', '?', '{1,2}', '{2}', '{0,3}', '*?'])}"


@pytest.mark.case("TOOL-07")
@pytest.mark.slow
async def test_the_linear_engine_finds_what_the_usual_one_finds() -> None:
    random = Random(7)
    for _ in range(1_000):
        pattern = a_pattern(random)
        # Without breaks: what an end is before one, Python says otherwise than the standard.
        text = "".join(random.choice("ab1_ ") for _ in range(random.randint(0, 7)))
        expected = re.search(pattern, text) is not None
        assert (await said({"properties": {"a": {"pattern": pattern}}}, {"a": text}) is None) is expected, (
            pattern,
            text,
        )


def doubling(levels: int) -> JsonObject:
    """Return a small schema that asks for 2 to the power of its levels."""
    pieces = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**pieces, f"d{levels}": {"required": ["x"]}}}


BRANCHING: JsonObject = {"anyOf": [{"properties": {"x": {"$ref": "#"}}, "required": [name]} for name in "abc"]}


def nested(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels):
        value = {"x": value, "a": 1, "b": 2, "c": 3}
    return value


HEAVY: list[tuple[JsonObject, JsonObject]] = [
    (doubling(40), {"x": 1}),
    (BRANCHING, nested(40)),
    ({"properties": {"l": {"items": {"enum": [f"{n:05}" for n in range(20_000)]}}}}, {"l": ["x"] * 100_000}),
    ({"properties": {f"p{n}": {"pattern": rf"^\w{{{n}}}$"} for n in range(1, 5_000)}}, {"p1": "a"}),
    ({"properties": {"a": {"pattern": "[ab]*a[ab]{60}$"}}}, {"a": "ab" * 200_000}),
    ({"properties": {"a": {"uniqueItems": True}}}, {"a": list(range(100_000))}),
    ({"properties": {"l": {"items": {"enum": [{"a": n} for n in range(2_000)]}}}}, {"l": [{"a": -1}] * 2_000}),
    ({"anyOf": [{"properties": {"l": {"items": {"const": n}}}} for n in range(1_000)]}, {"l": [-1] * 100}),
    ({"unevaluatedProperties": False, "allOf": [{"unevaluatedProperties": False}] * 50}, {"a": 1}),
]


@pytest.mark.slow
@pytest.mark.case("TOOL-07", "TOOL-09")
@pytest.mark.parametrize(("schema", "value"), HEAVY)
async def test_no_schema_and_no_value_hold_the_loop(
    schema: JsonObject, value: JsonObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHECKING_SECONDS", 0.2)
    assert await least_hold(lambda: said(schema, value)) < HELD


@pytest.mark.slow
@pytest.mark.case("TOOL-07")
@pytest.mark.parametrize(("schema", "value"), HEAVY[:2])
async def test_a_check_that_would_never_end_is_given_up(
    schema: JsonObject, value: JsonObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CHECKING_SECONDS", 0.2)
    assert await said(schema, value) == "The parameters could not be checked in time."


@pytest.mark.case("TOOL-07")
@pytest.mark.parametrize("address", ["http://127.0.0.1:9/schema", "file:///etc/passwd", "other.json", "#/nowhere"])
async def test_what_a_schema_refers_to_elsewhere_is_not_fetched(address: str) -> None:
    schema: JsonObject = {"properties": {"a": {"$ref": address}}}
    assert await said(schema, {"a": 1}) == "The tool's own description of its parameters cannot be used."


@pytest.mark.parametrize(
    "schema",
    [
        {"title": None, "description": 7, "properties": {"n": {"type": "integer", "examples": 3, "format": None}}},
        {"$schema": "https://example.com/mine", "properties": {"n": {"type": "integer"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"type": "integer"}}},
        # Said as older dialects do.
        {"properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}},
        {
            "$id": "https://example.com/a",
            "properties": {"n": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "integer"}},
        },
    ],
)
async def test_a_schema_with_odd_remarks_or_of_another_dialect_is_used_all_the_same(schema: JsonObject) -> None:
    assert await said(schema, {"n": 3}) is None
    assert await said(schema, {"n": "x"}) == "Invalid parameter n: 'x' is not of type 'integer'"


async def test_the_sentence_is_about_the_alternative_that_was_meant() -> None:
    row: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema: JsonObject = {"properties": {"row": {"anyOf": [row, {"type": "null"}]}}}
    assert await said(schema, {"row": {"n": "x"}}) == "Invalid parameter row.n: 'x' is not of type 'integer'"


@pytest.mark.case("TOOL-07")
async def test_a_schema_that_refers_to_itself_without_end_is_unusable_and_one_that_nests_is_fine() -> None:
    assert await said({"$ref": "#"}, {"a": 1}) is not None
    tree: JsonObject = {"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert await said(tree, {"child": {"child": {"n": 1}}}) is None
    assert await said(tree, {"child": {"child": {"n": "x"}}}) is not None


@pytest.mark.case("TOOL-07")
@pytest.mark.slow
async def test_ten_thousand_alternatives_are_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHECKING_SECONDS", 0.3)
    alternatives = [{"properties": {"l": {"items": {"const": n}}}} for n in range(10_000)]
    began = time.process_time()
    sentence, _ = await without_a_stall(said({"anyOf": alternatives}, {"l": list(range(10_000, 10_100))}))
    assert sentence == "The parameters could not be checked in time."
    assert time.process_time() - began < 5


@pytest.mark.case("TOOL-09", "TMO-10")
async def test_a_megabyte_of_arguments_is_checked_without_holding_anyone_up() -> None:
    schema: JsonObject = {"type": "object", "properties": {"rows": {"items": {"type": "integer"}}}}
    sentence, stall = await without_a_stall(said(schema, {"rows": list(range(150_000))}))
    assert sentence is None
    assert stall < STALL


async def test_a_schema_is_compiled_once() -> None:
    schema: JsonObject = {"properties": {"s": {"minLength": 2}}}
    await said(schema, {"s": "ab"})
    first = checking._known[id(schema)]
    await said(schema, {"s": "abc"})
    assert checking._known[id(schema)] is first


async def test_only_so_many_compiled_schemas_are_kept() -> None:
    for n in range(limits.SCHEMAS_KEPT + 10):
        await said({"properties": {"s": {"minLength": n}}}, {"s": "ab"})
    assert len(checking._known) == limits.SCHEMAS_KEPT
