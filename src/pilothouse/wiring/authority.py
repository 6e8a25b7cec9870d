"""Who decides about calls, put together."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from pilothouse.authz.authorizer import PersonAuthorizer
from pilothouse.authz.ports import Ruling
from pilothouse.authz.protected import Protected
from pilothouse.types.access import Access
from pilothouse.types.authority import Grant, Rule
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import CallContext, Tool
from pilothouse.wiring.foundation import Foundation


class Authority:
    """What the person allowed, for as long as this program runs."""

    def __init__(self, base: Foundation) -> None:
        self._grants: dict[str, Grant] = {}
        self.guard = Protected(base.home.path)
        self.authorizer = PersonAuthorizer(self, self, self.guard)

    def verdict(self, access: Access, tool: Tool, context: CallContext) -> Ruling | None:
        """Return nothing: there are no rules."""
        return None

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""
        self._grants[grant.id] = grant

    async def add_rule(self, rule: Rule) -> None:
        """Refuse a rule."""
        raise PilothouseError("bad_request", "Rules cannot be kept here.")

    async def standing_grants(self, owner: str, conversation_id: str) -> Sequence[Grant]:
        """Return the permissions of a conversation."""
        mine = [grant for grant in self._grants.values() if grant.conversation_id == conversation_id]
        return [grant for grant in mine if grant.owner == owner and not (grant.single_use and grant.uses)]

    async def use_grant(self, grant_id: str, at: float) -> bool:
        """Count one use."""
        grant = self._grants[grant_id]
        self._grants[grant_id] = msgspec.structs.replace(grant, uses=grant.uses + 1, last_used_at=at)
        return time.time() < grant.expires_at and not (grant.single_use and grant.uses)
