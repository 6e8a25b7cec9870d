"""The route table's words: what a route takes, what it gives, and how a request becomes a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pilothouse.server.aliases import plain_names
from pilothouse.server.bodies import check_depth, read_body
from pilothouse.server.files import DownloadResponse, file_response
from pilothouse.server.guard import client_of
from pilothouse.server.problems import internal_problem, problem_response
from pilothouse.server.sessions import Access, Caller
from pilothouse.types import limits
from pilothouse.types.api import PartData
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Download
from pilothouse.types.host import HostApi
from pilothouse.types.json import encode, explained

log = logging.getLogger(__name__)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
# What is answered: one JSON value, nothing, a file, or a stream of events that the route writes itself.
Kind = Literal["json", "empty", "file", "events", "socket"]
BodyT = TypeVar("BodyT")
QueryT = TypeVar("QueryT")
ReplyT = TypeVar("ReplyT")
T = TypeVar("T")


class NoQuery(msgspec.Struct, frozen=True):
    """A route that takes nothing in its query string."""


@dataclass(frozen=True, slots=True)
class Call(Generic[BodyT, QueryT]):
    """One checked request: who asks, of what, with which decoded body and query."""

    host: HostApi
    access: Access
    caller: Caller
    # The route's one `{id}`, or empty.
    id: str
    # The route's `{index}`, for one piece of what the id names.
    index: int
    # The route's `{process}`, for a background command of the conversation that the id names.
    process: str
    query: QueryT
    body: BodyT
    headers: Mapping[str, str]
    # The address that it comes from.
    client: str

    @property
    def owner(self) -> str:
        """Return on whose behalf everything is done."""
        return self.caller.owner


class Reply(msgspec.Struct, frozen=True):
    """A value together with headers, for the few routes that set a cookie."""

    value: object
    headers: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Route(Generic[BodyT, QueryT, ReplyT]):
    """A row of the table: the same row serves the request and describes it in the OpenAPI document."""

    method: Method
    path: str
    handler: Callable[[Call[BodyT, QueryT]], Awaitable[ReplyT | Reply]]
    summary: str
    body: type[BodyT] = field(default=type(None))  # type: ignore[assignment]
    query: type[QueryT] = field(default=NoQuery)  # type: ignore[assignment]
    reply: type[ReplyT] = field(default=type(None))  # type: ignore[assignment]
    status: int = 200
    kind: Kind = "json"
    # A public route answers without a token.
    public: bool = False
    body_limit: int = limits.BODY_BYTES
    # Its body is a file: the handler gets it as it comes.
    upload: bool = False
    # Its work is worth nothing to anyone once its client has gone.
    stops_with_client: bool = False

    @property
    def name(self) -> str:
        """Return a name that is unique in the table, from the handler's."""
        return self.handler.__name__


# `Any` because a table holds routes of all shapes; each row was checked where it was written.
AnyRoute = Route[Any, Any, Any]

_DESCRIBED = "/api/openapi.json describes every request."


def decode_query(route: AnyRoute, request: Request) -> object:
    """Return the query string as the route's type, or say which part of it is wrong."""
    try:
        return msgspec.convert(dict(request.query_params), route.query, strict=False)
    except msgspec.ValidationError as error:
        message = f"The query string is not right: {explained(error).message}"
        raise PilothouseError("bad_request", message, fix=_DESCRIBED) from None


def decode_index(request: Request) -> int:
    """Return the number in the path; anything else there leads nowhere."""
    index = request.path_params.get("index", "0")
    if not (index.isascii() and index.isdigit() and len(index) <= 9):
        raise PilothouseError("not_found", "There is nothing at this address.")
    return int(index)


async def decode_body(route: AnyRoute, request: Request) -> object:
    """Return the body as the route's type, or say which part of it is wrong."""
    if route.upload:
        return request.stream()
    if route.body is type(None):
        return None
    raw = await read_body(request)
    check_depth(raw)
    try:
        return msgspec.json.decode(plain_names(raw) or b"{}", type=route.body)
    except msgspec.ValidationError as error:
        message = f"The request is not right: {explained(error).message}"
        raise PilothouseError("bad_request", message, fix=_DESCRIBED) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise PilothouseError("bad_request", "The request's body is not valid JSON.", fix="Send JSON.") from None


async def make_call(route: AnyRoute, request: Request) -> Call[Any, Any]:
    """Turn a request that passed the guard into a call of the route's handler."""
    return Call(
        host=request.app.state.host,
        access=request.app.state.access,
        caller=request.scope["caller"],
        id=request.path_params.get("id", ""),
        index=decode_index(request),
        process=request.path_params.get("process", ""),
        query=decode_query(route, request),
        body=await decode_body(route, request),
        headers=request.headers,
        client=client_of(request.scope),
    )


async def _gone(request: Request) -> None:
    # What comes before is the body, which such a route does not have.
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return what work gives; cancel it when the client goes, to whom nothing can be answered any more."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise PilothouseError("cancelled", "The client has gone.")
        return await working
    finally:
        for each in (working, leaving):
            each.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def endpoint(route: AnyRoute) -> Callable[[Request], Awaitable[Response]]:
    """Return what Starlette calls for a JSON route: decode, ask the core, encode; a failure is a Problem."""

    async def answer(request: Request) -> Response:
        try:
            work = route.handler(await make_call(route, request))
            result: object = await (_while_connected(request, work) if route.stops_with_client else work)
        except PilothouseError as error:
            return problem_response(error)
        except Exception as error:
            return internal_problem(log, request.scope, error)
        headers: dict[str, str] = {}
        if isinstance(result, Reply):
            headers, result = result.headers, result.value
        if route.kind == "empty":
            return Response(status_code=route.status, headers=headers)
        if isinstance(result, PartData):
            return file_response(result)
        if isinstance(result, Download):
            return DownloadResponse(result)
        return Response(encode(result), status_code=route.status, headers=headers, media_type="application/json")

    return answer
