"""WebSocket connections to servers that the person named."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from ssl import SSLCertVerificationError
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    NegotiationError,
    WebSocketException,
)
from websockets.typing import Subprotocol

from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError, fault
from pilothouse.net.proxies import proxy_for
from pilothouse.net.server_client import keep_alive_options, trust
from pilothouse.types import limits

# Below this it writes headers, and a header may be a key.
logging.getLogger("websockets.client").setLevel(logging.WARNING)


class Upgrade(NamedTuple):
    """What a connection is asked for with."""

    url: str
    headers: Mapping[str, str] = {}
    subprotocols: tuple[str, ...] = ()
    certificate: str = ""
    timeout: float = limits.CONNECT_TIMEOUT
    message_bytes: int = limits.MCP_MESSAGE_BYTES


class NotUpgraded(NetError):
    """The server answered the request for a WebSocket with an ordinary answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__("broken", f"it answers {status} instead of opening a WebSocket")
        self.status = status
        self.headers = headers
        self.body = body


class WebSocket:
    """An open connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.subprotocol = str(connection.subprotocol or "")
        line: socket.socket = connection.transport.get_extra_info("socket")
        for option in keep_alive_options():
            line.setsockopt(*option)

    async def send(self, text: bytes) -> None:
        """Send one message, given as UTF-8."""
        try:
            await self._connection.send(text, text=True)
        except ConnectionClosed as error:
            raise NetError("broken", _ending(error)) from None

    async def receive(self) -> bytes:
        """Return the next message, whether it came as text or as bytes."""
        try:
            return await self._connection.recv(decode=False)
        except ConnectionClosed as error:
            raise NetError("broken", _ending(error), sent=True) from None

    async def answers(self, within: float) -> bool:
        """Return whether it answers a ping in time; how it ended is heard by whoever receives."""
        try:
            async with asyncio.timeout(within):
                await (await self._connection.ping())
        except TimeoutError:
            return False
        except ConnectionClosed:
            return True
        return True

    async def aclose(self) -> None:
        await self._connection.close()


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow only what stays with the server: everything that is sent may be a credential."""
        following = super().process_redirect(exc)
        if isinstance(following, str) and place_of(following) != place_of(self.uri):
            return exc
        return following


async def open_websocket(ask: Upgrade) -> WebSocket:
    """Connect; raise NetError, or NotUpgraded with the server's answer."""
    place = place_of(ask.url)
    try:
        return WebSocket(
            await _Connect(
                ask.url,
                additional_headers=dict(ask.headers),
                subprotocols=[Subprotocol(name) for name in ask.subprotocols] or None,
                user_agent_header="pilothouse",
                # Messages are small or are texts that were made once; memory counts more than bytes on the way.
                compression=None,
                proxy=proxy_for(ask.url),
                ssl=trust(place, ask.certificate) if place.scheme == "wss" else None,
                open_timeout=ask.timeout,
                # Whoever holds it asks, and knows when no answer means nothing.
                ping_interval=None,
                close_timeout=limits.SOCKET_GOODBYE,
                max_size=ask.message_bytes,
            )
        )
    except InvalidStatus as error:
        answer = error.response
        headers = {name.lower(): value for name, value in answer.headers.raw_items()}
        raise NotUpgraded(answer.status_code, headers, bytes(answer.body)[: limits.ERROR_BODY_BYTES]) from None
    except NegotiationError as error:
        raise NetError("broken", f"it does not speak our sub-protocols ({error})") from None
    except SSLCertVerificationError as error:
        # It is a ValueError too.
        raise fault(error, place.host) from None
    except (InvalidURI, ValueError):
        raise NetError("url", "the address or a header is not valid") from None
    except TimeoutError:
        raise NetError("silent", f"it did not open a WebSocket within {ask.timeout:g} s") from None
    except InvalidHandshake as error:
        raise NetError("broken", f"it does not open a WebSocket ({error})") from None
    except (OSError, WebSocketException, EOFError) as error:
        raise fault(error, place.host) from None


def _ending(error: ConnectionClosed) -> str:
    frame = error.rcvd or error.sent
    if frame is None:
        return "the other side closed the connection"
    return f"it closed the connection with code {frame.code}" + (f" ({frame.reason[:100]})" if frame.reason else "")
