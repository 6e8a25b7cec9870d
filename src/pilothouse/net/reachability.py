"""Whether this machine has a network at all."""

from __future__ import annotations

import errno
import socket

from pilothouse.types.origins import is_loopback_host

# Addresses for examples: nothing is sent to them, the question is only whether there is a way.
_SOMEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.ENETDOWN, errno.EAFNOSUPPORT}


def is_offline(host: str) -> bool:
    """Return whether there is no way to anything beyond this machine, which is where the host is."""
    return not is_loopback_host(host) and not any(_has_way(family, there) for family, there in _SOMEWHERE)


def _has_way(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError as error:
        return error.errno not in _NO_WAY
    return True
