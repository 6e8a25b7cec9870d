"""Who we are to an issuer: a name that the person was given, an address of theirs, or what it calls us on asking."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth.addresses import same_issuer
from pilothouse.mcp.oauth.credentials import Client, ClientMethod, Credential
from pilothouse.mcp.oauth.discovery import IssuerDocument, Place, check_endpoint
from pilothouse.mcp.oauth.errors import ClientNeeded, OAuthError
from pilothouse.mcp.oauth.web import Web, decoded
from pilothouse.types import limits
from pilothouse.types.client_documents import CLIENT_NAME, application_type

# The best first: a program on someone's own machine keeps no secret from them. The official SDK's server revokes
# nothing for who says their secret in a header.
_METHODS: tuple[ClientMethod, ...] = ("none", "client_secret_post", "client_secret_basic")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What we can say about ourselves."""

    redirect_uri: str
    client_name: str = CLIENT_NAME
    # Registered beforehand by the person; None when not.
    client: Client | None = None
    # The https address where the person put a document about us, for issuers that take it as a name; empty for none.
    document_url: str = ""
    # Whether what the issuer registered before is of no use: it may not know it any more.
    afresh: bool = False


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
        return given_client(identity.client, place.issuer, kept)
    known = kept.client if kept is not None and kept.belongs_to(issuer) else None
    if known is not None and known.kind == "own":
        return known
    takes_documents = bool(place.issuer.client_id_metadata_document_supported)
    if identity.document_url and takes_documents:
        return Client(id=identity.document_url, kind="document", issuer=issuer, redirect_uri=identity.redirect_uri)
    if known is not None and known.kind == "registered" and not identity.afresh and _is_usable(known, identity):
        return known
    if place.issuer.registration_endpoint:
        return await _register(place, place.issuer.registration_endpoint, identity)
    document = " Or have a client document: `pilothouse mcp client-document --help`." if takes_documents else ""
    raise ClientNeeded(
        f"{urlsplit(issuer).netloc} only lets in programs that were registered there beforehand.",
        fix=f"Register Pilothouse there, and give the server the client id you get.{document}",
    )


def _spoken(client: Client, issuer: IssuerDocument) -> Client:
    """Return the person's client as the issuer wants its secret to be said: some take it only in the form."""
    offered = issuer.token_endpoint_auth_methods_supported or ()
    if client.method == "client_secret_basic" and client.method not in offered and "client_secret_post" in offered:
        return msgspec.structs.replace(client, method="client_secret_post")
    return client


def given_client(client: Client, about: IssuerDocument, kept: Credential | None) -> Client:
    """Return a client that was registered beforehand, bound to its issuer since its first use."""
    issuer = about.issuer
    earlier = kept.issuer if kept is not None and kept.client.id == client.id else ""
    bound = client.issuer or earlier
    if bound and not same_issuer(bound, issuer):
        here, there = urlsplit(issuer).netloc, urlsplit(bound).netloc
        raise OAuthError(
            f"The server now asks to sign in at {here}; its client id belongs to {there}.",
            fix="If that is right, enter the client id for the new place.",
        )
    return msgspec.structs.replace(_spoken(client, about), issuer=issuer)


def _is_usable(client: Client, identity: Identity) -> bool:
    return client.redirect_uri == identity.redirect_uri and not 0 < client.expires_at < time.time()


async def _register(place: Place, endpoint: str, identity: Identity) -> Client:
    wanted: dict[str, object] = {
        "client_name": identity.client_name,
        "redirect_uris": [identity.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": application_type([identity.redirect_uri]),
    }
    if method := _method(place.issuer):
        wanted["token_endpoint_auth_method"] = method
    what = "registration endpoint"
    fetched = await Web(place.server_url).post_json(await check_endpoint(place, endpoint, what), what, wanted)
    host = urlsplit(endpoint).netloc
    answer = decoded(fetched, _Registered) if fetched.status in (200, 201) else None
    if answer is None or not answer.client_id.strip() or len(answer.client_id) > limits.SIGN_IN_URL_CHARS:
        raise ClientNeeded(
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
        message = f"{urlsplit(issuer).netloc} registered Pilothouse in a way that {why}."
        raise OAuthError(message, fix="Tell the server's operator.")
    return Client(
        id=answer.client_id,
        secret="" if method == "none" else secret,
        method=method,
        issuer=issuer,
        redirect_uri=identity.redirect_uri,
        expires_at=answer.client_secret_expires_at or 0.0,
    )
