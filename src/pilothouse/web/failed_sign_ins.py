"""Failed sign-ins: written down, and held up when they come from the network one after the other."""

from __future__ import annotations

import ipaddress
import logging
import math
from collections.abc import Callable

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import is_loopback_host

log = logging.getLogger(__name__)


class FailedSignIns:
    """Counts who failed within the last minute; this machine itself is never held up."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._all = 0
        self._until = 0.0
        self._told_at = float("-inf")

    def check(self, client: str) -> None:
        """Raise if an address has failed too often to be heard before the minute is over."""
        if is_loopback_host(client):
            return
        self._begin_minute()
        # When many addresses guess, each has one try: who comes for the first time is heard even then.
        allowed = limits.FAILED_SIGN_INS if self._all < limits.FAILED_SIGN_INS_ALL else 1
        if self._failures.get(_neighbours(client), 0) >= allowed:
            seconds = max(1, math.ceil(self._until - self._clock()))
            raise PilothouseError(
                "too_many",
                "Too many sign-ins from this address have failed.",
                fix=f"Try again in {seconds} seconds.",
                retry_after=seconds,
            )

    def failed(self, client: str) -> None:
        """Count a failure, and log it without what was tried."""
        self._begin_minute()
        place = _neighbours(client)
        self._all += 1
        self._failures[place] = self._failures.pop(place, 0) + 1
        if len(self._failures) > limits.FAILED_ADDRESSES:
            del self._failures[next(iter(self._failures))]
        now = self._clock()
        if now - self._told_at >= limits.STRANGERS_TOLD:
            self._told_at = now
            log.warning(
                "a sign-in from %s failed: %d times within this minute, %d from all addresses",
                client or "an unknown address",
                self._failures[place],
                self._all,
            )

    def _begin_minute(self) -> None:
        now = self._clock()
        if now >= self._until:
            self._failures, self._all, self._until = {}, 0, now + limits.FAILED_SIGN_IN_SECONDS


def _neighbours(client: str) -> str:
    """Return what counts as one address: whoever has one of IPv6 has its whole network."""
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)
