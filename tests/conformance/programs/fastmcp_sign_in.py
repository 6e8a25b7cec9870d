"""A server with FastMCP's OAuth: its provider in memory, or its proxy, with its own consent page, before an issuer.

The port is the first argument, and the issuer behind the proxy the second; tokens live for a few seconds.
"""

from __future__ import annotations

import hashlib
import sys

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.oauth_proxy import OAuthProxy
from fastmcp.server.auth.providers import in_memory
from fastmcp.server.auth.providers.debug import DebugTokenVerifier
from fastmcp.server.dependencies import get_access_token
from key_value.aio.stores.memory import MemoryStore
from starlette.requests import Request
from starlette.responses import HTMLResponse

PORT, UPSTREAM = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
HERE = f"http://127.0.0.1:{PORT}"
# Who shows it a token that is over loses the refresh token as well; it counts whole seconds.
in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 8

if UPSTREAM:
    auth = OAuthProxy(
        upstream_authorization_endpoint=f"{UPSTREAM}/authorize",
        upstream_token_endpoint=f"{UPSTREAM}/token",
        upstream_client_id="known",
        upstream_client_secret="very-secret",
        token_verifier=DebugTokenVerifier(scopes=["read"]),
        base_url=HERE,
        valid_scopes=["read"],
        client_storage=MemoryStore(),
        jwt_signing_key="only for tests",
        fastmcp_access_token_expiry_seconds=2,
        extra_token_params={"resource": f"{HERE}/mcp"},
    )
else:
    auth = in_memory.InMemoryOAuthProvider(
        base_url=HERE,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["read"], default_scopes=["read"]
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["read"],
    )

server = FastMCP("fast", auth=auth)


async def which() -> str:
    """Tell which token this call came with, without telling the token."""
    token = get_access_token()
    return hashlib.sha256(token.token.encode()).hexdigest() if token else ""


async def kept(request: Request) -> HTMLResponse:
    """Tell how many sign-ins can be renewed."""
    return HTMLResponse(str(len(auth.refresh_tokens)))


server.tool(which, output_schema=None)
server.custom_route("/kept", methods=["GET"])(kept)

if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=PORT, show_banner=False)
