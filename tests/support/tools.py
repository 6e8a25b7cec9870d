"""Small tools for tests: each does what the test tells it to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Effect, ToolOutput

Action = Callable[[JsonObject, CallContext], Awaitable[ToolOutput]]
ANYTHING: JsonObject = {"type": "object"}


async def echo(arguments: JsonObject, context: CallContext) -> ToolOutput:
    """Give the arguments back."""
    return ToolOutput(text=f"echo {arguments}")


class ToolOf:
    """A tool made of one function; it remembers what it was called with."""

    def __init__(
        self,
        name: str = "echo",
        action: Action = echo,
        *,
        effects: frozenset[Effect] = frozenset(),
        schema: JsonObject = ANYTHING,
        timeout: float = 60.0,
    ) -> None:
        self.name = name
        self.effects = effects
        self.times = CallTimes(idle=timeout, total=timeout)
        self.server = ""
        self.grant_key = name
        self.calls: list[tuple[JsonObject, CallContext]] = []
        self._action = action
        self._schema = schema

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"The tool {self.name}.", self._schema)

    def display(self, arguments: Mapping[str, object]) -> str:
        return f"Using {self.name}"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        self.calls.append((arguments, context))
        return await self._action(arguments, context)
