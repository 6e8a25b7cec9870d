"""`/metrics`: numbers for Prometheus, on this machine for whoever asks, from elsewhere by a token of its own."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import is_loopback_host
from pilothouse.web.guard import client_of
from pilothouse.web.origins import parse_host
from pilothouse.web.problems import internal_problem, problem_response
from pilothouse.web.sessions import Access, digest
from pilothouse.web.watchdog import lag

log = logging.getLogger(__name__)
_FORMAT = "text/plain; version=1.0.0; charset=utf-8"
# What a proxy adds: behind one, everybody comes from this machine.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def metrics_endpoint(token: str) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers `/metrics`; with a token, whoever asks must have it."""

    async def metrics(request: Request) -> Response:
        try:
            _check_site(request)
            _admit(request, token)
            return Response(await request.app.state.host.metrics(lag()), headers={"content-type": _FORMAT})
        except PilothouseError as error:
            return problem_response(error)
        except Exception as error:
            return internal_problem(log, request.scope, error)

    return metrics


def _check_site(request: Request) -> None:
    if any(site not in ("same-origin", "none") for site in request.headers.getlist("sec-fetch-site")):
        raise PilothouseError("forbidden", "Another site's page may not read this.")


def _admit(request: Request, token: str) -> None:
    if token:
        _check_token(request, token)
    elif not _is_from_here(request):
        raise PilothouseError(
            "forbidden",
            "Metrics are told on this machine only, unless there is a token for them.",
            fix="Set PILOTHOUSE_METRICS_TOKEN for the server, and send it as a bearer token.",
        )


def _check_token(request: Request, token: str) -> None:
    access: Access = request.app.state.access
    client = client_of(request.scope)
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    access.failed_sign_ins.check(client)
    if scheme.lower() == "bearer" and hmac.compare_digest(digest(sent.strip()), digest(token)):
        return
    access.failed_sign_ins.failed(client)
    raise PilothouseError(
        "unauthorized", "This needs the token for metrics.", fix="Send PILOTHOUSE_METRICS_TOKEN as a bearer token."
    )


def _is_from_here(request: Request) -> bool:
    name = parse_host(request.headers.get("host", ""))
    return (
        is_loopback_host(client_of(request.scope))
        and name is not None
        and is_loopback_host(name)
        and not any(header in request.headers for header in _FORWARDED)
    )
