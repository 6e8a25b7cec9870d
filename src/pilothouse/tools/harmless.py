"""A tool that touches nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput, ToolPaused


def spec_of(name: str, required: tuple[str, ...], properties: JsonObject) -> ToolSpec:
    """Return a tool as the model sees it; its description is the text that is called as it is."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, (Path(__file__).parent / f"{name}.md").read_text().strip(), schema)


class Harmless(ABC):
    """A tool that everyone has in every mode and nobody is asked about; implements the port `Tool`."""

    spec: ToolSpec
    effects: frozenset[Effect] = frozenset()
    server = ""
    # Calls of one lane wait for each other.
    lane = ""

    @property
    def qualified_name(self) -> str:
        return self.spec.name

    @property
    def grant_key(self) -> str:
        return self.spec.name

    def limited(self, allowed: frozenset[Effect]) -> Self:
        return self

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        return Access(operation=self.spec.name, lane=self.lane)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        return CallTimes(limits.TOOL_TIME)

    @abstractmethod
    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call with these arguments in words and with a picture."""

    @abstractmethod
    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Do it. Cancellation is by asyncio's."""
