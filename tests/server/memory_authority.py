"""Rules, permissions and the record of the core that keeps everything in memory."""

from __future__ import annotations

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
    Rule,
)
from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page


class MemoryAuthority:
    """The part of HostApi that is about who may do what."""

    calls: list[str]

    def __init__(self) -> None:
        self.rules: tuple[Rule, ...] = ()
        self.given: dict[str, Grant] = {}

    async def policy(self, owner: str) -> PolicyView:
        self.calls.append("policy")
        return PolicyView(rules=self.rules)

    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        self.calls.append("set_policy")
        self.rules = body.rules
        return PolicyView(rules=self.rules)

    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        self.calls.append("replay_policy")
        return PolicyReplay(looked_at=0, allowed=0, asked=0, denied=0, changed=())

    async def check_policy(self, owner: str, example: Example) -> PolicyCheck:
        self.calls.append("check_policy")
        return PolicyCheck()

    async def grants(self, owner: str, conversation_id: str | None, page: Page = FIRST) -> GrantList:
        self.calls.append("grants")
        return GrantList(grants=tuple(grant for grant in self.given.values() if grant.owner == owner))

    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        self.calls.append("give_grant")
        grant = Grant(
            id=f"g_{len(self.given)}",
            owner=owner,
            conversation_id=body.conversation_id,
            pattern=body.pattern,
            created_at=1.0,
            expires_at=2.0,
        )
        self.given[grant.id] = grant
        return grant

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        self.calls.append("revoke_grant")
        if grant_id not in self.given or self.given[grant_id].owner != owner:
            raise PilothouseError("not_found", "There is no such permission.")
        del self.given[grant_id]

    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        self.calls.append("approvals")
        return PendingApprovals(pending=())

    async def audit(
        self,
        owner: str,
        conversation_id: str | None,
        until: int | None = None,
        limit: int = limits.AUDIT_ENTRIES,
        cursor: str | None = None,
    ) -> AuditReport:
        self.calls.append("audit")
        return AuditReport(entries=(), checks=())
