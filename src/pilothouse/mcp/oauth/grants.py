"""The ways to a token: a person signs in, a program names itself, or an organisation vouches for someone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth import tokens
from pilothouse.mcp.oauth.addresses import checked, with_query
from pilothouse.mcp.oauth.credentials import Client, Credential
from pilothouse.mcp.oauth.documents import Place
from pilothouse.mcp.oauth.errors import SIGN_IN_FAILED, OAuthError, SignInNeeded
from pilothouse.mcp.oauth.flows import Flow, Flows
from pilothouse.mcp.oauth.registration import Identity, client_for, given_client
from pilothouse.mcp.oauth.web import Web
from pilothouse.types import limits

_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105  a name, not a token
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Grant(Protocol):
    """A way to a token."""

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Get tokens; `kept` is what was known before, perhaps from another issuer."""
        ...


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to do, and what they should know before they leave for another place."""

    # Checked, and to be opened exactly as it is, without a shell.
    url: str
    server_url: str
    # Where they will sign in.
    host: str
    scopes: tuple[str, ...]
    # Those of the scopes that the server did not have before.
    added: tuple[str, ...]
    redirect_uri: str


class Person(Protocol):
    """Someone who can sign in."""

    async def authorize(self, sign_in: SignIn) -> Mapping[str, str]:
        """Take the person to the address and return the query of the redirect that ends it."""
        ...


class NobodyThere:
    """No one can sign in from here: says that someone must."""

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Raise that a person is needed."""
        name = urlsplit(place.server_url).netloc
        raise SignInNeeded(f"{name} asks you to sign in again.", fix="Sign in to the server, then go on.")


class SignInGrant:
    """A person signs in (authorization code with PKCE)."""

    def __init__(self, identity: Identity, person: Person, flows: Flows) -> None:
        self._identity = identity
        self._person = person
        self._flows = flows

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Register if need be, send the person off, and exchange the code that comes back."""
        endpoint = await _authorization_endpoint(place)
        client = await client_for(place, self._identity, kept)
        asked = _with_offline_access(scopes, place)
        flow = self._flows.begin()
        try:
            query = await self._ask(self._sign_in(endpoint, place, client, flow, asked, kept))
            code = self._code(query, flow, place)
        finally:
            self._flows.drop(flow)
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": flow.verifier,
            "redirect_uri": self._identity.redirect_uri,
        }
        return await tokens.credential(place, client, grant, asked)

    def _sign_in(
        self, endpoint: str, place: Place, client: Client, flow: Flow, asked: tuple[str, ...], kept: Credential | None
    ) -> SignIn:
        parameters = {
            "response_type": "code",
            "client_id": client.id,
            "redirect_uri": self._identity.redirect_uri,
            "state": flow.state,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
            "resource": place.resource,
        }
        if asked:
            parameters["scope"] = " ".join(asked)
        if "offline_access" in asked:
            # OpenID Connect grants it only after asking.
            parameters["prompt"] = "consent"
        had = kept.tokens.scopes if kept and kept.tokens else ()
        return SignIn(
            url=with_query(endpoint, parameters),
            server_url=place.server_url,
            host=urlsplit(endpoint).netloc,
            scopes=asked,
            added=tuple(scope for scope in asked if scope not in had),
            redirect_uri=self._identity.redirect_uri,
        )

    async def _ask(self, sign_in: SignIn) -> Mapping[str, str]:
        try:
            async with asyncio.timeout(limits.SIGN_IN_SECONDS):
                return await self._person.authorize(sign_in)
        except TimeoutError:
            message = f"Authorization timed out after {limits.SIGN_IN_SECONDS / 60:g} minutes."
            raise SignInNeeded(message, fix="Sign in again.") from None

    def _code(self, query: Mapping[str, str], flow: Flow, place: Place) -> str:
        """Check that the redirect belongs to this sign-in and comes from this issuer; return its code."""
        if self._flows.finish(query) is not flow:
            raise OAuthError("The redirect belongs to another sign-in.", fix="Sign in again.")
        issuer = place.issuer
        told = query.get("iss")
        # Simple comparison on purpose: an issuer that is almost the right one is another one.
        if told != issuer.issuer and (told is not None or issuer.authorization_response_iss_parameter_supported):
            message = (
                f"The sign-in was answered in the name of {told[:200] if told else 'nobody'}, not {issuer.issuer}."
            )
            raise OAuthError(message, fix="Sign in again; if this happens again, tell the server's operator.")
        if "error" in query:
            why = tokens.plain(query.get("error_description") or query["error"])
            raise SignInNeeded(SIGN_IN_FAILED, fix=f"{urlsplit(issuer.issuer).netloc} said: {why}.")
        if not query.get("code"):
            raise OAuthError("The sign-in ended without a code.", fix="Sign in again.")
        return query["code"]


async def _authorization_endpoint(place: Place) -> str:
    endpoint = checked(place.issuer.authorization_endpoint or "", "authorization endpoint")
    await Web(place.server_url).check(endpoint, "authorization endpoint")
    if "S256" not in (place.issuer.code_challenge_methods_supported or ()):
        raise OAuthError(
            f"{urlsplit(endpoint).netloc} does not say that it protects sign-ins (PKCE, S256); nobody signs in there.",
            fix="Tell the server's operator.",
        )
    return endpoint


def _with_offline_access(scopes: tuple[str, ...], place: Place) -> tuple[str, ...]:
    """Ask for a refresh token where that takes a scope of its own."""
    offered = place.issuer.scopes_supported or ()
    if scopes and "offline_access" in offered and "offline_access" not in scopes:
        return (*scopes, "offline_access")
    return scopes


class ClientGrant:
    """A program names itself, with a secret or a key (client credentials)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Get tokens for the program itself."""
        client = given_client(self._client, place.issuer.issuer, kept)
        return await tokens.credential(place, client, _scoped("client_credentials", scopes), scopes)


# Given an issuer and a resource, returns a statement that the issuer will believe.
Assertion = Callable[[str, str], Awaitable[str]]


class AssertionGrant:
    """Someone whom the issuer believes vouches for us (JWT bearer, RFC 7523)."""

    def __init__(self, client: Client, assertion: Assertion) -> None:
        self._client = client
        self._assertion = assertion

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Get tokens for whom the statement is about."""
        client = given_client(self._client, place.issuer.issuer, kept)
        said = await self._assertion(place.issuer.issuer, place.resource)
        grant = {**_scoped(_JWT_BEARER, scopes), "assertion": said}
        return await tokens.credential(place, client, grant, scopes)


class IdentityProvider(msgspec.Struct, frozen=True, kw_only=True):
    """Where an organisation's people are known: it turns their sign-in there into leave for one server."""

    token_endpoint: str
    client_id: str
    id_token: Callable[[], Awaitable[str]]

    async def vouch(self, issuer: str, resource: str) -> str:
        """Return an identity assertion (ID-JAG) for one issuer and one resource."""
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ID_JAG,
            "subject_token": await self.id_token(),
            "subject_token_type": _ID_TOKEN,
            "audience": issuer,
            "resource": resource,
            "client_id": self.client_id,
        }
        # The person's organisation named this address, so what is near it may be reached.
        return await tokens.exchange(self.token_endpoint, self.token_endpoint, form)


def _scoped(grant_type: str, scopes: tuple[str, ...]) -> dict[str, str]:
    return {"grant_type": grant_type, **({"scope": " ".join(scopes)} if scopes else {})}
