"""A tool of several operations: one name for the model, one small class for each thing it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from pilothouse.tools.arguments import BadArgument, failed
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput, ToolPaused


class Operation(Protocol):
    """One thing that a tool does. `access` and `execute` may raise BadArgument for what the model must mend."""

    @property
    def name(self) -> str:
        """Return the value of `operation` that means it."""
        ...

    @property
    def effects(self) -> frozenset[Effect]:
        """Return what it may touch at the most."""
        ...

    @property
    def times(self) -> CallTimes:
        """Return how long it may take."""
        ...

    @property
    def properties(self) -> JsonObject:
        """Return the JSON schemas of its arguments by name; the same name means the same in every operation."""
        ...

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch; see `Tool.access`."""
        ...

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words and with a picture."""
        ...

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Do it."""
        ...


class Consolidated:
    """Routes calls by their `operation`; implements the port `Tool`."""

    server = ""

    def __init__(self, name: str, description: str, operations: Iterable[Operation]) -> None:
        self.qualified_name = name
        self.grant_key = name
        self._description = description
        self._operations = {operation.name: operation for operation in operations}
        self.effects: frozenset[Effect] = frozenset().union(*(each.effects for each in self._operations.values()))
        self.spec = ToolSpec(name=name, description=description, input_schema=self._schema())

    @property
    def supported_operations(self) -> tuple[str, ...]:
        """Return the operations in their fixed order."""
        return tuple(self._operations)

    @property
    def operation_effects(self) -> dict[str, frozenset[Effect]]:
        """Return what each operation may touch, by the name that rules use for it."""
        return {f"{self.qualified_name}.{name}": each.effects for name, each in self._operations.items()}

    def limited(self, allowed: frozenset[Effect]) -> Consolidated | None:
        """Return the tool with the operations that touch nothing else."""
        left = [operation for operation in self._operations.values() if operation.effects <= allowed]
        if len(left) == len(self._operations):
            return self
        return Consolidated(self.qualified_name, self._description, left) if left else None

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what the operation would touch, or what is wrong with its arguments."""
        try:
            operation = self._meant(arguments)
            _check_names(operation, arguments)
            return await operation.access(arguments, context)
        except BadArgument as error:
            return failed(error.message, error.code)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return the operation's own times."""
        return self._meant(arguments).times

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the operation in its own words."""
        try:
            return self._meant(arguments).shown(arguments)
        except BadArgument:
            return Shown.by_name(self.qualified_name)

    def display(self, arguments: Mapping[str, object]) -> str:
        """Return the operation's one line."""
        return self.shown(arguments).summary

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Route the call to its operation."""
        try:
            return await self._meant(arguments).execute(arguments, context, feedback)
        except BadArgument as error:
            return failed(error.message, error.code)

    def _meant(self, arguments: Mapping[str, object]) -> Operation:
        operation = self._operations.get(str(arguments.get("operation") or ""))
        if operation is None:
            raise BadArgument(f"`operation` must be one of: {', '.join(self._operations)}.")
        return operation

    def _schema(self) -> JsonObject:
        properties: JsonObject = {"operation": {"type": "string", "enum": list(self._operations)}}
        for operation in self._operations.values():
            properties |= operation.properties
        return {
            "type": "object",
            "properties": properties,
            "required": ["operation"],
            "additionalProperties": False,
        }


def _check_names(operation: Operation, arguments: JsonObject) -> None:
    """Raise BadArgument for what another operation takes: whoever gives it expects that it does something."""
    foreign = [name for name, value in arguments.items() if name not in operation.properties and value]
    if unknown := [f"`{name}`" for name in foreign if name != "operation"]:
        known = ", ".join(f"`{name}`" for name in operation.properties) or "nothing"
        raise BadArgument(f"{operation.name} does not take {', '.join(unknown)}; it takes {known}.")
