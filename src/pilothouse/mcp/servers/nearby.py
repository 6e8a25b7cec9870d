"""MCP servers on hosts that a person names: known ports and paths, and what announces itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse import __version__
from pilothouse.mcp.client.channel import ChannelError, Refusal
from pilothouse.mcp.client.session import BadAnswer, RpcError, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.mcp.servers.nearby_places import Named, is_unsure, named, ports_of, ways_to
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError
from pilothouse.net.knocking import addresses_of, is_encrypted, is_open
from pilothouse.net.multicast_dns import announced
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_finding import Nearby
from pilothouse.types.server_sharing import HostsToLookAt, NearbyServer, NearbyServers
from pilothouse.types.servers import Wire

SERVICE = "_mcp._tcp.local"
# What servers say that guard themselves against names made up by web pages.
_MISDIRECTED = 421
_PATH = re.compile(r"/[!-~]*")


class NearbyService(Nearby):
    """Knocks and asks; nothing is added or started."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def look(self, owner: str, body: HostsToLookAt) -> NearbyServers:
        if owner != LOCAL_OWNER:
            # Whoever asks reaches what this machine reaches.
            message = "Only the owner of this installation may look for servers near it."
            raise PilothouseError("forbidden", message, fix="Add a server by its address.")
        if len(body.hosts) > limits.NEARBY_HOSTS:
            message = f"At most {limits.NEARBY_HOSTS} hosts are looked at together."
            raise PilothouseError("bad_request", message, fix="Name those that may have a server.")
        if not body.hosts and not body.announced:
            raise PilothouseError("bad_request", "No host is named.", fix="Name one, such as nas or 192.0.2.7.")
        hosts = list(dict.fromkeys(map(named, body.hosts)))
        self._supervisor.reconcile()
        looking = _Looking(self._known())
        await looking.look(hosts, announced=body.announced)
        return looking.result()

    def _known(self) -> dict[tuple[str, int, str], str]:
        found = {}
        for server in self._supervisor.servers.values():
            if server.entry.config.url and (where := _where(server.entry.config.url)) is not None:
                found[where] = server.name
        return found


class _Door:
    """Gives no key, and notes that one is wanted; implements `Access` of the channels."""

    def __init__(self) -> None:
        self.wants_sign_in = False
        self.wants_key = False

    async def headers(self, url: str) -> Mapping[str, str]:
        return {}

    async def challenged(self, refusal: Refusal) -> bool:
        """Say no; a server of this protocol says in a header that it takes tokens, a web page does not."""
        if refusal.status == 401:
            self.wants_sign_in |= "bearer" in refusal.www_authenticate.lower()
            self.wants_key |= not refusal.www_authenticate
        return False


class _Looking:
    """One look at some hosts; what was found before the time is over is kept."""

    def __init__(self, known: Mapping[tuple[str, int, str], str]) -> None:
        self._known = known
        self._room = asyncio.Semaphore(limits.NEARBY_CONNECTIONS)
        # By the place of its host among those that were named, and its port.
        self._found: dict[tuple[int, int], NearbyServer] = {}
        self._notes: dict[str, None] = {}

    async def look(self, hosts: list[Named], *, announced: bool) -> None:
        """Look at all of them side by side, within NEARBY_LOOK."""
        try:
            async with asyncio.timeout(limits.NEARBY_LOOK), asyncio.TaskGroup() as tasks:
                for number, host in enumerate(hosts):
                    tasks.create_task(self._at(number, host))
                if announced:
                    tasks.create_task(self._announced(len(hosts)))
        except TimeoutError:
            self._note(f"Not everything was looked at within {limits.NEARBY_LOOK:g} s.")

    def result(self) -> NearbyServers:
        """Return what was found, in the order in which it was named."""
        servers = {each.url: each for _, each in sorted(self._found.items(), key=lambda found: found[0])}
        return NearbyServers(servers=tuple(servers.values())[: limits.NEARBY_SERVERS], notes=tuple(self._notes))

    def _note(self, text: str) -> None:
        if len(self._notes) < limits.NEARBY_SERVERS:
            self._notes[text] = None

    async def _announced(self, first: int) -> None:
        found = await announced(SERVICE)
        if not found:
            self._note("No server announces itself in the local network.")
        async with asyncio.TaskGroup() as tasks:
            for number, each in enumerate(found, first):
                path = each.facts.get("path", "")
                fits = _PATH.fullmatch(path) and len(path) <= limits.ANNOUNCED_PATH_CHARS
                typed = f"{visible(each.name)[: limits.NEARBY_NAME_CHARS]} at {each.address}:{each.port}"
                host = Named(typed, each.address, each.port, path.rstrip("/") if fits else "")
                tasks.create_task(self._at(number, host))

    async def _at(self, number: int, host: Named) -> None:
        try:
            addresses = await addresses_of(host.host)
        except NetError as error:
            self._note(f"{host.typed}: {error.why}.")
            return
        async with asyncio.TaskGroup() as tasks:
            asked = {port: tasks.create_task(self._at_port(number, host, port, addresses)) for port in ports_of(host)}
        if not any(task.result() for task in asked.values()):
            self._note(f"{host.typed} does not answer.")
        elif not any(of == number for of, _ in self._found):
            where = "there" if host.port else "at the usual ports"
            self._note(f"{host.typed} answers, but no MCP server was found {where}.")

    async def _at_port(self, number: int, host: Named, port: int, addresses: list[str]) -> bool:
        """Ask at a port, if someone listens there; return whether someone does."""
        async with self._room:
            if not await self._is_open(addresses, port):
                return False
            encrypted = is_unsure(host, port) and await is_encrypted(host.host, port)
        for url, wire in ways_to(host, port, encrypted=encrypted):
            async with self._room:
                found = await self._asked(url, wire, host)
            if found is not None:
                self._found[number, port] = found
                break
        return True

    async def _is_open(self, addresses: list[str], port: int) -> bool:
        for address in addresses[:2]:
            if await is_open(address, port):
                return True
        return False

    async def _asked(self, url: str, wire: Wire, host: Named) -> NearbyServer | None:
        """Return the server at an address, if one speaks there, or wants to know first who asks."""
        door = _Door()
        target = Target(
            url=url,
            wire=wire,
            access=door,
            connect_timeout=limits.NEARBY_ASK,
            message_bytes=limits.NEARBY_BYTES,
        )
        options = SessionOptions(client_version=__version__, connect_timeout=limits.NEARBY_ASK)
        channel = channel_to(target)
        try:
            session = await connect(channel, options)
        except (ChannelError, RpcError, BadAnswer) as error:
            if door.wants_sign_in:
                shown: Wire = "sse" if wire == "sse" else "auto"
                return self._server(url, shown, needs_sign_in=True)
            self._tell(url, host, door, error)
            return None
        try:
            found = channel.found
            server = self._server(found.url, found.wire, name=session.facts.name, version=session.facts.version)
            return msgspec.structs.replace(server, tools=await _tools(session))
        finally:
            await session.close()

    def _tell(self, url: str, host: Named, door: _Door, error: Exception) -> None:
        """Say what a person may want to look at themselves."""
        if door.wants_key:
            self._note(f"{url} wants a key and does not say what it is; add it by hand if it is an MCP server.")
        elif isinstance(error, ChannelError) and error.status == _MISDIRECTED:
            self._note(f"{place_of(url).authority} does not answer to this name; add it to the hosts that it allows.")
        elif isinstance(error, ChannelError) and error.certificate:
            self._note(f"{place_of(url).authority}: {error.message} {error.fix}")

    def _server(
        self, url: str, wire: Wire, *, name: str = "", version: str = "", needs_sign_in: bool = False
    ) -> NearbyServer:
        where = _where(url)
        return NearbyServer(
            url=url,
            # Strangers chose them.
            name=visible(name)[: limits.NEARBY_NAME_CHARS] or place_of(url).host,
            version=visible(version)[: limits.NEARBY_NAME_CHARS],
            wire=wire,
            needs_sign_in=needs_sign_in,
            known_as=self._known.get(where, "") if where else "",
        )


async def _tools(session: Session) -> int | None:
    try:
        async with asyncio.timeout(limits.NEARBY_ASK):
            return len((await session.list_tools()).tools)
    except (ChannelError, TimeoutError):
        return None


def _where(url: str) -> tuple[str, int, str] | None:
    """Return an address in the form in which two are compared, whatever is spoken there."""
    try:
        place = place_of(url)
    except NetError:
        return None
    return place.host, place.port, urlsplit(url).path.rstrip("/")
