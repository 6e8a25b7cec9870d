"""Calling a tool by name: what is left to say when there is none of that name."""

from __future__ import annotations

import pytest

from pilothouse.agent.tool_lookup import ToolLookup
from pilothouse.tools.call_tool import CallTool
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext
from tests.support.tools import Silent, ToolOf

READ, OURS = ToolOf("files__read", server="Files"), ToolOf("think")
LOOKUP = ToolLookup([OURS, CallTool()], [READ])


@pytest.mark.parametrize("name", ["files__read", "files.read", " files__read "])
@pytest.mark.parametrize("given", [{"path": "a"}, '{"path": "a"}'])
def test_a_call_by_name_is_a_call_of_the_tool(name: str, given: object) -> None:
    called = LOOKUP.called("call_tool", {"name": name, "arguments": given})
    assert called.meant is not None
    assert (called.meant.tool, called.arguments, called.by_name, called.on_demand) == (
        READ,
        {"path": "a"},
        name.strip(),
        True,
    )


def test_one_without_arguments_and_one_of_our_own_are_taken_too() -> None:
    called = LOOKUP.called("call_tool", {"name": "think"})
    assert called.meant is not None
    assert (called.meant.tool, called.arguments, called.on_demand) == (OURS, {}, False)
    direct = LOOKUP.called("files__read", {"path": "a"})
    assert (direct.by_name, direct.on_demand) == ("", True)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"name": 7, "arguments": {}},
        {"name": "files__read", "arguments": []},
        {"name": "files__read", "arguments": "[" * 100_000},
        {"name": "files__read", "arguments": None},
        {"name": "files__read", "path": "a"},
        {"name": "call_tool", "arguments": {"name": "files__read"}},
        {"name": "nobody"},
    ],
)
def test_what_names_no_tool_as_it_should_stays_what_it_is(arguments: JsonObject) -> None:
    called = LOOKUP.called("call_tool", arguments)
    assert called.meant is not None
    assert isinstance(called.meant.tool, CallTool)
    assert (called.arguments, called.by_name) == (arguments, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", "There is no tool named nobody. Look for one with search_tools."),
        ("read", "There is no tool named read. Perhaps you mean files__read."),
        ("disk.Read", "There is no tool named disk.Read. Perhaps you mean files__read."),
        ("", "There is no tool named (empty). Look for one with search_tools."),
        ("call_tool", "call_tool cannot call itself. Look for one with search_tools."),
    ],
)
async def test_who_names_nothing_is_told_what_is_called_alike(name: str, said: str) -> None:
    context = CallContext("c", "r", "i", None, (), False, tools=LOOKUP.offered)
    output = await CallTool().execute({"name": name}, context, Silent())
    assert output.text == said
    assert output.error is not None
    assert output.error.code == "TOOL_NOT_FOUND"
