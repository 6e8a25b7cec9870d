"""Google's short-lived tokens: for a service account's key, or for the person who signed in on this machine."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from pilothouse.models.signing import TokenSigner
from pilothouse.net.client import send
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.origins import is_loopback

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKENS = "https://oauth2.googleapis.com/token"
_JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_WELL_KNOWN = "application_default_credentials.json"
# About the credentials; with any other status they may be as good as before.
_REFUSED = (400, 401, 403)
_LATER = "Try again later, and look at what stands between this machine and Google."
_FIX = "Run “gcloud auth application-default login”, or give the key of a service account."


class GoogleKey(msgspec.Struct, frozen=True):
    """A file of credentials, as Google's tools write it."""

    type: str = ""
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = _TOKENS
    client_id: str = ""
    client_secret: str = ""
    refresh_token: str = ""


class _Token(msgspec.Struct, frozen=True):
    access_token: str = ""
    expires_in: float = 3600
    error: str = ""
    error_description: str = ""


class GoogleSigner(TokenSigner):
    """Gets its tokens for a key, or for the person who signed in."""

    def __init__(
        self,
        text: str = "",
        path: str = "",
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(clock)
        self._text = text
        self._path = path
        self._environ = environ

    async def _renew(self) -> None:
        key = await asyncio.to_thread(self._key)
        address, form = await asyncio.to_thread(_asked, key, int(self._clock()))
        token = await _exchanged(address, form)
        self._token = token.access_token
        self._until = self._clock() + max(0.0, token.expires_in - limits.TOKEN_MARGIN)

    def _key(self) -> GoogleKey:
        text = self._text or _read(self._path or _usual_path(self._environ))
        try:
            return msgspec.json.decode(text, type=GoogleKey)
        except msgspec.MsgspecError:
            raise PilothouseError("no_key", "The Google credentials are not a JSON key.", fix=_FIX) from None


def _usual_path(environ: Mapping[str, str]) -> str:
    folder = environ.get("CLOUDSDK_CONFIG") or str(Path.home() / ".config" / "gcloud")
    return environ.get("GOOGLE_APPLICATION_CREDENTIALS") or str(Path(folder) / _WELL_KNOWN)


def _read(path: str) -> str:
    try:
        with at_home(path).open(encoding="utf-8") as file:
            return file.read(limits.GOOGLE_KEY_CHARS)
    except (OSError, ValueError):
        raise PilothouseError("no_key", f"There are no Google credentials in {path}.", fix=_FIX) from None


def _asked(key: GoogleKey, now: int) -> tuple[str, dict[str, str]]:
    """Return where a token is asked for, and with what."""
    # Whoever wrote the file does not choose who gets what is in it.
    address = key.token_uri if is_loopback(key.token_uri) else _TOKENS
    if key.type == "service_account" and key.private_key and key.client_email:
        return address, {"grant_type": _JWT_GRANT, "assertion": _assertion(key, address, now)}
    if key.type == "authorized_user" and key.refresh_token:
        names = ("client_id", "client_secret", "refresh_token")
        return address, {"grant_type": "refresh_token", **{name: getattr(key, name) for name in names}}
    kind = f"of the kind “{key.type[:40]}”" if key.type else "of an unknown kind"
    raise PilothouseError("no_key", f"Google credentials {kind} cannot be used here.", fix=_FIX)


def _assertion(key: GoogleKey, address: str, now: int) -> str:
    """Return a token of our own, signed with the service account's key."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - few need it, and it takes a while
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415

    try:
        private = serialization.load_pem_private_key(key.private_key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        private = None
    if not isinstance(private, rsa.RSAPrivateKey):
        raise PilothouseError("no_key", "The private key of the service account cannot be read.", fix=_FIX)
    head = {"alg": "RS256", "typ": "JWT"} | ({"kid": key.private_key_id} if key.private_key_id else {})
    claims = {"iss": key.client_email, "scope": _SCOPE, "aud": address, "iat": now, "exp": now + limits.ASSERTION_LIFE}
    body = ".".join(_encoded(msgspec.json.encode(part)) for part in (head, claims))
    return f"{body}.{_encoded(private.sign(body.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def _exchanged(address: str, form: dict[str, str]) -> _Token:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    try:
        reply = await send(
            "POST", address, headers=kind, content=urlencode(form).encode(), timeout=limits.TOKEN_TIMEOUT
        )
        try:
            body = await reply.read(limits.ERROR_BODY_BYTES, limits.TOKEN_TIMEOUT)
        finally:
            await reply.aclose()
    except NetError as error:
        raise PilothouseError("model_unreachable", f"Google could not be asked for a token: {error.why}.") from None
    try:
        token = msgspec.json.decode(body, type=_Token)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        token = _Token()
    if reply.status != 200 or not token.access_token:
        words = (token.error_description or token.error or f"status {reply.status}")[: limits.ERROR_TEXT_CHARS]
        message = f"Google gave no token: {words.rstrip('.')}."
        if reply.status not in _REFUSED:
            raise PilothouseError("model_unreachable", message, fix=_LATER)
        raise PilothouseError("bad_key", message, fix=_FIX)
    return token
