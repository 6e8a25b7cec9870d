"""Taking a port before anything else is opened, so that a taken one costs nothing."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import is_loopback_host
from pilothouse.web.tls import Tls

WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - the names that are refused without the flag


@dataclass(frozen=True)
class Listener:
    """A bound socket and how to reach it."""

    socket: socket.socket
    host: str
    port: int
    exposed: bool
    # One sentence when the port is not the one that was meant.
    note: str = ""

    # What it speaks TLS with; without it, plain HTTP.
    tls: Tls | None = None

    @property
    def authority(self) -> str:
        """Return the name and the port to open in a browser on this machine."""
        name = "127.0.0.1" if self.host in WILDCARDS else self.host
        return f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """Return the address to open in a browser on this machine."""
        return f"{'https' if self.tls else 'http'}://{self.authority}"

    def close(self) -> None:
        """Let the port go."""
        self.socket.close()


def listen(
    host: str = "127.0.0.1",
    port: int | None = None,
    *,
    expose_to_network: bool = False,
    tls: Tls | None = None,
    usual: int | None = None,
) -> Listener:
    """Bind and return a listener; a port that was asked for must be free, the default one may move on."""
    exposed = not is_loopback_host(host)
    if exposed and not expose_to_network:
        raise PilothouseError(
            "bad_request",
            f"{host or 'An empty host'} would let others on the network reach this server.",
            fix="Leave out --host, or add --expose-to-network if that is what you want.",
        )
    wanted = (usual or limits.DEFAULT_PORT) if port is None else port
    tries = limits.PORT_TRIES + 1 if port is None else 1
    for candidate in range(wanted, wanted + tries):
        bound = _bind(host, candidate)
        if bound is not None:
            actual = bound.getsockname()[1]
            note = f"Port {wanted} is taken, so this is port {actual}." if candidate != wanted else ""
            return Listener(bound, host, actual, exposed, note, tls)
    raise PilothouseError(
        "port_taken",
        f"Port {wanted} is taken by another program."
        if tries == 1
        else f"Ports {wanted} to {wanted + tries - 1} are all taken by other programs.",
        fix="Stop that program, or choose another port with --port.",
    )


def _bind(host: str, port: int) -> socket.socket | None:
    """Return a listening socket, None when the port is taken, or say why there cannot be one."""
    if not 0 <= port <= 65_535:
        # The system would take the remainder and listen somewhere else.
        raise _unusable(host, port, ValueError("ports go from 0 to 65535"))
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise _unusable(host, port, error) from None
    try:
        _prepare(bound)
        bound.bind(address)
        bound.listen(socket.SOMAXCONN)
        bound.setblocking(False)
    except (OSError, OverflowError) as error:
        bound.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            return None
        raise _unusable(host, port, error) from None
    return bound


def _prepare(bound: socket.socket) -> None:
    if sys.platform == "win32":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        # A port of a server that just ended may be taken again; one that another holds may not.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Inherited by every connection: the kernel drops a reader that takes nothing.
        with suppress(OSError):
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.WRITE_TIMEOUT * 1000))


def _unusable(host: str, port: int, error: Exception) -> PilothouseError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return PilothouseError(
        "bad_request", f"The server cannot listen on {host}, port {port}: {reason}.", fix="Choose another host or port."
    )
