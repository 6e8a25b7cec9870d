"""The one contract that every model keeps, whatever it is reached by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.models.embedded import EmbeddedModel
from pilothouse.models.factory import make_model
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import CallArguments, CallEnd, CallStart, Failed, Retrying, Stopped, TextDelta, Usage
from tests.models.asking import answer_of, calls_of, failure_of, model_at, of, said, text_of, thinking_of
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import WIRES, Call, Say, Text, Thought, Wire

PLAN = '{"thought": "a plan with ünïcode 🚢", "n": 3}'
WORK = '{"thought": "the work"}'
MIXED = Say(
    (
        Thought(["Let me", " think"]),
        Text(["I will", " call", " tools 🚢."]),
        Call("call_a", "think", PLAN),
        Call("call_b", "think", WORK),
    ),
    stop="tool",
)
HELLO = Say((Text(["Hello", " there", " you", "."]),))

# Makes a model that answers as the reply says.
Make = Callable[[Reply], Model]


def scripted(reply: Reply, folder: Path) -> Model:
    """Return the scripted model with the same answer."""
    steps: list[dict[str, object]] = []
    if reply.status != 200:
        steps.append({"fault": reply.status, "retryAfter": 0.05})
    for part in reply.say.parts:
        match part:
            case Text():
                steps += [{"text": piece} for piece in part.pieces]
            case Thought():
                steps += [{"thinking": piece} for piece in part.pieces]
            case Call():
                steps.append({"call": part.name, "id": part.id, "arguments": part.arguments, "pieces": 7})
            case _:
                continue
    if reply.every:
        pause: dict[str, object] = {"wait": reply.every}
        steps = [step for each in steps for step in (each, pause)]
    if reply.fault:
        names = {"stall": "stall", "cut": "cut", "end": "cut", "garbage": "bad_chunk"}
        # Frames before the first event are the provider's own.
        steps.insert(0, {"fault": names[reply.fault.kind], "after": max(1, reply.fault.after - 4)})
    if reply.say.stop in ("length", "refusal"):
        steps.append({"stop": reply.say.stop})
    steps.append({"usage": {"input": 1025, "output": 15}})
    path = folder / "script.json"
    path.write_text(json.dumps([steps]))
    config = ModelConfig(name="s", provider="scripted", model=str(path))
    return make_model(config, first_byte=0.2, silence=0.2, first_wait=0.01)


@pytest_asyncio.fixture(params=[*WIRES, "scripted"])
async def make(request: pytest.FixtureRequest, endpoint: Endpoint, tmp_path: Path) -> AsyncIterator[Make]:
    """Models of every kind, one after the other."""
    kind = request.param

    def made(reply: Reply) -> Model:
        if kind == "scripted":
            return scripted(reply, tmp_path)
        endpoint.answer(reply)
        return model_at(kind, endpoint.url, first_byte=0.5, silence=0.2)

    yield made


async def test_an_answer_comes_as_thinking_text_calls_usage_and_one_end(make: Make) -> None:
    events = await answer_of(make(Reply(MIXED)), said("hi"))
    assert thinking_of(events) == "Let me think"
    assert text_of(events) == "I will call tools 🚢."
    assert calls_of(events) == [("think", json.loads(PLAN)), ("think", json.loads(WORK))]
    assert [call.id for call in of(CallEnd, events)] == ["call_a", "call_b"]
    assert of(Usage, events)[-1].input == 1025
    assert of(Usage, events)[-1].output == 15
    assert [event.reason for event in of(Stopped, events)] == ["tool"]
    assert isinstance(events[-1], Stopped)


async def test_a_call_is_announced_then_filled_then_ended_and_its_bytes_are_counted(make: Make) -> None:
    events = await answer_of(make(Reply(MIXED)), said("hi"))
    for start in of(CallStart, events):
        pieces = [event for event in of(CallArguments, events) if event.index == start.index]
        end = next(event for event in of(CallEnd, events) if event.index == start.index)
        assert events.index(start) < events.index(pieces[0]) < events.index(end)
        assert "".join(piece.text for piece in pieces) == end.raw
        assert pieces[-1].size == len(end.raw.encode())
        assert (end.id, end.name) == (start.id, start.name)


async def test_an_answer_cut_by_its_length_says_so(make: Make) -> None:
    events = await answer_of(make(Reply(Say((Text(["Hel"]),), stop="length"))), said("hi"))
    assert of(Stopped, events)[0].reason == "length"


@pytest.mark.case("F-34")
async def test_an_empty_answer_ends_like_any_other(make: Make) -> None:
    events = await answer_of(make(Reply(Say(()))), said("hi"))
    assert text_of(events) == ""
    assert [event.reason for event in of(Stopped, events)] == ["end"]


@pytest.mark.case("F-28")
async def test_a_stream_cut_in_its_text_keeps_the_text_and_fails_retryably(make: Make) -> None:
    many = Say((Text([f" {number}" for number in range(30)]),))
    events = await answer_of(make(Reply(many, fault=Fault("cut", after=12), every=0.001)), said("hi"))
    failed = failure_of(events)
    assert (failed.code, failed.retryable) == ("stream_broken", True)
    assert text_of(events).startswith(" 0 1 2")
    assert not of(Stopped, events)
    assert not of(Retrying, events)


@pytest.mark.case("F-29")
async def test_a_model_that_goes_silent_in_its_answer_is_given_up_after_the_limit(make: Make) -> None:
    many = Say((Text([f" {number}" for number in range(30)]),))
    events = await answer_of(make(Reply(many, fault=Fault("stall", after=12))), said("hi"))
    failed = failure_of(events)
    assert (failed.code, failed.retryable) == ("model_stalled", True)
    assert "0.2 s" in failed.message
    assert text_of(events).startswith(" 0 1 2")


@pytest.mark.case("F-30")
async def test_a_chunk_that_makes_no_sense_ends_the_answer_and_keeps_what_was_there(make: Make) -> None:
    many = Say((Text([f" {number}" for number in range(30)]),))
    events = await answer_of(make(Reply(many, fault=Fault("garbage", after=12))), said("hi"))
    assert failure_of(events).code == "stream_broken"
    assert text_of(events).startswith(" 0 1 2")


@pytest.mark.case("F-26")
@pytest.mark.parametrize("status", [429, 529])
@pytest.mark.slow
async def test_an_overloaded_model_is_asked_five_times_visibly_then_given_up(make: Make, status: int) -> None:
    events = await answer_of(make(Reply(status=status, headers=(("retry-after", "0.05"),))), said("hi"))
    assert [(event.attempt, event.wait) for event in of(Retrying, events)] == [(n, 0.05) for n in (1, 2, 3, 4)]
    failed = failure_of(events)
    assert (failed.code, failed.status) == ("model_overloaded", status)
    assert "Tried 5 times" in failed.message


@pytest.mark.case("F-26")
async def test_a_wait_longer_than_the_limit_is_told_instead_of_waited(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=429, headers=(("retry-after", "3600"),)))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert len(events) == 1
    assert "wait 3600 s" in failure_of(events).message


@pytest.mark.case("F-26")
async def test_closing_during_the_countdown_ends_it_at_once(make: Make) -> None:
    model = make(Reply(status=429, headers=(("retry-after", "0.05"),)))
    async with asyncio.timeout(5), aclosing(model.stream(said("hi"))) as events:
        assert isinstance(await anext(events), Retrying)


@pytest.mark.case("F-35")
async def test_a_refused_key_fails_at_once_and_names_the_place_to_fix_it(make: Make) -> None:
    events = await answer_of(make(Reply(status=401)), said("hi"))
    failed = failure_of(events)
    assert len(events) == 1
    assert (failed.code, failed.retryable, failed.status) == ("bad_key", False, 401)
    assert "Settings, Models" in failed.message


async def test_closing_an_answer_in_its_middle_needs_no_more_of_it(make: Make) -> None:
    model = make(Reply(Say((Text(["word "] * 1000),)), every=0.01))
    async with asyncio.timeout(5), aclosing(model.stream(said("hi"))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break


@pytest.mark.case("TMO-07")
@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_closes_the_connection_to_the_model_at_once(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["word "] * 1000),)), every=0.05))
    got = asyncio.Event()

    async def read() -> None:
        async with aclosing(model_at(wire, endpoint.url).stream(said("hi"))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    got.set()

    await cancelled(read, got.wait)
    await endpoint.until_closed()


@pytest.mark.case("F-29")
@pytest.mark.parametrize("wire", WIRES)
async def test_cancelling_works_while_the_model_has_not_said_anything(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, fault=Fault("stall", after=0)))

    async def read() -> None:
        await answer_of(model_at(wire, endpoint.url), said("hi"))

    await cancelled(read, endpoint.until_asked)
    await endpoint.until_closed()


@pytest.mark.parametrize("wire", WIRES)
async def test_closing_a_parked_answer_closes_its_connection(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["word "] * 1000),)), every=0.05))
    events = model_at(wire, endpoint.url).stream(said("hi"))
    await anext(events)
    await events.aclose()
    await endpoint.until_closed()


async def cancelled(work: Callable[[], Awaitable[None]], until: Callable[[], Awaitable[object]]) -> None:
    """Start work, wait for a sign, cancel it."""
    task = asyncio.ensure_future(work())
    async with asyncio.timeout(10):
        await until()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.fixture(scope="module")
def embedded() -> Iterator[Model]:
    """The model in this process."""
    yield make_model(ModelConfig(name="e", provider="embedded"))
    EmbeddedModel.close()


@pytest.mark.leaky
@pytest.mark.slow
async def test_the_embedded_model_streams_an_answer(embedded: Model) -> None:
    short = ModelRequest(messages=said("What is the capital of France?").messages, max_tokens=12, temperature=0.0)
    events = await answer_of(embedded, short, timeout=60)
    await close_clients()
    assert len(of(TextDelta, events)) > 3
    assert of(Usage, events)[0].output > 3
    assert isinstance(events[-1], Stopped)


@pytest.mark.leaky
@pytest.mark.slow
async def test_the_embedded_model_stops_when_it_is_closed_and_answers_again(embedded: Model) -> None:
    long = ModelRequest(messages=said("Tell me a long story.").messages, max_tokens=2000)
    async with asyncio.timeout(60):
        for _ in range(3):
            async with aclosing(embedded.stream(long)) as events:
                assert isinstance(await anext(events), TextDelta)
    await close_clients()


@pytest.mark.leaky
@pytest.mark.slow
async def test_the_embedded_model_keeps_to_a_schema(embedded: Model) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    asked = ModelRequest(messages=said("The capital of France?").messages, max_tokens=60, answer_schema=schema)
    events = await answer_of(embedded, asked, timeout=60)
    await close_clients()
    assert set(json.loads(text_of(events))) == {"city"}


@pytest.mark.leaky
@pytest.mark.slow
async def test_the_embedded_model_says_when_the_conversation_is_too_long(embedded: Model) -> None:
    events = await answer_of(embedded, said("word " * 20_000), timeout=60)
    await close_clients()
    assert isinstance(events[-1], Failed)
    assert events[-1].code == "context_too_long"
