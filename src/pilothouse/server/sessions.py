"""Who may come in: one-time codes, session cookies, and the two bearer tokens of this machine."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, Sessions

Carrier = Literal["cookie", "bearer"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Someone who was let in, and by what."""

    owner: str
    carrier: Carrier
    token: str = field(repr=False)


# Whoever asks a public route; owns nothing.
NOBODY = Caller(owner="", carrier="bearer", token="")


def halves(token: str) -> tuple[str, str]:
    """Return a session's token as a browser keeps it: a cookie, and what only pages of this very port can read.

    Cookies know no ports: whoever serves another page on this machine is sent them too.
    """
    middle = len(token) // 2
    return token[:middle], token[middle:]


def digest(token: str) -> bytes:
    """Return what is compared and kept instead of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Access:
    """Decides whether a token is good, and makes links that hand one over once."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        port: int,
        tokens: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions = sessions
        self._bearers = tuple(digest(token) for token in tokens)
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._streams: dict[asyncio.Future[Any], bytes] = {}
        # Set when the server stops: its streams end, and no new ones begin.
        self.closed = False
        # Cookies do not know ports: without it in the name two servers on one machine would share one.
        self.cookie_name = f"pilothouse_{port}"

    def new_code(self) -> str:
        """Return a code that opens one session, once, for a few minutes."""
        now = self._clock()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        if len(self._codes) >= limits.OPEN_CODES:
            self._codes.pop(next(iter(self._codes)))
        code = secrets.token_urlsafe(32)
        self._codes[digest(code)] = now + limits.ONE_TIME_CODE_SECONDS
        return code

    async def redeem(self, code: str) -> str:
        """Exchange a code for a new session's token, or say that it is used up."""
        until = self._codes.pop(digest(code), None)
        if until is None or until <= self._clock():
            raise PilothouseError(
                "unauthorized",
                "This link was already used or has expired.",
                fix="Run `pilothouse open` for a new one.",
            )
        return await self._sessions.create_session(LOCAL_OWNER)

    async def caller(self, token: str, carrier: Carrier) -> Caller | None:
        """Return whose token it is; the same answer whichever way the token came."""
        key = digest(token)
        # No early exit: the time says nothing about which one matched.
        matches = sum(hmac.compare_digest(key, known) for known in self._bearers)
        owner = LOCAL_OWNER if matches else await self._sessions.session_owner(token)
        if owner is None:
            return None
        return Caller(owner=owner, carrier=carrier, token=token)

    async def end(self, caller: Caller) -> None:
        """End a session and every stream that was opened with it."""
        await self._sessions.end_session(caller.token)
        key = digest(caller.token)
        if key not in self._bearers:
            self._stop(task for task, token in self._streams.items() if token == key)

    @contextmanager
    def streaming(self, caller: Caller, task: asyncio.Future[Any]) -> Iterator[None]:
        """Let this task be cancelled when the caller's session ends, or the server does."""
        self._streams[task] = digest(caller.token)
        if self.closed:
            task.cancel()
        try:
            yield
        finally:
            del self._streams[task]

    def close_streams(self) -> None:
        """End every open stream; the server stops."""
        self.closed = True
        self._stop(self._streams)

    @staticmethod
    def _stop(tasks: Iterable[asyncio.Future[Any]]) -> None:
        for task in list(tasks):
            task.cancel()

    def cookie(self, token: str | None) -> str:
        """Return the Set-Cookie value that gives a token's first half to the browser, or takes it back."""
        age = 0 if token is None else limits.SESSION_DAYS * 86_400
        half = halves(token)[0] if token else ""
        return f"{self.cookie_name}={half}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
