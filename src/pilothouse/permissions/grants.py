"""What the person allows beyond one call: lasting rules in a file, passing permissions in the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from pilothouse.permissions.policy import Policy, RuleSet
from pilothouse.permissions.policy_file import checked_pattern, checked_rules, subject_of
from pilothouse.permissions.replay import replayed, uses
from pilothouse.types import limits
from pilothouse.types.authority import Example, Grant, Pattern, PolicyCheck, PolicyReplay, Rule, RuleUse
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, encode, plain
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import JsonStore
from pilothouse.types.records import PastCall, Records

T = TypeVar("T")


class PersonPermissions:
    """Implements the ports `AuthorityAdmin` and `Grants`."""

    def __init__(self, file: JsonStore[RuleSet], records: Records, expiry: Expiry | None = None) -> None:
        self.policy = Policy(file)
        self._file = file
        self._records = records
        self._expiry = expiry or Expiry()
        # Those that were seen to stand: using one asks the steady clock again.
        self._seen: dict[str, Grant] = {}

    def vet(self, pattern: Pattern, *, lasting: bool) -> None:
        rule = Rule(id="new", verdict="allow", pattern=pattern)
        _plainly(lambda: checked_rules((rule,)) if lasting else checked_pattern(pattern))

    # --- passing permissions ---

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission; its time runs from now, whatever becomes of the clock."""
        _plainly(lambda: checked_pattern(grant.pattern))
        await self._records.add_grant(grant)
        self._standing([grant])

    async def standing_grants(self, owner: str, conversation_id: str, branch: int) -> Sequence[Grant]:
        """Return the permissions of a conversation that stand, and count on the path of a branch."""
        return self._standing(await self._records.grants(owner, conversation_id, branch))

    async def grants(self, owner: str, conversation_id: str | None) -> Sequence[Grant]:
        return self._standing(await self._records.grants(owner, conversation_id))

    def _standing(self, grants: Sequence[Grant]) -> list[Grant]:
        found = [grant for grant in grants if self._expiry.stands(grant)]
        self._seen.update((grant.id, grant) for grant in found)
        return found

    async def use_grant(self, grant_id: str, at: float) -> bool:
        """Count one use; False when the permission does not stand any more."""
        known = self._seen.get(grant_id)
        if known is None or not self._expiry.stands(known):
            return False
        return await self._records.use_grant(grant_id, at)

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        await self._records.revoke_grant(owner, grant_id)

    # --- rules ---

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.policy.rules

    @property
    def problem(self) -> FileProblem | None:
        return self.policy.problem

    async def add_rule(self, rule: Rule) -> None:
        problem = self.problem
        if problem is not None:
            raise PilothouseError(
                "conflict", f"The rule was not kept: {problem.file} cannot be read.", fix="Mend the file first."
            )
        await self._change(lambda kept: [*kept, plain(_dated(rule))])

    async def replace_rules(self, rules: Sequence[Rule]) -> None:
        await self._change(lambda _kept: [plain(_dated(rule)) for rule in rules])

    async def _change(self, change: Callable[[list[JsonObject]], list[JsonObject]]) -> None:
        def changed(raw: JsonObject) -> None:
            raw["rules"] = change(list(raw.get("rules") or []))
            # Indented as the file is, it takes more; nothing is written that could not be read again.
            if 2 * len(encode(raw)) > limits.SETTINGS_FILE_BYTES:
                raise PilothouseError("too_large", "These rules are more than the file may hold.", fix="Keep fewer.")

        def update() -> None:
            _plainly(lambda: self._file.update(changed))

        await asyncio.to_thread(update)

    def replay(self, rules: Sequence[Rule], calls: Sequence[PastCall]) -> PolicyReplay:
        return replayed(_plainly(lambda: checked_rules(tuple(rules))), calls)

    def uses(self, calls: Sequence[PastCall]) -> tuple[RuleUse, ...]:
        return uses(calls)

    def check(self, example: Example) -> PolicyCheck:
        subject = subject_of(example)
        ruling = self.policy.judge(subject)
        if ruling is None:
            return PolicyCheck(why="No rule speaks about it: the conversation's mode decides, or the person.")
        return PolicyCheck(verdict=ruling.verdict, rule=ruling.rule, why=ruling.why)


def _dated(rule: Rule) -> Rule:
    return rule if rule.created_at else msgspec.structs.replace(rule, created_at=time.time())


def _plainly(work: Callable[[], T]) -> T:
    try:
        return work()
    except BadField as error:
        raise PilothouseError("bad_request", error.message) from None


class Expiry:
    """Remembers when each permission runs out by the steady clock, from when it was first seen here."""

    def __init__(self, now: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._steady = steady
        self._ends: dict[str, float] = {}

    def stands(self, grant: Grant) -> bool:
        """Return whether a permission is neither revoked nor over; a clock before its beginning tells nothing good."""
        now, steady = self._now(), self._steady()
        if grant.revoked_at is not None or grant.created_at > now:
            return False
        if grant.expires_at is None:
            return True
        end = self._ends.setdefault(grant.id, steady + grant.expires_at - now)
        return now < grant.expires_at and steady < end
