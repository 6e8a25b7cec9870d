"""Signing in to the servers of the list: begun for one, finished by the answer that comes back, and ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth import programs, signing_in
from pilothouse.mcp.oauth.access import OAuthAccess
from pilothouse.mcp.oauth.challenge import Challenge
from pilothouse.mcp.oauth.credentials import Client, ClientKind, Credential, Credentials
from pilothouse.mcp.oauth.discovery import discover
from pilothouse.mcp.oauth.errors import ClientNeeded, OAuthError, TokenRefused
from pilothouse.mcp.oauth.finishing import to_its_end
from pilothouse.mcp.oauth.registration import Identity
from pilothouse.mcp.oauth.signing_in import Pending, PendingSignIns, SignIn
from pilothouse.mcp.oauth.web import Web
from pilothouse.mcp.servers.server import Server
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode, PilothouseError
from pilothouse.types.origins import is_loopback_host
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import ServerEntry
from pilothouse.types.sign_ins import (
    SIGN_IN_CALLBACK,
    ProgramSignIn,
    ServerAccount,
    SignInStart,
    SignInStarted,
    answer_of,
)


class SignIns:
    """Leads people to the issuers of servers and back."""

    def __init__(self, secrets: Secrets, credentials: Credentials, document_url: Callable[[], str]) -> None:
        self._pending = PendingSignIns(secrets)
        self._credentials = credentials
        # Where the person put a document about this client; empty for nowhere.
        self._document_url = document_url

    async def begin(self, server: Server, body: SignInStart, wanted: Challenge | None) -> SignInStarted:
        """Return where the person signs in to a server that wants this; raise a PilothouseError if they cannot."""
        identity = Identity(
            redirect_uri=_redirect(body.redirect_uri), client=_own(body), document_url=self._document_url()
        )
        try:
            sign_in = await self._begin(server, identity, wanted or Challenge())
        except OAuthError as error:
            raise _failed(error) from None
        return SignInStarted(
            url=sign_in.url,
            server=server.name,
            host=sign_in.host,
            scopes=sign_in.scopes,
            added=sign_in.added,
            left_out=sign_in.left_out,
            seconds=limits.SIGN_IN_SECONDS,
        )

    async def _begin(self, server: Server, identity: Identity, wanted: Challenge) -> SignIn:
        url = server.entry.config.url
        kept, wanted = await self._known(url, wanted)
        if await self._pending.look(server.id, url) is not None:
            # Nobody came back from the last one: perhaps the issuer has forgotten us, and says so there.
            identity = msgspec.structs.replace(identity, afresh=True)
        place = await discover(url, wanted, Web(url))
        scopes = wanted.scopes or place.scopes or ()
        sign_in, pending = await signing_in.begin(place, identity, scopes, kept, f"{server.id}.")
        await self._pending.keep(
            server.id, msgspec.structs.replace(pending, resource_metadata=wanted.resource_metadata)
        )
        return sign_in

    async def _known(self, url: str, wanted: Challenge) -> tuple[Credential | None, Challenge]:
        """Return what is kept for a server, and what it wants with what it said before."""
        kept = await self._credentials.look(url)
        if kept is not None and not wanted.resource_metadata:
            wanted = msgspec.structs.replace(wanted, resource_metadata=kept.resource_metadata)
        return kept, wanted

    async def as_program(self, server: Server, body: ProgramSignIn, wanted: Challenge | None) -> None:
        """Get tokens for a program that needs nobody; raise a PilothouseError if its issuer does not let it in."""
        if not (body.client_id.strip() and body.client_secret.strip()):
            raise PilothouseError("bad_request", "A program signs in with a client id and a client secret: give both.")
        url = server.entry.config.url
        client = _client(body.client_id, body.client_secret.strip(), "program")
        try:
            async with self._credentials.turn(url, shared=False):
                kept, asked = await self._known(url, wanted or Challenge())
                place = await discover(url, asked, Web(url))
                got = await programs.obtain(place, client, asked.scopes or place.scopes or (), kept)
                await self._credentials.keep(msgspec.structs.replace(got, resource_metadata=asked.resource_metadata))
        except OAuthError as error:
            fix = "Check the client id and its secret." if isinstance(error, TokenRefused) else error.fix
            raise PilothouseError("sign_in_failed", error.message, fix=fix) from None
        server.sign_in_wanted = None

    async def finish(self, servers: Mapping[str, Server], address: str) -> Server:
        """Take the answer of an issuer; return the server that it was about, or raise why it is not taken."""
        try:
            query = answer_of(address)
            # A state begins with the server that it is for.
            server = servers.get(query.get("state", "").partition(".")[0])
            if server is None:
                raise signing_in.unknown()
            url = server.entry.config.url
            # One at a time: a code that is shown twice may cost its tokens.
            async with self._credentials.turn(url, shared=False):
                pending = await self._pending.take(server.id, url, query)
                await to_its_end(self._exchange(pending, query))
        except OAuthError as error:
            raise _failed(error) from None
        server.sign_in_wanted = None
        return server

    async def _exchange(self, pending: Pending, query: Mapping[str, str]) -> None:
        await self._credentials.keep(await signing_in.finish(pending, query))

    async def end(self, entry: ServerEntry) -> None:
        """Forget a server's tokens, and have them revoked where that is offered."""
        await self.give_up(entry)
        await OAuthAccess(entry.config.url, self._credentials).sign_out()

    async def give_up(self, entry: ServerEntry) -> None:
        """Forget the sign-in that someone left for, if anyone did: its answer is not taken any more."""
        await self._pending.drop(entry.id)

    async def signed_in(self, entry: ServerEntry) -> ServerAccount | None:
        """Return who is signed in to a server, and where; None when nobody is."""
        if entry.auth_type != "oauth":
            return None
        kept = await self._credentials.get(entry.config.url)
        if kept is None or kept.tokens is None:
            return None
        return ServerAccount(
            account=kept.client.id[: limits.TITLE_CHARS] if kept.client.kind == "program" else kept.tokens.account,
            host=urlsplit(kept.issuer).netloc,
            scopes=kept.tokens.scopes,
            since=kept.signed_in_at,
        )


def _failed(error: OAuthError) -> PilothouseError:
    code: ErrorCode = "needs_client" if isinstance(error, ClientNeeded) else "sign_in_failed"
    return PilothouseError(code, error.message, fix=error.fix)


def _redirect(given: str) -> str:
    """Return where the browser is sent back to; raise for what is no address of this program."""
    try:
        parts = urlsplit(given)
        there = parts.hostname or ""
    except ValueError:
        there = ""
        parts = urlsplit("")
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(there))
    if not there or not safe or parts.path != SIGN_IN_CALLBACK or parts.query or parts.fragment or "@" in parts.netloc:
        raise PilothouseError(
            "bad_request",
            f"A sign-in needs https, or this machine, and comes back to {SIGN_IN_CALLBACK}; not to {given[:200]}.",
            fix="Open Pilothouse through https or by 127.0.0.1, or use `pilothouse mcp sign-in`.",
        )
    return given


def _own(body: SignInStart) -> Client | None:
    """Return the client that the person registered by themselves."""
    if not body.client_id.strip():
        return None
    client = _client(body.client_id, body.client_secret, "own")
    return msgspec.structs.replace(client, redirect_uri=body.redirect_uri)


def _client(client_id: str, secret: str, kind: ClientKind) -> Client:
    return Client(id=client_id.strip(), kind=kind, secret=secret, method="client_secret_basic" if secret else "none")
