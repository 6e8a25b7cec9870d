"""Arguments against schemas that nobody of us wrote: told exactly, in bounded time, without holding anyone up."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable
from random import Random
from typing import Any, TypeVar

import pytest

from pilothouse.agent import validation
from pilothouse.agent.automaton import Automaton
from pilothouse.agent.patterns import TooSlow, found
from pilothouse.agent.plain_schemas import plain
from pilothouse.agent.validation import complaint
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode
from tests.agent.conftest import Bench
from tests.support.tools import ToolOf

T = TypeVar("T")
TICK = 0.002
# Generous, for busy machines: what these tests are about would hold the loop for as long as they run.
STALL = 1.0
EVIL = r"^(a+)+$"


async def said(schema: JsonObject, value: JsonObject) -> str | None:
    return await complaint(schema, value, len(encode(value)))


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
async def test_the_quick_way_and_the_full_one_agree(schema: JsonObject, value: JsonObject, fits: bool) -> None:
    assert (await said(schema, value) is None) == fits
    quick = plain(schema)
    assert (validation._Checker(schema).mismatch(value) is None) == fits
    assert quick is None or quick(value) == fits


@pytest.mark.case("AGT-06")
async def test_the_sentence_names_the_place_and_stays_short() -> None:
    schema: JsonObject = {"properties": {"list": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    assert await said(schema, {"list": [{"n": 1}, {"n": "x"}]}) == (
        "Invalid parameter list.1.n: 'x' is not of type 'integer'"
    )
    long = await said({"properties": {"n": {"type": "integer"}}}, {"n": "x" * 100_000})
    assert long is not None
    assert len(long) < 400


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


@pytest.mark.case("TOOL-07", "TOOL-09")
@pytest.mark.parametrize("pattern", [r"^(a+)\1+$", r"^(?=(a+)+$)a", r"(?i)^(a+)+$", r"^((a{1,99}){1,99}){1,99}$"])
async def test_a_pattern_that_cannot_be_followed_in_time_refuses_the_call(pattern: str) -> None:
    sentence, stall = await without_a_stall(said({"properties": {"a": {"pattern": pattern}}}, {"a": "a" * 200 + "!"}))
    assert sentence == "The parameters could not be checked in time."
    assert stall < STALL


@pytest.mark.case("TOOL-09")
def test_usual_patterns_are_looked_for_on_the_spot_and_odd_ones_in_time() -> None:
    assert found(r"^[a-z0-9-]+$", "a-slug", 1.0)
    assert not found(r"^[a-z0-9-]+$", "No Slug", 1.0)
    # A group under a quantifier may be harmless; it is only looked for elsewhere.
    assert found(r"^[a-z0-9]+(-[a-z0-9]+)*$", "a-perfectly-usual-name-of-something", 5.0)
    assert not found(r"^[a-z0-9]+(-[a-z0-9]+)*$", "a-perfectly-usual-name-of-somethinG", 5.0)
    assert not found(EVIL, "a" * 60 + "!", 5.0)
    with pytest.raises(TooSlow):
        found(EVIL, "a" * 1_000_000, 0.05)


def a_pattern(random: Random, depth: int = 0) -> str:
    """Return any pattern that an automaton can follow."""
    kind = random.random()
    if depth > 3 or kind < 0.35:
        return random.choice(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", r"\W", "[a-b0-9]", r"\b", "^", "$", r"\s"])
    if kind < 0.7:
        return a_pattern(random, depth + 1) + a_pattern(random, depth + 1)
    if kind < 0.82:
        return f"(?:{a_pattern(random, depth + 1)}|{a_pattern(random, depth + 1)})"
    return f"({a_pattern(random, depth + 1)}){random.choice(['*', '+', '?', '{1,2}', '{2}', '{0,3}', '*?'])}"


@pytest.mark.case("TOOL-07")
@pytest.mark.slow
def test_the_automaton_finds_what_the_usual_engine_finds() -> None:
    random = Random(7)
    for _ in range(3_000):
        pattern = a_pattern(random)
        text = "".join(random.choice("ab1_ \n") for _ in range(random.randint(0, 7)))
        expected = re.search(pattern, text) is not None
        assert Automaton(pattern).found(text, time.monotonic() + 5) is expected, (pattern, text)


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
    began = time.monotonic()
    sentence, _ = await without_a_stall(said({"anyOf": alternatives}, {"l": list(range(10_000, 10_100))}))
    assert sentence == "The parameters could not be checked in time."
    assert time.monotonic() - began < 5


@pytest.mark.case("TOOL-09")
async def test_five_megabytes_of_arguments_are_refused_before_anyone_looks_at_them(bench: Bench) -> None:
    tool = ToolOf(server="Mine", schema={"type": "object", "properties": {"text": {"type": "string"}}})
    size = 5 * 1024 * 1024
    call = await bench.wish("echo", {"text": "x" * size}, argumentBytes=size + 11)
    await bench.calls(tool).execute([call])
    now = bench.item(call.id)
    assert now.text == "The arguments have 5.0 MB; a call takes at most 1 MB."
    assert (tool.calls, [item for item in bench.journal.items if item.kind == "question"]) == ([], [])


@pytest.mark.case("TOOL-09", "TMO-10")
async def test_a_megabyte_of_arguments_is_checked_without_holding_anyone_up() -> None:
    schema: JsonObject = {"type": "object", "properties": {"rows": {"items": {"type": "integer"}}}}
    sentence, stall = await without_a_stall(said(schema, {"rows": list(range(150_000))}))
    assert sentence is None
    assert stall < STALL


@pytest.mark.case("TOOL-09")
async def test_wrong_arguments_are_told_to_the_model_and_nobody_is_asked(bench: Bench) -> None:
    tool = ToolOf(server="Mine", schema={"properties": {"n": {"type": "integer"}}, "additionalProperties": False})
    calls = [await bench.wish("echo", {"n": "3"}, "c1"), await bench.wish("echo", {"n": 3, "extra": 1}, "c2")]
    await bench.calls(tool).execute(calls)
    assert [bench.item(call.id).data["error"]["code"] for call in calls] == ["INVALID_ARGUMENTS"] * 2
    assert [item for item in bench.journal.items if item.kind == "question"] == []


async def test_a_schema_is_compiled_once() -> None:
    schema: JsonObject = {"properties": {"s": {"minLength": 2}}}
    await said(schema, {"s": "ab"})
    first = validation._known[id(schema)]
    await said(schema, {"s": "abc"})
    assert validation._known[id(schema)] is first
