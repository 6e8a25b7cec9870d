"""Which tool a model means: it may write `server__tool`, `server.tool`, or `tool.operation` for a built-in one.

It may also call a tool by its name, through another. From here on that is a call of the tool itself: whoever checks,
decides, executes or shows it never hears of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.types.argument_defaults import with_defaults
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Tool
from pilothouse.types.tool_names import CALL


class FoundTool(msgspec.Struct, frozen=True):
    """A tool, and the operation of it that stood in the name."""

    tool: Tool
    operation: str = ""

    def arguments(self, given: JsonObject) -> JsonObject:
        """Return the arguments with the operation that the name said, and the defaults of what is required."""
        named = {**given, "operation": self.operation} if self.operation else given
        return with_defaults(self.tool.spec.input_schema, named)


class CalledTool(msgspec.Struct, frozen=True):
    """What a model's call comes to."""

    meant: FoundTool | None
    # What the tool itself is given; text where the model wrote no arguments.
    arguments: JsonObject | str | None
    # The tool's name as the model wrote it, where it called it by name.
    by_name: str = ""
    # Whether the model was not sent the tool, but had to look for it.
    on_demand: bool = False


class ToolLookup:
    """The tools of a run by every name that is accepted for them."""

    def __init__(self, sent: Sequence[Tool], on_demand: Sequence[Tool] = ()) -> None:
        self.offered = tools = (*sent, *on_demand)
        self._on_demand = frozenset(tool.spec.name for tool in on_demand)
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._tools.setdefault(tool.qualified_name, tool)
        # A name on the wire wins over another tool's name for people.
        self._tools |= {tool.spec.name: tool for tool in tools}

    def find(self, name: str) -> FoundTool | None:
        """Return what a name means, or None."""
        tool = self._tools.get(name)
        if tool is not None:
            return FoundTool(tool)
        first, dot, rest = name.partition(".")
        tool = self._tools.get(first)
        if dot and rest and tool is not None and "operation" in tool.spec.input_schema.get("properties", {}):
            return FoundTool(tool, rest) if not tool.server else None
        return None

    def called(self, name: str, arguments: JsonObject | str | None) -> CalledTool:
        """Return what a call comes to; one by name of what is not there stays what it is, and says so itself."""
        if name == CALL and isinstance(arguments, dict) and (inner := inner_call(arguments)) is not None:
            wanted, given = inner
            meant = self.find(wanted)
            if meant is not None and meant.tool.spec.name != CALL:
                return CalledTool(meant, given, by_name=wanted, on_demand=self._is_on_demand(meant))
        meant = self.find(name)
        return CalledTool(meant, arguments, on_demand=self._is_on_demand(meant))

    def _is_on_demand(self, meant: FoundTool | None) -> bool:
        return meant is not None and meant.tool.spec.name in self._on_demand


def inner_call(arguments: JsonObject) -> tuple[str, JsonObject] | None:
    """Return whose name a call by name gives and with what; None where it does not give both as it should."""
    name, given = arguments.get("name"), arguments.get("arguments", {})
    if isinstance(given, str):
        # Some models write an object in an object as text.
        given = _object(given)
    if not isinstance(name, str) or not isinstance(given, dict) or not arguments.keys() <= {"name", "arguments"}:
        return None
    return name.strip(), given


def _object(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
