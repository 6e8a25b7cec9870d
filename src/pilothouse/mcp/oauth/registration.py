"""Who we are to an issuer: a name given to us, our own address, or one that it gives us on asking."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth.addresses import same_issuer
from pilothouse.mcp.oauth.credentials import Client, ClientMethod, Credential
from pilothouse.mcp.oauth.documents import IssuerDocument, Place
from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.mcp.oauth.web import Web, decoded

# The best first: a program on someone's own machine keeps no secret from them.
_METHODS: tuple[ClientMethod, ...] = ("none", "client_secret_basic", "client_secret_post")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What we can say about ourselves."""

    redirect_uri: str
    client_name: str = "Pilothouse"
    # Registered beforehand by the person; empty id when not.
    client: Client | None = None
    # An https address that describes us, for issuers that take such an address as a name.
    metadata_url: str = ""


class _Registered(msgspec.Struct, frozen=True):
    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None
    redirect_uris: tuple[str, ...] | None = None


async def client_for(place: Place, identity: Identity, kept: Credential | None) -> Client:
    """Return who we are to the place's issuer; what another issuer gave us is never shown to this one."""
    issuer = place.issuer.issuer
    if identity.client is not None:
        return given_client(identity.client, issuer, kept)
    if kept is not None and kept.belongs_to(issuer) and _is_usable(kept.client, identity):
        return kept.client
    if identity.metadata_url and place.issuer.client_id_metadata_document_supported:
        return Client(id=identity.metadata_url, issuer=issuer, redirect_uri=identity.redirect_uri)
    if place.issuer.registration_endpoint:
        return await _register(place, place.issuer.registration_endpoint, identity)
    raise OAuthError(
        f"{urlsplit(issuer).netloc} only lets in programs that were registered there beforehand.",
        fix="Register Pilothouse there, and give the server the client id you get.",
    )


def given_client(client: Client, issuer: str, kept: Credential | None) -> Client:
    """Return a client that was registered beforehand, bound to its issuer since its first use."""
    earlier = kept.issuer if kept is not None and kept.client.id == client.id else ""
    bound = client.issuer or earlier
    if bound and not same_issuer(bound, issuer):
        raise OAuthError(
            f"The server now asks to sign in at {urlsplit(issuer).netloc}; its client id belongs to {bound}.",
            fix="If that is right, enter the client id for the new place.",
        )
    return msgspec.structs.replace(client, issuer=issuer)


def _is_usable(client: Client, identity: Identity) -> bool:
    if client.id == identity.metadata_url:
        return True
    return client.redirect_uri == identity.redirect_uri and not 0 < client.expires_at < time.time()


async def _register(place: Place, endpoint: str, identity: Identity) -> Client:
    wanted: dict[str, object] = {
        "client_name": identity.client_name,
        "redirect_uris": [identity.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
    }
    if method := _method(place.issuer):
        wanted["token_endpoint_auth_method"] = method
    fetched = await Web(place.server_url).post_json(endpoint, "registration endpoint", wanted)
    host = urlsplit(endpoint).netloc
    answer = decoded(fetched, _Registered) if fetched.status in (200, 201) else None
    if answer is None:
        raise OAuthError(
            f"{host} did not register Pilothouse; it answered with {fetched.status}.",
            fix="Register Pilothouse there by hand, and give the server the client id you get.",
        )
    return _accepted(answer, method, place.issuer.issuer, identity)


def _method(issuer: IssuerDocument) -> ClientMethod | None:
    offered = issuer.token_endpoint_auth_methods_supported
    return None if offered is None else next((method for method in _METHODS if method in offered), None)


def _accepted(answer: _Registered, asked: ClientMethod | None, issuer: str, identity: Identity) -> Client:
    """Check that what was registered is what we can use, and is us."""
    secret = answer.client_secret or ""
    named = answer.token_endpoint_auth_method or asked or ("client_secret_basic" if secret else "none")
    method = next((one for one in _METHODS if one == named), None)
    elsewhere = answer.redirect_uris and identity.redirect_uri not in answer.redirect_uris
    if method is None or elsewhere or (method != "none" and not secret):
        why = "sends people back to another place" if elsewhere else "cannot be used here"
        raise OAuthError(f"{urlsplit(issuer).netloc} registered Pilothouse in a way that {why}.")
    return Client(
        id=answer.client_id,
        secret="" if method == "none" else secret,
        method=method,
        issuer=issuer,
        redirect_uri=identity.redirect_uri,
        expires_at=answer.client_secret_expires_at or 0.0,
    )
