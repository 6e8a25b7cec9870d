"""Models without tool calls of their own: what they are sent, and the same events as from any other."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import msgspec
import pytest

from pilothouse.models.embedded import EmbeddedModel
from pilothouse.models.factory import make_model
from pilothouse.models.text_protocol import in_text
from pilothouse.models.tool_calling import ToolCalling
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    CallBlock,
    Message,
    ModelRequest,
    NativeBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from pilothouse.types.models import CallStyle, ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import (
    CallArguments,
    CallEnd,
    CallStart,
    Failed,
    Stopped,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    Usage,
)
from tests.models.asking import answer_of, calls_of, model_at, of, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

READ = ToolSpec("fs__read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LIST = ToolSpec("fs__list", "Lists a folder.", {"type": "object"})
THINK = ToolSpec("think", "Thinks.", {"type": "object"})
TOOLS = (READ, LIST, THINK)
CALL = 'TOOL_CALL: {"server": "fs", "name": "read_file", "args": {"path": "a.txt"}}'
READING = ("fs__read_file", {"path": "a.txt"})


# --- what is sent --------------------------------------------------------------------------------


def request(*messages: Message, style: CallStyle = "text", tools: tuple[ToolSpec, ...] = TOOLS) -> ModelRequest:
    said = messages or (Message("user", (TextBlock(text="Read a.txt"),)),)
    return ModelRequest(messages=said, system="Be brief.", tools=tools, call_style=style)


CALLED = Message(
    "assistant",
    (
        ThinkingBlock(text="hm", opaque={"signature": "x"}),
        TextBlock(text="I will look."),
        CallBlock(id="1", name="fs__read_file", arguments={"path": "a.txt"}),
        CallBlock(id="2", name="think", arguments={}),
        NativeBlock(raw={"wire": "x"}),
    ),
)
ANSWERED = Message(
    "user",
    (
        ResultBlock(id="1", name="fs__read_file", text='It says "hi".'),
        ResultBlock(id="2", name="think", text="Too deep.", is_error=True),
    ),
)


@pytest.mark.case("PRO-02", "PRO-03", "PRO-04", "PRO-05", "PRO-10", "PRO-11", "PRO-21")
def test_tools_go_into_the_prompt_and_calls_and_results_become_lines() -> None:
    asked = request(Message("user", (TextBlock(text="Read a.txt"),)), CALLED, ANSWERED)
    sent = in_text(asked)
    assert sent.tools == ()
    assert sent.system.startswith("Be brief.\n\n# Tools\n")
    assert '{"server":"fs","name":"read_file","description":"Reads a file.","args":{"type":"object",' in sent.system
    assert '{"name":"think","description":"Thinks.","args":{"type":"object"}}' in sent.system
    assert (
        'form and then stop:\n\nTOOL_CALL: {"server": "<server>", "name": "<tool>", "args": {<arguments>}}\n'
        in sent.system
    )
    assert "The whole call stands on one line" in sent.system
    assert 'TOOL_CALL: {"server": "weather", "name": "forecast", "args": {"city": "Oslo", "days": 2}}' in sent.system
    assert 'TOOL_CALL: {"name": "clock", "args": {}}' in sent.system
    person, called, answered = sent.messages
    assert (person.role, called.role, answered.role) == ("user", "assistant", "user")
    assert called.content == (
        TextBlock(
            text='I will look.\nTOOL_CALL: {"server":"fs","name":"read_file","args":{"path":"a.txt"}}\n'
            'TOOL_CALL: {"name":"think","args":{}}'
        ),
    )
    assert answered.content == (
        TextBlock(
            text='TOOL_RESULT: {"server":"fs","name":"read_file","result":"It says \\"hi\\"."}\n'
            'TOOL_RESULT: {"name":"think","error":"Too deep."}'
        ),
    )
    assert asked.system == "Be brief."


def test_without_tools_nothing_is_added_and_earlier_calls_are_still_lines() -> None:
    sent = in_text(request(Message("user", (TextBlock(text="Hi"),)), CALLED, ANSWERED, tools=()))
    assert sent.system == "Be brief."
    assert "TOOL_CALL" in str(sent.messages[1])


def test_what_was_sent_before_stays_as_it_was_when_the_conversation_grows() -> None:
    short = in_text(request(Message("user", (TextBlock(text="Read a.txt"),)), CALLED))
    longer = in_text(request(Message("user", (TextBlock(text="Read a.txt"),)), CALLED, ANSWERED))
    assert longer.system == short.system
    assert longer.messages[:2] == short.messages


@pytest.mark.parametrize("wire", WIRES)
async def test_on_every_wire_the_request_has_text_instead_of_tools(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["Looking.\nTOOL_", 'CALL: {"server":"fs","name":"li', 'st","args":{}}']),))))
    events = await answer_of(model_at(wire, endpoint.url), request())
    assert text_of(events) == "Looking.\n"
    assert calls_of(events) == [("fs__list", {})]
    assert events[-1] == Stopped("tool", of(Stopped, events)[-1].raw)
    body = endpoint.requests[0].json
    assert "tools" not in body
    assert "TOOL_CALL" in json.dumps(body)


# --- the stream ----------------------------------------------------------------------------------


class Talking:
    """A model that says given pieces, and knows whether it was closed before it had said them all."""

    def __init__(self, *pieces: str | StreamEvent) -> None:
        self.pieces = pieces
        self.requests: list[ModelRequest] = []
        self.closed_early = False

    async def stream(self, asked: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(asked)
        try:
            for piece in self.pieces:
                yield TextDelta(piece) if isinstance(piece, str) else piece
                if isinstance(piece, Failed):
                    return
            yield Usage(input=1, output=2)
            yield Stopped("end", "stop")
        except GeneratorExit:
            self.closed_early = True
            raise


def calling(model: Model, rounds: int = 8) -> ToolCalling:
    return ToolCalling(model, ModelConfig(name="m", provider="openai-compatible"), rounds)


@pytest.mark.case("PRO-08", "PRO-09")
async def test_the_model_is_stopped_before_the_end_of_its_calls_is_told() -> None:
    inner = Talking("Hm. ", CALL, "\nTOOL_RESULT: ", *["more "] * 1000)
    async with aclosing(calling(inner).stream(request())) as events:
        told = []
        async for event in events:
            if isinstance(event, Stopped):
                assert inner.closed_early
            told.append(event)
    assert calls_of(told) == [READING]
    assert told[-1] == Stopped("tool")
    assert text_of(told) == "Hm. "


async def test_closing_the_answer_closes_the_model() -> None:
    inner = Talking(*["word "] * 1000)
    async with aclosing(calling(inner).stream(request())) as events:
        await anext(events)
    assert inner.closed_early


async def test_everything_else_of_an_answer_passes_as_it_is() -> None:
    inner = Talking(ThinkingDelta("hm"), "Plain ", "words.")
    events = await answer_of(calling(inner), request())
    assert text_of(events) == "Plain words."
    assert of(ThinkingDelta, events) == [ThinkingDelta("hm")]
    assert events[-2:] == [Usage(input=1, output=2), Stopped("end", "stop")]


async def test_a_failure_in_the_middle_of_a_call_is_told_after_what_came() -> None:
    failure = Failed("stream_broken", "It broke off.", retryable=True)
    inner = Talking("So. ", CALL[:-9], failure)
    events = await answer_of(calling(inner), request())
    assert text_of(events) == "So. "
    assert events[-1] == failure
    assert [call.arguments for call in of(CallEnd, events)] == [None]


@pytest.mark.case("PRO-20")
@pytest.mark.parametrize(
    "pieces", [['{"name": "think", "argu', 'ments": {}}'], ['```json\n{"name": "think", "arguments": {}}\n```\n']]
)
async def test_calls_written_as_text_are_rescued_in_native_mode(pieces: list[str]) -> None:
    events = await answer_of(calling(Talking(*pieces)), request(style="native"))
    assert calls_of(events) == [("think", {})]
    assert text_of(events).strip() == ""
    assert events[-1] == Stopped("tool", "stop")


@pytest.mark.parametrize("text", ['Like this:\n{"name": "think", "arguments": {}}', '{"name": "Bob"}', "# Title\n"])
async def test_in_native_mode_an_answer_that_only_shows_a_call_stays_text(text: str) -> None:
    inner = Talking(*text)
    events = await answer_of(calling(inner), request(style="native"))
    assert (text_of(events), calls_of(events)) == (text, [])
    assert inner.requests[0].tools == TOOLS


async def test_native_calls_after_a_rescued_one_stay_apart() -> None:
    native = (CallStart(0, "n", "think"), CallArguments(0, "{}", 2), CallEnd(0, "n", "think", {}, "{}"))
    events = await answer_of(calling(Talking('{"name": "list", "arguments": {}}\n', *native)), request(style="native"))
    assert [(call.index, call.name) for call in of(CallEnd, events)] == [(0, "fs__list"), (1, "think")]


SEALED = TextEnd({"wire": "w", "home": "h"})


@pytest.mark.parametrize("first", ["Plain words.", "\n", '{"name": "Bob"}', "TOOL"])
async def test_where_a_block_of_text_ends_is_told_right_after_it(first: str) -> None:
    events = await answer_of(calling(Talking(first, SEALED, "More.", TextEnd())), request(style="native"))
    ends = [number for number, event in enumerate(events) if isinstance(event, TextEnd)]
    assert [events[number] for number in ends] == [SEALED, TextEnd()]
    assert (text_of(events[: ends[0]]), text_of(events[ends[0] :])) == (first, "More.")


@pytest.mark.parametrize("first", ["Plain words.", "\n", "TOOL"])
async def test_an_empty_block_after_it_does_not_take_its_end(first: str) -> None:
    events = await answer_of(calling(Talking(first, SEALED, TextEnd())), request(style="native"))
    assert (text_of(events), of(TextEnd, events)) == (first, [SEALED, TextEnd()])


@pytest.mark.parametrize("written", ['{"name": "list", "arguments": {}}', '{"name": "list", "arguments": {}'])
async def test_a_block_that_was_a_call_is_no_block_of_text(written: str) -> None:
    events = await answer_of(calling(Talking(written, SEALED)), request(style="native"))
    assert (calls_of(events), of(TextEnd, events)) == ([("fs__list", {})], [])


async def test_where_blocks_end_says_nothing_to_calls_by_text() -> None:
    events = await answer_of(calling(Talking("Words.", SEALED)), request())
    assert (text_of(events), of(TextEnd, events)) == ("Words.", [])


async def test_without_tools_the_model_itself_is_asked() -> None:
    inner = Talking(CALL)
    events = await answer_of(calling(inner), request(style="native", tools=()))
    assert text_of(events) == CALL


# --- held to a schema ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 1000])
async def test_words_in_enforced_json_stream_as_words(size: int) -> None:
    words = 'He said "Grüß Gott" \\ \n\t😀 and left.'
    for text in (
        json.dumps({"say": words}),
        json.dumps({"say": words}, ensure_ascii=False),
        '{ "say" : ' + json.dumps(words) + " }",
    ):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        events = await answer_of(calling(Talking(*pieces)), request(style="constrained"))
        assert text_of(events) == words
        assert events[-1] == Stopped("end", "stop")


async def test_a_lone_half_of_a_pair_does_not_break_the_text() -> None:
    events = await answer_of(calling(Talking('{"say": "a\\udc00b\\ud83d')), request(style="constrained"))
    assert text_of(events) == "a\N{REPLACEMENT CHARACTER}b"
    msgspec.json.encode(text_of(events))


async def test_a_call_in_enforced_json_is_a_call() -> None:
    inner = Talking('{"name": "fs__read', '_file", "args": {"path": "a.txt"}}')
    events = await answer_of(calling(inner), request(style="constrained"))
    assert calls_of(events) == [READING]
    assert events[-1] == Stopped("tool", "stop")
    schema = inner.requests[0].answer_schema
    assert schema is not None
    kinds: list[JsonObject] = schema["anyOf"]
    assert [kind["properties"].get("name", {}).get("const") for kind in kinds] == [*(t.name for t in TOOLS), None]
    assert kinds[0]["properties"]["args"] == READ.input_schema
    assert set(kinds[-1]["properties"]) == {"say"}


async def test_a_schema_with_references_is_left_to_the_check_of_the_call() -> None:
    inner = Talking('{"say": "Hi"}')
    tool = ToolSpec("t", "", {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}})
    await answer_of(calling(inner), request(style="constrained", tools=(tool,)))
    schema = inner.requests[0].answer_schema
    assert schema is not None
    assert schema["anyOf"][0]["properties"]["args"] == {"type": "object"}


async def test_a_schema_is_enforced_as_far_as_it_gives_the_arguments_their_shape() -> None:
    inner = Talking('{"say": "Hi"}')
    url: JsonObject = {"type": "string", "format": "uri", "pattern": "^https:", "default": "x"}
    given: JsonObject = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"pattern": url, "many": {"type": "array", "items": url}, "one": {"anyOf": [url, {"enum": [1]}]}},
        "required": ["pattern"],
    }
    await answer_of(calling(inner), request(style="constrained", tools=(ToolSpec("t", "", given),)))
    text = {"type": "string"}
    assert (inner.requests[0].answer_schema or {})["anyOf"][0]["properties"]["args"] == {
        "type": "object",
        "properties": {
            "pattern": text,
            "many": {"type": "array", "items": text},
            "one": {"anyOf": [text, {"enum": [1]}]},
        },
        "required": ["pattern"],
    }
    assert "^https:" in inner.requests[0].system


async def test_after_its_rounds_of_calls_only_words_are_left() -> None:
    inner = Talking('{"say": "It says hi."}')
    person = Message("user", (TextBlock(text="Read a.txt"),))
    for rounds, only_words in ((2, False), (1, True)):
        events = await answer_of(calling(inner, rounds), request(person, CALLED, ANSWERED, style="constrained"))
        assert text_of(events) == "It says hi."
        schema = inner.requests[-1].answer_schema
        assert schema is not None
        assert ("anyOf" not in schema) == only_words
    assert "TOOL_CALL" not in str(inner.requests[-1])
    again = (person, CALLED, ANSWERED, Message("assistant", (TextBlock(text="Hi."),)), person)
    await answer_of(calling(inner, 1), request(*again, style="constrained"))
    assert "anyOf" in (inner.requests[-1].answer_schema or {})


async def test_a_server_that_enforces_no_schema_is_asked_by_text() -> None:
    class Unable(Talking):
        async def stream(self, asked: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
            if asked.answer_schema is not None:
                self.requests.append(asked)
                yield Failed("model_refused", "Unknown field.", status=400)
                return
            async with aclosing(super().stream(asked)) as events:
                async for event in events:
                    yield event

    inner = Unable(CALL)
    model = calling(inner)
    for _ in range(2):
        events = await answer_of(model, request(style="constrained"))
        assert calls_of(events) == [READING]
        assert of(Failed, events) == []
    # From then on it is not asked for what it cannot do.
    assert [asked.answer_schema is None for asked in inner.requests] == [False, True, True]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Model]:
    """The model in this process."""
    yield make_model(ModelConfig(name="e", provider="embedded"))
    EmbeddedModel.close()


ECHO = ToolSpec(
    "everything__echo",
    "Echoes back the input string",
    {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
)


@pytest.mark.leaky
@pytest.mark.case("PRO-18", "TST-03")
@pytest.mark.slow
async def test_even_the_embedded_model_calls_a_tool_and_then_answers(embedded: Model) -> None:
    # One that names the tool, and one that hardly does; what it says is the same at each run.
    wishes = ["Use echo to say hi to Anna.", "echo: 12345"]
    system = "You are a helpful assistant. Answer plainly and correctly."
    for wish in wishes:
        person = Message("user", (TextBlock(text=wish),))
        asked = ModelRequest(
            messages=(person,), system=system, tools=(ECHO,), call_style="constrained", max_tokens=120, temperature=0.0
        )
        events = await answer_of(embedded, asked, timeout=60)
        [call] = of(CallEnd, events)
        assert call.name == ECHO.name
        assert call.arguments is not None
        assert isinstance(call.arguments["message"], str)
        made = CallBlock(id=call.id, name=call.name, arguments=call.arguments)
        result = ResultBlock(id=call.id, name=call.name, text=f"Echo: {call.arguments['message']}")
        then = msgspec.structs.replace(
            asked, messages=(person, Message("assistant", (made,)), Message("user", (result,)))
        )
        events = await answer_of(embedded, then, timeout=60)
        assert of(CallStart, events) == []
        assert text_of(events).strip()
        assert isinstance(events[-1], Stopped)
    await close_clients()
