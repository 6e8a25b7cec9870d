"""Finds out where tokens for a server come from, and believes nobody who speaks for another."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.oauth.addresses import canonical, checked, covers, root, same_issuer, well_known
from pilothouse.mcp.oauth.challenge import Challenge
from pilothouse.mcp.oauth.errors import NoIssuer, OAuthError
from pilothouse.mcp.oauth.web import Web, decoded
from pilothouse.net.reply import Fetched
from pilothouse.types import limits

_ABOUT_RESOURCES = "oauth-protected-resource"
_ABOUT_ISSUERS = "oauth-authorization-server"
_ABOUT_OPENID = "openid-configuration"
Names = tuple[str, ...]


class ResourceDocument(msgspec.Struct, frozen=True):
    """Protected resource metadata (RFC 9728)."""

    resource: str | None = None
    authorization_servers: Names | None = None
    scopes_supported: Names | None = None


class IssuerDocument(msgspec.Struct, frozen=True):
    """Authorization server metadata (RFC 8414, OpenID Connect Discovery)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: Names | None = None
    code_challenge_methods_supported: Names | None = None
    token_endpoint_auth_methods_supported: Names | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None


class Place(msgspec.Struct, frozen=True):
    """Where tokens for a server come from: found out before anyone is asked to sign in."""

    # The server's own address, and what its tokens name as their audience.
    server_url: str
    resource: str
    issuer: IssuerDocument
    # What the server says that tokens may be for, None when it says nothing.
    scopes: Names | None


async def discover(server_url: str, challenge: Challenge, web: Web) -> Place:
    """Return where to get a token for a server that refused a request with this challenge."""
    document = await _resource(server_url, challenge, web)
    if document is None or not document.authorization_servers:
        # Before 2025-06-18 the server was its own issuer.
        issuer = await _issuer(root(server_url), web)
    else:
        issuer = await _issuer(document.authorization_servers[0], web)
    resource = (document.resource if document else None) or canonical(server_url)
    return Place(server_url, resource, issuer, document.scopes_supported if document else None)


async def _resource(server_url: str, challenge: Challenge, web: Web) -> ResourceDocument | None:
    failed = ""
    named = [challenge.resource_metadata] if challenge.resource_metadata else []
    usual = [well_known(server_url, _ABOUT_RESOURCES), well_known(root(server_url), _ABOUT_RESOURCES)]
    for url in dict.fromkeys([*named, *usual]):
        fetched = await web.get(url, "description")
        if fetched.status == 200 and (document := decoded(fetched, ResourceDocument)) is not None:
            if document.resource and not _is_of(document.resource, server_url):
                message = f"The server describes itself as {document.resource[:200]}, which is another place."
                raise OAuthError(message, fix="Check the server's address.")
            return document
        if _is_trouble(fetched):
            failed = f"{urlsplit(url).netloc} answered with {fetched.status}"
    if failed:
        # Trouble says nothing about whether there is a description: guessing would send people elsewhere.
        raise OAuthError(f"Where to sign in could not be found out: {failed}.", fix="Try again later.")
    return None


def _is_of(resource: str, server_url: str) -> bool:
    return len(resource) <= limits.SIGN_IN_URL_CHARS and covers(resource, server_url)


async def check_endpoint(place: Place, url: str, what: str) -> str:
    """Return an address that an issuer named as it is used; raise where the issuer or the server must not lead us."""
    endpoint = checked(url, what)
    for near in (place.server_url, place.issuer.issuer):
        await Web(near).check(endpoint, what)
    return endpoint


async def _issuer(issuer: str, web: Web) -> IssuerDocument:
    checked(issuer, "issuer")
    for url in _issuer_documents(issuer):
        fetched = await web.get(url, "issuer")
        if fetched.status == 200 and (document := decoded(fetched, IssuerDocument)) is not None:
            if not same_issuer(document.issuer, issuer):
                message = f"{urlsplit(issuer).netloc} calls itself {document.issuer[:200]}; nobody signs in there."
                raise OAuthError(message, fix="Tell the server's operator.")
            return document
        if _is_trouble(fetched):
            raise OAuthError(f"The issuer {urlsplit(issuer).netloc} answered with {fetched.status}.", fix="Try later.")
    raise NoIssuer(
        f"The server asks for a token, and {urlsplit(issuer).netloc} does not say how to get one.",
        fix="Give the server a bearer token or a header, if its operator gave you one.",
    )


def _issuer_documents(issuer: str) -> Iterator[str]:
    yield well_known(issuer, _ABOUT_ISSUERS)
    yield well_known(issuer, _ABOUT_OPENID)
    if urlsplit(issuer).path.strip("/"):
        yield f"{issuer.rstrip('/')}/.well-known/{_ABOUT_OPENID}"


def _is_trouble(fetched: Fetched) -> bool:
    return fetched.status >= 500 or fetched.status == 429
