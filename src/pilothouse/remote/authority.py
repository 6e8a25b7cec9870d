"""Who may do what and who did, in a running server's core."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at, query_of
from pilothouse.types import limits
from pilothouse.types.authority import (
    AuditReport,
    Example,
    Grant,
    GrantList,
    NewGrant,
    PendingApprovals,
    PolicyCheck,
    PolicyInput,
    PolicyReplay,
    PolicyView,
)
from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page


class RemoteAuthority:
    """The part of `ClientApi` that is about rules and passing permissions, over HTTP."""

    _calling: Calling

    async def policy(self, owner: str) -> PolicyView:
        """Return the rules, how often each was used, and what is wrong with their file."""
        return await self._calling.ask("GET", "/api/policy", PolicyView)

    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        """Put these rules in the place of all others."""
        return await self._calling.ask("PUT", "/api/policy", PolicyView, body=body)

    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        """Return what rules would have done about calls of the past; nothing is kept."""
        return await self._calling.ask("POST", "/api/policy/replay", PolicyReplay, body=body)

    async def check_policy(self, owner: str, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""
        if len(example.paths) > 1:
            raise PilothouseError("bad_request", "Name one path to try.")
        query = {
            "tool": example.tool,
            "path": example.paths[0] if example.paths else None,
            "command": example.command or None,
            "destination": example.destination or None,
            "folder": example.folder,
        }
        return await self._calling.ask("GET", "/api/policy/check", PolicyCheck, query=query)

    async def grants(self, owner: str, conversation_id: str | None, page: Page = FIRST) -> GrantList:
        """Return the passing permissions of a conversation or of all that stand."""
        query = {"conversation": conversation_id, **query_of(page)}
        return await self._calling.ask("GET", "/api/grants", GrantList, query=query)

    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        """Allow something for a while, in one conversation."""
        return await self._calling.ask("POST", "/api/grants", Grant, body=body)

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission, at once."""
        await self._calling.tell("DELETE", at("grants", grant_id))

    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        """Return what waits for the person."""
        return await self._calling.ask("GET", "/api/approvals", PendingApprovals, query=query_of(page))

    async def audit(
        self,
        owner: str,
        conversation_id: str | None,
        until: int | None = None,
        limit: int = limits.AUDIT_ENTRIES,
        cursor: str | None = None,
    ) -> AuditReport:
        """Return the calls of a conversation or of all with who allowed them, and whether the record is whole."""
        query = {"conversation": conversation_id, "until": until, "limit": limit, "cursor": cursor}
        return await self._calling.ask("GET", "/api/audit", AuditReport, query=query)
