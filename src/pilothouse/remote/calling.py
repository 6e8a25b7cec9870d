"""One request to a running server, and its problems as our own errors."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import quote, unquote, urlencode

import msgspec

from pilothouse.net.client import send
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Method, Reply
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.api import PartData, Problem
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode
from pilothouse.types.paging import Page

T = TypeVar("T")
Query = Mapping[str, str | int | None]
# Where the server is now: it may have been restarted on another port, with another token.
Locate = Callable[[], ServerAddress | None]
# Sees to it that someone listens again after whoever was asked has ended; given who that was.
Revive = Callable[[ServerAddress | None], Awaitable[None]]


def query_of(page: Page) -> dict[str, str | int | None]:
    """Return what a request says about the part of a list that it wants."""
    return {"limit": page.limit, "cursor": page.cursor}


class Calling:
    """Asks the server, wherever it is at the moment."""

    def __init__(self, locate: Locate, revive: Revive | None = None) -> None:
        self.locate = locate
        self._revive = revive
        # Who was asked last.
        self.address: ServerAddress | None = None

    async def ask(
        self,
        method: Method,
        path: str,
        reply: type[T],
        *,
        body: object = None,
        query: Query | None = None,
        wait: float = limits.SERVER_ANSWER,
    ) -> T:
        """Make a request and return its answer as a record."""
        return msgspec.json.decode(await self._bytes(method, path, body, query, wait), type=reply)

    async def ask_surely(self, path: str, reply: type[T], body: object) -> T:
        """Post what may be posted twice: by its key the second is known to be the first, or only the first counts."""
        try:
            return await self.ask("POST", path, reply, body=body)
        except PilothouseError as error:
            if error.code != "server_away":
                raise
        return await self.ask("POST", path, reply, body=body)

    async def file(self, path: str) -> PartData:
        """Fetch a file, with the type and the name that the server sends it under."""
        reply = await self._send("GET", path, {}, None)
        data = await self._whole(reply)
        named = reply.header("content-disposition").partition("filename*=UTF-8''")[2]
        return PartData(media_type=reply.header("content-type"), name=unquote(named), data=data)

    async def upload(self, path: str, reply: type[T], content: bytes) -> T:
        """Send a file of lines and return the answer."""
        headers = {"content-type": "application/x-ndjson"}
        return msgspec.json.decode(await self._whole(await self._send("POST", path, headers, content)), type=reply)

    async def tell(self, method: Method, path: str, *, body: object = None) -> None:
        """Make a request whose answer is empty."""
        await self._bytes(method, path, body, None)

    async def open(self, path: str, headers: Mapping[str, str]) -> Reply:
        """Open a stream; the caller closes it."""
        reply = await self._send("GET", path, headers, None)
        if reply.status != 200:
            try:
                raise _problem(reply, await self._read(reply))
            finally:
                await reply.aclose()
        return reply

    async def _bytes(
        self, method: Method, path: str, body: object, query: Query | None, wait: float = limits.SERVER_ANSWER
    ) -> bytes:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            path = f"{path}?{urlencode(given)}"
        content = None if body is None else encode(body)
        headers = {} if content is None else {"content-type": "application/json"}
        return await self._whole(await self._send(method, path, headers, content, wait))

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


def at(*parts: str) -> str:
    """Return the path of these parts; an id that someone typed cannot lead elsewhere."""
    return "/api/" + "/".join(quote(part, safe="").replace(".", "%2E") for part in parts)


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
