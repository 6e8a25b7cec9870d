"""Keys of browsers: WebCrypto's ECDSA over P-256 with SHA-256, in base64url."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

# Imported when a browser comes: a command that nobody visits does not pay for it.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

_POINT_BYTES, _NUMBER_BYTES = 65, 32


def is_key(text: str) -> bool:
    """Return whether a text is a public key."""
    return _public_key(text) is not None


def is_signed(key: str, signature: str, text: str) -> bool:
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
