"""A model's stream becomes items: whole, marked where it broke off, executable only when complete."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence

import pytest

from pilothouse.agent.turn import TurnWriter, take_turn
from pilothouse.types import limits
from pilothouse.types.items import Item, TurnId
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest
from pilothouse.types.stream import (
    CallArguments,
    CallEnd,
    CallStart,
    Failed,
    NativeDelta,
    Retrying,
    Stopped,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from tests.agent.items import A_MODEL
from tests.agent.run_bench import Bench, StreamOf

CUT = Failed("stream_broken", "The connection broke.", retryable=True)


def a_call(index: int, call_id: str = "c", name: str = "think", raw: str = '{"a":1}') -> list[StreamEvent]:
    arguments = {"a": 1} if raw == '{"a":1}' else None
    return [
        CallStart(index, call_id, name),
        CallArguments(index, raw, len(raw)),
        CallEnd(index, call_id, name, arguments, raw),
    ]


async def about(name: str, arguments: JsonObject | str | None, _item_id: str) -> JsonObject:
    said: JsonObject = {"tool": name}
    if isinstance(arguments, str):
        return said | {"arguments": None, "rawArguments": arguments}
    return said if arguments is None else said | {"arguments": arguments, "display": f"Using {name}"}


async def turn(bench: Bench, events: Sequence[StreamEvent], attempt: int = 1) -> tuple[Failed | None, list[Item]]:
    """Take a turn and return how it failed, and its items as the database has them."""
    before = {item.id for item in bench.journal.items}
    writer = TurnWriter(bench.journal, TurnId(1, attempt), A_MODEL, about)
    failure = await take_turn(StreamOf(events), ModelRequest(messages=()), writer)
    return failure, [item for item in await bench.kept() if item.id not in before]


async def test_thinking_text_and_calls_become_items_in_that_order(bench: Bench) -> None:
    failure, items = await turn(
        bench,
        [
            ThinkingDelta("hm"),
            ThinkingDelta("", {"signature": "s"}),
            TextDelta("I "),
            TextDelta("will."),
            *a_call(0),
            NativeDelta({"type": "x"}),
            Usage(input=7, output=3, cache_read=2),
            Stopped("tool"),
        ],
    )
    assert failure is None
    thinking, response, call = items
    assert (thinking.kind, thinking.text, thinking.raw["opaque"]) == ("thinking", "hm", [{"signature": "s"}])
    assert (response.text, response.raw["native"], response.raw["stop"]) == ("I will.", [{"type": "x"}], "tool")
    counts = {"input": 7, "output": 3, "cacheRead": 2, "cacheWrite": 0, "reasoning": 0}
    assert response.raw["usage"] == {**counts, "estimated": False}
    assert (call.status, call.raw["phase"], call.raw["arguments"]) == ("waiting", "args_received", {"a": 1})
    assert call.raw["display"] == "Using think"
    assert {item.raw["turn"] for item in items} == {"1.1"}


@pytest.mark.case("F-28")
@pytest.mark.parametrize(
    "broken",
    [
        [TextDelta("Par"), TextDelta("tial"), *a_call(0), CUT],
        [TextDelta("Par"), TextDelta("tial"), CallStart(0, "c", "think"), CallArguments(0, '{"a', 3), CUT],
        [TextDelta("Partial"), *a_call(0)],
        [TextDelta("Partial"), CallStart(0, "c", "think"), CallArguments(0, '{"a', 3), Stopped("tool")],
    ],
    ids=["after a whole call", "inside a call", "no end", "an end inside a call"],
)
async def test_a_stream_that_breaks_off_keeps_its_text_and_leaves_no_call_to_execute(
    bench: Bench, broken: list[StreamEvent]
) -> None:
    failure, items = await turn(bench, broken)
    assert failure is not None
    assert failure.code == "stream_broken"
    response, call = items
    assert (response.text, response.status, response.raw["cutOff"]) == ("Partial", "failed", True)
    assert (call.status, call.raw["cutOff"], call.raw["error"]["code"]) == ("failed", True, "CUT_OFF")


@pytest.mark.case("F-28")
async def test_thinking_that_broke_off_is_marked_too(bench: Bench) -> None:
    _, [thinking, unsaid] = await turn(bench, [ThinkingDelta("hm"), CUT])
    # Nothing was said; what was thought is counted.
    assert (unsaid.kind, unsaid.text, unsaid.raw["cutOff"]) == ("response", "", True)
    assert (thinking.text, thinking.status, thinking.raw["cutOff"]) == ("hm", "failed", True)


@pytest.mark.case("F-26", "F-27")
async def test_waiting_for_the_provider_shows_a_countdown_that_ends_with_the_answer(bench: Bench) -> None:
    failure, items = await turn(
        bench,
        [Retrying(1, 3.0, "The model is busy."), Retrying(2, 6.0, "Still busy."), TextDelta("Hi"), Stopped("end")],
    )
    assert failure is None
    first, second, response = items
    assert (first.kind, first.text, first.status) == ("notice", "The model is busy.", "completed")
    assert second.raw["waitSeconds"] == 6.0
    assert 0 < second.raw["until"] - time.time() <= 6.0
    assert (second.status, response.text) == ("completed", "Hi")


async def test_two_calls_with_one_id_or_none_get_ids_of_their_own(bench: Bench) -> None:
    _, first = await turn(bench, [*a_call(0, "same"), *a_call(1, "same"), *a_call(2, ""), Stopped("tool")])
    _, second = await turn(bench, [*a_call(0, "same"), Stopped("tool")], attempt=2)
    ids = [item.raw["callId"] for item in (*first, *second) if item.kind == "tool_call"]
    assert ids[0] == "same"
    assert len(set(ids)) == 4
    assert all(ids)


async def test_arguments_that_are_no_json_object_stay_visible(bench: Bench) -> None:
    _, [call, _] = await turn(bench, [*a_call(0, raw="{broken"), Stopped("tool")])
    assert (call.raw["arguments"], call.raw["rawArguments"]) == (None, "{broken")


@pytest.mark.case("F-31")
async def test_no_more_calls_than_the_limit_are_taken(bench: Bench) -> None:
    many = [event for index in range(limits.CALLS_PER_TURN + 5) for event in a_call(index, f"c{index}")]
    _, items = await turn(bench, [*many, Stopped("tool")])
    assert sum(item.kind == "tool_call" for item in items) == limits.CALLS_PER_TURN
    notices = [item.text for item in items if item.kind == "notice"]
    assert notices == ["The model asked for 37 calls at once; only the first 32 were taken."]


@pytest.mark.case("F-34")
@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([Stopped("end")], "empty_answer"),
        ([Stopped("refusal", "policy")], "refused"),
        ([TextDelta("I"), Stopped("refusal")], "refused"),
    ],
)
async def test_an_empty_answer_and_a_refusal_are_shown_as_such(
    bench: Bench, events: list[StreamEvent], code: str
) -> None:
    failure, items = await turn(bench, events)
    assert failure is None
    assert [item.raw["code"] for item in items if item.kind == "notice"] == [code]
    assert [item.status for item in items if item.kind == "response"] == ["completed"]


async def test_half_of_a_character_is_marked_wherever_a_model_writes_it(bench: Bench) -> None:
    broken: JsonObject = {"q\ud83d": ["a\ude00", {"b": "\ud83d!"}]}
    events: list[StreamEvent] = [
        ThinkingDelta("hm \ud83d", {"signature": "s\ud83d"}),
        TextDelta("so \ud83d"),
        CallStart(0, "c\ud83d", "think\ud83d"),
        CallEnd(0, "c\ud83d", "think\ud83d", broken, "{}"),
        NativeDelta({"kind": "web\ude00"}),
        Stopped("tool", "tool\ud83d"),
    ]
    failure, items = await turn(bench, events)
    assert failure is None
    thinking, said, call = items
    assert (thinking.text, thinking.raw["opaque"], said.text) == ("hm ?", [{"signature": "s?"}], "so ?")
    assert (call.raw["tool"], call.raw["arguments"]) == ("think?", {"q?": ["a?", {"b": "?!"}]})


# --- how fast it came ---


class Slowly(StreamOf):
    """A model whose pieces come one after the other, by a clock that the test sets."""

    def __init__(self, clock: list[float], every: float, *events: StreamEvent) -> None:
        super().__init__(events)
        self._clock = clock
        self._every = every

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        async for event in super().stream(request):
            self._clock[0] += self._every
            yield event


async def measured(bench: Bench, monkeypatch: pytest.MonkeyPatch, every: float, *events: StreamEvent) -> object:
    clock = [1_000.0]
    monkeypatch.setattr("pilothouse.agent.turn.time.monotonic", lambda: clock[0])
    writer = TurnWriter(bench.journal, TurnId(1, 1), A_MODEL, about)
    assert await take_turn(Slowly(clock, every, *events), ModelRequest(messages=()), writer) is None
    monkeypatch.undo()
    return next(item for item in bench.journal.items if item.kind == "response").raw.get("tokensPerSecond")


TEN = [TextDelta("word ")] * 11
END = Stopped("end")


@pytest.mark.parametrize(
    ("events", "every", "speed"),
    [
        ([*TEN, Usage(output=40), END], 0.1, 40.0),
        ([TextDelta("all of it"), Usage(output=400), END], 0.5, None),
        ([*TEN, Usage(output=400), END], 0.001, None),
        ([*TEN[:3], Usage(output=400), END], 0.5, None),
        ([*TEN, Usage(output=3), END], 0.1, None),
        ([*TEN, END], 0.1, None),
        # What it thought before its first word took another time.
        ([*TEN, Usage(output=1040, reasoning=1000), END], 0.1, 40.0),
        ([ThinkingDelta("hm"), *TEN, Usage(output=110, reasoning=10), END], 0.1, 100.0),
    ],
)
async def test_a_speed_is_told_only_where_it_means_something(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, events: list[StreamEvent], every: float, speed: float | None
) -> None:
    assert await measured(bench, monkeypatch, every, *events) == speed
