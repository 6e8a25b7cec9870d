"""The terminal tool with a real sandbox, folder and store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from websockets.sync.client import ClientConnection

from pilothouse.permissions.protected import Protected
from pilothouse.settings.home import open_home
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.tools.terminal_operations import terminal_operations
from pilothouse.types.terminals import SandboxKind, SandboxView, TerminalSettings
from tests.support.files import FileCalls
from tests.support.records import add_run
from tests.support.waiting import PATIENCE, eventually

KINDS: tuple[SandboxKind, ...] = ("bubblewrap", "landlock", "none")
HOLDING: tuple[SandboxKind, ...] = ("bubblewrap", "landlock")


class TerminalCalls(FileCalls):
    """Calls of the terminal tool, and the terminals behind them."""

    def __init__(
        self, tool: Consolidated, store: Store, folder: Path, run: tuple[str, str], terminals: Terminals
    ) -> None:
        super().__init__(tool, store, folder, run)
        self.terminals = terminals
        self.settings = TerminalSettings()

    async def run(self, command: str, **arguments: object) -> str:
        """Run a command that must be carried out; return what the model gets."""
        return (await self.does("run_command", command=command, **arguments)).text

    async def types(self, text: str) -> str:
        """Type a line into the session and return what comes at once."""
        return (await self.does("send_input", input=text)).text

    async def says(self, text: str) -> str:
        """Wait until the session has said something; return all that it said."""

        async def look() -> str | None:
            said = (await self.does("get_history")).text
            return said if text in said else None

        return await eventually(look, f"{text!r} in the terminal")


# What holds commands on this machine, once a test has tried it: each try starts programs.
_found: dict[SandboxKind | None, tuple[SandboxView, str]] = {}


def _informed(made: Sandbox, kind: SandboxKind | None, caps: Caps | None) -> Sandbox:
    """Tell a sandbox with the usual bounds what another one found out."""
    if caps is None:
        if kind not in _found:
            _found[kind] = made.found(), made._bwrap
        made._found, made._bwrap = _found[kind]
    return made


def sandbox(home: Path, kind: SandboxKind | None = None, caps: Caps | None = None) -> Sandbox:
    """Return a sandbox of a kind, which must work on the machine that runs the tests."""
    made = _informed(Sandbox(home, TerminalSettings, caps=caps, only=kind), kind, caps)
    assert kind is None or made.kind() == kind, f"{kind} does not work here: install bubblewrap; needs Linux 5.13"
    return made


@asynccontextmanager
async def open_terminal_tool(
    home: Path, folder: Path, kind: SandboxKind | None = None, caps: Caps | None = None
) -> AsyncIterator[TerminalCalls]:
    """Open the terminal tool on a folder, with a conversation and a run in a store."""
    opened = open_store(open_home(home).path, None, lambda *_told: None)
    holder: list[TerminalCalls] = []
    held = Sandbox(home, lambda: holder[0].settings if holder else TerminalSettings(), caps=caps, only=kind)
    _informed(held, kind, caps)
    terminals = Terminals(held, home / "recordings")
    try:
        run = await add_run(opened.store)
        tool = terminal_operations(terminals, Workspace(Protected(home), opened.store))
        holder.append(TerminalCalls(tool, opened.store, folder, run, terminals))
        yield holder[0]
    finally:
        await terminals.close()
        await opened.close()


def wait_for_shell(window: ClientConnection) -> None:
    """Wait for the first bytes of a terminal, which are the shell's: what is typed before them it may throw away."""
    while not isinstance(window.recv(PATIENCE), bytes):
        pass
