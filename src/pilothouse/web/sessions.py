"""Who may come in: one-time codes, browsers' sessions, and the two bearer tokens of this machine.

A browser's session is in two halves. The cookie goes to every port of the machine, for cookies know no ports. The
other half only pages of this very port can make: it is signed with a key that the browser keeps and no script can
read, and it is good for one run of the server, which chooses what is signed. So whoever listens on our port while we
are away, and takes down all that a browser sends, holds nothing that works when we are back.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pilothouse.host.sessions import Sessions
from pilothouse.types import limits
from pilothouse.types.address import proof_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.web.failed_sign_ins import FailedSignIns

# Imported when a browser comes: a command that nobody visits does not pay for it.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

log = logging.getLogger(__name__)

Carrier = Literal["cookie", "bearer"]
# Keys of browsers: WebCrypto's ECDSA over P-256 with SHA-256, in base64url.
_POINT_BYTES, _NUMBER_BYTES = 65, 32


@dataclass(frozen=True, slots=True)
class Caller:
    """Someone who was let in, and by what."""

    owner: str
    carrier: Carrier
    token: str = field(repr=False)


# Whoever asks a public route; owns nothing.
NOBODY = Caller(owner="", carrier="bearer", token="")


def digest(token: str) -> bytes:
    """Return what is compared and kept instead of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Door(Protocol):
    """What all servers of an installation have in common: what browsers sign, and the codes that let one in once."""

    @property
    def start(self) -> str:
        """Return what a browser's key signs; known to anyone, and another one after nobody was there."""

    @property
    def name(self) -> str:
        """Return what tells this installation's cookies from those of others on the machine."""

    async def add(self, code: str) -> None:
        """Keep the digest of a code, for a few minutes; the oldest make room."""

    async def take(self, code: str) -> bool:
        """Return whether a code with this digest is good, once."""


class OwnDoor:
    """The door of one server, in its memory; implements the protocol `Door`."""

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        # Made anew by each process.
        self.start = secrets.token_urlsafe(16)
        # Cookies do not know ports: without it in the name two servers on one machine would share one.
        self.name = str(port)
        self._clock = clock
        self._codes: dict[str, float] = {}

    async def add(self, code: str) -> None:
        now = self._clock()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        if len(self._codes) >= limits.OPEN_CODES:
            self._codes.pop(next(iter(self._codes)))
        self._codes[code] = now + limits.ONE_TIME_CODE_SECONDS

    async def take(self, code: str) -> bool:
        until = self._codes.pop(code, None)
        return until is not None and until > self._clock()


class Access:
    """Decides whether a token is good, and makes links that hand one over once."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        port: int,
        tokens: tuple[str, ...] = (),
        secure: bool = False,
        clock: Callable[[], float] = time.monotonic,
        door: Door | None = None,
    ) -> None:
        self._sessions = sessions
        self._door = door or OwnDoor(port, clock)
        self._port = port
        self._secure = secure
        self.failed_sign_ins = FailedSignIns(clock)
        self._bearers = tuple(digest(token) for token in tokens)
        # The last one is this account's own, which nobody chose.
        self._local = tokens[-1] if tokens else ""
        self._streams: dict[asyncio.Future[Any], bytes] = {}
        sessions.hears(self._ended)
        # Who got in already is not held up by others of the same address who try; and a signature is checked once.
        self._good: set[bytes] = set()
        self._signed: set[str] = set()
        # Set when the server stops: its streams end, and no new ones begin.
        self.closed = False
        # Over TLS its prefix keeps it from being set by anyone who cannot speak TLS in our name.
        self.cookie_name = f"{'__Host-' if secure else ''}pilothouse_{self._door.name}"

    @property
    def start(self) -> str:
        """Return what a browser's key signs."""
        return self._door.start

    @property
    def seen_cookie_name(self) -> str:
        """Return the name of the cookie that tells a page which run of the server it is of; it opens nothing."""
        return f"pilothouse_{self._port}_seen"

    async def new_code(self) -> str:
        """Return a code that opens one session, once, for a few minutes."""
        code = secrets.token_urlsafe(32)
        await self._door.add(digest(code).hex())
        return code

    def proof(self, challenge: str) -> str:
        """Return what tells this account's commands that they have reached the process that they mean."""
        return proof_of(self._local, challenge[: limits.CHALLENGE_CHARS])

    async def new_link(self, authority: str) -> str:
        """Return an address that opens the page once, signed in; no cache can hold a page of that address."""
        scheme = "https" if self._secure else "http"
        return f"{scheme}://{authority}/?in={secrets.token_urlsafe(6)}#code={await self.new_code()}"

    async def redeem(self, code: str, key: str, client: str) -> tuple[str, str]:
        """Exchange a code for a session: its cookie's value, and the other half unless the browser has a key for it."""
        self.failed_sign_ins.check(client)
        if not await self._door.take(digest(code).hex()):
            self.failed_sign_ins.failed(client)
            raise PilothouseError(
                "unauthorized",
                "This link was already used or has expired.",
                fix="Run `pilothouse open` for a new one.",
            )
        if key and not _is_key(key):
            raise PilothouseError("bad_request", "The browser's key is not a point of P-256 in base64url.")
        half = "" if key else f"{self.start}.{secrets.token_urlsafe(32)}"
        token = await self._sessions.create(LOCAL_OWNER, self._holder(key=key, half=half))
        return token, half

    async def bearer(self, token: str, client: str) -> Caller | None:
        """Return who sends a bearer token, if it is one of this server's own."""
        key = digest(token)
        # No early exit: the time says nothing about which one matched.
        good = sum(hmac.compare_digest(key, known) for known in self._bearers) > 0
        if good and key in self._good:
            return Caller(owner=LOCAL_OWNER, carrier="bearer", token=token)
        self.failed_sign_ins.check(client)
        if not good:
            self.failed_sign_ins.failed(client)
            return None
        self._remember(key)
        return Caller(owner=LOCAL_OWNER, carrier="bearer", token=token)

    async def browser(self, cookies: Sequence[str], half: str, client: str) -> Caller | None:
        """Return whose session one of these cookies and a half are; other programs of this host may add cookies."""
        if not half.startswith(f"{self.start}."):
            # Of a run before this one: the page makes another, which is no guess.
            return None
        holder = self._holder_of(half)
        known = [f"{cookie}{holder}" for cookie in cookies if holder]
        # The browser puts the cookie of the shortest path last, and ours is that one.
        for token in reversed(known[-limits.COOKIES_TRIED :]):
            key = digest(token)
            if key not in self._good:
                self.failed_sign_ins.check(client)
            owner = await self._sessions.owner_of(token)
            if owner is not None:
                self._remember(key)
                return Caller(owner=owner, carrier="cookie", token=token)
        self.failed_sign_ins.failed(client)
        return None

    def _holder(self, *, key: str = "", half: str = "") -> str:
        """Return what a cookie is good together with: the installation, and a key, or a half of this start."""
        return f" {self._door.name} key {key}" if key else f" {self._door.name} half {half}"

    def _holder_of(self, half: str) -> str:
        """Return who holds a session by this half, empty when its signature is not good."""
        _, key, signature = (*half.split(".", 2), "")[:3]
        if not signature:
            return self._holder(half=half)
        if half not in self._signed:
            if not _is_signed(key, signature, f"pilothouse session {self.start}"):
                return ""
            if len(self._signed) >= limits.SESSIONS_KNOWN:
                self._signed.clear()
            self._signed.add(half)
        return self._holder(key=key)

    def _remember(self, key: bytes) -> None:
        if len(self._good) >= limits.SESSIONS_KNOWN:
            self._good.clear()
        self._good.add(key)

    async def end(self, caller: Caller) -> None:
        """End a session and every stream that was opened with it."""
        await self._sessions.end(caller.token)
        self._ended(digest(caller.token).hex())

    def _ended(self, token_hash: str) -> None:
        ended = (task for task, key in self._streams.items() if key.hex() == token_hash and key not in self._bearers)
        self._stop(ended)

    async def look_after(self) -> None:
        """End the streams of sessions that ended elsewhere or ran out, for as long as the server runs."""
        while True:
            await asyncio.sleep(limits.SESSIONS_LOOK)
            # Noted before: a session that begins while the database is asked is not among what it says.
            held = {task: key for task, key in self._streams.items() if key not in self._bearers}
            if held:
                try:
                    living = await self._sessions.living()
                except PilothouseError as error:
                    log.info("whether sessions still hold could not be looked up: %s", error.message)
                else:
                    self._stop(task for task, key in held.items() if key.hex() not in living)

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
        """Return the Set-Cookie value that gives a session's cookie to the browser, or takes it back."""
        age = 0 if token is None else limits.SESSION_DAYS * 86_400
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie_name}={token or ''}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def _is_key(text: str) -> bool:
    """Return whether a text is a public key."""
    return _public_key(text) is not None


def _is_signed(key: str, signature: str, text: str) -> bool:
    """Return whether whoever has the key's private half signed a text."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    public, numbers = _public_key(key), _decoded(signature, 2 * _NUMBER_BYTES)
    if public is None or numbers is None:
        return False
    r, s = (int.from_bytes(part, "big") for part in (numbers[:_NUMBER_BYTES], numbers[_NUMBER_BYTES:]))
    try:
        public.verify(encode_dss_signature(r, s), text.encode(), ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _public_key(text: str) -> EllipticCurvePublicKey | None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey  # noqa: PLC0415

    point = _decoded(text, _POINT_BYTES)
    try:
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), point) if point is not None else None
    except ValueError:
        return None


def _decoded(text: str, size: int) -> bytes | None:
    """Return the bytes of a text without padding, if it is so many in their only spelling."""
    try:
        found = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    exact = base64.urlsafe_b64encode(found).rstrip(b"=").decode() == text
    return found if len(found) == size and exact else None
