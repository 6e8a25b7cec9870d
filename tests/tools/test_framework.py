"""What every built-in tool is: one interface, one registry in a fixed order, everything it needs handed to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from pilothouse.tools import arguments as helpers
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Tool, ToolOutput, ToolRequest
from pilothouse.types.selection import Selection
from pilothouse.types.tool_names import BUILT_IN, TOOLS
from pilothouse.wiring import OpenHost, open_host
from tests.support.chats import open_chat
from tests.support.source import ROOT, SOURCE, modules
from tests.support.tools import Silent

CONTEXT = CallContext("c", "r", "i", None, (), False)
# Of each tool whose schema does not say enough, a call that shows what it is.
CALLS: dict[str, JsonObject] = {
    "todo_operations": {"operation": "read"},
    "memory_operations": {"operation": "list_collections"},
    "web_operations": {"operation": "fetch", "url": "https://example.com/"},
    "document_operations": {"operation": "list_documents"},
    "file_operations": {"operation": "list_dir", "path": "."},
    "terminal_operations": {"operation": "get_last_command"},
    "build_and_version_control": {"operation": "get_task_output"},
}
# As it was promised: a prompt that begins otherwise than the one before is read anew by every model.
ORDER = (
    "think",
    "user_collaboration",
    "run_subagent",
    "increase_max_iterations",
    "list_system_prompts",
    "list_mini_prompts",
    "memory_operations",
    "todo_operations",
    "read_tool_result",
    "recall_history",
    "web_operations",
    "document_operations",
    "file_operations",
    "terminal_operations",
    "build_and_version_control",
    "image_generation",
    "search_tools",
    "call_tool",
)
SERIAL = {"memory_operations": "memory", "todo_operations": "todos", "user_collaboration": "collaboration"}


@pytest_asyncio.fixture
async def host(home: Path) -> AsyncIterator[OpenHost]:
    async with open_host(home) as opened:
        yield opened


async def tools_of(host: OpenHost, folder: Path | None, **wanted: Any) -> list[Tool]:
    request = ToolRequest("c", working_directory=str(folder) if folder else None, context_window=100_000, **wanted)
    return list((await host.executor._parts.toolbox.tools(request)).tools)


def call_of(tool: Tool) -> JsonObject:
    """Return a call of a tool: what it requires, as its schema says."""
    schema = tool.spec.input_schema
    plain = {name: 1 if schema["properties"][name]["type"] == "integer" else "Why?" for name in schema["required"]}
    return CALLS.get(tool.spec.name, plain)


@pytest.mark.case("FWK-01", "TCL-24", "TCL-25", "TCL-26")
async def test_every_tool_has_the_whole_interface(host: OpenHost, tmp_path: Path) -> None:
    for tool in await tools_of(host, tmp_path):
        name, given = tool.spec.name, call_of(tool)
        assert tool.spec.description
        assert tool.spec.input_schema["type"] == "object"
        context = CallContext("c", "r", "i", str(tmp_path), (), False)
        access = await tool.access(given, context)
        assert isinstance(access, Access), f"{name}: {access}"
        assert access.operation.partition(".")[0] == name
        assert access.effects <= tool.effects
        assert tool.times_for(given).total > 0
        shown = tool.shown(given)
        assert shown.summary
        assert (bool(shown.action), bool(shown.action_display_name), shown.icon != "tool") == (True, True, True)


async def test_what_each_tool_does_has_its_words_in_the_past_on_the_page(host: OpenHost, tmp_path: Path) -> None:
    page = ROOT / "page" / "src" / "calls" / "past.ts"
    known = set(re.findall(r'^ {2}"?([A-Z][^":]*)"?: \["', page.read_text(encoding="utf-8"), re.MULTILINE))
    for tool in await tools_of(host, tmp_path):
        operations = tool.supported_operations if isinstance(tool, Consolidated) else ("",)
        doing = {tool.shown({"operation": each}).action_display_name for each in operations}
        assert doing - {"More rounds"} <= known, tool.spec.name


@pytest.mark.case("FWK-02", "FWK-04")
async def test_only_what_must_wait_its_turn_does(host: OpenHost, tmp_path: Path) -> None:
    context = CallContext("c", "r", "i", str(tmp_path), (), False)
    assert Access(operation="anything").lane == ""
    for tool in await tools_of(host, tmp_path):
        access = await tool.access(call_of(tool), context)
        assert isinstance(access, Access)
        expected = SERIAL.get(tool.spec.name, access.lane if tool.spec.name == "increase_max_iterations" else "")
        assert access.lane == expected, tool.spec.name
    files = next(tool for tool in await tools_of(host, tmp_path) if tool.spec.name == "file_operations")
    write = await files.access({"operation": "create_file", "filePath": "a.txt", "content": "x"}, context)
    assert isinstance(write, Access)
    assert write.lane == "files"


@pytest.mark.case("FWK-09", "NAM-15")
async def test_tools_come_in_one_fixed_order_and_the_page_is_told_of_them(host: OpenHost, tmp_path: Path) -> None:
    names = [tool.spec.name for tool in await tools_of(host, tmp_path)]
    assert BUILT_IN == ORDER
    assert names == [name for name in ORDER if name in names]
    assert names == [tool.spec.name for tool in await tools_of(host, tmp_path)]
    told = (await host.api.conversations.page_state(LOCAL_OWNER, None)).built_in_tools
    told = tuple(tool for tool in told if not tool.needs_service)
    assert [tool.name for tool in told] == names
    assert all(tool.label and tool.note for tool in told)
    without = [tool.spec.name for tool in await tools_of(host, None)]
    # Without a folder and servers nothing gives results that would have to be read again.
    assert [tool.name for tool in told if not tool.needs_folder and tool.name != "read_tool_result"] == without


@pytest.mark.case("PRF-05")
async def test_few_tools_do_what_many_would(host: OpenHost, tmp_path: Path) -> None:
    tools = await tools_of(host, tmp_path)
    operations = [name for tool in tools for name in getattr(tool, "supported_operations", (tool.spec.name,))]
    assert len(tools) <= 16
    assert len(operations) == len(set(operations)) >= 3 * len(tools)


@pytest.mark.case("FWK-09")
async def test_a_name_can_be_taken_only_once(host: OpenHost, tmp_path: Path) -> None:
    names = [tool.spec.name for tool in await tools_of(host, tmp_path)]
    assert len(set(names)) == len(names)


@pytest.mark.case("FWK-10")
async def test_a_model_sees_tools_and_not_what_they_are_made_of(home: Path, tmp_path: Path) -> None:
    call = {"call": "create_file", "arguments": {"filePath": "x", "content": "y"}}
    async with open_chat(home, [[call], "I see."], settings={"working_directory": str(tmp_path)}) as chat:
        await chat.say()
        [made] = await chat.items("tool_call")
        assert made.text == "There is no tool named create_file."
        offered = await tools_of(chat.host, tmp_path)
        parts = {name for tool in offered if isinstance(tool, Consolidated) for name in tool.supported_operations}
        assert {"create_file", "run_command"} <= parts
        assert not parts & {tool.spec.name for tool in offered}


@pytest.mark.case("FWK-11")
async def test_tools_that_work_on_a_folder_are_made_when_there_is_one(host: OpenHost, tmp_path: Path) -> None:
    without = {tool.spec.name for tool in await tools_of(host, None)}
    added = {tool.spec.name for tool in await tools_of(host, tmp_path)} - without
    assert added == {"file_operations", "terminal_operations", "build_and_version_control", "read_tool_result"}


@pytest.mark.case("FWK-12")
@pytest.mark.slow
def test_tools_import_nothing_that_they_are_given() -> None:
    foreign = re.compile(r"pilothouse\.(store|runs|agent|models|mcp|server|cli|authz|secrets|wiring|plugins)\b")
    found = [
        f"{module.place}:{line} {name}"
        for module in modules(SOURCE / "pilothouse" / "tools")
        for name, line in module.imports()
        if foreign.match(name)
    ]
    assert found == []


@pytest.fixture
def seven_seconds(home: Path) -> None:
    """Settings that give one tool seven seconds."""
    home.mkdir(parents=True)
    (home / "config.json").write_text('{"version": "1.0", "tool_timeouts": {"tools": {"todo_operations": 7}}}')


@pytest.mark.case("FWK-16")
@pytest.mark.usefixtures("seven_seconds")
async def test_tools_are_chosen_and_timed_by_name(home: Path) -> None:
    async with open_chat(home, [[{"call": "todo_operations", "arguments": {"operation": "read"}}], "Done."]) as chat:
        await chat.say()
        [call] = await chat.items("tool_call")
        assert call.raw["timeoutSeconds"] == 7
        chosen = await tools_of(chat.host, None, selection=Selection(built_in=("think",)))
        assert [tool.spec.name for tool in chosen] == ["think"]
        assert await tools_of(chat.host, None, selection=Selection(built_in=())) == []


# --- consolidated tools ---


class Add(Operation):
    """Adds two numbers."""

    name = "add"
    effects: frozenset[Effect] = frozenset()
    times = CallTimes(4.0, 3.0)
    properties: ClassVar[JsonObject] = {"a": {"type": "integer"}, "b": {"type": "integer"}}

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation=f"sums.{self.name}", effects=self.effects)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        return Shown(action=self.name, action_display_name="Adding", summary=f"Adding {arguments.get('a')}")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        total = helpers.optional_int(arguments, "a", 0) + helpers.optional_int(arguments, "b", 0)
        return helpers.success(str(total))


class Keep(Add):
    """Keeps a number."""

    name = "keep"
    effects: frozenset[Effect] = frozenset({"writes"})
    properties: ClassVar[JsonObject] = {"a": {"type": "integer"}, "where": {"type": "string"}}


SUMS = Consolidated("sums", "Works with numbers.", (Add(), Keep()))


@pytest.mark.case("FWK-07")
async def test_one_tool_routes_to_its_operations() -> None:
    assert SUMS.supported_operations == ("add", "keep")
    assert SUMS.spec.input_schema["required"] == ["operation"]
    assert list(SUMS.spec.input_schema["properties"]) == ["operation", "a", "b", "where"]
    assert SUMS.spec.input_schema["properties"]["operation"]["enum"] == ["add", "keep"]
    output = await SUMS.execute({"operation": "add", "a": 2, "b": "3"}, CONTEXT, Silent())
    assert output == ToolOutput(text="5")
    assert SUMS.times_for({"operation": "keep"}) == CallTimes(4.0, 3.0)
    assert SUMS.shown({"operation": "add", "a": 7}).summary == "Adding 7"
    assert SUMS.operation_effects == {"sums.add": frozenset(), "sums.keep": frozenset({"writes"})}


@pytest.mark.case("FWK-07")
@pytest.mark.parametrize("given", [{}, {"operation": "divide"}, {"operation": None}])
async def test_an_operation_that_does_not_exist_is_answered_with_those_that_do(given: JsonObject) -> None:
    sentence = "`operation` must be one of: add, keep."
    for output in (await SUMS.execute(given, CONTEXT, Silent()), await SUMS.access(given, CONTEXT)):
        assert isinstance(output, ToolOutput)
        assert output.error is not None
        assert (output.text, output.error.code) == (sentence, "INVALID_ARGUMENTS")
    assert SUMS.shown(given).summary == "sums"


async def test_an_argument_of_another_operation_is_named_and_not_ignored() -> None:
    given: JsonObject = {"operation": "add", "a": 1, "where": "drawer"}
    refused = await SUMS.access(given, CONTEXT)
    assert isinstance(refused, ToolOutput)
    assert refused.text == "add does not take `where`; it takes `a`, `b`."
    # Models fill in every argument of a tool; what says nothing asks for nothing.
    assert isinstance(await SUMS.access({**given, "where": ""}, CONTEXT), Access)


@pytest.mark.case("FWK-07")
def test_a_tool_is_offered_with_what_may_be_done_only() -> None:
    reading = SUMS.limited(frozenset({"reads"}))
    assert reading is not None
    assert (reading.supported_operations, reading.effects) == (("add",), frozenset())
    assert SUMS.limited(frozenset({"reads", "writes"})) is SUMS
    assert Consolidated("k", "", (Keep(),)).limited(frozenset()) is None


@pytest.mark.case("FWK-08")
def test_arguments_are_taken_with_their_defaults() -> None:
    given = {"text": "x", "number": "3", "whole": 4.0, "share": "0.5", "yes": "true", "no": False}
    assert helpers.require_string(given, "text") == "x"
    assert (helpers.optional_string(given, "other", "d"), helpers.optional_string(given, "text")) == ("d", "x")
    assert (helpers.optional_int(given, "number", 0), helpers.optional_int(given, "whole", 0)) == (3, 4)
    assert (helpers.optional_int(given, "other", 10), helpers.optional_float(given, "other", 0.3)) == (10, 0.3)
    assert helpers.optional_float(given, "share", 0.0) == 0.5
    assert (helpers.optional_bool(given, "yes", False), helpers.optional_bool(given, "no", True)) == (True, False)
    assert helpers.optional_bool(given, "other", True) is True


@pytest.mark.case("FWK-08")
@pytest.mark.parametrize(
    ("take", "value", "sentence"),
    [
        (helpers.require_string, None, "`x` is missing; it must be a text."),
        (helpers.require_string, 3, "`x` is missing; it must be a text."),
        (helpers.optional_string, 3, "`x` must be a text."),
        (lambda given, key: helpers.optional_int(given, key, 0), "many", "`x` must be a whole number."),
        (lambda given, key: helpers.optional_int(given, key, 0), 1.5, "`x` must be a whole number."),
        (lambda given, key: helpers.optional_int(given, key, 0), True, "`x` must be a whole number."),
        (lambda given, key: helpers.optional_float(given, key, 0), "half", "`x` must be a number."),
        (lambda given, key: helpers.optional_bool(given, key, True), "perhaps", "`x` must be true or false."),
    ],
)
def test_an_argument_that_makes_no_sense_is_one_sentence(take: Any, value: object, sentence: str) -> None:
    with pytest.raises(BadArgument) as wrong:
        take({"x": value}, "x")
    assert wrong.value.message == sentence


@pytest.mark.case("FWK-08")
def test_an_operation_ends_in_one_of_two_ways() -> None:
    assert helpers.success("done", {"n": 1}) == ToolOutput(text="done", data={"n": 1})
    failed = helpers.failed("It broke.")
    assert failed.error is not None
    assert (failed.text, failed.error.code, failed.error.message) == ("It broke.", "EXECUTION_FAILED", "It broke.")


# --- thinking ---


@pytest.mark.case("UTL-01")
async def test_thoughts_are_recorded_and_shown_as_progress(home: Path) -> None:
    thought = {"thoughts": "First look, then leap.\nReally.", "requested_tools": ["todo_operations", "magic"]}
    async with open_chat(home, [[{"call": "think", "arguments": thought}], "Done."]) as chat:
        await chat.say()
        [call] = await chat.items("tool_call")
        assert call.raw["arguments"] == thought
        assert (call.raw["display"], call.raw["shown"]["icon"]) == ("Thinking: First look, then leap.", "brain")
        assert call.text == "Noted. Now act. Available: todo_operations. Not available: magic."


@pytest.mark.slow
async def test_an_argument_that_no_built_in_tool_knows_is_named(home: Path) -> None:
    turns = [[{"call": "think", "arguments": {"thoughts": "Hm.", "mood": "good"}}], "Done."]
    async with open_chat(home, turns) as chat:
        await chat.say()
        (call,) = await chat.items("tool_call")
        assert call.text == "Invalid parameters: there is no mood; known are thoughts, requested_tools"
        assert call.raw["error"]["code"] == "INVALID_ARGUMENTS"


@pytest.mark.case("UTL-02")
async def test_an_action_must_follow_thinking(home: Path) -> None:
    think = {"call": "think", "arguments": {"thoughts": "Hm."}}
    async with open_chat(home, [[think], [think], "Done."]) as chat:
        await chat.say()
        first, second = await chat.items("tool_call")
        assert first.status == "completed"
        assert second.text == "You have just been thinking. Act now: call another tool or answer."
        assert second.raw["error"]["code"] == "ACT_NOW"


def test_a_description_costs_little() -> None:
    """A small model reads all of it with every request; files and commands need more words, and a folder."""
    for name in (tool.name for tool in TOOLS if tool.label):
        most = 300 if name not in ("file_operations", "terminal_operations") else 400
        assert len((ROOT / f"src/pilothouse/tools/{name}.md").read_text()) < limits.CHARS_PER_TOKEN * most
