"""The route table's words: what a route takes, what it gives, and how a request becomes a call."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pilothouse.host.service import HostService
from pilothouse.types import limits
from pilothouse.types.api import PartData
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.exchange import Download
from pilothouse.types.json import encode, explained
from pilothouse.types.verbs import Method, Parameter, Verb
from pilothouse.web.bodies import check_depth, check_fields, plain_names, read_body
from pilothouse.web.files import DownloadResponse, file_response
from pilothouse.web.guard import client_of
from pilothouse.web.problems import internal_problem, problem_response
from pilothouse.web.sessions import Access, Caller

log = logging.getLogger(__name__)

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

    host: HostService
    access: Access
    caller: Caller
    # What stands in the path, by its name there.
    path: Mapping[str, str]
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
    # Its name, which is unique in the table; the handler's own unless it serves a verb.
    named: str = ""
    # A public route answers without a token.
    public: bool = False
    body_limit: int = limits.BODY_BYTES
    # Its body has a key, which may stand in a header as well.
    has_key: bool = False
    # Its body is a file: the handler gets it as it comes.
    upload: bool = False
    # Its work is worth nothing to anyone once its client has gone.
    stops_with_client: bool = False

    @property
    def name(self) -> str:
        """Return a name that is unique in the table."""
        return self.named or self.handler.__name__


# `Any` because a table holds routes of all shapes; each row was checked where it was written.
AnyRoute = Route[Any, Any, Any]

_FILES = (PartData, Download)
_DESCRIBED = "/api/openapi.json describes every request."


def served(noun: str, verb: Verb) -> AnyRoute:
    """Return the row that serves a verb: the service of that noun is asked on behalf of the caller."""
    kind: Kind = "file" if verb.gives in _FILES else "empty" if verb.gives is type(None) else "json"
    body, has_key, readers = verb.body, verb.has_key, _readers(verb)
    is_upload = body is not None and body.place == "upload"

    async def handler(call: Call[Any, Any]) -> object:
        if has_key:
            call = _keyed(call)
        method = getattr(getattr(call.host, noun), verb.attribute)
        arguments = [read(call) for read in readers]
        if is_upload:
            # It comes once.
            return await method(call.owner, *arguments)
        return await call.host.answer(noun, lambda: method(call.owner, *arguments))

    return Route(
        method=verb.method,
        path=verb.path,
        handler=handler,
        summary=verb.summary,
        body=body.kind if body is not None and body.place == "body" else type(None),
        query=_query(verb),
        reply=verb.gives,
        status=verb.status,
        kind="events" if verb.is_stream else kind,
        named=verb.name,
        body_limit=verb.options.body_limit,
        has_key=has_key,
        upload=is_upload,
        stops_with_client=verb.options.stops_with_client,
    )


def _query(verb: Verb) -> type[msgspec.Struct]:
    """Return the record that a verb's query string is read as."""
    fields = [field for each in verb.query for field in each.fields]
    # What must be there comes first, as everywhere in Python.
    fields.sort(key=lambda field: field[3] is not msgspec.NODEFAULT)
    made = [(attribute, kind, msgspec.field(default=default, name=name)) for name, attribute, kind, default in fields]
    return msgspec.defstruct(f"{verb.name}_query", made, frozen=True) if made else NoQuery


def _readers(verb: Verb) -> list[Callable[[Call[Any, Any]], object]]:
    """Return what finds each argument of the verb's method in a call, in their order."""
    in_path = iter(re.findall(r"{(\w+)}", verb.path))
    return [_reader(each, next(in_path) if each.place == "path" else each.name) for each in verb.takes]


def _reader(parameter: Parameter, name: str) -> Callable[[Call[Any, Any]], object]:
    kind = parameter.kind
    if parameter.place == "path":
        return lambda call: _number(call.path[name]) if kind is int else call.path[name]
    if parameter.place == "query":
        return lambda call: getattr(call.query, name)
    if parameter.place == "spread":
        names = [attribute for _, attribute, _, _ in parameter.fields]
        return lambda call: kind(**{each: getattr(call.query, each) for each in names})
    return lambda call: call.body


def _number(part: str) -> int:
    """Return the number in a path; anything else there leads nowhere."""
    if not (part.isascii() and part.isdigit() and len(part) <= 9):
        raise PilothouseError("not_found", "There is nothing at this address.")
    return int(part)


def _keyed(call: Call[Any, Any]) -> Call[Any, Any]:
    """Take the key of a request from its header, too."""
    header = call.headers.get("idempotency-key")
    if header is None:
        return call
    if call.body.idempotency_key not in (None, header):
        raise PilothouseError("bad_request", "The header Idempotency-Key and the body's idempotencyKey differ.")
    return replace(call, body=msgspec.structs.replace(call.body, idempotency_key=header))


async def _uploaded(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield a file as it comes; a client that leaves before its end has sent none."""
    try:
        async for chunk in chunks:
            yield chunk
    except ClientDisconnect:
        raise PilothouseError("bad_request", "The request ended before its body did.") from None


def decode_query(route: AnyRoute, request: Request) -> object:
    """Return the query string as the route's type, or say which part of it is wrong."""
    try:
        return msgspec.convert(dict(request.query_params), route.query, strict=False)
    except msgspec.ValidationError as error:
        message = f"The query string is not right: {explained(error).message}"
        raise PilothouseError("bad_request", message, fix=_DESCRIBED) from None


async def decode_body(route: AnyRoute, request: Request) -> object:
    """Return the body as the route's type, or say which part of it is wrong."""
    if route.upload:
        return _uploaded(request.stream())
    if route.body is type(None):
        return None
    raw = await read_body(request)
    check_depth(raw)
    try:
        named = plain_names(raw) or b"{}"
        body: object = msgspec.json.decode(named, type=route.body)
        check_fields(named, route.body)
    except BadField as error:
        raise PilothouseError("bad_request", f"The request is not right: {error.message}", fix=_DESCRIBED) from None
    except msgspec.ValidationError as error:
        message = f"The request is not right: {explained(error).message}"
        raise PilothouseError("bad_request", message, fix=_DESCRIBED) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise PilothouseError("bad_request", "The request's body is not valid JSON.", fix="Send JSON.") from None
    return body


async def make_call(route: AnyRoute, request: Request) -> Call[Any, Any]:
    """Turn a request that passed the guard into a call of the route's handler."""
    return Call(
        host=request.app.state.host,
        access=request.app.state.access,
        caller=request.scope["caller"],
        path=request.path_params,
        query=decode_query(route, request),
        body=await decode_body(route, request),
        headers=request.headers,
        client=client_of(request.scope),
    )


async def _gone(request: Request) -> None:
    # What comes before is the body, which was read.
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
