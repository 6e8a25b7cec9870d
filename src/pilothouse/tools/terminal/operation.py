"""What all operations of `terminal_operations` have in common."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.desk import folder_identity
from pilothouse.tools.files.places import contains, working_root
from pilothouse.tools.sandbox.sandbox import Order
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect, Shown, Taint
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput

TOOL = "terminal_operations"
SOURCE = "terminal"
_LINE_CHARS = 120
_AT_HOME = "It can change your home folder, and with it what your programs start by themselves."
_UNHELD = "Nothing holds commands on this machine, so this one can reach your secrets."


class TerminalOperation(ABC):
    """An operation on terminals and commands."""

    name: str
    effects: frozenset[Effect] = frozenset({"reads"})
    properties: ClassVar[JsonObject] = {}
    # What people call it while it happens.
    doing: str

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals

    @property
    def times(self) -> CallTimes:
        """Return how long it may take: looking is quick."""
        time = limits.TERMINAL_READ_TIME if self.effects <= {"reads"} else limits.TOOL_TIME
        return CallTimes(time)

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch."""
        with _in_words():
            return await self.look(arguments, context)

    async def look(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return what a call would touch: by default it looks at what the terminal says."""
        held = await asyncio.to_thread(self._terminals.sandbox.kind)
        brings = self._brings(held, network=False)
        return Access(operation=f"{TOOL}.{self.name}", effects=self.effects, brings=brings, source=SOURCE)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words and with a picture."""
        about = " ".join(self.about(arguments).split())
        short = f"{about[:_LINE_CHARS]}{'…' if len(about) > _LINE_CHARS else ''}"
        summary = f"{self.doing}: {short}" if about else self.doing
        return Shown(
            action=self.name,
            action_display_name=self.doing,
            summary=summary,
            details=tuple(self.details(arguments)),
            icon="terminal",
        )

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return what a call is about, in a few words."""
        return ""

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return what else there is to say about a call, line by line."""
        return []

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Do it."""
        with _in_words():
            return await self.perform(arguments, context, feedback)

    @abstractmethod
    async def perform(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Do it."""

    def _brings(self, held: str, *, network: bool) -> frozenset[Taint]:
        """Return what output brings along: it may say anything about this machine, or about the whole world.

        A command that nothing holds has the network, whether it was asked for or not.
        """
        network = network or self._terminals.sandbox.settings.network or held in ("", "none")
        return frozenset({"private", "untrusted"}) if network else frozenset({"private"})

    async def command_access(self, command: CommandUse, context: CallContext) -> Access:
        """Return what running or typing a command touches."""
        effects: frozenset[Effect] = frozenset({"runs", "writes", *(("sends",) if command.network else ())})
        return Access(
            operation=f"{TOOL}.{self.name}",
            effects=effects,
            command=command,
            destination="anywhere" if command.network else "",
            payload_bytes=len((command.text or " ".join(command.argv)).encode()) if command.network else 0,
            brings=self._brings(command.sandbox, network=command.network),
            source=SOURCE,
            folder_identity=await asyncio.to_thread(folder_identity, context),
            dangerous=await asyncio.to_thread(_danger, command, context),
        )

    async def use(self, context: CallContext, text: str, argv: tuple[str, ...], network: bool) -> CommandUse:
        """Return a command as a decision sees it."""
        folder = await asyncio.to_thread(working_root, context.working_directory)
        kind = await asyncio.to_thread(self._terminals.sandbox.kind)
        return CommandUse(text=text, argv=argv, folder=folder, sandbox="" if kind == "none" else kind, network=network)

    def hold(self, context: CallContext, now: CommandUse) -> None:
        """Refuse a command that is not exactly the one that was allowed, or would be held differently."""
        allowed = context.access.command if context.access is not None else None
        if allowed is not None and allowed != now:
            raise BadArgument(_difference(allowed, now), "CONFLICT")

    def order(self, context: CallContext, now: CommandUse, argv: tuple[str, ...]) -> Order:
        """Return a command to be started, in the very folder that was looked at."""
        identity = context.access.folder_identity if context.access is not None else None
        return Order(
            argv=argv, folder=now.folder, identity=identity, network=now.network, owner=context.conversation_id
        )


def _danger(command: CommandUse, context: CallContext) -> str:
    """Return what makes a command stand out whatever its words are."""
    if not command.sandbox and context.mode == "auto_approve":
        return _UNHELD
    return _AT_HOME if contains(command.folder, os.path.realpath(os.path.expanduser("~"))) else ""


@contextmanager
def _in_words() -> Iterator[None]:
    """Tell what a terminal refuses in its own sentence."""
    try:
        yield
    except PilothouseError as error:
        raise BadArgument(str(error), error.code.upper()) from None


def _difference(allowed: CommandUse, now: CommandUse) -> str:
    if allowed.sandbox != now.sandbox:
        return "What holds commands has changed since this one was allowed; ask for it again."
    if allowed.folder != now.folder:
        return f"{os.path.basename(allowed.folder)} is another folder now than when the command was allowed."
    same = msgspec.structs.replace(allowed, text=now.text, argv=now.argv) == now
    return "The command is not the one that was allowed." if same else "The command's rights are not those allowed."
