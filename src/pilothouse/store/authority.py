"""The part of the store that is about who may do what, and who did."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pilothouse.store import audit, grants, waiting
from pilothouse.store.database import Database
from pilothouse.types.authority import AuditCheck, AuditEntry, Grant, PendingApprovals
from pilothouse.types.paging import Page
from pilothouse.types.records import PastCall


class AuthorityStore:
    """Grants, questions that wait, past calls, and the audit."""

    _database: Database

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""
        await self._database.write(lambda c: grants.add(c, grant))

    async def grants(self, owner: str, conversation_id: str | None) -> Sequence[Grant]:
        """Return the grants of a conversation or of all that stand now, newest first."""
        return await self._database.read(lambda c: grants.standing(c, owner, conversation_id, time.time()))

    async def use_grant(self, grant_id: str, at: float) -> bool:
        """Count one use; False when the grant does not stand any more."""
        # The intent of the call, which is a promise, comes after it and takes it along.
        return await self._database.write(lambda c: grants.use(c, grant_id, at), promised=False)

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a grant; raise `not_found` for one that never was."""
        await self._database.write(lambda c: grants.revoke(c, owner, grant_id, time.time()))

    async def pending(self, owner: str, page: Page) -> PendingApprovals:
        """Return the questions that wait for the person, in whichever conversation, oldest first."""
        return await self._database.read(lambda c: waiting.pending(c, owner, page))

    async def past_calls(self, owner: str, limit: int) -> Sequence[PastCall]:
        """Return calls of the past, of the most recently used conversations first."""
        return await self._database.read(lambda c: waiting.past_calls(c, owner, limit))

    async def audited(self, owner: str) -> Sequence[str]:
        """Return the conversations that an audit is about, deleted ones too."""
        return await self._database.read(lambda c: audit.conversations(c, owner))

    async def audit(
        self, owner: str, conversation_id: str, until: int | None = None
    ) -> tuple[Sequence[AuditEntry], AuditCheck]:
        """Return the calls of a conversation in order, and whether its events are as they were written."""
        return await self._database.read(lambda c: audit.report(c, owner, conversation_id, until))
