"""A browser's key, as the page has one."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class BrowserKey:
    """Signs what a server chose when it started."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.public = _text(point)

    def half(self, start: str) -> str:
        """Return the half of a session for one run of a server."""
        r, s = decode_dss_signature(self._key.sign(f"pilothouse session {start}".encode(), ec.ECDSA(SHA256())))
        return f"{start}.{self.public}.{_text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
