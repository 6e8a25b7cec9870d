"""The scripted model: what its guide promises, and what it says about a broken script."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from pilothouse.models.factory import make_model
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import CallBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import CallEnd, Retrying, Stopped, TextDelta, Usage
from tests.models.asking import answer_of, calls_of, failure_of, of, said, text_of, thinking_of

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "scripted-model.md"


def script(tmp_path: Path, text: str, name: str = "script.yaml") -> Model:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return make_model(ModelConfig(name="s", provider="scripted", model=str(path)), silence=0.05, first_wait=0.01)


def user(text: str) -> Message:
    return Message("user", (TextBlock(text=text),))


def assistant(text: str) -> Message:
    return Message("assistant", (TextBlock(text=text),))


def asked(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages)


async def test_the_example_of_the_guide_does_what_the_guide_says(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    model = script(tmp_path, example[1].replace("retryAfter: 1", "retryAfter: 0.01"))
    first = await answer_of(model, said("Hi"))
    assert thinking_of(first) == "Someone greets me. I should plan my answer."
    assert calls_of(first) == [("think", {"thoughts": "Be friendly and brief."})]
    call = of(CallEnd, first)[0]
    called = Message("assistant", (CallBlock(id=call.id, name="think", arguments=call.arguments or {}),))
    result = Message("user", (ResultBlock(id=call.id, name="think", text="ok"),))
    second = await answer_of(model, said("Hi", called, result))
    assert text_of(second) == "Hello! I am a script, so I always say this."
    assert len(of(TextDelta, second)) == 9
    assert of(Usage, second) == [Usage(input=42, output=12)]
    third = await answer_of(model, said("How is the Weather?"))
    assert isinstance(third[0], Retrying)
    assert text_of(third) == "It rains in every script."


async def test_the_request_alone_decides_which_turn_answers(tmp_path: Path) -> None:
    text = "[one, two, three]"
    for _ in range(2):
        # A new model each time, as after a restart.
        model = script(tmp_path, text)
        assert text_of(await answer_of(model, asked(user("a")))) == "one"
        assert text_of(await answer_of(model, asked(user("a"), assistant("one"), user("b")))) == "two"
    many = asked(*(message for _ in range(5) for message in (user("a"), assistant("b"))), user("c"))
    assert text_of(await answer_of(script(tmp_path, text), many)) == "three"
    assert text_of(await answer_of(script(tmp_path, f"{{turns: {text}, loop: true}}"), many)) == "three"
    assert text_of(await answer_of(script(tmp_path, "{turns: [one, two], loop: true}"), many)) == "two"


async def test_calls_of_different_turns_have_different_ids(tmp_path: Path) -> None:
    model = script(tmp_path, "- [{call: think}, {call: think}]")
    first = of(CallEnd, await answer_of(model, asked(user("a"))))
    second = of(CallEnd, await answer_of(model, asked(user("a"), assistant("x"), user("b"))))
    assert len({call.id for call in first + second}) == 4


@pytest.mark.case("F-28")
async def test_a_stream_can_be_cut_within_a_calls_arguments(tmp_path: Path) -> None:
    text = "- [{fault: cut, after: 3}, {call: think, arguments: {thought: abcdefghij}, pieces: 4}]"
    events = await answer_of(script(tmp_path, text), said("hi"))
    assert len(events) == 4
    assert failure_of(events).code == "stream_broken"
    assert not of(CallEnd, events)


async def test_broken_arguments_are_sent_as_they_are(tmp_path: Path) -> None:
    events = await answer_of(script(tmp_path, """- [{call: think, arguments: '{"thought": '}]"""), said("hi"))
    end = of(CallEnd, events)[0]
    assert (end.arguments, end.raw) == (None, '{"thought": ')


async def test_a_fault_with_times_happens_that_often_in_this_process(tmp_path: Path) -> None:
    model = script(tmp_path, "- [{fault: cut, after: 1, times: 2}, Hello, Again]")
    for _ in range(2):
        assert failure_of(await answer_of(model, said("hi"))).code == "stream_broken"
    assert text_of(await answer_of(model, said("hi"))) == "HelloAgain"


async def test_an_answer_is_held_until_a_file_is_there(tmp_path: Path) -> None:
    go = tmp_path / "go"
    held = f"pieces: 3, every: 60, until: {go}"
    model = script(tmp_path, f"- [{{text: Hello, {held}}}, {{wait: 60, until: {go}}}, {{call: think, {held}}}]")
    told = model.stream(said("hi"))
    first = await anext(told)
    assert isinstance(first, TextDelta)
    assert first.text == "Hel"
    rest = asyncio.create_task(anext(told))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(rest), 0.1)
    go.touch()
    events = [await rest, *[event async for event in told]]
    assert text_of(events) == "lo"
    assert calls_of(events) == [("think", {})]


@pytest.mark.case("F-33", "F-34")
async def test_a_script_can_refuse_or_be_full(tmp_path: Path) -> None:
    refused = await answer_of(script(tmp_path, "- [{fault: refusal}]"), said("hi"))
    assert [event.reason for event in of(Stopped, refused)] == ["refusal"]
    full = await answer_of(script(tmp_path, "- [{fault: context_too_long}]"), said("hi"))
    assert failure_of(full).code == "context_too_long"


async def test_a_json_script_with_tabs_is_read(tmp_path: Path) -> None:
    events = await answer_of(script(tmp_path, '[\n\t["Hello"]\n]', "script.json"), said("hi"))
    assert text_of(events) == "Hello"


@pytest.mark.parametrize(
    ("name", "text", "place", "why"),
    [
        ("a.yaml", "turns:\n  - - txt: hi\n", "line 2", "exactly one of text"),
        ("a.yaml", "turns:\n  - - text: hi\n      pices: 3\n", "line 2", "pices"),
        ("a.yaml", "- - text: hi\n    pieces: many\n", "line 2", "whole number"),
        ("a.yaml", "- - wait: -1\n", "line 1", "negative"),
        ("a.yaml", "turn:\n  - hi\n", "line 1", "“turn” is not known"),
        ("a.yaml", "- hi\n- - {text: [}\n", "line 2", ""),
        ("a.yaml", "", "a.yaml", "list of turns"),
        ("a.yaml", "- - fault: explode\n", "line 1", "fault"),
        ("a.json", '[\n["a"],\n[{"text": 5}]\n]', "line 3", "must be text"),
        ("a.json", '[\n["a"]\n', "line 3", ""),
    ],
)
def test_a_broken_script_is_told_with_file_line_and_reason(
    tmp_path: Path, name: str, text: str, place: str, why: str
) -> None:
    with pytest.raises(PilothouseError) as caught:
        script(tmp_path, text, name)
    assert caught.value.code == "bad_script"
    assert caught.value.exit_code == 2
    assert str(tmp_path / name) in caught.value.message
    assert place in caught.value.message
    assert why in caught.value.message
    assert "\n" not in caught.value.message


def test_a_script_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(PilothouseError) as caught:
        make_model(ModelConfig(name="s", provider="scripted", model=str(tmp_path / "nope.yaml")))
    assert "no such file" in caught.value.message.lower()
    with pytest.raises(PilothouseError):
        make_model(ModelConfig(name="s", provider="scripted", model=str(tmp_path)))
