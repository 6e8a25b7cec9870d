"""The application: the route table and the page, behind the guard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as HttpRoute
from starlette.types import ASGIApp

from pilothouse.host.service import HostService
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.web.built_page import PageFile, Pages
from pilothouse.web.guard import Guard, RouteRules
from pilothouse.web.metrics import metrics_endpoint
from pilothouse.web.origins import Origins
from pilothouse.web.problems import problem_response
from pilothouse.web.routes import PROBES, ROUTES
from pilothouse.web.routing import AnyRoute, endpoint
from pilothouse.web.sessions import Access
from pilothouse.web.socket import page_socket
from pilothouse.web.streams import events_endpoint
from pilothouse.web.terminal_socket import terminal_socket

_NO_WAY_IN = (
    "There is none: this is a worker, which has /api/health, /api/ready and /metrics only. Ask a process for the page."
)
_SOCKETS = {"page_socket": page_socket, "terminal_socket": terminal_socket}


def make_probes(host: HostService, access: Access, origins: Origins, metrics_token: str = "") -> ASGIApp:
    """Return the application of a worker: whether it lives and is ready, and how it does; nobody can sign in to it."""
    app = Starlette(
        routes=[*map(_starlette_route, PROBES), _metrics(metrics_token)],
        exception_handlers={HTTPException: _http_problem},
    )
    app.router.redirect_slashes = False
    app.state.host = host
    app.state.access = access
    return Guard(app, origins=origins, access=access, rules=route_rules(PROBES), way_in=_NO_WAY_IN)


def _metrics(token: str) -> BaseRoute:
    return HttpRoute("/metrics", metrics_endpoint(token), methods=["GET"])


def make_app(
    host: HostService, access: Access, origins: Origins, page: Mapping[str, PageFile], metrics_token: str = ""
) -> ASGIApp:
    """Return the ASGI application; only the guard is handed out, so nothing is reachable around it."""
    app = Starlette(
        routes=[
            *map(_starlette_route, ROUTES),
            _metrics(metrics_token),
            HttpRoute("/{path:path}", Pages(page, access).__call__),
        ],
        exception_handlers={HTTPException: _http_problem},
    )
    app.router.redirect_slashes = False
    app.state.host = host
    app.state.access = access
    return Guard(app, origins=origins, access=access, rules=route_rules(ROUTES))


def _starlette_route(route: AnyRoute) -> BaseRoute:
    if route.kind == "socket":
        return WebSocketRoute(route.path, _SOCKETS[route.name])
    make: Callable[[AnyRoute], Callable[..., object]] = events_endpoint if route.kind == "events" else endpoint
    return HttpRoute(route.path, make(route), methods=[route.method], name=route.name)


async def _http_problem(request: Request, error: Exception) -> Response:
    """Say in our words what Starlette refuses: an unknown address, or a method it does not take."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        problem = PilothouseError("bad_request", f"This address does not take {request.method} requests.")
        return problem_response(problem, status=405, headers=error.headers)
    return problem_response(PilothouseError("not_found", "There is nothing at this address."))


def route_rules(routes: Iterable[AnyRoute]) -> RouteRules:
    """Return what the guard must know, read off the table."""
    public = {(route.method, route.path) for route in routes if route.public}
    large = [
        (route.method, re.compile(re.escape(route.path).replace(r"\{id\}", "[^/]+")), route.body_limit)
        for route in routes
        if route.body_limit != limits.BODY_BYTES
    ]

    def is_public(method: str, path: str) -> bool:
        return ("GET" if method == "HEAD" else method, path) in public

    def body_limit(method: str, path: str) -> int:
        found = (size for verb, pattern, size in large if verb == method and pattern.fullmatch(path))
        return next(found, limits.BODY_BYTES)

    return RouteRules(is_public, body_limit)
