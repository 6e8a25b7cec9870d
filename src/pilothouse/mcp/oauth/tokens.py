"""The token endpoint: what is asked there, how we say who we are, and what comes back."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import msgspec

from pilothouse.mcp.oauth.credentials import Client, Credential, Tokens
from pilothouse.mcp.oauth.discovery import Place
from pilothouse.mcp.oauth.errors import OAuthError, TokenRefused
from pilothouse.mcp.oauth.scopes import readable
from pilothouse.mcp.oauth.web import Web, decoded
from pilothouse.net.reply import Fetched
from pilothouse.types import limits

_GOOD = (200, 201)


class _Answer(msgspec.Struct, frozen=True):
    access_token: str
    token_type: str | None = None
    expires_in: float | None = None
    refresh_token: str | None = None
    scope: str | None = None
    # Who signed in, as a signed statement (OpenID Connect).
    id_token: str | None = None


class _Problem(msgspec.Struct, frozen=True):
    error: str
    error_description: str | None = None


async def credential(place: Place, client: Client, grant: Mapping[str, str], scopes: tuple[str, ...]) -> Credential:
    """Exchange a grant for tokens; `scopes` were asked for and hold unless the answer says otherwise."""
    issuer = place.issuer
    form = {**grant, "resource": place.resource}
    tokens = await _ask(Web(place.server_url), issuer.token_endpoint, client, form)
    return Credential(
        server_url=place.server_url,
        resource=place.resource,
        issuer=issuer.issuer,
        token_endpoint=issuer.token_endpoint,
        revocation_endpoint=issuer.revocation_endpoint or "",
        client=client,
        tokens=tokens if tokens.scopes else msgspec.structs.replace(tokens, scopes=scopes),
    )


def own_grant(scopes: tuple[str, ...]) -> dict[str, str]:
    """Return what a program asks with that signs in by itself."""
    return {"grant_type": "client_credentials", **({"scope": " ".join(scopes)} if scopes else {})}


async def renewed(kept: Credential, tokens: Tokens) -> Credential:
    """Use the refresh token, or ask as a program again; what the answer leaves out stays as it was."""
    by_itself = kept.client.kind == "program"
    again = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
    form = {**(own_grant(tokens.scopes) if by_itself else again), "resource": kept.resource}
    new = await _ask(Web(kept.server_url), kept.token_endpoint, kept.client, form)
    whole = msgspec.structs.replace(
        new,
        refresh=new.refresh or tokens.refresh,
        scopes=new.scopes or tokens.scopes,
        account=new.account or tokens.account,
    )
    return msgspec.structs.replace(kept, tokens=whole)


async def revoke(kept: Credential) -> bool:
    """Tell the issuer that the tokens are not needed any more; return whether it took note of all."""
    if not kept.revocation_endpoint or kept.tokens is None:
        return False
    web = Web(kept.server_url)
    # The issuer named it, who may be further away than the server.
    await Web(kept.issuer).check(kept.revocation_endpoint, "revocation endpoint")
    taken = True
    # The refresh token first: with it gone the other cannot come back.
    for token, hint in ((kept.tokens.refresh, "refresh_token"), (kept.tokens.access, "access_token")):
        if token:
            form, headers = _identified(kept.client, {"token": token, "token_type_hint": hint})
            fetched = await web.post_form(kept.revocation_endpoint, "revocation endpoint", form, headers)
            taken = taken and fetched.status == 200
    return taken


async def _ask(web: Web, endpoint: str, client: Client, form: Mapping[str, str]) -> Tokens:
    body, headers = _identified(client, form)
    fetched = await web.post_form(endpoint, "token endpoint", body, headers)
    answer = decoded(fetched, _Answer) if fetched.status in _GOOD else None
    if answer is None:
        raise _refusal(fetched, endpoint)
    if (answer.token_type or "bearer").lower() != "bearer" or not _is_sendable(answer.access_token):
        message = f"{urlsplit(endpoint).netloc} gave a token of a kind that cannot be used here."
        raise OAuthError(message, fix="Tell the server's operator.")
    return Tokens(
        access=answer.access_token,
        refresh=answer.refresh_token or "",
        given_at=time.time(),
        lifetime=answer.expires_in,
        scopes=readable((answer.scope or "").split()),
        account=_account(answer.id_token or ""),
    )


class _Claims(msgspec.Struct, frozen=True):
    email: str = ""
    preferred_username: str = ""
    name: str = ""


def _account(id_token: str) -> str:
    """Return what people call the account; it came from the issuer itself, and nothing but words rests on it."""
    middle = id_token.partition(".")[2].partition(".")[0]
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)), type=_Claims)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    told = claims.email or claims.preferred_username or claims.name
    return plain(told)[: limits.TITLE_CHARS] if told.strip() else ""


def _identified(client: Client, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the form and the headers with which this client asks."""
    match client.method:
        case "client_secret_basic":
            pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
            # Its name stands in the form as well: some look for it only there, the official SDK's server among them.
            told = f"Basic {base64.b64encode(pair.encode()).decode()}"
            return {**form, "client_id": client.id}, {"authorization": told}
        case "client_secret_post":
            return {**form, "client_id": client.id, "client_secret": client.secret}, {}
        case "none":
            return {**form, "client_id": client.id}, {}


def _is_sendable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _refusal(fetched: Fetched, endpoint: str) -> OAuthError:
    host = urlsplit(endpoint).netloc
    problem = decoded(fetched, _Problem)
    if problem is None and fetched.status in _GOOD:
        return OAuthError(f"{host} gave no token; its answer is something else.", fix="Tell the server's operator.")
    if problem is None or fetched.status >= 500 or fetched.status == 429:
        return OAuthError(f"{host} gave no token; it answered with {fetched.status}.", fix="Try again later.")
    told = plain(problem.error_description or problem.error)
    return TokenRefused(problem.error, f"{host} gave no token: {told}.")


def plain(text: str) -> str:
    """Return a stranger's words as one short line without control characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: limits.ERROR_TEXT_CHARS])
    return line.strip().rstrip(".") or "no reason given"
