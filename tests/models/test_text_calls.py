"""Tool calls in text: found while they arrive, however a model writes them, and never a reason to fail."""

from __future__ import annotations

import time

import pytest

from pilothouse.models.answer import Answer
from pilothouse.models.text_calls import TextCalls
from pilothouse.models.tool_names import ToolNames
from pilothouse.types.messages import ModelRequest, ToolSpec
from pilothouse.types.stream import CallArguments, CallEnd, CallStart, StreamEvent
from tests.models.asking import calls_of, of, text_of

READ = ToolSpec("fs__read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
LIST = ToolSpec("fs__list", "Lists a folder.", {"type": "object"})
THINK = ToolSpec("think", "Thinks.", {"type": "object"})
TOOLS = (READ, LIST, THINK)
REQUEST = ModelRequest(messages=(), tools=TOOLS)
CALL = 'TOOL_CALL: {"server": "fs", "name": "read_file", "args": {"path": "a.txt"}}'
READING = ("fs__read_file", {"path": "a.txt"})

Found = tuple[str, list[tuple[str, object]], bool]


def found_in(text: str, size: int, *, only_first: bool = False, cut: bool = False) -> Found:
    """Return the text, the calls, and whether the model was stopped, when a text arrives in pieces of a size."""
    answer = Answer()
    reader = TextCalls(answer, ToolNames(REQUEST), only_first=only_first)
    events: list[StreamEvent] = []
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
        events += answer.take()
    if not reader.complete:
        reader.finish(cut=cut)
    events += answer.take()
    return text_of(events), calls_of(events), reader.complete


@pytest.mark.case("PRO-01", "PRO-06", "PRO-07", "PRO-17", "TST-01")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        pytest.param(CALL, "", [READING], id="a call alone"),
        pytest.param(f"I will look.\n{CALL}\n", "I will look.\n", [READING], id="a call after words"),
        pytest.param(f"Let me see. {CALL}", "Let me see. ", [READING], id="a call in the middle of a line"),
        pytest.param(f"  TOOL_CALL  :\n\n {CALL[10:]}", "", [READING], id="extra whitespace"),
        pytest.param(f"{CALL}\n{CALL}\n\n\n{CALL}", "", [READING] * 3, id="several calls"),
        pytest.param(f"{CALL} {CALL}", "", [READING] * 2, id="several calls on a line"),
        pytest.param(f"```\n{CALL}\n```", "", [READING], id="a fenced line"),
        pytest.param(f"TOOL_CALL:\n```json\n{CALL[11:]}\n```\n", "", [READING], id="a fenced object"),
        pytest.param(
            CALL.replace('"a.txt"', '"a\\"}{.txt"'), "", [("fs__read_file", {"path": 'a"}{.txt'})], id="quoted"
        ),
        pytest.param(CALL.replace("a.txt", "a\nb"), "", [("fs__read_file", {"path": "a\nb"})], id="a raw line break"),
        pytest.param(CALL[:-1], "", [READING], id="without its last bracket"),
        pytest.param(CALL[:-2], "", [READING], id="without its last two brackets"),
        pytest.param(CALL[:-6], "", [("fs__read_file", None)], id="ended inside a string"),
        pytest.param('TOOL_CALL: {"name": "fs.list", "args": {}}', "", [("fs__list", {})], id="a dotted name"),
        pytest.param('TOOL_CALL: {"name": "list"}', "", [("fs__list", {})], id="no arguments"),
        pytest.param('TOOL_CALL: {"name": "nope", "args": {}}', "", [("nope", {})], id="an unknown tool"),
        pytest.param('{"name": "think", "arguments": {"a": [1, {}]}}', "", [("think", {"a": [1, {}]})], id="bare"),
        pytest.param('```json\n{"name": "think", "arguments": {}}\n```', "", [("think", {})], id="bare and fenced"),
        pytest.param('Ok:\n{"tool": "think", "input": {}}', "Ok:\n", [("think", {})], id="bare on a later line"),
        pytest.param(
            '[{"name": "think", "arguments": {}}, {"name": "list", "parameters": {"a": 1}}]',
            "",
            [("think", {}), ("fs__list", {"a": 1})],
            id="a list of calls",
        ),
        pytest.param(
            '<tool_call>\n{"name": "think", "arguments": {}}\n</tool_call>\n<tool_call>{"name":"list"}</tool_call>',
            "",
            [("think", {}), ("fs__list", {})],
            id="tags",
        ),
        pytest.param(
            '{"type": "function", "function": {"name": "think", "arguments": "{\\"a\\": 1}"}}',
            "",
            [("think", {"a": 1})],
            id="as one provider has it",
        ),
    ],
)
def test_a_call_is_found_however_it_is_written_and_cut(
    text: str, said: str, calls: list[tuple[str, object]], size: int
) -> None:
    assert found_in(text, size)[:2] == (said, calls)


@pytest.mark.case("PRO-07", "TST-01")
@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n ",
        "Hello.",
        "TOOL",
        "TOOL_CALL:",
        "TOOL_CALL: read a file",
        "TOOL_CALL: {not json}\nand more",
        "TOOL_CALL: [1, 2]",
        "You write TOOL_CALL: and an object.",
        '{"name": "Alice", "age": 30}',
        '{"name": "think"}',
        '{"name": "think", "arguments": 3}',
        'Here:\n```json\n{"a": {"name": "think"}}\n```\nDone.',
        "```python\nx = {}\n```\n",
        "[1] a reference\n[2] another",
        '{"server"',
        "{",
        "{{{{",
        "a < b\n<tool",
        "\\{\\}",
    ],
)
def test_what_is_no_call_stays_text_to_the_last_character(text: str, size: int) -> None:
    assert found_in(text, size) == (text, [], False)


@pytest.mark.case("PRO-08", "PRO-17")
@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_what_follows_the_calls_is_dropped(size: int) -> None:
    invented = f'{CALL}\nTOOL_RESULT: {{"name": "read_file", "result": "invented"}}\nSo the file says invented.'
    assert found_in(invented, size) == ("", [READING], True)


def test_a_call_that_the_length_limit_cut_is_not_completed_by_guess() -> None:
    assert found_in(CALL[:-1], 5, cut=True)[1] == [READING]
    whole = 'TOOL_CALL: {"args": {"path": "a.txt"}, "name": "read_file"'
    assert found_in(whole, 5)[1] == [READING]
    assert found_in(whole, 5, cut=True) == (whole, [], False)


@pytest.mark.case("TCL-03")
def test_a_call_is_announced_while_its_arguments_still_arrive() -> None:
    answer = Answer()
    reader = TextCalls(answer, ToolNames(REQUEST))
    reader.feed('TOOL_CALL: {"server": "fs", "name": "read_file", "args": {"path": "a')
    started, *pieces = answer.take()
    assert isinstance(started, CallStart)
    assert started.name == "fs__read_file"
    reader.feed('.txt"}}')
    pieces += answer.take()
    told, end = of(CallArguments, pieces), of(CallEnd, pieces)[0]
    assert "".join(piece.text for piece in told) == end.raw == '{"path": "a.txt"}'
    assert told[-1].size == len(end.raw)


@pytest.mark.parametrize(
    "text",
    [
        "`" * 60_000,
        f"{CALL}" + "`" * 60_000,
        f"{CALL}" + "\n" * 60_000,
        " " * 60_000 + "x",
        "\n" * 60_000 + "x",
        "[ " * 30_000,
        "TOOL_CALL: " * 6_000,
        "TOOL_CALL: {" + '{"a":' * 12_000,
        'TOOL_CALL: {"name": "think", "args": {"a": "' + "b" * 200_000,
        '{"server": "' + "\\" * 60_000,
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.slow
def test_odd_text_is_read_in_linear_time(text: str) -> None:
    began = time.process_time()
    found_in(text, 16)
    found_in(text, len(text))
    assert time.process_time() - began < 3


def test_names_are_found_in_every_usual_form_and_never_guessed() -> None:
    names = ToolNames(ModelRequest(messages=(), tools=TOOLS, on_demand=("other__list",)))
    assert names.resolve("fs", "read_file") == "fs__read_file"
    assert names.resolve("FS", "Read_File") == "fs__read_file"
    assert names.resolve("", "fs__read_file") == "fs__read_file"
    assert names.resolve("", "fs.read_file") == "fs__read_file"
    assert names.resolve("", "read_file") == "fs__read_file"
    assert names.resolve("built-in", "think") == "think"
    assert names.resolve("other", "list") == "other__list"
    assert names.resolve("", "list") is None
    assert names.resolve("fs", "write_file") is None
