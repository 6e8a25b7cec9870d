"""What was got for a server: kept under its address, bound to its issuer, renewed by one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Literal

import msgspec

from pilothouse.mcp.oauth.addresses import same_issuer
from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.types import limits
from pilothouse.types.json import encode_text
from pilothouse.types.origins import origin_of
from pilothouse.types.ports import Secrets

# Keeps every other process out of what a name stands for.
Alone = Callable[[str], contextlib.AbstractAsyncContextManager[None]]
ClientMethod = Literal["none", "client_secret_basic", "client_secret_post"]
# Who named it: the person, by hand; a document at an address of theirs; or the issuer, when we asked. A program was
# named by the person too, and signs in by itself.
ClientKind = Literal["own", "document", "registered", "program"]


class Client(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who we are to an issuer."""

    id: str
    kind: ClientKind = "registered"
    secret: str = ""
    method: ClientMethod = "none"
    # The issuer that knows us by this name; empty where the name is good everywhere or not bound yet.
    issuer: str = ""
    # Registered by ourselves: what with, and until when (epoch seconds, 0 for ever).
    redirect_uri: str = ""
    expires_at: float = 0.0


class Tokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An access token and what belongs to it."""

    access: str
    refresh: str = ""
    # When it was given, and for how long if the issuer said so; epoch seconds, for after a restart.
    given_at: float = 0.0
    lifetime: float | None = None
    scopes: tuple[str, ...] = ()
    # Who signed in, as the issuer calls them; empty where it does not say.
    account: str = ""

    def is_fresh(self) -> bool:
        """Return whether it will hold until a request that is sent now arrives."""
        # A token that lives shortly is not renewed with every request.
        leeway = min(limits.TOKEN_LEEWAY, (self.lifetime or 0.0) / 4)
        return self.lifetime is None or time.time() < self.given_at + self.lifetime - leeway

    def is_over(self) -> bool:
        return self.lifetime is not None and time.time() >= self.given_at + self.lifetime


class Credential(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything needed to use and renew the tokens of one server, also after a restart."""

    server_url: str
    resource: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    # Where the server says that it describes itself; empty for the usual places.
    resource_metadata: str = ""
    client: Client
    # When the person was there, epoch seconds; renewing their tokens does not change it.
    signed_in_at: float = 0.0
    # None after they were refused; the client stays known.
    tokens: Tokens | None = None

    def can_renew(self) -> bool:
        """Return whether new tokens can be had without a person."""
        return self.tokens is not None and (bool(self.tokens.refresh) or self.client.kind == "program")

    def belongs_to(self, issuer: str) -> bool:
        return same_issuer(self.issuer, issuer)


class SecretCredentials:
    """Keeps one credential per server address among the secrets, bound to the origin of that address."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def get(self, server_url: str) -> Credential | None:
        """Return what is kept for a server."""
        # A keyring may take its time.
        text = await asyncio.to_thread(self._secrets.get, _name(server_url), origin_of(server_url))
        try:
            credential = msgspec.json.decode(text, type=Credential) if text else None
        except msgspec.MsgspecError:
            return None
        return credential if credential and credential.server_url == server_url else None

    async def set(self, credential: Credential) -> None:
        """Keep a credential in place of the server's last one."""
        url = credential.server_url
        await asyncio.to_thread(self._secrets.put, _name(url), encode_text(credential), origin_of(url))

    async def delete(self, server_url: str) -> None:
        """Forget a server's credential; nothing kept is fine."""
        await asyncio.to_thread(self._secrets.delete, _name(server_url))


def _name(server_url: str) -> str:
    return f"mcp-oauth.{hashlib.sha256(server_url.encode()).hexdigest()[:40]}"


class _Turn:
    """Who works on a server's credential now, and how the last one fared."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures = 0
        self.error: OAuthError | None = None


class Credentials:
    """The credentials of all servers; shared by every connection, so that each is renewed once for all."""

    def __init__(
        self,
        store: SecretCredentials,
        *,
        learn: Callable[[str], None] = lambda value: None,
        alone: Alone | None = None,
    ) -> None:
        self._store = store
        # Given where other processes work on the same credentials: then what is kept is looked at each time.
        self._alone = alone
        # Told every secret that comes in, so that it is never shown.
        self._learn = learn
        # None for a server for which nothing is kept.
        self._known: dict[str, Credential | None] = {}
        self._turns: dict[str, _Turn] = {}

    async def get(self, server_url: str) -> Credential | None:
        """Return what is known for a server; it is read once, as every request asks for it."""
        if self._alone is None and server_url in self._known:
            return self._known[server_url]
        return await self.look(server_url)

    async def look(self, server_url: str) -> Credential | None:
        """Return what is kept for a server; while that is no token, someone may have signed in elsewhere."""
        known = self._known.get(server_url)
        if self._alone is None and known is not None and known.tokens is not None:
            return known
        found = await self._store.get(server_url)
        if found is not None:
            self._teach(found)
        self._known[server_url] = found
        return found

    async def keep(self, credential: Credential) -> None:
        """Store a credential, and only then let it be used."""
        self._teach(credential)
        await self._store.set(credential)
        self._known[credential.server_url] = credential

    async def forget(self, server_url: str) -> None:
        self._known.pop(server_url, None)
        await self._store.delete(server_url)

    @contextlib.asynccontextmanager
    async def turn(self, server_url: str, *, shared: bool = True) -> AsyncIterator[None]:
        """Work on a server's credential alone; who waited for a shared turn that failed gets the same failure.

        What a person does is not shared: it does not fail because a request did meanwhile, nor the other way round.
        """
        turn = self._turns.setdefault(server_url, _Turn())
        before = turn.failures
        others = self._alone(_name(server_url)) if self._alone is not None else contextlib.nullcontext()
        async with turn.lock, others:
            if shared and turn.failures != before and turn.error is not None:
                raise turn.error
            try:
                yield
            except OAuthError as error:
                if shared:
                    turn.failures += 1
                    turn.error = error
                raise

    def _teach(self, credential: Credential) -> None:
        tokens = credential.tokens
        values = (credential.client.secret, tokens.access if tokens else "", tokens.refresh if tokens else "")
        for value in filter(None, values):
            self._learn(value)
