"""The table of routes: every verb of the host, and what is the web server's own: sessions, sockets, and how it is."""

from __future__ import annotations

from pilothouse.types.address import CHALLENGE, PROOF
from pilothouse.types.api import Health, Link, Readiness, SessionRequest, SignedIn
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import all_verbs
from pilothouse.types.json import JsonObject
from pilothouse.web.guard import START
from pilothouse.web.routing import AnyRoute, Call, NoQuery, Reply, Route, served
from pilothouse.web.watchdog import was_blocked


async def health(call: Call[None, NoQuery]) -> Reply:
    """Answer that the server is up, and since which start; and to this account's commands, that they know it."""
    challenge = call.headers.get(CHALLENGE, "")
    proof = {PROOF: call.access.proof(challenge)} if challenge else {}
    return Reply(Health(status="degraded" if was_blocked() else "up"), {START: call.access.start, **proof})


async def ready(call: Call[None, NoQuery]) -> Readiness:
    """Answer that the database takes what is given to it, after trying."""
    await call.host.ready()
    return Readiness()


async def begin_session(call: Call[SessionRequest, NoQuery]) -> Reply:
    """Exchange a link's code for a session: one half of it is a cookie, the other the page makes with its key."""
    token, half = await call.access.redeem(call.body.code, call.body.key, call.client)
    return Reply(SignedIn(start=call.access.start, half=half), {"set-cookie": call.access.cookie(token)})


async def end_session(call: Call[None, NoQuery]) -> Reply:
    """Sign this browser out."""
    await call.access.end(call.caller)
    return Reply(None, {"set-cookie": call.access.cookie(None)})


async def new_link(call: Call[None, NoQuery]) -> Link:
    """Make another link that opens the page once."""
    return Link(url=await call.access.new_link(call.headers["host"]))


async def page_socket(call: Call[None, NoQuery]) -> None:
    """Speak the page's protocol; `socket` serves it, the table describes it."""
    raise PilothouseError("internal", "This route is a WebSocket.")


async def terminal_socket(call: Call[None, NoQuery]) -> None:
    """Sit at a terminal; `terminal_socket.py` serves it, the table describes it."""
    raise PilothouseError("internal", "This route is a WebSocket.")


async def openapi(call: Call[None, NoQuery]) -> JsonObject:
    """Describe this API."""
    # Only this route needs it; a server that nobody asks never builds the document.
    from pilothouse.web.openapi import document  # noqa: PLC0415

    return document()


PROBES: tuple[AnyRoute, ...] = (
    Route(method="GET", path="/api/health", handler=health, reply=Health, public=True, summary="Is the server up?"),
    Route(
        method="GET",
        path="/api/ready",
        handler=ready,
        reply=Readiness,
        public=True,
        summary="Would a message be kept right now? Asks the database; 503 also while the process is about to end.",
    ),
)
_OWN: tuple[AnyRoute, ...] = (
    *PROBES,
    Route(method="GET", path="/api/openapi.json", handler=openapi, reply=JsonObject, summary="This document."),
    Route(
        method="POST",
        path="/api/session",
        handler=begin_session,
        body=SessionRequest,
        reply=SignedIn,
        public=True,
        summary="Exchange the code of a one-time link for a session.",
    ),
    Route(
        method="DELETE",
        path="/api/session",
        handler=end_session,
        status=204,
        kind="empty",
        summary="End this session and every stream opened with it.",
    ),
    Route(method="POST", path="/api/link", handler=new_link, reply=Link, summary="Make a new one-time link."),
    Route(
        method="GET",
        path="/api/ws",
        handler=page_socket,
        kind="socket",
        status=101,
        summary="The page's WebSocket: SocketCommand in, SocketFrame out.",
    ),
    Route(
        method="GET",
        path="/api/conversations/{id}/terminal/socket",
        handler=terminal_socket,
        kind="socket",
        summary="A conversation's terminal, live: TerminalCommand and TerminalFrame as text, output as binary frames.",
    ),
)

ROUTES: tuple[AnyRoute, ...] = (*_OWN, *(served(noun, each) for noun, each in all_verbs()))
