"""A configured server: its connections, its state, and what is known and remembered about it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.server_requests import NOTE
from pilothouse.mcp.client.start_errors import NeedsConsent, NeedsPerson, needs_consent
from pilothouse.mcp.client.traffic import Traffic
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.servers.breaker import Breaker
from pilothouse.mcp.servers.capacity import Capacity
from pilothouse.mcp.servers.catalogue import Catalogue, Kept, place_of
from pilothouse.mcp.servers.connection import Connection
from pilothouse.mcp.servers.entries import address_of, connecting
from pilothouse.mcp.servers.folders import ServerFolders
from pilothouse.mcp.servers.history import History
from pilothouse.mcp.servers.lacks import Lacks
from pilothouse.mcp.servers.logbook import Logbook
from pilothouse.mcp.servers.roots import roots_of
from pilothouse.mcp.servers.secret_detection import readable
from pilothouse.mcp.servers.server_package import ServerPackage, agreed_pin
from pilothouse.mcp.servers.tool import McpTool
from pilothouse.types import limits
from pilothouse.types.authority import marked
from pilothouse.types.errors import PilothouseError
from pilothouse.types.invisible import without_hidden
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import Consent, ServerEntry, ServerState, ServerTool

if TYPE_CHECKING:
    from pilothouse.mcp.client.session import Session
    from pilothouse.mcp.oauth.challenge import Challenge
    from pilothouse.mcp.packages.rooms import PackageRooms
    from pilothouse.mcp.servers.connecting import Sessions
    from pilothouse.mcp.servers.consent import Agreed, Consents

_log = logging.getLogger(__name__)
SHARED = ""
Level = Literal["info", "warning", "error"]


class ServerParts(msgspec.Struct, frozen=True):
    """What all servers share."""

    secrets: Secrets
    consents: Lazy[Consents]
    catalogue: Catalogue
    traffic: Traffic
    logs: Logbook
    folders: ServerFolders
    opener: Lazy[Sessions]
    redact: Callable[[str], str]
    # A value that is to be masked from now on.
    learn: Callable[[str], None]
    # Something about a server changed: people are shown it anew.
    changed: Callable[[], None]
    # Level, code, sentence: something that people should know now.
    notice: Callable[[Level, str, str], None]
    # Places for local servers.
    capacity: Capacity
    starts: asyncio.Semaphore
    # Someone signed in to the server of this name: what waits for that goes on.
    signed_in: Callable[[str], Awaitable[None]]
    # Installs the packages of servers.
    packages: Lazy[PackageRooms]
    # Whether local ones are started in this process; otherwise they run at the workers.
    programs: bool = True


class Server:
    """One server of the list, from the time it is configured to the time it is removed or changed."""

    # Whether what is installed for it stays, so that nobody needs what was downloaded for that.
    keeps_package = True

    def __init__(self, entry: ServerEntry, slug: str, parts: ServerParts, history: History | None = None) -> None:
        self.entry = entry
        self.slug = slug
        self.parts = parts
        self.history = history or History(parts.redact, parts.logs.log(entry.id))
        self.breaker = Breaker()
        self.lacks = Lacks(self)
        self.connections: dict[str, Connection] = {}
        # Those that nothing new is begun on; each ends with its last call.
        self._leaving: list[Connection] = []
        self.last_used_at: float | None = None
        # The calls that wait for the person's answer: by call, in which session and under which handle.
        self.paused_calls: dict[str, tuple[Session, str]] = {}
        # What it said that it wants before it lets anyone in; None once someone signed in.
        self.sign_in_wanted: Challenge | None = None
        # What the person must agree to; None when there is nothing, or when nobody looked yet.
        self.asking: Consent | None = None
        # Why its command cannot even be looked at: there is no such program.
        self._unstartable: ChannelError | None = None
        # Whether anyone looked what the person must agree to.
        self.looked = not self.local
        self.package = ServerPackage(self)
        # Who looks and who agrees do so one after the other, or an old look would undo a consent.
        self._looking = asyncio.Lock()
        # False once the file says something else.
        self.current = True
        self._told = False
        self._tools: tuple[Kept, ServerEntry, tuple[McpTool, ...]] | None = None
        self.state_changed(self.state, None)

    # --- what others see ---

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def name(self) -> str:
        return self.entry.name

    @cached_property
    def place(self) -> str:
        """Return a mark of where it is: at another address, or as another command, it is another server."""
        return place_of(self.entry)

    @property
    def key(self) -> str:
        """Return what a permission for any of its tools is bound to."""
        return f"{marked(self.id, self.place)}:"

    @property
    def offered(self) -> bool:
        """Return whether it is switched on and may be started."""
        return self.entry.enabled and self.asking is None

    @property
    def instructions(self) -> str:
        """Return what the server says to models, as it was first seen or last accepted."""
        about = self.parts.catalogue.kept(self.entry).about
        return without_hidden(str(about.approved.get("instructions", "")))[0] if about is not None else ""

    @property
    def state(self) -> ServerState:
        """Return the state that people see: that of the connection that is furthest."""
        if not self.entry.enabled:
            return "disabled"
        if self.asking is not None:
            return "needs_consent"
        if self.elsewhere:
            return "idle"
        if self._unstartable is not None:
            return "error"
        if isinstance(self.error, SignInNeeded) and not any(each.up for each in self.connections.values()):
            return "needs_sign_in"
        order: tuple[ServerState, ...] = ("connected", "connecting", "reconnecting", "error", "disconnected")
        states = {connection.state for connection in self.connections.values()}
        return next((state for state in order if state in states), "idle")

    @property
    def error(self) -> ChannelError | None:
        """Return the newest failure that still stands."""
        if self._unstartable is not None:
            return self._unstartable
        errors = [connection.error for connection in self.connections.values() if connection.error is not None]
        return errors[-1] if errors else None

    @property
    def elsewhere(self) -> bool:
        """Return whether it runs where programs may be started, and not here."""
        return self.local and not self.parts.programs

    @property
    def local(self) -> bool:
        """Return whether it is a process of ours."""
        return self.entry.transport == "stdio"

    @property
    def address(self) -> str:
        """Return the command line or the URL, without secrets."""
        return self.parts.redact(address_of(readable(self.entry)))

    def names(self) -> Set[str]:
        """Return every name that its tools go by."""
        return self.parts.catalogue.names(self.entry, self.slug)

    def listed(self, names: Set[str] = frozenset(), part: slice = slice(None)) -> list[ServerTool]:
        """Return its tools as last listed, whatever their state; `names` are the telling ones of all servers."""
        return self.parts.catalogue.tools(self.entry, self.slug, names, part)

    def tool_named(self, name: str) -> ServerTool | None:
        """Return the tool of any of its names, whatever its state."""
        names = (each for each in self.listed() if name in (each.name, each.qualified_name, each.wire_name))
        return next(names, None)

    def tools(self) -> Sequence[McpTool]:
        """Return the tools that can be called."""
        kept = self.parts.catalogue.kept(self.entry)
        if self._tools is None or self._tools[0] is not kept or self._tools[1] is not self.entry:
            made = tuple(McpTool(self, listed) for listed in self.listed() if listed.state == "offered")
            self._tools = (kept, self.entry, made)
        return self._tools[2]

    def takes(self, entry: ServerEntry) -> bool:
        """Go on with a changed entry if nothing in it touches the connection; return whether that is so."""
        if connecting(entry) != connecting(self.entry):
            return False
        self.entry = entry
        return True

    # --- connecting ---

    async def session(self, conversation_id: str) -> Session:
        """Return a session for a conversation, starting the server if need be; raise a ChannelError if not."""
        self.last_used_at = time.time()
        return await self.connection(conversation_id).get()

    def connection(self, conversation_id: str) -> Connection:
        """Return the connection of a conversation: the shared one, or its own where the server keeps state."""
        key = conversation_id if self.entry.config.per_conversation else SHARED
        if key not in self.connections:
            # Conversations come and go; what is at rest is made anew when it is needed.
            resting = [other for other, each in self.connections.items() if each.state == "idle" and not each.at_work]
            for other in resting:
                del self.connections[other]
            self.connections[key] = Connection(self)
        return self.connections[key]

    async def learned(self) -> None:
        """Wait until its tools are known; raise a PilothouseError that says why they cannot be."""
        if self.parts.catalogue.known(self.entry):
            return
        try:
            await self.connection(SHARED).get()
        except NeedsConsent as error:
            raise PilothouseError("needs_consent", error.message, fix=error.fix) from None
        except ChannelError as error:
            raise PilothouseError("server_failed", error.message, fix=error.fix) from None

    async def stop(self) -> None:
        """Close all its connections, side by side."""
        await asyncio.gather(*(connection.stop() for connection in (*self.connections.values(), *self._leaving)))

    def connection_in(self, conversation_id: str, folder: str | None) -> Connection:
        """Return the connection of a conversation that is about to call, and works in this folder."""
        connection = self.connection(conversation_id)
        connection.folders.take(conversation_id, folder)
        session = connection.session
        if session is None or not session.has_roots or roots_of(self.entry, connection.folders.common()):
            return connection
        # Some servers that are told of no folder any more go on in the last one, which is another conversation's.
        self.history.line("host", "info", "Conversations in different folders share it: it begins anew without one.")
        key = next(key for key, each in self.connections.items() if each is connection)
        self._leave(key)
        fresh = self.connections[key] = Connection(self, connection.folders)
        return fresh

    def _leave(self, key: str) -> None:
        """Begin nothing new on a connection; it ends with its last call."""
        connection = self.connections.pop(key)
        self._leaving = [*(each for each in self._leaving if each.at_work), connection]
        connection.leave()

    def fall_back(self) -> bool:
        """Speak the older era from now on, since it asks by itself; return False where that cannot be."""
        catalogue = self.parts.catalogue
        if self.entry.config.era == "modern" or not catalogue.fall_back(self.entry):
            return False
        modern = [key for key, each in self.connections.items() if each.session and each.session.facts.era == "modern"]
        for key in modern:
            self._leave(key)
        if modern:
            self.history.line("host", "info", NOTE)
            self.parts.changed()
        return True

    def retry(self) -> None:
        """Connect now, with fresh counters."""
        self._told = False
        self.breaker.succeeded()
        self.connection(SHARED).retry()

    def retire(self) -> None:
        """Hear that the file says something else now: nobody calls it any more, and no notice about it stands."""
        self.current = False
        self._take_back("switched off or changed")

    async def disconnect(self) -> None:
        """Stop it because a person said so; it stays switched on, and its next call starts it."""
        self._take_back("stopped")
        self.history.line("host", "info", "Stopped by hand.")
        stopping = [*self.connections.values(), *self._leaving]
        # Whoever needs it from now on begins with a new one.
        self.connections, self._leaving = {}, []
        await asyncio.gather(*(connection.stop() for connection in stopping))
        self.state_changed(self.state, None)

    def _take_back(self, why: str) -> None:
        if self._told:
            self._told = False
            self.parts.notice("info", self._code, f"{self.name} was {why}.")

    async def release(self, call_id: str) -> None:
        """Give up a call that waits for an answer."""
        paused = self.paused_calls.pop(call_id, None)
        if paused is not None:
            paused[0].release(paused[1])

    # --- consent ---

    @property
    def asks_for_consent(self) -> bool:
        """Return whether it waits for consent, or may in a moment: who looks now has read what was agreed to before."""
        return self.asking is not None or self._looking.locked()

    async def check_consent(self) -> Agreed | None:
        """Look whether the person agreed to exactly what would be started now; raise NeedsConsent if not."""
        if not self.local:
            return None
        async with self._looking:
            return await self._check()

    async def _check(self) -> Agreed:
        try:
            agreed, now = await self._look()
        except (ChannelError, PilothouseError) as error:
            self.looked, self._unstartable = True, NeedsPerson(error.message, fix=error.fix)
            self.state_changed(self.state, self._unstartable)
            raise self._unstartable from None
        asking = None
        if agreed is None or not agreed.allows(now):
            asking = await asyncio.to_thread(self.parts.consents().shown, self.entry, now, agreed)
        elif agreed.kind < now.kind:
            await asyncio.to_thread(self.parts.consents().give, self.id, now)
        # All at once: whoever asks meanwhile must not see a server that waits for nobody.
        before = (self.asking, self._unstartable)
        self.looked, self.asking, self._unstartable, self.package.pin = True, asking, None, now.pin
        if before != (self.asking, None):
            self.state_changed(self.state, None)
        if self.asking is not None:
            raise needs_consent(self.name, changed=agreed is not None)
        return now

    async def agree(self, fingerprint: str) -> bool:
        """Keep that the person agreed, if it is still the same that they saw."""
        async with self._looking:
            _, now = await self._look()
            if now.fingerprint() != fingerprint:
                # What is there now is what the person is shown next.
                with contextlib.suppress(NeedsConsent):
                    await self._check()
                return False
            await self.package.keep(now.pin)
            await asyncio.to_thread(self.parts.consents().give, self.id, now)
            self.asking = None
        self.state_changed(self.state, None)
        return True

    async def agree_to_keys(self, entry: ServerEntry, lines: Set[str]) -> None:
        """Keep that the person agreed to the same command with keys that it asked for, or that they took from it."""
        if not self.local or not lines:
            return

        def look() -> None:
            consents = self.parts.consents()
            agreed = consents.agreed(self.id)
            wanted = consents.look(entry, agreed, agreed_pin(entry, agreed)) if agreed is not None else None
            if agreed is not None and wanted is not None and agreed.allows_but_for(lines, wanted):
                consents.give(self.id, wanted)

        # What cannot be looked at is told when it is started.
        with contextlib.suppress(ChannelError, PilothouseError):
            async with self._looking:
                await asyncio.to_thread(look)

    async def _look(self) -> tuple[Agreed | None, Agreed]:
        return await self.package.looked()

    # --- what its connections ask and report ---

    @property
    def backoff(self) -> tuple[float, ...]:
        return limits.LOCAL_BACKOFF if self.local else limits.REMOTE_BACKOFF

    @property
    def idle_stop(self) -> float | None:
        """Return after how long without a call it is stopped; None for never."""
        if self.entry.config.always_on:
            return None
        return self.entry.config.idle_stop if self.entry.config.idle_stop is not None else limits.IDLE_STOP

    @property
    def parked_state(self) -> ServerState:
        """Return what it is when nobody tries any more."""
        return "error" if self.local else "disconnected"

    async def open(self, connection: Connection) -> Session:
        # Before it takes a place among those that start: an installation takes its time.
        await self.package.install()
        async with self.parts.starts:
            try:
                return await self.parts.opener().open(self, connection)
            except ChannelError as error:
                if not self.lacks.learned_from(error):
                    raise
                return await self.parts.opener().open(self, connection)
            except PilothouseError as error:
                raise NeedsPerson(error.message, fix=error.fix) from None
            except Exception as error:
                _log.exception("server %s could not be opened", self.name)
                raise ChannelError(f"Something went wrong while connecting: {error}", sent=False) from None

    async def check(self, session: Session) -> None:
        """Ask for a sign of life; where there is no question for that, for the tools."""
        if session.facts.era == "handshake":
            await session.ping()
        else:
            await self.learn(session)

    async def relist(self, session: Session) -> None:
        """Ask for the tools again; a list that does not come leaves the old one in force."""
        try:
            await self.learn(session)
        except ChannelError as error:
            self.history.error(error.message)
        except Exception as error:
            _log.exception("the tools of server %s could not be taken up", self.name)
            self.history.error(f"Its list of tools could not be taken up: {error}")

    async def learn(self, session: Session) -> None:
        """Take up the server's list of tools; raise a ChannelError when it does not give one."""
        listing = await session.list_tools()
        if not self.current:
            # The list of what was configured before is nobody's any more.
            return
        for note in listing.notes:
            self.history.line("host", "info", note)
        if listing.cut:
            self.history.error(listing.cut)
        facts = session.facts
        kept = msgspec.structs.replace(
            self.parts.catalogue.kept(self.entry),
            era=facts.era,
            protocol_version=facts.protocol_version,
            server_version=" ".join(filter(None, (facts.name, facts.version))),
        )
        if await asyncio.to_thread(self.parts.catalogue.learn, self.entry, listing.tools, kept, facts.about):
            self.parts.changed()

    def state_changed(self, state: ServerState, error: ChannelError | None) -> None:
        """Keep and tell that a connection, or the server itself, came into a state."""
        if isinstance(error, SignInNeeded):
            self.asked_to_sign_in(error)
        self.history.state(self.state, error.message if error is not None else "")
        if state == "connected" and self._told:
            self._told = False
            self.parts.notice("info", self._code, f"{self.name} is connected again.")
        self.parts.changed()

    def asked_to_sign_in(self, needed: SignInNeeded) -> None:
        """Keep what the server wants, for whoever signs in."""
        self.sign_in_wanted = needed.wanted or self.sign_in_wanted

    def connection_closed(self, connection: Connection) -> None:
        """Give a connection's place to others: nothing of it runs any more."""
        self.parts.capacity.leave(connection)

    def connection_lost(self, error: ChannelError) -> None:
        """Keep and tell that a working connection broke."""
        self.history.error(error.message)
        _log.warning("server %s: connection lost: %s", self.name, error.message)
        if not self._told:
            self._told = True
            self.parts.notice("warning", self._code, f"{self.name} disconnected. Reconnecting...")

    def gave_up(self, error: ChannelError) -> None:
        """Keep and tell that nobody tries any more."""
        if isinstance(error, SignInNeeded | NeedsPerson):
            # What waits for a person is no failure, and past once they have done it.
            self.history.line("host", "warning", error.message)
        else:
            self.history.error(error.message)
        _log.warning("server %s: given up: %s", self.name, error.message)
        if self._told:
            ending = "failed to restart. Check settings." if self.local else f"is disconnected. {error.message}"
            self.parts.notice("error", self._code, f"{self.name} {ending}")

    @property
    def _code(self) -> str:
        return f"server:{self.id}"
