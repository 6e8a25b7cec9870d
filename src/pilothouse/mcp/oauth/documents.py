"""The documents in which a server and its issuer describe themselves, as far as we use them."""

from __future__ import annotations

import msgspec

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
