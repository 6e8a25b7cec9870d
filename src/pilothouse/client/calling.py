"""One request to a running server, and its problems as our own errors."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlencode

import msgspec

from pilothouse.net.client import send
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Method, Reply
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.api import PartData, Problem
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Download
from pilothouse.types.ids import new_id
from pilothouse.types.json import encode
from pilothouse.types.verbs import Verb

T = TypeVar("T")
Query = Mapping[str, str | int | None]
# Where the server is now: it may have been restarted on another port, with another token.
Locate = Callable[[], ServerAddress | None]
# Hears of what begins a run, and on whose behalf.
Begun = Callable[[str, object], None]
# Sees to it that someone listens again after whoever was asked has ended; given who that was.
Revive = Callable[[ServerAddress | None], Awaitable[None]]


class Calling:
    """Asks the server, wherever it is at the moment."""

    def __init__(self, locate: Locate, revive: Revive | None = None, begun: Begun = lambda _owner, _run: None) -> None:
        self.locate = locate
        self._revive = revive
        self._begun = begun
        # Who was asked last.
        self.address: ServerAddress | None = None

    def method_of(self, verb: Verb) -> Callable[..., Awaitable[Any]]:
        """Return what asks the server for a verb."""

        async def ask(*args: Any, **kwargs: Any) -> Any:
            owner, *given = verb.bound(args, kwargs)
            if not verb.options.repeatable:
                return await self._carry_out(verb, given)
            given = [_keyed(verb, each) for each in given]
            try:
                done = await self._carry_out(verb, given)
            except PilothouseError as error:
                if error.code != "server_away":
                    raise
                done = await self._carry_out(verb, given)
            self._begun(owner, done)
            return done

        return ask

    async def _carry_out(self, verb: Verb, given: list[Any]) -> Any:
        path, query, body = request_of(verb, given)
        if verb.gives is PartData:
            return await self._file(path)
        if verb.gives is Download:
            whole = await self._file(f"{path}?{urlencode(query)}")
            return Download(whole.name, _once(whole.data))
        if verb.body is not None and verb.body.place == "upload":
            asked = {name: value for name, value in query.items() if value is not None}
            path = f"{path}?{urlencode(asked)}" if asked else path
            content = await _gathered(body, verb.options.body_limit)
            return await self._upload(path, verb.gives, content, verb.options.longer)
        return await self.ask(verb.method, path, verb.gives, body=body, query=query, longer=verb.options.longer)

    async def ask(
        self,
        method: Method,
        path: str,
        reply: type[T],
        *,
        body: object = None,
        query: Query | None = None,
        longer: float = 0.0,
    ) -> T:
        """Make a request and return its answer as a record."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            path = f"{path}?{urlencode(given)}"
        content = None if body is None else encode(body)
        headers = {} if content is None else {"content-type": "application/json"}
        sent = await self._send(method, path, headers, content, limits.SERVER_ANSWER + longer)
        # An answer without content says that it was done.
        return msgspec.json.decode(await self._whole(sent) or b"null", type=reply)

    async def _file(self, path: str) -> PartData:
        """Fetch a file, with the type and the name that the server sends it under."""
        reply = await self._send("GET", path, {}, None)
        data = await self._whole(reply)
        named = reply.header("content-disposition").partition("filename*=UTF-8''")[2]
        return PartData(media_type=reply.header("content-type"), name=unquote(named), data=data)

    async def _upload(self, path: str, reply: type[T], content: bytes, longer: float) -> T:
        """Send a file and return the answer."""
        headers = {"content-type": "application/x-ndjson"}
        sent = await self._send("POST", path, headers, content, limits.SERVER_ANSWER + longer)
        return msgspec.json.decode(await self._whole(sent), type=reply)

    async def open(self, path: str, headers: Mapping[str, str]) -> Reply:
        """Open a stream; the caller closes it."""
        reply = await self._send("GET", path, headers, None)
        if reply.status != 200:
            try:
                raise _problem(reply, await self._read(reply))
            finally:
                await reply.aclose()
        return reply

    async def _whole(self, reply: Reply) -> bytes:
        try:
            answer = await self._read(reply)
        finally:
            await reply.aclose()
        if reply.status >= 300:
            raise _problem(reply, answer)
        return answer

    async def _send(
        self,
        method: Method,
        path: str,
        headers: Mapping[str, str],
        content: bytes | None,
        wait: float = limits.SERVER_ANSWER,
    ) -> Reply:
        failed: ServerAddress | None = None
        end = time.monotonic() + limits.FOLDER_PATIENCE
        while True:
            try:
                return await self._send_once(method, path, headers, content, wait)
            except NetError as error:
                # What may have been done is not asked for again; nor is a process that lives and failed twice.
                done = error.problem == "silent" or (error.sent and method != "GET")
                lives = failed is not None and self.locate() == failed
                if self._revive is None or done or lives or time.monotonic() > end:
                    raise server_away(error) from None
            failed = self.address
            # Where many commands come and go, the heir may be gone by now, too.
            await self._revive(failed)

    async def _send_once(
        self, method: Method, path: str, headers: Mapping[str, str], content: bytes | None, wait: float
    ) -> Reply:
        address = self.locate()
        if address is None:
            raise NetError("unreachable", "its process has ended")
        self.address = address
        sent = {"authorization": f"Bearer {address.token}", **headers}
        url, certificate = address.url + path, address.certificate
        return await send(method, url, headers=sent, content=content, timeout=wait, certificate=certificate)

    async def _read(self, reply: Reply) -> bytes:
        try:
            return await reply.read(limits.SERVER_ANSWER_BYTES, limits.SERVER_ANSWER)
        except NetError as error:
            raise server_away(error) from None


def path_of(path: str, *parts: object) -> str:
    """Return a path about these; an id that someone typed cannot lead elsewhere."""
    quoted = iter([quote(str(part), safe="").replace(".", "%2E") for part in parts])
    return re.sub(r"{\w+}", lambda _: next(quoted), path)


def request_of(verb: Verb, given: Sequence[Any]) -> tuple[str, dict[str, Any], Any]:
    """Return the path, the query and the body that say what was given."""
    placed = list(zip(verb.takes, given, strict=True))
    query: dict[str, Any] = {}
    for each, value in placed:
        if each.place == "query":
            query[each.fields[0][0]] = value
        elif each.place == "spread":
            query |= {name: getattr(value, field) for name, field, _, _ in each.fields}
    path = path_of(verb.path, *(value for each, value in placed if each.place == "path"))
    return path, query, next((value for each, value in placed if each is verb.body), None)


def _keyed(verb: Verb, given: Any) -> Any:
    """Give a body its key, by which the same one is known when it is sent again."""
    if not verb.has_key or type(given) is not (verb.body and verb.body.kind) or given.idempotency_key:
        return given
    return msgspec.structs.replace(given, idempotency_key=new_id("u"))


async def _gathered(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """Return a file as a whole; a verb that says no bound of its own takes conversations."""
    conversations = most == limits.BODY_BYTES
    most = limits.CONVERSATIONS_FILE_BYTES if conversations else most
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > most:
            what, fix = "A file", "Split it, or shrink it."
            if conversations:
                what, fix = "A file of conversations", "Export fewer conversations at once, or use a backup."
            raise PilothouseError("too_large", f"{what} has at most {most // 2**20} MiB.", fix=fix)
    return bytes(content)


async def _once(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


def server_away(error: NetError | None = None) -> PilothouseError:
    """Return the sentence for a server that does not answer."""
    why = f": {error.why}" if error is not None else ""
    return PilothouseError(
        "server_away",
        f"The Pilothouse server does not answer{why}.",
        fix="Try again, or start it with `pilothouse serve`; what it had accepted is kept.",
    )


def _problem(reply: Reply, body: bytes) -> PilothouseError:
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        what = f"The Pilothouse server answered with status {reply.status}."
        return PilothouseError("internal", what, fix="Try again.")
    wait = reply.header("retry-after")
    retry_after = int(wait) if wait.isascii() and wait.isdigit() else None
    return PilothouseError(problem.code, problem.message, fix=problem.fix, retry_after=retry_after)
