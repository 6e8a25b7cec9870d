"""Which tool a model means: it may write `server__tool`, `server.tool`, or `tool.operation` for a built-in one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.types.defaults import with_defaults
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Tool


class Meant(msgspec.Struct, frozen=True):
    """A tool, and the operation of it that stood in the name."""

    tool: Tool
    operation: str = ""

    def arguments(self, given: JsonObject) -> JsonObject:
        """Return the arguments with the operation that the name said, and the defaults of what is required."""
        named = {**given, "operation": self.operation} if self.operation else given
        return with_defaults(self.tool.spec.input_schema, named)


class Names:
    """The tools of a run by every name that is accepted for them."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.offered = tuple(tools)
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._tools.setdefault(tool.qualified_name, tool)
        # A name on the wire wins over another tool's name for people.
        self._tools |= {tool.spec.name: tool for tool in tools}

    @property
    def servers(self) -> frozenset[str]:
        """Return whose tools they are, our own left out."""
        return frozenset(tool.server for tool in self._tools.values() if tool.server)

    def find(self, name: str) -> Meant | None:
        """Return what a name means, or None."""
        tool = self._tools.get(name)
        if tool is not None:
            return Meant(tool)
        first, dot, rest = name.partition(".")
        tool = self._tools.get(first)
        if dot and rest and tool is not None and "operation" in tool.spec.input_schema.get("properties", {}):
            return Meant(tool, rest) if not tool.server else None
        return None
