"""A server that wants tokens and the issuer that gives them, on two ports of this machine; both can misbehave."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from tests.support.tiny_http import Answer, Request, TinyHttp


def document(content: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(content).encode(), {"content-type": "application/json"})


class ReplaceableServer(TinyHttp):
    """Answers as usual, or by path with what a test has put in place of that."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        # By path; stands before the usual answer.
        self.instead: dict[str, Answer | Callable[[Request], Answer]] = {}
        # By path: told when a request is there, and what it waits for then.
        self.before: dict[str, tuple[asyncio.Future[None], asyncio.Event]] = {}

    def answer(self, asked: Request) -> Answer:
        """Return the usual answer."""
        raise NotImplementedError

    async def _reply(self, asked: Request) -> Answer:
        if asked.path in self.before:
            there, go_on = self.before.pop(asked.path)
            there.set_result(None)
            await go_on.wait()
        special = self.instead.get(asked.path)
        reply = special(asked) if callable(special) else special or self.answer(asked)
        return replace(reply, headers={**reply.headers, "connection": "close"})


# Where an issuer describes itself; its own path stands behind the first two, and before the last.
PLACES = {
    "oauth": "/.well-known/oauth-authorization-server{}",
    "openid": "/.well-known/openid-configuration{}",
    "appended": "{}/.well-known/openid-configuration",
}


class Issuer(ReplaceableServer):
    """Registers, lets people in at once, gives tokens; rotates refresh tokens, and is strict about who uses what."""

    def __init__(self) -> None:
        super().__init__()
        # Below which path it is, and where it describes itself.
        self.path = ""
        self.place = PLACES["oauth"]
        # The clients that it knows, and where each may be sent back to; None for anywhere.
        self.clients: dict[str, list[str] | None] = {"known": None, "mine": None, "robot": None}
        # What it finds at the addresses that are taken for clients, where it says that it takes some.
        self.documents: dict[str, Any] = {}
        # Changes to the document about itself; None takes a field out.
        self.about: dict[str, object] = {}
        self.expires_in: float | None = 3600
        self.gives_refresh = True
        # What the redirect carries beside the code and the state.
        self.redirect_extra: dict[str, str] = {}
        self.valid: set[str] = set()
        # What each token was given for.
        self.given: dict[str, set[str]] = {}
        self.refreshable: dict[str, str] = {}
        self.revoked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        # Codes and refresh tokens that were used already.
        self._spent: set[str] = set()
        self._count = 0

    @property
    def name(self) -> str:
        return f"{self.url}{self.path}"

    @property
    def document(self) -> dict[str, object]:
        usual: dict[str, object] = {
            "issuer": self.name,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "scopes_supported": ["read", "write"],
        }
        return {name: value for name, value in {**usual, **self.about}.items() if value is not None}

    def answer(self, asked: Request) -> Answer:
        if asked.path == self.place.format(self.path):
            return document(self.document)
        match asked.path:
            case "/register":
                made = self._next("client")
                self.clients[made] = asked.json["redirect_uris"]
                return document({"client_id": made, **asked.json}, 201)
            case "/authorize":
                return self._authorize(asked)
            case "/token":
                return self._token(asked)
            case "/revoke":
                self.revoked.append(asked.form["token"])
                self.valid.discard(asked.form["token"])
                return Answer(200, b"{}")
            case _:
                return Answer(404)

    def _knows(self, client: str, back: str) -> bool:
        """Return whether a client may be sent back there."""
        if client in self.clients:
            allowed = self.clients[client]
        elif client in self.documents and self.document.get("client_id_metadata_document_supported"):
            about = self.documents[client]
            allowed = about["redirect_uris"] if about["client_id"] == client else []
        else:
            return False
        # On this machine every port will do (RFC 8252).
        parts = urlsplit(back)
        portless = f"http://{parts.hostname}{parts.path}" if parts.scheme == "http" else back
        return allowed is None or back in allowed or portless in allowed

    def _authorize(self, asked: Request) -> Answer:
        if not self._knows(asked.query["client_id"], asked.query["redirect_uri"]):
            return Answer(400, b"unknown client")
        code = self._next("code")
        self._codes[code] = asked.query
        back = {"code": code, "state": asked.query["state"], **self.redirect_extra}
        return Answer(302, b"", {"location": f"{asked.query['redirect_uri']}?{urlencode(back)}"})

    def _token(self, asked: Request) -> Answer:
        form, client = asked.form, _client(asked)
        if client not in self.clients and client not in self.documents:
            return document({"error": "invalid_client"}, 401)
        if not form.get("resource"):
            return document({"error": "invalid_target"}, 400)
        scope: str | None = form.get("scope", "")
        if form["grant_type"] == "authorization_code":
            scope = self._exchanged(form, client)
        elif form["grant_type"] == "refresh_token":
            scope = self._renewed(form["refresh_token"])
        if scope is None:
            return document({"error": "invalid_grant", "error_description": "It is spent, or was never good"}, 400)
        return document(self.tokens(scope))

    def _exchanged(self, form: Mapping[str, str], client: str) -> str | None:
        """Return the rights of a code that is shown for the first time, by who was given it."""
        if form["code"] in self._spent:
            self.forget_all()
            return None
        self._spent.add(form["code"])
        asked = self._codes.pop(form["code"], None)
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if asked is None or asked["code_challenge"] != digest.rstrip(b"=").decode():
            return None
        same = all(asked[name] == form[name] for name in ("redirect_uri", "resource")) and asked["client_id"] == client
        return asked.get("scope", "") if same else None

    def _renewed(self, refresh: str) -> str | None:
        """Return the rights of a refresh token; one that is used a second time was stolen, and costs all of them."""
        if refresh in self._spent:
            self.forget_all()
            return None
        self._spent.add(refresh)
        return self.refreshable.pop(refresh, None)

    def forget_all(self) -> None:
        """Make every token worthless."""
        self.valid.clear()
        self.refreshable.clear()

    def tokens(self, scope: str) -> dict[str, object]:
        """Make new tokens that are good."""
        access, refresh = self._next("access"), self._next("refresh")
        self.valid.add(access)
        self.given[access] = set(scope.split())
        made: dict[str, object] = {"access_token": access, "token_type": "Bearer", "scope": scope}
        if self.gives_refresh:
            self.refreshable[refresh] = scope
            made["refresh_token"] = refresh
        return made if self.expires_in is None else {**made, "expires_in": self.expires_in}

    def _next(self, what: str) -> str:
        self._count += 1
        return f"{what}-{self._count}-of-{self.url.rpartition(':')[2]}"


def _client(asked: Request) -> str:
    """Return who a request to the token endpoint says that it comes from."""
    kind, _, pair = asked.headers.get("authorization", "").partition(" ")
    if kind == "Basic":
        return unquote(base64.b64decode(pair).decode().partition(":")[0])
    return asked.form.get("client_id", "")


class Resource(ReplaceableServer):
    """An MCP server at `/mcp` as far as tokens matter: answers only requests with a good one."""

    def __init__(self, issuer: Issuer) -> None:
        super().__init__()
        self.issuer = issuer
        self.about: dict[str, object] = {}
        self.challenge = 'Bearer error="invalid_token"'
        # Where it describes itself; a challenge may name it.
        self.described_at = "/.well-known/oauth-protected-resource/mcp"
        # What a request must be allowed; more than the token has is a 403.
        self.needs: set[str] = set()
        self.scopes: dict[str, set[str]] = {}

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def answer(self, asked: Request) -> Answer:
        if asked.path == self.described_at:
            usual = {"resource": self.mcp, "authorization_servers": [self.issuer.name], "scopes_supported": ["read"]}
            return document({**usual, **self.about})
        if asked.path != "/mcp":
            return Answer(404)
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.issuer.valid:
            return Answer(401, headers={"www-authenticate": self.challenge})
        if not self.needs <= self.scopes.get(token, set()):
            asks = f'Bearer error="insufficient_scope", scope="{" ".join(sorted(self.needs))}"'
            return Answer(403, headers={"www-authenticate": asks})
        return self.served(asked)

    def served(self, asked: Request) -> Answer:
        """Answer a request that was let in."""
        return document({"ok": True})


class OneTool(Resource):
    """Really speaks MCP, of the handshake era, and has one tool; counts its calls."""

    calls = 0

    def served(self, asked: Request) -> Answer:
        if asked.method != "POST":
            return Answer(405)
        message = asked.json
        if "id" not in message:
            return Answer(202, b"")
        results: dict[str, dict[str, object]] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "one"},
            },
            "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "seen"}]},
            "ping": {},
        }
        self.calls += message["method"] == "tools/call"
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in results:
            return document({**reply, "result": results[message["method"]]})
        return document({**reply, "error": {"code": -32601, "message": "unknown"}})


@asynccontextmanager
async def start_protected_server(kind: type[Resource] = Resource) -> AsyncIterator[tuple[Resource, Issuer]]:
    """A server and its issuer."""
    issuer = Issuer()
    resource = kind(issuer)
    async with issuer, resource:
        yield resource, issuer
