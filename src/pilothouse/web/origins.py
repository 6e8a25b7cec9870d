"""Which names this server answers to, and which pages may talk to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pilothouse.types.errors import PilothouseError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# A name or an address and perhaps a port: no user, no path, no other spelling.
_HOST = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?))(?::([0-9]{1,5}))?")


def parse_host(value: str) -> str | None:
    """Return the name in a Host header or an origin, without its port, or None when it is malformed."""
    match = _HOST.fullmatch(value.lower())
    if match is None or int(match[3] or 0) > 65_535:
        return None
    return match[1] or match[2]


class Origins:
    """The allowlist of names; exact, because every cleverer comparison has been beaten."""

    def __init__(self, names: Iterable[str], *, exposed: bool = False) -> None:
        self._names = LOOPBACK_NAMES | {name.lower() for name in names}
        self._exposed = exposed

    def check_host(self, values: list[str], arrived_at: str | None) -> str:
        """Return the Host header if it names us, once.

        An exposed server also answers to the very address a connection arrived at: a rebound name
        is never a bare address, so this lets the network in and keeps foreign pages out.
        """
        name = parse_host(values[0]) if len(values) == 1 else None
        if name is None or not (name in self._names or (self._exposed and name == arrived_at)):
            raise PilothouseError(
                "forbidden",
                "This server does not answer to that name.",
                fix="Open it by the address it printed, or list the name in PILOTHOUSE_ALLOWED_HOSTS.",
            )
        return values[0].lower()

    @staticmethod
    def is_own(origin: str, host: str) -> bool:
        """Return whether an Origin header is the page that this server served under this Host."""
        scheme, separator, rest = origin.partition("://")
        return bool(separator) and scheme in ("http", "https") and rest == host
