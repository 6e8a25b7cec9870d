"""Commands and terminals with everything real around them: a sandbox, a folder, a store."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
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
from pilothouse.types.terminals import SandboxKind, TerminalSettings
from tests.support import forked
from tests.support.files import FileCalls
from tests.support.records import a_conversation, a_posting
from tests.support.waiting import PATIENCE, eventually

KINDS: tuple[SandboxKind, ...] = ("bubblewrap", "landlock", "none")
HOLDING: tuple[SandboxKind, ...] = ("bubblewrap", "landlock")
# A killed process is taken down by the kernel in its own time, which is longer on a busy machine.
MOMENT = 10.0


class AtTerminal(FileCalls):
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


def sandbox(home: Path, kind: SandboxKind | None = None, caps: Caps | None = None) -> Sandbox:
    """Return a sandbox of a kind, which must work on the machine that runs the tests."""
    made = Sandbox(home, TerminalSettings, caps=caps, only=kind)
    assert kind is None or made.kind() == kind, f"{kind} does not work here: install bubblewrap; needs Linux 5.13"
    return made


@asynccontextmanager
async def at_terminal(
    home: Path, folder: Path, kind: SandboxKind | None = None, caps: Caps | None = None
) -> AsyncIterator[AtTerminal]:
    """Open the terminal tool on a folder, with a conversation and a run in a store."""
    opened = open_store(open_home(home).path, None, lambda *_told: None)
    holder: list[AtTerminal] = []
    held = Sandbox(home, lambda: holder[0].settings if holder else TerminalSettings(), caps=caps, only=kind)
    terminals = Terminals(held, home / "recordings")
    try:
        conversation = await opened.store.add_conversation(a_conversation())
        posting = a_posting(conversation.id)
        await opened.store.post_message(posting)
        tool = terminal_operations(terminals, Workspace(Protected(home), opened.store))
        holder.append(AtTerminal(tool, opened.store, folder, (conversation.id, posting.run.id), terminals))
        yield holder[0]
    finally:
        await terminals.close()
        await opened.close()


def alive(mark: str) -> list[int]:
    """Return the processes whose command line has a mark in it, but ours, and those of tests that run beside us."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or ()
        dead = process.info["status"] == psutil.STATUS_ZOMBIE
        if not dead and process.info["pid"] != os.getpid() and any(mark in word for word in words):
            with contextlib.suppress(psutil.Error):
                if not _is_anothers(process):
                    found.append(process.info["pid"])
    return found


def _is_anothers(process: psutil.Process) -> bool:
    """Return whether another run of tests started it; an orphan may be ours."""
    parents = process.parents()
    if {os.getpid(), *forked.origins()} & {parent.pid for parent in parents}:
        return False
    return any("pytest" in word or "execnet" in word for parent in parents for word in parent.cmdline())


def gone(mark: str) -> bool:
    """Return whether no such process is left; what was just killed has a moment to be gone."""
    end = time.monotonic() + MOMENT
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def wait_for_shell(window: ClientConnection) -> None:
    """Wait for the first bytes of a terminal, which are the shell's: what is typed before them it may throw away."""
    while not isinstance(window.recv(PATIENCE), bytes):
        pass
