"""A server with the authorization server of the official SDK, and a person behind it who agrees on a page.

The port is the only argument; tokens live for two seconds.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
import time

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

PORT = int(sys.argv[1])
HERE = f"http://127.0.0.1:{PORT}"
LIFETIME = 2


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory, and gives each token once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.asked: dict[str, tuple[str, AuthorizationParams]] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        asked = secrets.token_urlsafe(20)
        self.asked[asked] = (str(client.client_id), params)
        return f"{HERE}/agree?asked={asked}"

    def agreed(self, asked: str) -> str:
        """Return where the person goes on to who agreed."""
        client_id, params = self.asked.pop(asked)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ada",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=f"{HERE}/")

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        found = self.codes.get(authorization_code)
        return found if found is not None and found.client_id == client.client_id else None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._given(authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        found = self.refresh.get(refresh_token)
        return found if found is not None and found.client_id == client.client_id else None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "used already")
        return self._given(refresh_token, scopes or refresh_token.scopes)

    def _given(self, before: AuthorizationCode | RefreshToken, scopes: list[str]) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        ends = int(time.time()) + LIFETIME
        who, where = before.client_id, before.resource
        self.access[access] = AccessToken(
            token=access, client_id=who, scopes=scopes, expires_at=ends, resource=where, subject="ada"
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=who, scopes=scopes, resource=where)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=LIFETIME, scope=" ".join(scopes))

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


provider = Provider()
server = MCPServer(
    "sdk",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(HERE),
        resource_server_url=AnyHttpUrl(f"{HERE}/mcp"),
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["read"], default_scopes=["read"]
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["read"],
        validate_token_resource=True,
    ),
)


@server.tool(structured_output=False)
async def which() -> str:
    """Tell which token this call came with, without telling the token."""
    token = get_access_token()
    return hashlib.sha256(token.token.encode()).hexdigest() if token else ""


async def agree(request: Request) -> Response:
    if request.method == "GET":
        return HTMLResponse(
            '<!doctype html><form method="post"><button name="action" value="approve">Allow</button></form>'
        )
    return RedirectResponse(provider.agreed(request.query_params["asked"]), 302)


async def kept(request: Request) -> Response:
    """Tell how many sign-ins can be renewed."""
    return HTMLResponse(str(len(provider.refresh)))


server.custom_route("/agree", methods=["GET", "POST"])(agree)
server.custom_route("/kept", methods=["GET"])(kept)

if __name__ == "__main__":
    server.run("streamable-http", port=PORT)
