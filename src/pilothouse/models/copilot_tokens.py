"""GitHub Copilot's short-lived tokens, for the person who signed in with GitHub's own tools.

GitHub documents none of this for other programs. Requests say that they come from Pilothouse; what GitHub makes of that
is GitHub's to say, and its words are told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse import __version__
from pilothouse.models.copilot_login import CLASSIC, find_token
from pilothouse.models.signing import Outgoing, TokenSigner
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import is_loopback, origin_of

_GITHUB = "https://api.github.com"
_TOKENS = "/copilot_internal/v2/token"
_NAME = f"pilothouse/{__version__}"
# Its endpoints want to know which program asks.
_WHO = {"user-agent": _NAME, "editor-version": _NAME, "editor-plugin-version": _NAME}
# A token that a person made goes as it is; one of a sign-in is exchanged first.
_MADE = ("github_pat_", "ghs_")
_NOT_EXCHANGED = (403, 404)
# About the sign-in; with any other status it may be as good as before.
_REFUSED = (400, 401, 403, 404, 422)
_LATER = "Try again later, and look at what stands between this machine and GitHub."
_SIGN_IN = "Sign in to Copilot again with GitHub's own tools."
_CLASSIC = "GitHub Copilot takes no classic token (ghp_…)."
_FINE = "Make a fine-grained token with the permission “Copilot Requests”."


class _Token(msgspec.Struct, frozen=True):
    """What GitHub gives for a sign-in; nothing of another kind than usual counts."""

    token: object = ""
    expires_at: object = 0
    endpoints: object = None
    message: object = ""
    error_details: object = None

    @property
    def value(self) -> str:
        """Return the token; empty for none that a header can hold."""
        return self.token if isinstance(self.token, str) and self.token.isascii() and self.token.isprintable() else ""

    @property
    def until(self) -> float:
        """Return when it passes, in seconds since 1970; at once where that is not said."""
        return self.expires_at if isinstance(self.expires_at, int | float) else 0.0

    @property
    def place(self) -> str:
        """Return the address that came with it; empty for none."""
        api = self.endpoints.get("api") if isinstance(self.endpoints, dict) else ""
        return api if isinstance(api, str) else ""

    @property
    def words(self) -> str:
        """Return why there is none, in GitHub's words; those for people first."""
        details = self.error_details.get("message") if isinstance(self.error_details, dict) else ""
        return next((said for said in (details, self.message) if isinstance(said, str) and said), "")


class _Said(msgspec.Struct, frozen=True):
    role: str = ""
    type: str = ""


class _Body(msgspec.Struct, frozen=True):
    messages: list[_Said] = []
    input: list[_Said] = []


class CopilotSigner(TokenSigner):
    """Adds a token and our name to each request, and sends it to where GitHub said with the token."""

    def __init__(
        self,
        token: str = "",
        path: str = "",
        *,
        base_url: str,
        may_move: Callable[[str], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(clock)
        self._given = token.strip()
        self._path = path
        self._github = origin_of(base_url) if is_loopback(base_url) else _GITHUB
        self._may_move = may_move
        self._place = ""

    def _with_token(self, request: Outgoing, token: str) -> Outgoing:
        headers = {**_WHO, **_about(request.body), **request.headers, "authorization": token}
        return Outgoing(request.method, _moved(request.url, self._place), headers, request.body)

    async def _renew(self) -> None:
        # Read anew: a person who signed in again has another one.
        login = self._given or await asyncio.to_thread(find_token, self._path)
        if login.startswith(CLASSIC):
            raise PilothouseError("bad_key", _CLASSIC, fix=_FINE)
        found = None if login.startswith(_MADE) else await self._exchanged(login)
        now = self._clock()
        if found is None:
            self._token, self._place, self._until = login, "", now + limits.COPILOT_LOGIN_LIFE
            return
        self._token = found.value
        self._place = found.place if self._may_move(found.place) else ""
        self._until = max(now, found.until - limits.TOKEN_MARGIN)

    async def _exchanged(self, login: str) -> _Token | None:
        """Return the token that GitHub gives for a sign-in; None where that itself may be good."""
        headers = {**_WHO, "authorization": f"token {login}", "accept": "application/json"}
        limit = limits.ERROR_BODY_BYTES
        try:
            reply = await fetch(self._github + _TOKENS, headers=headers, timeout=limits.TOKEN_TIMEOUT, limit=limit)
        except NetError as error:
            message = f"GitHub could not be asked for a Copilot token: {error.why}."
            raise PilothouseError("model_unreachable", message) from None
        try:
            token = msgspec.json.decode(reply.body, type=_Token)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            token = _Token()
        if reply.status == 200 and token.value:
            return token
        if reply.status in _NOT_EXCHANGED and not token.error_details:
            return None
        words = (token.words or _unsaid(reply.status)).replace(login, "…")[: limits.ERROR_TEXT_CHARS]
        message = f"GitHub gave no Copilot token: {words.rstrip('.')}."
        if reply.status in _REFUSED:
            raise PilothouseError("bad_key", message, fix=_SIGN_IN)
        raise PilothouseError("model_unreachable", message, fix=_LATER)


def _unsaid(status: int) -> str:
    return "its answer was something else" if status == 200 else f"status {status}"


def _moved(url: str, place: str) -> str:
    """Return an address at another origin; its own where there is none."""
    if not place:
        return url
    parts, there = urlsplit(url), urlsplit(place)
    return urlunsplit((there.scheme, there.netloc, there.path.rstrip("/") + parts.path, parts.query, ""))


def _about(body: bytes) -> dict[str, str]:
    """Return what Copilot wants to hear of a request: whether a person began it, and whether it shows pictures."""
    if not body:
        return {}
    told = {"openai-intent": "conversation-panel", "x-initiator": "agent" if _goes_on(body) else "user"}
    # Inside of words a quote would have a stroke before it.
    if b'"type":"image_url"' in body or b'"type":"input_image"' in body:
        told["copilot-vision-request"] = "true"
    return told


def _goes_on(body: bytes) -> bool:
    """Return whether a request brings results of calls, and no person's new words."""
    asked = msgspec.json.decode(body, type=_Body)
    for said in reversed(asked.messages or asked.input):
        if said.role == "tool" or said.type == "function_call_output":
            return True
        if said.role == "assistant":
            return False
    return False
