"""The guard: every request passes it, whatever route it is for, before anything of ours runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.web.origins import Origins
from pilothouse.web.problems import internal_problem, problem_response
from pilothouse.web.sessions import NOBODY, Access, Caller

log = logging.getLogger(__name__)

_WAY_IN = "Run `pilothouse open` for a link that signs this browser in, or send the token as a bearer token."
_Fields = dict[str, list[str]]

SAFE_METHODS = frozenset({"GET", "HEAD"})
# Where the page sends the half of its token that is not in the cookie. A script cannot give a WebSocket or an
# EventSource a header of its own: there it is the second of the protocols that it offers, and part of the address.
HALF = "x-pilothouse-half"
PROTOCOL = "pilothouse"
PARAMETER = "half"
EVENTS = "text/event-stream"
# Where a refused page learns what its key must sign now.
START = "x-pilothouse-start"
# A token in an address ends up in histories and logs; these names are refused, valid or not.
TOKEN_PARAMETERS = frozenset({"token", "access_token", "auth", "authorization", "bearer", "session", "code", "api_key"})

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-dns-prefetch-control", b"off"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
NO_STORE = (b"cache-control", b"no-store")
# We have no service worker. A browser that asks for the script of one was given it by whoever listened here while we
# were away; it gets this in its place, which ends it and brings its pages back to us.
NO_WORKER = """\
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  await self.registration.unregister();
  for (const page of await self.clients.matchAll({ type: "window", includeUncontrolled: true })) {
    const url = new URL(page.url);
    url.hash = "";
    // No cache has a page for that address.
    url.searchParams.set("in", crypto.randomUUID());
    await page.navigate(url.href);
  }
})()));
"""


class RouteRules(NamedTuple):
    """What the guard must know about routes: who needs no token, and how much a body may hold."""

    is_public: Callable[[str, str], bool]
    body_limit: Callable[[str, str], int]


class Guard:
    """Checks name, origin, token and size, in this order, and puts the security headers on every answer."""

    def __init__(
        self, app: ASGIApp, *, origins: Origins, access: Access, rules: RouteRules, way_in: str = _WAY_IN
    ) -> None:
        self._app = app
        # What whoever is not let in is told to do.
        self._way_in = way_in
        self._origins = origins
        self._access = access
        self._rules = rules
        self._told_at = float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through as ASGI, or answer it."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = _with_security(message.get("headers", ()))
            await send(message)

        try:
            limit = self._rules.body_limit(scope["method"], scope["path"])
            if self._asks_for_worker(scope):
                worker = Response(NO_WORKER, media_type="text/javascript")
                await worker(scope, receive, guarded_send)
                return
            scope["caller"] = await self._admit(scope, limit)
            await self._app(scope, _bounded(receive, limit), guarded_send)
        except Exception as error:
            if isinstance(error, PilothouseError):
                self._tell(scope, error)
                # The body was not read, so the connection cannot be used again.
                answer = problem_response(error, headers={"connection": "close", **self._start(error)})
            else:
                answer = internal_problem(log, scope, error)
            if not started:
                await answer(scope, receive, guarded_send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope["caller"] = await self._admit(scope, 0)
        except PilothouseError as error:
            self._tell(scope, error)
            # Starlette answers a handshake with an HTTP response; the page learns the reason, not only "closed".
            response = problem_response(error)
            response.raw_headers = _with_security(response.raw_headers)
            await response(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            internal_problem(log, scope, error)

    def _start(self, error: PilothouseError) -> dict[str, str]:
        return {START: self._access.start} if error.code == "unauthorized" else {}

    def _asks_for_worker(self, scope: Scope) -> bool:
        """Return whether a browser looks for the script of a service worker, under a name of ours."""
        headers = _fields(scope)
        if headers.get("service-worker") != ["script"]:
            return False
        self._check_host(scope, headers)
        return True

    def _check_host(self, scope: Scope, headers: _Fields) -> str:
        server = scope.get("server")
        return self._origins.check_host(headers.get("host", []), server[0] if server else None)

    async def _admit(self, scope: Scope, limit: int) -> Caller:
        """Return who asks, or raise the reason why they are not let in."""
        headers = _fields(scope)
        host = self._check_host(scope, headers)
        if not is_api(scope["path"]):
            return NOBODY
        method = scope.get("method", "WEBSOCKET")
        proven = self._check_site(headers, host)
        _check_query(scope)
        _check_body(headers, limit)
        if self._rules.is_public(method, scope["path"]):
            return NOBODY
        caller = await self._authenticate(scope, headers)
        if caller.carrier == "cookie" and method not in SAFE_METHODS and not proven:
            raise _foreign()
        return caller

    def _tell(self, scope: Scope, error: PilothouseError) -> None:
        """Log that a stranger was kept out; one who tries all the time fills no log."""
        now = time.monotonic()
        if error.code == "forbidden" and now - self._told_at >= limits.STRANGERS_TOLD:
            self._told_at = now
            origin = ", ".join(_fields(scope).get("origin", ()))[: limits.ERROR_TEXT_CHARS]
            log.info("refused %s from %s: %s", scope["path"][:100], origin or "no page", error.message)

    def _check_site(self, headers: _Fields, host: str) -> bool:
        """Refuse other sites' pages; return whether the browser proved that it is ours."""
        sites, origins = headers.get("sec-fetch-site", []), headers.get("origin", [])
        if any(site not in ("same-origin", "none") for site in sites):
            raise _foreign()
        if any(not self._origins.is_own(origin, host) for origin in origins):
            raise _foreign()
        return bool(sites or origins)

    async def _authenticate(self, scope: Scope, headers: _Fields) -> Caller:
        sent = credentials(headers, self._access.cookie_name, _halves(scope, headers))
        client = client_of(scope)
        caller: Caller | None = None
        if sent.bearer:
            caller = await self._access.bearer(sent.bearer, client)
        elif sent.cookies and sent.half:
            caller = await self._access.browser(sent.cookies, sent.half, client)
        if caller is None:
            raise PilothouseError("unauthorized", "This needs a session of this server.", fix=self._way_in)
        return caller


def is_api(path: str) -> bool:
    """Return whether a path is part of the API; all else is the page, which holds no data."""
    return path == "/api" or path.startswith("/api/")


class Credentials(NamedTuple):
    """What a request says to be let in: a bearer token, or else a browser's half and the cookies of our name."""

    bearer: str = ""
    cookies: tuple[str, ...] = ()
    half: str = ""


def client_of(scope: Scope) -> str:
    """Return the address that a request comes from."""
    client = scope.get("client")
    return client[0] if client else ""


def credentials(headers: _Fields, cookie_name: str, halves: list[str]) -> Credentials:
    """Return what a request carries: the only place where tokens are looked for."""
    bearers = headers.get("authorization", [])
    if len(bearers) > 1 or len(halves) > 1:
        raise PilothouseError("bad_request", "The request carries more than one token.")
    if bearers:
        scheme, _, token = bearers[0].partition(" ")
        return Credentials(bearer=token.strip() if scheme.lower() == "bearer" else "")
    cookies = tuple(
        value
        for line in headers.get("cookie", [])
        for name, _, value in (part.strip().partition("=") for part in line.split(";"))
        if name == cookie_name and value
    )
    return Credentials(cookies=cookies, half=halves[0] if halves else "")


def _halves(scope: Scope, headers: _Fields) -> list[str]:
    """Return the half of a token that a header, a WebSocket's protocols or an EventSource's address carry."""
    names = [name.strip() for line in headers.get("sec-websocket-protocol", []) for name in line.split(",")]
    offered = names[1:] if names[:1] == [PROTOCOL] else []
    asked = [value for name, value in _query(scope) if name == PARAMETER and headers.get("accept") == [EVENTS]]
    return [*headers.get(HALF, []), *offered, *asked]


def _fields(scope: Scope) -> _Fields:
    fields: _Fields = {}
    for name, value in scope["headers"]:
        fields.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return fields


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _check_query(scope: Scope) -> None:
    if {name.lower() for name, _ in _query(scope)} & TOKEN_PARAMETERS:
        raise PilothouseError(
            "bad_request", "A token does not belong in an address.", fix="Send it in the Authorization header."
        )


# Neither is anything that a page of another site can send unasked.
_BODIES = frozenset({"application/json", "application/x-ndjson"})


def _check_body(headers: _Fields, limit: int) -> None:
    """Refuse a body that is declared too large or is not JSON, before any of it is read."""
    lengths = headers.get("content-length", [])
    length = int(lengths[0]) if lengths and lengths[0].isdigit() else 0
    if length > limit:
        raise _too_large(limit)
    if length or "transfer-encoding" in headers:
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        if kind not in _BODIES:
            raise PilothouseError("bad_request", "The body must be JSON.", fix="Send Content-Type: application/json.")


def _bounded(receive: Receive, limit: int) -> Receive:
    """Return a `receive` that counts the body and the time it takes."""
    taken, deadline, complete = 0, asyncio.get_running_loop().time() + limits.BODY_TIMEOUT, False

    async def bounded() -> Message:
        nonlocal taken, complete
        if complete:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise PilothouseError("bad_request", "The request's body took too long to arrive.") from None
        taken += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if taken > limit:
            raise _too_large(limit)
        return message

    return bounded


def _with_security(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    found = list(headers)
    if not any(name == b"cache-control" for name, _ in found):
        found.append(NO_STORE)
    return [*found, *SECURITY_HEADERS]


def _foreign() -> PilothouseError:
    return PilothouseError("forbidden", "Another site's page may not use this server.")


def _too_large(limit: int) -> PilothouseError:
    size = f"{limit // (1024 * 1024)} MiB"
    return PilothouseError("too_large", f"The request is larger than {size}.", fix="Send less at once.")
