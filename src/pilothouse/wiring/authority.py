"""Who decides about calls, put together."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.authz.authorizer import PersonAuthorizer
from pilothouse.authz.ports import Ruling
from pilothouse.authz.protected import Protected
from pilothouse.types.access import Access
from pilothouse.types.authority import Grant
from pilothouse.types.ports import CallContext, Tool
from pilothouse.wiring.foundation import Foundation


class _Nothing:
    """No rules and no permissions: everything is asked about."""

    def verdict(self, access: Access, tool: Tool, context: CallContext) -> Ruling | None:
        return None

    async def standing_grants(self, owner: str, conversation_id: str) -> Sequence[Grant]:
        return ()

    async def use_grant(self, grant_id: str, at: float) -> bool:
        return False


def authorizer(base: Foundation) -> PersonAuthorizer:
    """Return who decides about calls, from the person's rules and permissions."""
    nothing = _Nothing()
    return PersonAuthorizer(nothing, nothing, Protected(base.home.path))
