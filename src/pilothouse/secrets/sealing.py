"""Keeps what nobody may read until it is needed: encrypted with a key out of the secrets, tied to what it is for."""

from __future__ import annotations

import base64
import logging
import os
import secrets as random
import threading

from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Secrets

_log = logging.getLogger(__name__)
_KEY_NAME = "sealing-key"
_KEY_ORIGIN = "pilothouse:sealing"
_NONCE = 12


class Sealer:
    """Seals and opens bytes; implements the port `Sealing`. Both may ask a keyring: not for the event loop."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._guard = threading.Lock()
        self._key: bytes | None = None

    def seal(self, data: bytes, bound: str) -> str:
        # Imported late: few calls ever hold a secret.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce = os.urandom(_NONCE)
        return base64.b64encode(nonce + AESGCM(self._kept_key()).encrypt(nonce, data, bound.encode())).decode()

    def unseal(self, sealed: str, bound: str) -> bytes | None:
        """Return what was sealed for this purpose; None when it was changed, or the key is another one by now."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        try:
            data = base64.b64decode(sealed)
            return AESGCM(self._kept_key()).decrypt(data[:_NONCE], data[_NONCE:], bound.encode())
        except (InvalidTag, ValueError):
            return None

    def _kept_key(self) -> bytes:
        with self._guard:
            if self._key is None:
                self._key = self._from_secrets()
            return self._key

    def _from_secrets(self) -> bytes:
        try:
            return bytes.fromhex(self._secrets.settle(_KEY_NAME, random.token_hex(32), _KEY_ORIGIN))
        except (PilothouseError, ValueError) as error:
            # What is sealed opens as long as this process lives; after that the call says that it must be made anew.
            _log.warning("the key for secrets in calls cannot be kept: %s", error)
            return random.token_bytes(32)
