"""The MCP servers of a data folder without the rest of the program: real file, secrets and processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pilothouse.helper.client import Helper
from pilothouse.mcp.servers.admin import McpAdmin
from pilothouse.mcp.servers.assembly import HostParts, supervise
from pilothouse.mcp.servers.nearby import NearbyService
from pilothouse.mcp.servers.other_programs import OtherProgramService
from pilothouse.mcp.servers.server import Server
from pilothouse.mcp.servers.servers_file import ServersFile
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.mcp.servers.toolbox import server_tools
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.tools.offering import offered
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.sandbox.server_sandbox import LocalServerSandbox
from pilothouse.tools.think import Think
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import CallContext, Resumed, Tool, ToolOutput, ToolPaused, ToolRequest, ToolSet
from pilothouse.types.selection import Selection
from pilothouse.types.server_sandbox import ServerSandbox
from pilothouse.types.servers import ConsentGiven, ServerInput, ServerView
from tests.support.processes import has_ended
from tests.support.tools import Silent
from tests.support.waiting import eventually


class Progress(Silent):
    """Keeps what a tool told while it worked."""

    def __init__(self) -> None:
        self.signs = 0
        self.told: list[tuple[float | None, float | None, str]] = []

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        self.told.append((done, total, message))

    def sign(self) -> None:
        self.signs += 1

    def waits(self, why: str) -> None:
        self.told.append((None, None, why))


class McpHost:
    """A supervisor with everything around it, for tests to look at."""

    def __init__(
        self, home: Path, secrets: SecretStore, redactor: Redactor, server_sandbox: Lazy[ServerSandbox] | None = None
    ) -> None:
        self.home = home
        self.secrets = secrets
        self.redactor = redactor
        self.notices: list[tuple[str, str]] = []
        self.signed_in: list[str] = []
        # How many local servers may run side by side.
        self.most = 50
        config = ConfigService(home, "sqlite")
        self.file = ServersFile(config.file, lambda: config.config.mcps)
        self.supervisor: Supervisor = supervise(
            self.file,
            HostParts(
                home=home,
                secrets=secrets,
                redact=redactor.redact,
                learn=redactor.learn,
                changed=lambda: None,
                notice=lambda level, _code, text: self.notices.append((level, text)),
                signed_in=self._signed_in,
                server_sandbox=server_sandbox,
                most=lambda: self.most,
            ),
        )
        self.helper = Helper()
        self.admin = McpAdmin(self.supervisor)
        self.other_programs = OtherProgramService(self.supervisor, self.helper)
        self.nearby = NearbyService(self.supervisor)

    async def _signed_in(self, server: str) -> None:
        self.signed_in.append(server)

    async def add(self, body: ServerInput, *, agree: bool = True) -> ServerView:
        """Add a server as a person does, consent included."""
        view = await self.admin.add(ME, body)
        if agree and view.consent is not None:
            view = await self.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        return view

    def server(self, name: str) -> Server:
        return self.supervisor.find(name)

    async def view(self, name: str) -> ServerView:
        servers = (await self.admin.list(ME)).servers
        return next(view for view in servers if name in (view.name, view.id))

    async def at_work(self, name: str) -> None:
        """Wait until a server has a call under way."""

        async def busy() -> bool:
            return any(each.busy and each.up for each in self.server(name).connections.values())

        await eventually(busy, "the call to be under way")

    async def until_logged(self, name: str, words: str) -> None:
        """Wait until a line of a server's log ends with these words."""

        async def look() -> bool:
            return any(line.text.endswith(words) for line in (await self.admin.log(ME, name)).lines)

        await eventually(look, f"{words!r} in the log of {name}")

    async def until(self, name: str, *states: str, timeout: float = 15) -> ServerView:
        """Wait until a server is in one of these states."""

        async def look() -> ServerView | None:
            view = await self.view(name)
            return view if view.state in states else None

        try:
            return await eventually(look, f"{name} to be {' or '.join(states)}", timeout)
        except AssertionError as error:
            view = await self.view(name)
            raise AssertionError(f"{error}; it is {view.state}: {view.last_error}") from None

    async def offered(self, wanted: ToolRequest, own: Sequence[Tool] = (Think(),)) -> ToolSet:
        """Return the tools of a run."""
        return offered(wanted, own, *await server_tools(wanted.selection, self.supervisor))

    async def tools(self, selection: Selection | None = None) -> dict[str, Tool]:
        found = await self.offered(ToolRequest("c1", selection))
        return {tool.qualified_name: tool for tool in found.tools}

    async def tools_when_known(self, name: str) -> dict[str, Tool]:
        """Return the tools once this one is among them."""

        async def look() -> dict[str, Tool] | None:
            found = await self.tools()
            return found if name in found else None

        return await eventually(look, f"the tool {name}")

    async def call_when_known(self, name: str, arguments: JsonObject | None = None) -> ToolOutput | ToolPaused:
        """Call a tool as soon as it is offered."""
        await self.tools_when_known(name)
        return await self.call(name, arguments)

    async def call(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        conversation: str = "c1",
        resumed: Resumed | None = None,
        progress: Progress | None = None,
        folder: str | None = None,
    ) -> ToolOutput | ToolPaused:
        """Call a tool as the agent does."""
        tool = (await self.tools())[name]
        return await tool.execute(arguments or {}, context(conversation, resumed, folder), progress or Progress())


def context(conversation: str = "c1", resumed: Resumed | None = None, folder: str | None = None) -> CallContext:
    """Return what a tool knows about a call."""
    return CallContext(
        conversation_id=conversation,
        run_id="r1",
        call_id="i1",
        working_directory=folder,
        earlier_calls=(),
        unattended=False,
        resumed=resumed,
    )


@asynccontextmanager
async def open_mcp_host(home: Path, *, begin: bool = False, sandbox: Sandbox | None = None) -> AsyncIterator[McpHost]:
    """Open the servers of a data folder, and stop them all."""
    folder = open_home(home)
    redactor = Redactor()
    server_sandbox = Lazy(lambda: LocalServerSandbox(sandbox)) if sandbox is not None else None
    hosted = McpHost(folder.path, SecretStore(folder.secrets, learn=redactor.learn), redactor, server_sandbox)
    if begin:
        hosted.supervisor.begin()
    try:
        yield hosted
    finally:
        await hosted.supervisor.close()
        hosted.helper.close()
        if sandbox is not None:
            sandbox.close()


def text(output: ToolOutput | ToolPaused) -> str:
    """Return what a call gave; it must have succeeded."""
    assert isinstance(output, ToolOutput)
    assert output.error is None, output.error
    return output.text


def failure(output: ToolOutput | ToolPaused) -> tuple[str, str]:
    """Return the code and the sentence of a call that failed."""
    assert isinstance(output, ToolOutput)
    assert output.error is not None
    return output.error.code, output.error.message


async def until_ended(pid: int) -> None:
    """Wait until there is no process with a number any more."""

    async def look() -> bool:
        return has_ended(pid)

    await eventually(look, f"process {pid} to end")
