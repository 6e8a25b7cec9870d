"""From an entry to a session: consent, values, transport, protocol, tools. The only place that knows them all."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pilothouse import __version__
from pilothouse.mcp.channel import Access, ChannelError
from pilothouse.mcp.connection import Connection
from pilothouse.mcp.consent import Agreed, named_paths
from pilothouse.mcp.entries import command_of
from pilothouse.mcp.eras import ExitedOnProbe
from pilothouse.mcp.last_words import local_failure, wrong_language
from pilothouse.mcp.processes import Ledger, memory_of
from pilothouse.mcp.programs import download_of
from pilothouse.mcp.roots import may_have_roots, roots_of
from pilothouse.mcp.server import Server
from pilothouse.mcp.session import Session, SessionOptions, connect
from pilothouse.mcp.transports.stdio import Launch, Stdio
from pilothouse.mcp.troubles import Hopeless
from pilothouse.mcp.values import Values, values_of
from pilothouse.types import limits
from pilothouse.types.enclosing import Enclosed, Encloser, Enclosing
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import ProcessFacts, ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.oauth.credentials import Credentials


_log = logging.getLogger(__name__)
_RUBBISH = "It writes other things than messages to its output; they stand here and disturb no call."


class Sessions:
    """Makes sessions of servers; implements `Opener`."""

    def __init__(
        self, home: Path, secrets: Secrets, learn: Callable[[str], None], encloser: Encloser | None = None
    ) -> None:
        self._secrets = secrets
        self._learn = learn
        self._encloser = encloser
        self._ledger = Ledger(home / "cache" / "processes")
        # One for all connections, so that a token is renewed once.
        self._credentials: Credentials | None = None

    def reap(self) -> int:
        """End what a program that died left running; return how many servers that were."""
        return self._ledger.reap()

    async def forget(self, entry: ServerEntry) -> None:
        """Delete what signing in to a server brought."""
        if entry.auth_type == "oauth":
            await self._tokens().forget(entry.config.url)

    async def open(self, server: Server, connection: Connection) -> Session:
        """Connect and learn the tools; raise a ChannelError that says why not."""
        values = await asyncio.to_thread(values_of, server.entry, self._secrets, self._learn)
        agreed = await server.check_consent()
        if agreed is not None:
            await server.around.capacity.take(server, connection)
        session = await self._connected(server, connection, values, agreed)
        facts, catalogue = session.facts, server.around.catalogue
        if facts.era == "modern" and catalogue.fallback(server.entry) is not None:
            catalogue.cannot_fall_back(server.entry)
        said = f"initialize OK: {facts.name} {facts.version}, protocol {facts.protocol_version}"
        server.history.line("host", "info", said)
        try:
            await server.learn(session)
        except BaseException:
            await session.close()
            raise
        return session

    async def _connected(
        self, server: Server, connection: Connection, values: Values, agreed: Agreed | None
    ) -> Session:
        more_roots = await asyncio.to_thread(may_have_roots, server.entry)
        options = _options(server, connection, more_roots=more_roots)
        if agreed is None:
            return await self._reach(server, values, options)
        try:
            return await self._start(server, connection, values, agreed, options)
        except ExitedOnProbe:
            # It went away at a question it did not know: it is started again and asked in the old words.
            old = msgspec.structs.replace(options, era="handshake")
            return await self._start(server, connection, values, agreed, old)

    async def _reach(self, server: Server, values: Values, options: SessionOptions) -> Session:
        # Imported here: who has local servers only does not pay for HTTP.
        from pilothouse.mcp.transports.detection import channel_to  # noqa: PLC0415
        from pilothouse.mcp.transports.target import Found, Target  # noqa: PLC0415

        config, kept = server.entry.config, server.around.catalogue.kept(server.entry)
        target = Target(
            url=values.address(config.url),
            wire=config.wire,
            headers=values.headers,
            subprotocols=config.subprotocols,
            certificate=config.trusted_certificate or "",
            access=self._access(server.entry),
            remembered=Found(kept.wire, values.address(kept.url)) if kept.url else None,
        )
        headers = f", headers: {', '.join(values.headers)}" if values.headers else ""
        server.history.line("host", "info", f"Connecting to {server.address}{headers}.")
        channel = channel_to(target)
        session = await connect(channel, options)
        server.around.catalogue.remember(server.entry, channel.found.wire, values.hidden(channel.found.url))
        return session

    def _access(self, entry: ServerEntry) -> Access | None:
        """Return what uses and renews a server's kept tokens; it says so when only a person can get new ones."""
        if entry.auth_type != "oauth":
            return None
        from pilothouse.mcp.oauth.access import OAuthAccess  # noqa: PLC0415
        from pilothouse.mcp.oauth.grants import NobodyThere  # noqa: PLC0415

        return OAuthAccess(entry.config.url, NobodyThere(), self._tokens())

    def _tokens(self) -> Credentials:
        from pilothouse.mcp.oauth.credentials import Credentials, SecretCredentials  # noqa: PLC0415

        if self._credentials is None:
            self._credentials = Credentials(SecretCredentials(self._secrets), learn=self._learn)
        return self._credentials

    async def _start(
        self, server: Server, connection: Connection, values: Values, agreed: Agreed, options: SessionOptions
    ) -> Session:
        words: deque[str] = deque(maxlen=limits.LAST_WORDS)
        strange: list[str] = []

        def said(line: str) -> None:
            words.append(line)
            server.history.line("stderr", "info", line)

        def garbage(text: str, why: str) -> None:
            strange[:] = strange or [text]
            options.on_garbage(text, why)

        argv = tuple(values.filled(word) for word in agreed.argv)
        within = await asyncio.to_thread(self._sandbox, server, agreed, argv) if agreed.sandbox else None
        channel = Stdio(
            Launch(
                argv=argv,
                env=values.env,
                cwd=agreed.folder,
                on_stderr=said,
                ledger=self._ledger,
                within=within,
            )
        )
        server.history.line("host", "info", f"Starting {server.address}.")
        # It has done nothing yet that would have to be finished.
        connection.hurry = channel.hurry
        try:
            session = await connect(channel, msgspec.structs.replace(options, on_garbage=garbage))
        except ExitedOnProbe:
            raise
        except ChannelError as error:
            raise _explained(server, channel, error, list(words), strange) from None
        connection.process = lambda: ProcessFacts(
            pid=channel.pid, started_at=channel.started_at, memory_bytes=memory_of(channel.pid)
        )
        return session

    def _sandbox(
        self, server: Server, agreed: Agreed, argv: tuple[str, ...]
    ) -> Callable[[Mapping[str, str]], AbstractContextManager[Enclosed]]:
        """Return what puts a server into its sandbox; raise a PilothouseError where there is none."""
        encloser, rooms = self._encloser, server.around.rooms
        if encloser is None:
            raise Hopeless(f"“{server.name}” is to run in a sandbox, and there is none here.", sent=False)
        encloser.check(network=agreed.network)
        room = rooms.of(server.id)
        folder = os.path.realpath(agreed.folder) if agreed.folder else rooms.folder_in(room)

        def within(environment: Mapping[str, str]) -> AbstractContextManager[Enclosed]:
            return encloser.enclosed(
                Enclosing(
                    argv=argv,
                    environment=environment,
                    folder=folder,
                    room=room,
                    owner=f"server-{server.id}",
                    network=agreed.network,
                    files=tuple(file.path for file in agreed.files),
                    named=named_paths(agreed),
                )
            )

        return within


def _explained(
    server: Server, channel: Stdio, error: ChannelError, words: list[str], strange: list[str]
) -> ChannelError:
    """Return what a failed start means; an exit code counts only if the process ended by itself."""
    ended = channel.closed.done() and channel.closed.result() is not None
    if strange and not (ended and words):
        return wrong_language(server.entry, strange[0])
    told = local_failure(server.entry, error, channel.exit_code if ended else None, words)
    if words:
        server.history.line("host", "error", "Its last words:\n" + "\n".join(words))
    return told


def _options(server: Server, connection: Connection, *, more_roots: bool) -> SessionOptions:
    entry, kept, history = server.entry, server.around.catalogue.kept(server.entry), server.history
    traffic, named = server.around.traffic, (server.id, server.name)
    fallback = server.around.catalogue.fallback(entry)
    falls_back = fallback is not None and not fallback.refused and entry.config.era == "auto"
    is_explained = False

    def tap(direction: str, message: JsonObject, size: int) -> None:
        traffic.message(named, "out" if direction == "out" else "in", message, size)
        # What it is, never what it holds: the traffic panel shows that, to who may see it.
        _log.debug("%s %s %s %s, %d bytes", named[1], direction, message.get("method", ""), message.get("id", ""), size)

    def garbage(text: str, why: str) -> None:
        nonlocal is_explained
        if not is_explained:
            is_explained = True
            history.line("host", "warning", _RUBBISH)
        history.line("stdout", "warning", f"{why}: {text}")
        traffic.garbage(named, text)

    return SessionOptions(
        client_version=__version__,
        era=entry.config.era,
        remembered="handshake" if falls_back else None if kept.era == "auto" else kept.era,
        fallback=falls_back,
        connect_timeout=_patience(server),
        roots=roots_of(entry, connection.folders.common()),
        more_roots=more_roots,
        on_tools_changed=connection.tools_changed,
        on_log=lambda level, text: history.line("logging", level, text),
        on_garbage=garbage,
        tap=tap,
    )


def _patience(server: Server) -> float:
    """Return how long a start may take: a package that was never started is downloaded first."""
    chosen = server.entry.config.connect_timeout
    if chosen is not None:
        return chosen
    if not server.local:
        return limits.MCP_HANDSHAKE
    downloads = server.entry.package.type == "docker" or download_of(command_of(server.entry)) is not None
    first = downloads and not server.around.catalogue.known(server.entry)
    return limits.INSTALL_TIMEOUT if first else limits.MCP_CONNECT
