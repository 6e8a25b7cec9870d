"""A configured server: its connections, its state, and what is known and remembered about it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Literal

import msgspec

from pilothouse.mcp.breaker import Breaker
from pilothouse.mcp.capacity import Capacity
from pilothouse.mcp.catalogue import Catalogue, Kept
from pilothouse.mcp.channel import ChannelError
from pilothouse.mcp.connection import Connection
from pilothouse.mcp.entries import address_of, connecting
from pilothouse.mcp.history import History
from pilothouse.mcp.logbook import Logbook
from pilothouse.mcp.recognising import readable
from pilothouse.mcp.rooms import Rooms
from pilothouse.mcp.roots import roots_of
from pilothouse.mcp.server_requests import NOTE
from pilothouse.mcp.tool import McpTool
from pilothouse.mcp.traffic import Traffic
from pilothouse.mcp.troubles import Hopeless, NeedsConsent, needs_consent
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.invisible import without_hidden
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import Consent, ServerEntry, ServerState, ServerTool

if TYPE_CHECKING:
    from pilothouse.mcp.consent import Agreed
    from pilothouse.mcp.ports import Agreements, Opener
    from pilothouse.mcp.session import Session

_log = logging.getLogger(__name__)
SHARED = ""
Level = Literal["info", "warning", "error"]


class Around(msgspec.Struct, frozen=True):
    """What all servers share."""

    secrets: Secrets
    consents: Agreements
    catalogue: Catalogue
    traffic: Traffic
    logs: Logbook
    rooms: Rooms
    opener: Opener
    redact: Callable[[str], str]
    # Something about a server changed: people are shown it anew.
    changed: Callable[[], None]
    # Level, code, sentence: something that people should know now.
    notice: Callable[[Level, str, str], None]
    # Places for local servers.
    capacity: Capacity
    starts: asyncio.Semaphore


class Server:
    """One server of the list, from the time it is configured to the time it is removed or changed."""

    def __init__(self, entry: ServerEntry, slug: str, around: Around, history: History | None = None) -> None:
        self.entry = entry
        self.slug = slug
        self.around = around
        self.history = history or History(around.redact, around.logs.log(entry.id))
        self.breaker = Breaker()
        self.connections: dict[str, Connection] = {}
        # Those that nothing new is begun on; each ends with its last call.
        self._leaving: list[Connection] = []
        self.last_used_at: float | None = None
        # The calls that wait for the person's answer: by call, in which session and under which handle.
        self.held: dict[str, tuple[Session, str]] = {}
        # What the person must agree to; None when there is nothing, or when nobody looked yet.
        self.asking: Consent | None = None
        # Why its command cannot even be looked at: there is no such program.
        self._unstartable: ChannelError | None = None
        # Whether anyone looked what the person must agree to.
        self.looked = not self.local
        # Who looks and who agrees do so one after the other, or an old look would undo a consent.
        self._looking = asyncio.Lock()
        # False once the file says something else.
        self.current = True
        self._told = False
        self._tools: tuple[Kept, ServerEntry, tuple[McpTool, ...]] | None = None
        self.came(None, self.state, None)

    # --- what others see ---

    @property
    def id(self) -> str:
        """Return its id."""
        return self.entry.id

    @property
    def name(self) -> str:
        """Return its name."""
        return self.entry.name

    @property
    def offered(self) -> bool:
        """Return whether it is switched on and may be started."""
        return self.entry.enabled and self.asking is None

    @property
    def instructions(self) -> str:
        """Return what the server says to models, as it was first seen or last accepted."""
        about = self.around.catalogue.kept(self.entry).about
        return without_hidden(str(about.approved.get("instructions", "")))[0] if about is not None else ""

    @property
    def state(self) -> ServerState:
        """Return the state that people see: that of the connection that is furthest."""
        if not self.entry.enabled:
            return "disabled"
        if self.asking is not None:
            return "needs_consent"
        if self._unstartable is not None:
            return "error"
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
    def local(self) -> bool:
        """Return whether it is a process of ours."""
        return self.entry.transport == "stdio"

    @property
    def address(self) -> str:
        """Return the command line or the URL, without secrets."""
        return self.around.redact(address_of(readable(self.entry)))

    def names(self) -> Set[str]:
        """Return every name that its tools go by."""
        return self.around.catalogue.names(self.entry, self.slug)

    def listed(self, names: Set[str] = frozenset(), part: slice = slice(None)) -> list[ServerTool]:
        """Return its tools as last listed, whatever their state; `names` are the telling ones of all servers."""
        return self.around.catalogue.tools(self.entry, self.slug, names, part)

    def tools(self) -> Sequence[McpTool]:
        """Return the tools that can be called."""
        kept = self.around.catalogue.kept(self.entry)
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
        if self.around.catalogue.known(self.entry):
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
        fresh = self.connections[key] = Connection(self)
        fresh.folders = connection.folders
        return fresh

    def _leave(self, key: str) -> None:
        """Begin nothing new on a connection; it ends with its last call."""
        connection = self.connections.pop(key)
        self._leaving = [*(each for each in self._leaving if each.at_work), connection]
        connection.leave()

    def fall_back(self) -> bool:
        """Speak the older era from now on, since it asks by itself; return False where that cannot be."""
        catalogue = self.around.catalogue
        if self.entry.config.era == "modern" or not catalogue.fall_back(self.entry):
            return False
        modern = [key for key, each in self.connections.items() if each.session and each.session.facts.era == "modern"]
        for key in modern:
            self._leave(key)
        if modern:
            self.history.line("host", "info", NOTE)
            self.around.changed()
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
        self.came(None, self.state, None)

    def _take_back(self, why: str) -> None:
        if self._told:
            self._told = False
            self.around.notice("info", self._code, f"{self.name} was {why}.")

    async def release(self, call_id: str) -> None:
        """Give up a call that waits for an answer."""
        held = self.held.pop(call_id, None)
        if held is not None:
            held[0].release(held[1])

    # --- consent ---

    async def check_consent(self) -> Agreed | None:
        """Look whether the person agreed to exactly what would be started now; raise NeedsConsent if not."""
        if not self.local:
            return None
        async with self._looking:
            return await self._check()

    async def _check(self) -> Agreed:
        try:
            agreed, now = await asyncio.to_thread(self._look)
        except (ChannelError, PilothouseError) as error:
            self.looked, self._unstartable = True, Hopeless(error.message, fix=error.fix, sent=False)
            self.came(None, self.state, self._unstartable)
            raise self._unstartable from None
        asking = None
        if agreed is None or not agreed.allows(now):
            asking = await asyncio.to_thread(self.around.consents.shown, self.entry, now, agreed)
        elif agreed.kind < now.kind:
            await asyncio.to_thread(self.around.consents.give, self.id, now)
        # All at once: whoever asks meanwhile must not see a server that waits for nobody.
        before = (self.asking, self._unstartable)
        self.looked, self.asking, self._unstartable = True, asking, None
        if before != (self.asking, None):
            self.came(None, self.state, None)
        if self.asking is not None:
            raise needs_consent(self.name, changed=agreed is not None)
        return now

    async def agree(self, fingerprint: str) -> bool:
        """Keep that the person agreed, if it is still the same that they saw."""
        async with self._looking:
            _, now = await asyncio.to_thread(self._look)
            if now.fingerprint() != fingerprint:
                # What is there now is what the person is shown next.
                with contextlib.suppress(NeedsConsent):
                    await self._check()
                return False
            await asyncio.to_thread(self.around.consents.give, self.id, now)
            self.asking = None
        self.came(None, self.state, None)
        return True

    def _look(self) -> tuple[Agreed | None, Agreed]:
        agreed = self.around.consents.agreed(self.id)
        return agreed, self.around.consents.look(self.entry, agreed)

    # --- as a connection's owner ---

    @property
    def backoff(self) -> tuple[float, ...]:
        """Return the waits before each try after a failure."""
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
        """Connect and learn the tools; raise a ChannelError that says why not."""
        async with self.around.starts:
            try:
                return await self.around.opener.open(self, connection)
            except ChannelError:
                raise
            except PilothouseError as error:
                raise Hopeless(error.message, fix=error.fix, sent=False) from None
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
            self.around.catalogue.kept(self.entry),
            era=facts.era,
            protocol_version=facts.protocol_version,
            server_version=" ".join(filter(None, (facts.name, facts.version))),
        )
        if await asyncio.to_thread(self.around.catalogue.learn, self.entry, listing.tools, kept, facts.about):
            self.around.changed()

    def came(self, connection: Connection | None, state: ServerState, error: ChannelError | None) -> None:
        """Hear that the connection came into a state."""
        self.history.state(self.state, error.message if error is not None else "")
        if state == "connected" and self._told:
            self._told = False
            self.around.notice("info", self._code, f"{self.name} is connected again.")
        self.around.changed()

    def left(self, connection: Connection) -> None:
        """Hear that nothing of a connection runs any more."""
        self.around.capacity.leave(connection)

    def lost(self, connection: Connection, error: ChannelError) -> None:
        """Hear that a working connection broke."""
        self.history.error(error.message)
        _log.warning("server %s: connection lost: %s", self.name, error.message)
        if not self._told:
            self._told = True
            self.around.notice("warning", self._code, f"{self.name} disconnected. Reconnecting...")

    def gave_up(self, connection: Connection, error: ChannelError) -> None:
        """Hear that nobody tries any more."""
        self.history.error(error.message)
        _log.warning("server %s: given up: %s", self.name, error.message)
        if self._told:
            ending = "failed to restart. Check settings." if self.local else f"is disconnected. {error.message}"
            self.around.notice("error", self._code, f"{self.name} {ending}")

    @property
    def _code(self) -> str:
        return f"server:{self.id}"
