"""A person signs in: they leave for the issuer's page, and come back with a code (authorization code with PKCE)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth import tokens
from pilothouse.mcp.oauth.addresses import with_query
from pilothouse.mcp.oauth.credentials import Client, Credential
from pilothouse.mcp.oauth.discovery import Place, check_endpoint
from pilothouse.mcp.oauth.errors import SIGN_IN_FAILED, OAuthError, SignInNeeded
from pilothouse.mcp.oauth.registration import Identity, client_for
from pilothouse.mcp.oauth.scopes import readable
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.origins import origin_of
from pilothouse.types.ports import Secrets

_AGAIN = "Sign in again."


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
    # How many more were named, and are not asked for: no scopes, or too long, or too many.
    left_out: int
    redirect_uri: str


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that someone left for: what its answer is checked against, and what the browser never sees."""

    state: str
    # What proves that whoever brings the code is who began (PKCE).
    verifier: str
    place: Place
    client: Client
    scopes: tuple[str, ...]
    redirect_uri: str
    # Epoch seconds, for after a restart.
    began: float
    # Where the server said that it describes itself; empty for the usual places.
    resource_metadata: str = ""

    def is_answered_by(self, query: Mapping[str, str]) -> bool:
        """Return whether an answer is to this sign-in, and no other."""
        return hmac.compare_digest(query.get("state", "").encode(), self.state.encode())


async def begin(
    place: Place, identity: Identity, scopes: tuple[str, ...], kept: Credential | None, state: str = ""
) -> tuple[SignIn, Pending]:
    """Register if need be; return where the person goes, and what to keep until they are back."""
    endpoint = await _endpoints(place)
    asked = readable(_with_offline_access(scopes, place))
    pending = Pending(
        state=state + secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(64),
        place=place,
        client=await client_for(place, identity, kept),
        scopes=asked,
        redirect_uri=identity.redirect_uri,
        began=time.time(),
    )
    had = kept.tokens.scopes if kept and kept.tokens else ()
    sign_in = SignIn(
        url=with_query(endpoint, _parameters(pending)),
        server_url=place.server_url,
        host=urlsplit(endpoint).netloc,
        scopes=pending.scopes,
        added=tuple(scope for scope in pending.scopes if scope not in had),
        left_out=len({scope for scope in scopes if scope} - set(asked)),
        redirect_uri=pending.redirect_uri,
    )
    return sign_in, pending


async def finish(pending: Pending, query: Mapping[str, str]) -> Credential:
    """Exchange the code that came back for tokens; raise for an answer to anything but this sign-in."""
    if not pending.is_answered_by(query):
        raise unknown()
    if not 0 <= time.time() - pending.began < limits.SIGN_IN_SECONDS:
        message = f"Authorization timed out after {limits.SIGN_IN_SECONDS / 60:g} minutes."
        raise SignInNeeded(message, fix=_AGAIN)
    grant = {
        "grant_type": "authorization_code",
        "code": _code(query, pending.place),
        "code_verifier": pending.verifier,
        "redirect_uri": pending.redirect_uri,
    }
    got = await tokens.credential(pending.place, pending.client, grant, pending.scopes)
    return msgspec.structs.replace(got, resource_metadata=pending.resource_metadata, signed_in_at=time.time())


def _parameters(pending: Pending) -> dict[str, str]:
    digest = hashlib.sha256(pending.verifier.encode()).digest()
    parameters = {
        "response_type": "code",
        "client_id": pending.client.id,
        "redirect_uri": pending.redirect_uri,
        "state": pending.state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": pending.place.resource,
    }
    if pending.scopes:
        parameters["scope"] = " ".join(pending.scopes)
    if "offline_access" in pending.scopes:
        # OpenID Connect grants it only after asking.
        parameters["prompt"] = "consent"
    return parameters


def _code(query: Mapping[str, str], place: Place) -> str:
    """Check that the redirect comes from this issuer; return its code."""
    issuer = place.issuer
    told = query.get("iss")
    # Simple comparison on purpose: an issuer that is almost the right one is another one.
    if told != issuer.issuer and (told is not None or issuer.authorization_response_iss_parameter_supported):
        message = f"The sign-in was answered in the name of another issuer than {urlsplit(issuer.issuer).netloc}."
        raise OAuthError(message, fix="Sign in again; if this happens again, tell the server's operator.")
    if "error" in query:
        why = tokens.plain(query.get("error_description") or query["error"])
        raise SignInNeeded(SIGN_IN_FAILED, fix=f"{urlsplit(issuer.issuer).netloc} said: {why}.")
    if not query.get("code"):
        raise OAuthError("The sign-in ended without a code.", fix=_AGAIN)
    return query["code"]


async def _endpoints(place: Place) -> str:
    """Return where the person goes; raise while they are here if that, or where their code goes, is not good."""
    issuer = place.issuer
    endpoint = await check_endpoint(place, issuer.authorization_endpoint or "", "authorization endpoint")
    await check_endpoint(place, issuer.token_endpoint, "token endpoint")
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


class PendingSignIns:
    """The sign-ins that someone left for, one for each server, kept among the secrets over a restart."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def keep(self, server_id: str, pending: Pending) -> None:
        """Keep a sign-in in place of the server's last one, whose answer is not taken any more."""
        origin = origin_of(pending.place.server_url)
        await asyncio.to_thread(self._secrets.put, _name(server_id), encode_text(pending), origin)

    async def take(self, server_id: str, server_url: str, query: Mapping[str, str]) -> Pending:
        """Return the server's sign-in to its answer, once; raise where none waits for this one, and let it wait on."""
        pending = await self.look(server_id, server_url)
        # Anyone can make up an answer.
        if pending is None or not pending.is_answered_by(query):
            raise unknown()
        await self.drop(server_id)
        return pending

    async def look(self, server_id: str, server_url: str) -> Pending | None:
        """Return the sign-in that someone left for and did not come back from; None if it was for another address."""
        try:
            text = await asyncio.to_thread(self._secrets.get, _name(server_id), origin_of(server_url))
            pending = msgspec.json.decode(text or "", type=Pending)
        except (msgspec.MsgspecError, PilothouseError):
            return None
        return pending if pending.place.server_url == server_url else None

    async def drop(self, server_id: str) -> None:
        """Forget the server's sign-in; none is fine."""
        await asyncio.to_thread(self._secrets.delete, _name(server_id))


def unknown() -> OAuthError:
    """Return that an answer came to a sign-in that nobody waits for."""
    message = "This sign-in is not one that waits here: it was used already, took too long, or is not ours."
    return OAuthError(message, fix=_AGAIN)


def _name(server_id: str) -> str:
    return f"mcp-sign-in.{hashlib.sha256(server_id.encode()).hexdigest()[:40]}"
