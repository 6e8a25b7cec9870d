"""A program signs in by itself, with a client id and a secret and without a person (client credentials)."""

from __future__ import annotations

import time

import msgspec

from pilothouse.mcp.oauth import tokens
from pilothouse.mcp.oauth.credentials import Client, Credential
from pilothouse.mcp.oauth.discovery import Place, check_endpoint
from pilothouse.mcp.oauth.registration import given_client
from pilothouse.mcp.oauth.scopes import readable


async def obtain(place: Place, client: Client, scopes: tuple[str, ...], kept: Credential | None) -> Credential:
    """Return tokens that the program asked for in its own name; `kept` is what was known before."""
    await check_endpoint(place, place.issuer.token_endpoint, "token endpoint")
    asked = readable(scopes)
    known = given_client(client, place.issuer, kept)
    got = await tokens.credential(place, known, tokens.own_grant(asked), asked)
    return msgspec.structs.replace(got, signed_in_at=time.time())
