"""Signing in to a protected MCP server over real sockets: the access, the person and the kept credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

from pilothouse.mcp.client.channel import Access, Refusal
from pilothouse.mcp.oauth import signing_in as oauth
from pilothouse.mcp.oauth.access import OAuthAccess
from pilothouse.mcp.oauth.challenge import Challenge
from pilothouse.mcp.oauth.credentials import Client, Credential, Credentials, SecretCredentials
from pilothouse.mcp.oauth.discovery import Place, discover
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.oauth.registration import Identity
from pilothouse.mcp.oauth.signing_in import SignIn
from pilothouse.mcp.oauth.web import Web
from pilothouse.net.client import fetch
from pilothouse.net.loop_clients import close_clients
from tests.support.fake_issuer import Issuer, Resource, start_protected_server

PATIENCE = 10.0
REDIRECT = "http://127.0.0.1:41999/callback"
Query = dict[str, str]


class Memory(SecretCredentials):
    """A store that outlives a `Credentials`, as a disk would."""

    def __init__(self) -> None:
        self.kept: dict[str, Credential] = {}

    async def get(self, server_url: str) -> Credential | None:
        return self.kept.get(server_url)

    async def set(self, credential: Credential) -> None:
        self.kept[credential.server_url] = credential

    async def delete(self, server_url: str) -> None:
        self.kept.pop(server_url, None)


class Guest:
    """Signs in wherever they are sent, like a browser with a person in front; remembers where that was."""

    def __init__(self, change: Callable[[Query], Query] = lambda query: query) -> None:
        self.change = change
        self.sent_to: list[SignIn] = []
        self.redirects: list[Query] = []

    async def authorize(self, sign_in: SignIn) -> Mapping[str, str]:
        self.sent_to.append(sign_in)
        reply = await fetch(sign_in.url, timeout=PATIENCE, limit=1024)
        self.redirects.append(dict(parse_qsl(urlsplit(reply.headers["location"]).query)))
        return self.change(self.redirects[-1])


class Person:
    """Both halves of a sign-in, with a browser in between."""

    def __init__(self, identity: Identity, authorize: Callable[[SignIn], Awaitable[Mapping[str, str]]]) -> None:
        self._identity = identity
        self._authorize = authorize

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        sign_in, pending = await oauth.begin(place, self._identity, scopes, kept)
        return await oauth.finish(pending, await self._authorize(sign_in))


class Attended(OAuthAccess):
    """An access with a person beside it, who signs in whenever one is needed, while the request waits."""

    def __init__(self, server_url: str, credentials: Credentials, person: Person) -> None:
        super().__init__(server_url, credentials)
        self.server_url = server_url
        self.person = person
        self._kept = credentials

    async def challenged(self, refusal: Refusal) -> bool:
        try:
            return await super().challenged(refusal)
        except SignInNeeded as needed:
            wanted = needed.wanted or Challenge()
            place = await discover(self.server_url, wanted, Web(self.server_url))
            async with self._kept.turn(self.server_url, shared=False):
                known = await self._kept.look(self.server_url)
                await self._kept.keep(await self.person.obtain(place, wanted.scopes, known))
            return True


async def ask(access: Access, url: str) -> int:
    """Send a request as a connection does, and return the status it ends with."""
    async with asyncio.timeout(PATIENCE):
        for attempt in range(1, 20):
            sent = await access.headers(url)
            reply = await fetch(url, headers=sent, timeout=PATIENCE, limit=4096)
            if reply.status not in (401, 403):
                return reply.status
            header = reply.headers.get("www-authenticate", "")
            refusal = Refusal(status=reply.status, www_authenticate=header, url=url, sent=sent, attempt=attempt)
            if not await access.challenged(refusal):
                return reply.status
    raise AssertionError("it never stopped trying")


class SignInSetting:
    """A protected server, its issuer, a person, and what was kept of them."""

    def __init__(self, resource: Resource, issuer: Issuer) -> None:
        self.resource = resource
        self.issuer = issuer
        self.memory = Memory()
        self.guest = Guest()
        self.learnt: list[str] = []
        self.credentials = Credentials(self.memory, learn=self.learnt.append)

    def access(self, **identity: object) -> Attended:
        """Return an access with the person beside it."""
        who = Identity(redirect_uri=REDIRECT, **identity)  # type: ignore[arg-type]
        return Attended(self.resource.mcp, self.credentials, Person(who, self.guest.authorize))

    def alone(self) -> OAuthAccess:
        """Return an access with nobody there."""
        return OAuthAccess(self.resource.mcp, self.credentials)

    def restart(self) -> None:
        """Forget what only the process knew."""
        self.credentials = Credentials(self.memory, learn=self.learnt.append)

    @property
    def kept(self) -> Credential:
        return self.memory.kept[self.resource.mcp]


@asynccontextmanager
async def open_sign_in(kind: type[Resource] = Resource) -> AsyncIterator[SignInSetting]:
    async with start_protected_server(kind) as (resource, issuer):
        try:
            yield SignInSetting(resource, issuer)
        finally:
            await close_clients()


def known_client() -> Client:
    """A client that was registered beforehand."""
    return Client(id="known", secret="very-secret", method="client_secret_basic")
