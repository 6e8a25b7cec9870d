"""What the parts of the servers ask of each other. For type checkers only: nothing here is loaded to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pilothouse.mcp.channel import ChannelError
from pilothouse.mcp.connection import Connection
from pilothouse.mcp.consent import Agreed
from pilothouse.mcp.server import Server
from pilothouse.mcp.session import Session
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import Tool
from pilothouse.types.servers import Consent, ServerEntry, ServerState, ServerTool


class ServersFile(Protocol):
    """Where the entries are kept."""

    def entries(self) -> Sequence[JsonObject]:
        """Return the raw entries as they are now."""
        ...

    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file, if anything is."""
        ...

    async def change(self, change: Callable[[list[JsonObject]], None]) -> None:
        """Change the list on disk, whatever else is in the file kept."""
        ...


class Opener(Protocol):
    """Makes sessions; the only place that knows transports."""

    async def open(self, server: Server, connection: Connection) -> Session:
        """Connect; raise a ChannelError that says why not."""
        ...

    def reap(self) -> int:
        """End what a program that died left running; return how many servers that were."""
        ...

    async def forget(self, entry: ServerEntry) -> None:
        """Delete what signing in to a server brought."""
        ...


class Agreements(Protocol):
    """What people agreed to, and what they would have to."""

    def look(self, entry: ServerEntry, known: Agreed | None = None) -> Agreed:
        """Return what starting a server would do now; raise a ChannelError when it cannot be started at all."""
        ...

    def shown(self, entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
        """Return what the person is asked to agree to."""
        ...

    def agreed(self, server_id: str) -> Agreed | None:
        """Return what was agreed to for a server, if anything."""
        ...

    def give(self, server_id: str, agreed: Agreed) -> None:
        """Keep that the person agreed."""
        ...

    def withdraw(self, server_id: str) -> None:
        """Forget a consent."""
        ...


class Owner(Protocol):
    """The server behind a connection: makes sessions, and hears what becomes of them."""

    @property
    def backoff(self) -> tuple[float, ...]:
        """Return the waits before each try after a failure."""
        ...

    @property
    def idle_stop(self) -> float | None:
        """Return after how long without a call it is stopped; None for never."""
        ...

    @property
    def parked_state(self) -> ServerState:
        """Return what it is when nobody tries any more."""
        ...

    async def open(self, connection: Connection) -> Session:
        """Connect and learn the tools; raise a ChannelError that says why not."""
        ...

    async def check(self, session: Session) -> None:
        """Ask for a sign of life."""
        ...

    async def relist(self, session: Session) -> None:
        """Ask for the tools again."""
        ...

    def came(self, connection: Connection, state: ServerState, error: ChannelError | None) -> None:
        """Hear that the connection came into a state."""
        ...

    def left(self, connection: Connection) -> None:
        """Hear that nothing of a connection runs any more."""
        ...

    def lost(self, connection: Connection, error: ChannelError) -> None:
        """Hear that a working connection broke."""
        ...

    def gave_up(self, connection: Connection, error: ChannelError) -> None:
        """Hear that nobody tries any more."""
        ...


class Offering(Protocol):
    """A server with its tools as a run sees it."""

    @property
    def id(self) -> str:
        """Return its id."""
        ...

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def slug(self) -> str:
        """Return the prefix of its tools."""
        ...

    @property
    def offered(self) -> bool:
        """Return whether it is switched on and may be started."""
        ...

    @property
    def instructions(self) -> str:
        """Return what the server says about itself."""
        ...

    def listed(self) -> Sequence[ServerTool]:
        """Return its tools as last listed, whatever their state."""
        ...

    def tools(self) -> Sequence[Tool]:
        """Return the tools that can be called."""
        ...

    async def learned(self) -> None:
        """Wait until its tools are known; raise a PilothouseError that says why they cannot be."""
        ...


class Offerings(Protocol):
    """Where the servers are."""

    async def offerings(self) -> Sequence[Offering]:
        """Return all servers in their order."""
        ...
