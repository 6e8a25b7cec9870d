"""An authorizer over rules and permissions that a test holds in its hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from pilothouse.authz.authorizer import PersonAuthorizer
from pilothouse.authz.policy import Policy, RuleSet
from pilothouse.authz.protected import Protected
from pilothouse.types.authority import Grant, Pattern, Rule, Verdict
from pilothouse.types.json import JsonObject
from pilothouse.types.models import FileProblem

NOWHERE = Path("/nonexistent/pilothouse")


class HeldRules:
    """The content of a rules file, without the file."""

    def __init__(self, *rules: Rule) -> None:
        self.value = RuleSet(rules)
        self.problem: FileProblem | None = None

    def refresh(self) -> bool:
        return False

    def update(self, change: Callable[[JsonObject], None]) -> RuleSet:
        raise NotImplementedError

    def say(self, *rules: Rule) -> None:
        """Replace the rules."""
        self.value = RuleSet(rules)


class HeldGrants:
    """Passing permissions in memory; implements the port `Grants`."""

    def __init__(self, *grants: Grant) -> None:
        self.grants = {grant.id: grant for grant in grants}

    async def standing_grants(self, owner: str, conversation_id: str) -> Sequence[Grant]:
        return [grant for grant in self.grants.values() if grant.conversation_id == conversation_id and _stands(grant)]

    async def use_grant(self, grant_id: str, at: float) -> bool:
        grant = self.grants[grant_id]
        if not _stands(grant):
            return False
        self.grants[grant_id] = msgspec.structs.replace(grant, uses=grant.uses + 1, last_used_at=at)
        return True

    def revoke(self, grant_id: str) -> None:
        self.grants[grant_id] = msgspec.structs.replace(self.grants[grant_id], revoked_at=time.time())


def _stands(grant: Grant) -> bool:
    used_up = grant.single_use and grant.uses > 0
    return grant.revoked_at is None and not used_up and time.time() < grant.expires_at


def a_rule(verdict: Verdict, pattern: Pattern, rule_id: str = "rule", note: str = "") -> Rule:
    return Rule(id=rule_id, verdict=verdict, pattern=pattern, note=note)


def a_grant(pattern: Pattern, grant_id: str = "g_1", *, lasts: float = 300.0, **more: object) -> Grant:
    now = time.time()
    grant = Grant(
        id=grant_id,
        owner="",
        conversation_id="c_1",
        pattern=pattern,
        created_at=now,
        expires_at=now + lasts,
        single_use=False,
    )
    return msgspec.structs.replace(grant, **more)


def an_authorizer(
    *grants: Grant, rules: HeldRules | None = None, held: HeldGrants | None = None, guard: Protected | None = None
) -> PersonAuthorizer:
    return PersonAuthorizer(
        Policy(rules or HeldRules()), held or HeldGrants(*grants), guard or Protected(NOWHERE, NOWHERE)
    )
