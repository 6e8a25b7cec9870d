"""Browser sessions; only hashes of their tokens are kept."""

from __future__ import annotations

import hashlib
import secrets
import time

from pilothouse.types import limits
from pilothouse.types.records import Records

_DAY = 86_400.0


class Sessions:
    """Begins, knows and ends sessions."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def create(self, owner: str, holder: str = "") -> str:
        """Begin a session and return its token, this once; what it is asked for by is the token and then the holder."""
        token = secrets.token_urlsafe(32)
        await self._records.add_session(_hash(token + holder), owner, time.time() + limits.SESSION_DAYS * _DAY)
        return token

    async def owner_of(self, token: str) -> str | None:
        """Return whose session it is, or None when it ended or never was."""
        return await self._records.session_owner(_hash(token))

    async def end(self, token: str) -> None:
        """End a session; an unknown one is fine."""
        await self._records.end_session(_hash(token))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
