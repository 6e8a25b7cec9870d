"""Small tools for tests: each does what the test tells it to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from pilothouse.tools.offering import offered
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.admin import OwnTools
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import (
    CallContext,
    CallFeedback,
    CallTimes,
    Tool,
    ToolOutput,
    ToolPaused,
    ToolRequest,
    ToolSet,
    ToolSource,
)
from pilothouse.types.selection import Selection
from pilothouse.types.tool_names import ServerTools
from pilothouse.wiring import OpenHost

Action = Callable[[JsonObject, CallContext], Awaitable[ToolOutput | ToolPaused]]
ANYTHING: JsonObject = {"type": "object"}


class Reporting(Protocol):
    """An action that tells how far it is."""

    async def __call__(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused: ...


class Silent:
    """Feedback that nobody listens to."""

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Take no notice."""

    def sign(self) -> None:
        """Take no notice."""

    def waits(self, why: str) -> None:
        """Take no notice."""

    def begins(self) -> None:
        """Take no notice."""


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
        server: str = "",
    ) -> None:
        self.name = name
        self.effects = effects
        self.times = CallTimes(timeout)
        self.server = server
        self.qualified_name = name.replace("__", ".", 1)
        self.grant_key = name
        # Says what a call touches, where a test looks at that.
        self.touching: Callable[[JsonObject, CallContext], Access] | None = None
        # Used instead of the action where a test looks at progress.
        self.reporting: Reporting | None = None
        self.calls: list[tuple[JsonObject, CallContext]] = []
        self._action = action
        self._schema = schema

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"The tool {self.name}.", self._schema)

    def limited(self, allowed: frozenset[Effect]) -> ToolOf | None:
        return self if self.effects <= allowed else None

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        if self.touching is not None:
            return self.touching(arguments, context)
        destination = self.server or ("anywhere" if "sends" in self.effects else "")
        return Access(operation=self.qualified_name, effects=self.effects, destination=destination)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        return self.times

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        return Shown(action=self.name, action_display_name=self.name, summary=f"Using {self.name}")

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        self.calls.append((arguments, context))
        if self.reporting is not None:
            return await self.reporting(arguments, context, feedback)
        return await self._action(arguments, context)


class Box:
    """A source that always has the same tools, of which a run is offered what fits; it remembers what was selected."""

    def __init__(self, *tools: Tool, guide: str = "") -> None:
        self.own = [tool for tool in tools if not tool.server]
        servers = dict.fromkeys(tool.server for tool in tools if tool.server)
        self.servers = [ServerTools(name, tuple(tool for tool in tools if tool.server == name)) for name in servers]
        self.guide = guide
        self.asked: list[tuple[Selection | None, str]] = []

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        self.asked.append((wanted.selection, wanted.conversation_id))
        return msgspec.structs.replace(offered(wanted, self.own, self.servers), guide=self.guide)


def give_tools(host: OpenHost, *tools: Tool, guide: str = "") -> Box:
    """Let an open host's runs use these tools."""
    box = Box(*tools, guide=guide)
    host.executor._parts = msgspec.structs.replace(host.executor._parts, toolbox=box)
    make_known(host, *tools)
    return box


class Both:
    """The tools that a host has, and some more; a run is offered what fits of both."""

    def __init__(self, real: ToolSource, *more: Tool) -> None:
        self.real = real
        self.more = Box(*more)

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        more = await self.more.tools(wanted)
        # What a host offers of its own depends on what else there is, which it knows only of its own.
        used = (*wanted.used, *(tool.spec.name for tool in more.tools))
        real = await self.real.tools(msgspec.structs.replace(wanted, used=used))
        return msgspec.structs.replace(real, tools=(*real.tools, *more.tools))


def add_tools(host: OpenHost, *tools: Tool) -> None:
    """Let an open host's runs use these tools beside its own."""
    parts = host.executor._parts
    host.executor._parts = msgspec.structs.replace(parts, toolbox=Both(parts.toolbox, *tools))
    make_known(host, *tools)


class Known:
    """The names of the tools that a host has, and of some more; those may belong to servers that nobody added."""

    def __init__(self, real: OwnTools, *more: Tool) -> None:
        self.real = real
        self.more = more

    def operations(self) -> dict[str, Sequence[str] | None]:
        names = [name for tool in self.more for name in (tool.spec.name, tool.qualified_name, tool.server)]
        return {**self.real.operations(), **dict.fromkeys(name.partition(".")[0] for name in names if name)}


def make_known(host: OpenHost, *tools: Tool) -> None:
    """Let messages allow these tools."""
    dependencies = host.api.runs._dependencies
    host.api.runs._dependencies = msgspec.structs.replace(dependencies, tools=Known(dependencies.tools, *tools))
