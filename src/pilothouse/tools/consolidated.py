"""A tool of several operations: one name for the model, one small class for each thing it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

from pilothouse.tools.arguments import BadArgument, failed
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolError, ToolOutput, ToolPaused


class Operation(ABC):
    """One thing that a tool does.

    `access` and `execute` may raise BadArgument for what the model must mend, and PilothouseError for what is refused.
    """

    # The value of `operation` that means it.
    name: str
    # What people call it while it happens, and its picture.
    doing: str
    icon: str
    # What it may touch at the most.
    effects: frozenset[Effect] = frozenset()
    # The JSON schemas of its arguments by name; the same name means the same in every operation.
    properties: ClassVar[JsonObject] = {}

    @property
    def times(self) -> CallTimes:
        """Return how long it may take."""
        return CallTimes(limits.TOOL_TIME)

    @abstractmethod
    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch; see `Tool.access`."""

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words and with a picture."""
        what = self.about(arguments)
        return Shown(
            action=self.name,
            action_display_name=self.doing,
            summary=f"{self.doing}: {what}" if what else self.doing,
            details=tuple(self.details(arguments)),
            icon=self.icon,
        )

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return what a call is about, in a few words."""
        return ""

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return what else there is to say about a call, line by line."""
        return []

    @abstractmethod
    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Do it."""


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
        left = [operation for operation in self._operations.values() if operation.effects <= allowed]
        if len(left) == len(self._operations):
            return self
        return Consolidated(self.qualified_name, self._description, left) if left else None

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        try:
            operation = self._meant(arguments)
            _check_names(operation, arguments)
            return await operation.access(arguments, context)
        except (BadArgument, PilothouseError) as error:
            return failed(str(error), error.code.upper())

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        return self._meant(arguments).times

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        try:
            return self._meant(arguments).shown(arguments)
        except BadArgument:
            return Shown.by_name(self.qualified_name)

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        try:
            return await self._meant(arguments).execute(arguments, context, feedback)
        except BadArgument as error:
            return ToolOutput(text=error.text, error=ToolError(error.code, error.message))
        except PilothouseError as error:
            return failed(str(error), error.code.upper())

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
