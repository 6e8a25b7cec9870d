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
from pilothouse.mcp.client.channel import Access, ChannelError
from pilothouse.mcp.client.handshake import ExitedOnProbe
from pilothouse.mcp.client.key_labels import AUTHORIZATION
from pilothouse.mcp.client.missing_keys import lacking
from pilothouse.mcp.client.processes import Ledger
from pilothouse.mcp.client.session import Session, SessionOptions, connect
from pilothouse.mcp.client.start_errors import NeedsPerson, local_failure, wrong_language
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from pilothouse.mcp.packages.rooms import place_in, started_as
from pilothouse.mcp.packages.running import Within
from pilothouse.mcp.servers.connection import Connection
from pilothouse.mcp.servers.consent import Agreed, named_paths
from pilothouse.mcp.servers.entries import command_of
from pilothouse.mcp.servers.key_places import KeyReader
from pilothouse.mcp.servers.keys import key_places, same_id
from pilothouse.mcp.servers.programs import download_of
from pilothouse.mcp.servers.roots import may_have_roots, roots_of
from pilothouse.mcp.servers.secret_detection import strength
from pilothouse.mcp.servers.server import Server
from pilothouse.mcp.servers.values import KeySources, Values, values_of
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import Secrets
from pilothouse.types.server_sandbox import SandboxedProgram, SandboxRequest, ServerSandbox
from pilothouse.types.servers import ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.oauth.credentials import Alone, Credentials
    from pilothouse.mcp.servers.sign_ins import SignIns


_log = logging.getLogger(__name__)
_RUBBISH = "It writes other things than messages to its output; they stand here and disturb no call."


class Sessions:
    """Makes sessions of servers; the only place that knows transports."""

    def __init__(
        self,
        home: Path,
        secrets: Secrets,
        learn: Callable[[str], None],
        server_sandbox: Lazy[ServerSandbox] | None = None,
        client_document: Callable[[], str] = str,
        *,
        alone: Alone | None = None,
    ) -> None:
        self._secrets = secrets
        # Keeps other processes from renewing the same token; None where there are none.
        self._alone = alone
        self._learn = learn
        self.reader = KeyReader(home)
        self._server_sandbox = server_sandbox
        self._client_document = client_document
        self._ledger = Ledger(home / "cache" / "processes")
        # One for all connections, so that a token is renewed once.
        self._tokens = Lazy(self._make_tokens)
        self.sign_ins = Lazy(self._make_sign_ins)

    def reap(self) -> int:
        """End what a program that died left running; return how many servers that were."""
        return self._ledger.reap()

    def forget_scratch(self, owner: str) -> None:
        """Remove the temporary files that a program left in its sandbox."""
        if self._server_sandbox is not None:
            self._server_sandbox().forget(owner)

    async def forget(self, entry: ServerEntry) -> None:
        """Delete what signing in to a server brought, and have it revoked where that is offered."""
        await self.sign_ins().end(entry)

    def _make_sign_ins(self) -> SignIns:
        from pilothouse.mcp.servers.sign_ins import SignIns  # noqa: PLC0415

        return SignIns(self._secrets, self._tokens(), self._client_document)

    async def open(self, server: Server, connection: Connection) -> Session:
        """Connect and learn the tools; raise a ChannelError that says why not."""
        if server.elsewhere:
            raise NeedsPerson(
                f"“{server.name}” is not started here: this process starts no programs. "
                "Workers without --no-programs do."
            )
        sources = KeySources(server.parts.secrets, self.reader, self._learn)
        values = await asyncio.to_thread(values_of, server.entry, sources, server.lacks.known())
        agreed = await server.check_consent()
        if agreed is not None:
            await server.parts.capacity.take(server, connection)
        session = await self._connected(server, connection, values, agreed)
        facts, catalogue = session.facts, server.parts.catalogue
        if facts.era == "modern" and catalogue.fallback(server.entry) is not None:
            catalogue.cannot_fall_back(server.entry)
        said = f"initialize OK: {facts.name} {facts.version}, protocol {facts.protocol_version}"
        server.history.line("host", "info", said)
        try:
            await server.learn(session)
            await server.package.connected()
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
        from pilothouse.mcp.client.transports.detection import channel_to  # noqa: PLC0415
        from pilothouse.mcp.client.transports.remote import Found, Target  # noqa: PLC0415

        config, kept = server.entry.config, server.parts.catalogue.kept(server.entry)
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
        server.parts.catalogue.remember(server.entry, channel.found.wire, values.hidden(channel.found.url))
        server.lacks.started_without(())
        return session

    def _access(self, entry: ServerEntry) -> Access | None:
        """Return what uses and renews a server's tokens, and tells that a person must sign in; none beside a key."""
        given = [*(f"header:{name}" for name in entry.config.headers), *key_places(entry)]
        if any(same_id(f"header:{AUTHORIZATION}", each) for each in given):
            return None
        from pilothouse.mcp.oauth.access import OAuthAccess  # noqa: PLC0415

        return OAuthAccess(entry.config.url, self._tokens())

    def _make_tokens(self) -> Credentials:
        from pilothouse.mcp.oauth.credentials import Credentials, SecretCredentials  # noqa: PLC0415

        return Credentials(SecretCredentials(self._secrets), learn=self._learn, alone=self._alone)

    async def _start(
        self, server: Server, connection: Connection, values: Values, agreed: Agreed, options: SessionOptions
    ) -> Session:
        # What went wrong may be said first, and how a program is used after it, at length.
        first: list[str] = []
        last: deque[str] = deque(maxlen=limits.LAST_WORDS)
        strange: list[str] = []

        def said(line: str) -> None:
            (first if len(first) < limits.LAST_WORDS else last).append(line)
            server.history.line("stderr", "info", line)

        def garbage(text: str, why: str) -> None:
            strange[:] = strange or [text]
            options.on_garbage(text, why)

        unpacked = await server.package.unpacked(agreed.pin)
        argv = tuple(values.filled(word) for word in agreed.argv)
        argv, env = started_as(unpacked, argv, values.env) if unpacked is not None else (argv, values.env)
        within = await asyncio.to_thread(self._sandbox, server, agreed, argv) if agreed.sandbox else None
        channel = Stdio(
            Launch(
                argv=argv,
                env=env,
                cwd=agreed.folder,
                on_stderr=said,
                ledger=self._ledger,
                within=within,
            )
        )
        what = f"{agreed.pin.name} {agreed.pin.version}" if agreed.pin is not None else server.address
        server.history.line("host", "info", f"Starting {what}.")
        # It has done nothing yet that would have to be finished.
        connection.started(channel)
        try:
            session = await connect(channel, msgspec.structs.replace(options, on_garbage=garbage))
        except ExitedOnProbe as error:
            words = [*first, *last]
            if isinstance(local_failure(server.entry, error, channel.exit_code, words), NeedsPerson):
                # It said what it wants: to start it again would change nothing.
                raise _explained(server, channel, error, words, strange) from None
            raise
        except ChannelError as error:
            raise _explained(server, channel, error, [*first, *last], strange) from None
        # What it can do without, it may say when it starts.
        server.lacks.started_without([each for each in lacking([*first, *last], optional=True) if strength(each.id)])
        return session

    def holding(self, server: Server) -> Within | None:
        """Return what puts programs of a server's package into its sandbox; None where it runs without one."""
        config, folders = server.entry.config, server.parts.folders
        if not config.sandbox:
            return None
        server_sandbox, room = self._checked_sandbox(server, network=config.network), folders.of(server.id)

        def within(
            argv: tuple[str, ...], environment: Mapping[str, str], folder: str
        ) -> AbstractContextManager[SandboxedProgram]:
            return server_sandbox.sandboxed(
                SandboxRequest(
                    argv=argv,
                    environment=environment,
                    folder=os.path.realpath(folder),
                    room=room,
                    owner=folders.owner(server.id),
                    network=config.network,
                    installed=os.path.realpath(folder),
                    files=argv[:1],
                )
            )

        return within

    def _checked_sandbox(self, server: Server, *, network: bool) -> ServerSandbox:
        if self._server_sandbox is None:
            raise NeedsPerson(f"“{server.name}” is to run in a sandbox, and there is none here.")
        server_sandbox = self._server_sandbox()
        server_sandbox.check(network=network)
        return server_sandbox

    def _sandbox(
        self, server: Server, agreed: Agreed, argv: tuple[str, ...]
    ) -> Callable[[Mapping[str, str]], AbstractContextManager[SandboxedProgram]]:
        """Return what puts a server into its sandbox; raise a PilothouseError where there is none."""
        folders = server.parts.folders
        server_sandbox = self._checked_sandbox(server, network=agreed.network)
        room = folders.of(server.id)
        folder = os.path.realpath(agreed.folder) if agreed.folder else folders.folder_in(room)

        def within(environment: Mapping[str, str]) -> AbstractContextManager[SandboxedProgram]:
            return server_sandbox.sandboxed(
                SandboxRequest(
                    argv=argv,
                    environment=environment,
                    folder=folder,
                    room=room,
                    owner=folders.owner(server.id),
                    network=agreed.network,
                    installed=place_in(room, agreed.pin) if agreed.pin is not None else "",
                    files=tuple(file.path for file in agreed.files) or argv[:1],
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
        server.history.line("host", "error", "Its last words:\n" + "\n".join(words[-limits.LAST_WORDS :]))
    return told


def _options(server: Server, connection: Connection, *, more_roots: bool) -> SessionOptions:
    entry, kept, history = server.entry, server.parts.catalogue.kept(server.entry), server.history
    traffic, named = server.parts.traffic, (server.id, server.name)
    fallback = server.parts.catalogue.fallback(entry)
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
    # What is pinned was installed before.
    downloads = server.package.pin is None and _downloads(server)
    first = downloads and not server.parts.catalogue.known(server.entry)
    return limits.INSTALL_TIMEOUT if first else limits.MCP_CONNECT


def _downloads(server: Server) -> bool:
    return server.entry.package.type == "docker" or download_of(command_of(server.entry)) is not None
