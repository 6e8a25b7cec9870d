"""Browser sessions; only hashes of their tokens are kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Collection

from pilothouse.types import limits
from pilothouse.types.records import Records

_DAY = 86_400.0


class Sessions:
    """Begins, knows and ends sessions."""

    def __init__(self, records: Records) -> None:
        self._records = records
        # Told of a session that ended here, and of one that ended at another process; by what is kept of its token.
        self._here: list[Callable[[str], None]] = []
        self._elsewhere: list[Callable[[str], None]] = []

    def tells(self, tell: Callable[[str], None]) -> None:
        """Have others told of every session that ends here."""
        self._here.append(tell)

    def hears(self, hear: Callable[[str], None]) -> None:
        """Have it told here when a session ends at another process."""
        self._elsewhere.append(hear)

    def ended_elsewhere(self, token_hash: str) -> None:
        """Tell whoever serves it that a session has ended at another process."""
        for hear in self._elsewhere:
            hear(token_hash)

    async def living(self) -> Collection[str]:
        """Return what is kept of the tokens of all sessions that have not ended or run out."""
        return await self._records.living_sessions()

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
        token_hash = _hash(token)
        await self._records.end_session(token_hash)
        for tell in self._here:
            tell(token_hash)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
