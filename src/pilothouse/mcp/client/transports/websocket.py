"""WebSocket: one connection, a message per frame in both directions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from pilothouse.mcp.client.channel import ChannelError, Deliver, Outgoing, Refusal, RequestId
from pilothouse.mcp.client.transports.arrivals import arrivals_in_steps
from pilothouse.mcp.client.transports.pending_calls import PendingCalls
from pilothouse.mcp.client.transports.problems import from_net, from_status
from pilothouse.mcp.client.transports.remote import Found, RemoteChannel, Target
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError
from pilothouse.net.websocket import NotUpgraded, Upgrade, WebSocket, open_websocket
from pilothouse.types import limits

log = logging.getLogger("pilothouse.mcp")

# What servers speak MCP under; one that knows neither opens the connection all the same.
SUBPROTOCOLS = ("mcp", "jsonrpc")
_SCHEMES = {"http": "ws", "https": "wss"}
# A wrong path shows as one of these; anything else is an answer to take seriously.
_ELSEWHERE = {200, 301, 302, 307, 308, 400, 404, 405, 426, 501}


def addresses(url: str) -> list[str]:
    """Return where the WebSocket may be: the address as one, then the usual path under it."""
    parts = urlsplit(url)
    parts = parts._replace(scheme=_SCHEMES.get(parts.scheme, parts.scheme), fragment="")
    path = parts.path.rstrip("/")
    found = [parts.geturl()]
    if not path.endswith("/ws"):
        found.append(parts._replace(path=f"{path}/ws").geturl())
    return found


class WebSocketChannel(RemoteChannel):
    """A server behind a WebSocket; `ping` is how often it is asked for a sign of life."""

    def __init__(self, target: Target, *, ping: float = limits.SOCKET_PING) -> None:
        super().__init__(target, "websocket")
        self._ping = ping
        self._socket: WebSocket | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pending = PendingCalls()

    async def open(self, deliver: Deliver) -> None:
        """Connect, under the usual path when there is no WebSocket at the address itself."""
        self._deliver = deliver
        failures: list[NotUpgraded] = []
        for url in addresses(self._target.url):
            try:
                self._socket = await self._connect(url)
            except NotUpgraded as error:
                failures.append(error)
                if error.status not in _ELSEWHERE:
                    break
            except NetError as error:
                raise await from_net(error, url) from None
            else:
                self.found = Found("websocket", url)
                work = (self._read(self._socket), self._attend(self._socket))
                self._tasks = [asyncio.create_task(each) for each in work]
                return
        raise self._refused(failures[0])

    async def send(self, message: Outgoing) -> None:
        if self._closed.done() or self._socket is None:
            raise ChannelError("The connection is closed.", sent=False)
        self._pending.sent(message)
        try:
            await self._socket.send(message.body)
        except NetError as error:
            raise await from_net(error, self.found.url) from None

    def abandon(self, request_id: RequestId) -> None:
        """Remember that nobody waits for this answer; it shares the connection with all others."""
        self._pending.over(request_id)

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        self._end(None)
        for task in self._tasks[1:]:
            task.cancel()
        try:
            if socket is not None:
                await socket.aclose()
        except BaseException:
            # Nobody waits for the goodbye any more, and reading would go on for ever.
            for task in self._tasks:
                task.cancel()
            raise
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self, url: str) -> WebSocket:
        subprotocols = self._target.subprotocols or SUBPROTOCOLS
        attempt = 1
        while True:
            granted = await self._target.access.headers(url) if self._target.access else {}
            headers = {**self._target.headers, **granted}
            log.debug(
                "WebSocket at %s://%s:%d as %s with headers %s", *place_of(url)[:3], subprotocols, sorted(headers)
            )
            try:
                target = self._target
                return await open_websocket(
                    Upgrade(url, headers, subprotocols, target.certificate, target.connect_timeout, target.longest)
                )
            except NotUpgraded as error:
                if attempt >= limits.ACCESS_ROUNDS or not await self._let_in(error, url, granted, attempt):
                    raise
            attempt += 1

    async def _let_in(self, error: NotUpgraded, url: str, granted: Mapping[str, str], attempt: int) -> bool:
        access = self._target.access
        if access is None or error.status not in (401, 403):
            return False
        challenge = error.headers.get("www-authenticate", "")
        refusal = Refusal(status=error.status, www_authenticate=challenge, url=url, sent=granted, attempt=attempt)
        return await access.challenged(refusal)

    def _refused(self, failed: NotUpgraded) -> ChannelError:
        if failed.status in _ELSEWHERE:
            return ChannelError(
                f"{self._host} opens no WebSocket at this address ({failed.status}).",
                fix="Check the path; many servers have it at /ws.",
                sent=False,
                status=failed.status,
            )
        return from_status(failed.status, failed.headers, failed.body, self._target.url)

    async def _read(self, socket: WebSocket) -> None:
        try:
            while True:
                for arrived in await arrivals_in_steps(await socket.receive()):
                    self._pending.came(arrived)
                    self._deliver(arrived)
                # Messages that have already come in are received without a pause.
                await asyncio.sleep(0)
        except NetError as error:
            await self._broke(error)

    async def _attend(self, socket: WebSocket) -> None:
        """Ask for a sign of life again and again; a tool at work may keep its server from giving one."""
        while True:
            await asyncio.sleep(self._ping)
            if not await socket.answers(self._ping) and not self._pending.is_any:
                await self._broke(NetError("broken", "it does not answer pings", sent=True))
                return

    async def _broke(self, error: NetError) -> None:
        self._end(await from_net(error, self.found.url))
