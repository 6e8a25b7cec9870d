"""Sign-ins on their way: each with a state that is good once and for a short while, and a proof that only we have."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping

import msgspec

from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.types import limits


class Flow(msgspec.Struct, frozen=True):
    """One sign-in: what the browser carries (`state`, `challenge`) and what it never sees (`verifier`)."""

    state: str
    verifier: str
    began: float

    @property
    def challenge(self) -> str:
        """Return the hash that the issuer compares the verifier with (PKCE, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Flows:
    """The sign-ins that are open now; a redirect belongs to exactly one of them."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: dict[str, Flow] = {}

    def begin(self) -> Flow:
        """Open a sign-in; those that nobody finished are forgotten."""
        now = self._now()
        self._open = {state: flow for state, flow in self._open.items() if now - flow.began < limits.SIGN_IN_SECONDS}
        flow = Flow(secrets.token_urlsafe(32), secrets.token_urlsafe(64), now)
        self._open[flow.state] = flow
        return flow

    def finish(self, query: Mapping[str, str]) -> Flow:
        """Return the sign-in that a redirect belongs to, once; raise for every other redirect."""
        flow = self._open.pop(query.get("state", ""), None)
        if flow is None or self._now() - flow.began >= limits.SIGN_IN_SECONDS:
            raise OAuthError(
                "This sign-in is not one that waits here: it was used already, took too long, or is not ours.",
                fix="Sign in again.",
            )
        return flow

    def drop(self, flow: Flow) -> None:
        """Give a sign-in up."""
        self._open.pop(flow.state, None)
