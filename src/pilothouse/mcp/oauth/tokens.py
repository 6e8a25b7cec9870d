"""The token endpoint: what is asked there, how we say who we are, and what comes back."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import msgspec

from pilothouse.mcp.oauth.assertions import client_assertion
from pilothouse.mcp.oauth.credentials import Client, Credential, Tokens
from pilothouse.mcp.oauth.documents import Place
from pilothouse.mcp.oauth.errors import OAuthError, TokenRefused
from pilothouse.mcp.oauth.web import Web, decoded
from pilothouse.net.reply import Fetched
from pilothouse.types import limits

_JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class _Answer(msgspec.Struct, frozen=True):
    access_token: str
    token_type: str | None = None
    expires_in: float | None = None
    refresh_token: str | None = None
    scope: str | None = None


class _Problem(msgspec.Struct, frozen=True):
    error: str
    error_description: str | None = None


async def credential(place: Place, client: Client, grant: Mapping[str, str], scopes: tuple[str, ...]) -> Credential:
    """Exchange a grant for tokens; `scopes` were asked for and hold unless the answer says otherwise."""
    issuer = place.issuer
    form = {**grant, "resource": place.resource}
    tokens = await _ask(Web(place.server_url), issuer.token_endpoint, issuer.issuer, client, form)
    return Credential(
        server_url=place.server_url,
        resource=place.resource,
        issuer=issuer.issuer,
        token_endpoint=issuer.token_endpoint,
        revocation_endpoint=issuer.revocation_endpoint or "",
        client=client,
        tokens=tokens if tokens.scopes else msgspec.structs.replace(tokens, scopes=scopes),
    )


async def renewed(kept: Credential, tokens: Tokens) -> Credential:
    """Use the refresh token; what the answer leaves out stays as it was."""
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh, "resource": kept.resource}
    new = await _ask(Web(kept.server_url), kept.token_endpoint, kept.issuer, kept.client, form)
    whole = msgspec.structs.replace(new, refresh=new.refresh or tokens.refresh, scopes=new.scopes or tokens.scopes)
    return msgspec.structs.replace(kept, tokens=whole)


async def revoke(kept: Credential) -> bool:
    """Tell the issuer that the tokens are not needed any more; return whether it took note of all."""
    if not kept.revocation_endpoint or kept.tokens is None:
        return False
    web = Web(kept.server_url)
    taken = True
    # The refresh token first: with it gone the other cannot come back.
    for token, hint in ((kept.tokens.refresh, "refresh_token"), (kept.tokens.access, "access_token")):
        if token:
            form, headers = _identified(kept.client, kept.issuer, {"token": token, "token_type_hint": hint})
            fetched = await web.post_form(kept.revocation_endpoint, "revocation endpoint", form, headers)
            taken = taken and fetched.status == 200
    return taken


async def exchange(near: str, endpoint: str, form: Mapping[str, str]) -> str:
    """Exchange one token for another (RFC 8693) at an identity provider, and return it."""
    fetched = await Web(near).post_form(endpoint, "identity provider", form, {})
    answer = decoded(fetched, _Answer) if fetched.status == 200 else None
    if answer is None:
        raise _refusal(fetched, endpoint)
    return answer.access_token


async def _ask(web: Web, endpoint: str, issuer: str, client: Client, form: Mapping[str, str]) -> Tokens:
    body, headers = _identified(client, issuer, form)
    fetched = await web.post_form(endpoint, "token endpoint", body, headers)
    answer = decoded(fetched, _Answer) if fetched.status in (200, 201) else None
    if answer is None:
        raise _refusal(fetched, endpoint)
    if (answer.token_type or "bearer").lower() != "bearer" or not _is_sendable(answer.access_token):
        raise OAuthError(f"{urlsplit(endpoint).netloc} gave a token of a kind that cannot be used here.")
    return Tokens(
        access=answer.access_token,
        refresh=answer.refresh_token or "",
        given_at=time.time(),
        lifetime=answer.expires_in,
        scopes=tuple((answer.scope or "").split()),
    )


def _identified(client: Client, issuer: str, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the form and the headers with which this client asks."""
    match client.method:
        case "client_secret_basic":
            pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
            return dict(form), {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        case "client_secret_post":
            return {**form, "client_id": client.id, "client_secret": client.secret}, {}
        case "private_key_jwt":
            assertion = client_assertion(client.id, issuer, client.key, client.algorithm)
            named = {"client_id": client.id, "client_assertion": assertion, "client_assertion_type": _JWT_BEARER}
            return {**form, **named}, {}
        case "none":
            return {**form, "client_id": client.id}, {}


def _is_sendable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _refusal(fetched: Fetched, endpoint: str) -> OAuthError:
    host = urlsplit(endpoint).netloc
    problem = decoded(fetched, _Problem)
    if problem is None or fetched.status >= 500 or fetched.status == 429:
        return OAuthError(f"{host} gave no token; it answered with {fetched.status}.", fix="Try again later.")
    told = plain(problem.error_description or problem.error)
    return TokenRefused(problem.error, f"{host} gave no token: {told}.")


def plain(text: str) -> str:
    """Return a stranger's words as one short line without control characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: limits.ERROR_TEXT_CHARS])
    return line.strip().rstrip(".") or "no reason given"
