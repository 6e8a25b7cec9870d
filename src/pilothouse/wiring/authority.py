"""Who decides about calls, and where what the person allowed is kept, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilothouse.authz.authorizer import PersonAuthorizer
from pilothouse.authz.policy import Policy
from pilothouse.authz.policy_file import new_policy, parse_policy
from pilothouse.authz.protected import Protected
from pilothouse.settings.json_file import JsonFile
from pilothouse.types.authority import Grant, Rule
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, plain
from pilothouse.wiring.foundation import Foundation


class Authority:
    """The rules in their file, the passing permissions in the database, and who judges by them."""

    def __init__(self, base: Foundation) -> None:
        home = base.home
        backup = home.cache / "last-good-policy.json"
        self.file = JsonFile(home.path / "policy.json", parse_policy, new_policy, backup=backup)
        self.policy = Policy(self.file)
        self.guard = Protected(home.path)
        self._store = base.opened.store
        self.authorizer = PersonAuthorizer(self.policy, self, self.guard)

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""
        await self._store.add_grant(grant)

    async def standing_grants(self, owner: str, conversation_id: str) -> Sequence[Grant]:
        """Return the permissions of a conversation that stand."""
        return await self._store.grants(owner, conversation_id)

    async def use_grant(self, grant_id: str, at: float) -> bool:
        """Count one use; False when the permission does not stand any more."""
        return await self._store.use_grant(grant_id, at)

    async def add_rule(self, rule: Rule) -> None:
        """Keep a lasting rule beside the others; raise `bad_request` with why it cannot be kept."""

        def add(raw: JsonObject) -> None:
            raw["rules"] = [*raw.get("rules", []), plain(rule)]

        try:
            await asyncio.to_thread(self.file.update, add)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
