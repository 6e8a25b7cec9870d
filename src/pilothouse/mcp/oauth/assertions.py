"""Signed statements (JSON Web Tokens): who we are, said to an issuer by a key instead of a secret."""

from __future__ import annotations

import base64
import secrets
import time
from typing import Literal

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject


def client_assertion(client_id: str, audience: str, key: str, algorithm: Literal["ES256", "RS256"]) -> str:
    """Return a short-lived statement by this client, for one issuer only."""
    now = int(time.time())
    claims = {"iss": client_id, "sub": client_id, "aud": audience, "iat": now, "jti": secrets.token_urlsafe(16)}
    return signed({**claims, "exp": now + int(limits.ASSERTION_SECONDS)}, key, algorithm)


def signed(claims: JsonObject, key: str, algorithm: Literal["ES256", "RS256"]) -> str:
    """Return claims as a signed token; the key is PEM."""
    head = _part(msgspec.json.encode({"alg": algorithm, "typ": "JWT"}))
    text = f"{head}.{_part(msgspec.json.encode(claims))}"
    return f"{text}.{_part(_signature(text.encode(), key, algorithm))}"


def _signature(data: bytes, pem: str, algorithm: str) -> bytes:
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise _unusable(algorithm) from None
    if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == "secp256r1":
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    if algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    raise _unusable(algorithm)


def _unusable(algorithm: str) -> OAuthError:
    return OAuthError(
        f"The private key for this server cannot sign with {algorithm}.",
        fix="Give it as PEM: P-256 for ES256, RSA for RS256, without a passphrase.",
    )


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
