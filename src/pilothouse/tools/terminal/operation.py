"""What all operations of `terminal_operations` have in common."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.consolidated import Operation
from pilothouse.tools.files.places import contains, working_root
from pilothouse.tools.files.workspace import folder_identity
from pilothouse.tools.sandbox.sandbox import Order
from pilothouse.tools.snapshots.covering import Covered
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect, Shown, Taint
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallTimes

TOOL = "terminal_operations"
SOURCE = "terminal"
_LINE_CHARS = 120
_AT_HOME = "It can change your home folder, and with it what your programs start by themselves."
_UNHELD = "Nothing holds commands on this machine, so this one can reach your secrets."


class TerminalOperation(Operation):
    """An operation on terminals and commands."""

    icon = "terminal"
    effects: frozenset[Effect] = frozenset({"reads"})

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals

    @property
    def times(self) -> CallTimes:
        """Return how long it may take: looking is quick."""
        time = limits.TERMINAL_READ_TIME if self.effects <= {"reads"} else limits.TOOL_TIME
        return CallTimes(time)

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return what a call would touch: by default it looks at what the terminal says."""
        held = await asyncio.to_thread(self._terminals.sandbox.kind)
        brings = self._brings(held, network=False)
        return Access(operation=f"{TOOL}.{self.name}", effects=self.effects, brings=brings, source=SOURCE)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words; of a long command, its beginning."""
        about = " ".join(self.about(arguments).split())
        short = f"{about[:_LINE_CHARS]}{'…' if len(about) > _LINE_CHARS else ''}"
        summary = f"{self.doing}: {short}" if about else self.doing
        return msgspec.structs.replace(super().shown(arguments), summary=summary)

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

    async def use(
        self, context: CallContext, text: str, argv: tuple[str, ...], network: bool, *, ends: bool = False
    ) -> CommandUse:
        """Return a command as a decision sees it; what it changes is covered if it ends with its call."""
        folder = await asyncio.to_thread(working_root, context.working_directory)
        view = await asyncio.to_thread(self._terminals.sandbox.view)
        held = ends and view.offline and not network
        covered, uncovered = await self._coverage(context, folder) if held else (False, "")
        return CommandUse(
            text=text,
            argv=argv,
            folder=folder,
            sandbox="" if view.kind == "none" else view.kind,
            # What cannot be kept off the network has it.
            network=network or view.is_open,
            covered=covered,
            uncovered=uncovered,
        )

    async def _coverage(self, context: CallContext, folder: str) -> tuple[bool, str]:
        """Return whether undo covers what a command changes, or why not; where nothing depends on it nobody looks."""
        snapshots = self._terminals.snapshots
        if snapshots is None or context.mode != "sandboxed":
            return snapshots is not None, ""
        why = await snapshots.uncovered(folder, context.conversation_id)
        return not why, why

    def hold(self, context: CallContext, now: CommandUse) -> None:
        """Refuse a command that is not exactly the one that was allowed, or would be held differently."""
        allowed = context.access.command if context.access is not None else None
        if allowed is not None and allowed != msgspec.structs.replace(now, uncovered=allowed.uncovered):
            raise BadArgument(_difference(allowed, now), "CONFLICT")

    def covering(self, context: CallContext, now: CommandUse) -> AbstractAsyncContextManager[Covered]:
        """Keep what a command changes in its folder, from here to its end."""
        snapshots = self._terminals.snapshots
        return nullcontext(Covered()) if snapshots is None else snapshots.covering(context, now.folder)

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


def _difference(allowed: CommandUse, now: CommandUse) -> str:
    if allowed.sandbox != now.sandbox:
        return "What holds commands has changed since this one was allowed; ask for it again."
    if allowed.folder != now.folder:
        return f"{os.path.basename(allowed.folder)} is another folder now than when the command was allowed."
    same = msgspec.structs.replace(allowed, text=now.text, argv=now.argv) == now
    return "The command is not the one that was allowed." if same else "The command's rights are not those allowed."
