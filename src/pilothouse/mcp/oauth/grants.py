"""The ways to a token without a person: a program names itself, or an organisation vouches for someone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from pilothouse.mcp.oauth import tokens
from pilothouse.mcp.oauth.credentials import Client, Credential
from pilothouse.mcp.oauth.discovery import Place
from pilothouse.mcp.oauth.registration import given_client

_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105  a name, not a token
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class Grant(Protocol):
    """A way to a token."""

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
        """Get tokens; `kept` is what was known before, perhaps from another issuer."""


class ClientGrant:
    """A program names itself, with a secret or a key (client credentials)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def obtain(self, place: Place, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
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
        client = given_client(self._client, place.issuer.issuer, kept)
        said = await self._assertion(place.issuer.issuer, place.resource)
        grant = {**_scoped(_JWT_BEARER, scopes), "assertion": said}
        return await tokens.credential(place, client, grant, scopes)


class IdentityProvider(msgspec.Struct, frozen=True, kw_only=True):
    """Where an organisation's people are known: it turns their sign-in there into access to one server."""

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
