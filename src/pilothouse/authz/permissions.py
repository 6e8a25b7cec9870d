"""What the person allows beyond one call: lasting rules in a file, passing permissions in the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from pilothouse.authz.expiry import Expiry
from pilothouse.authz.policy import Policy, RuleSet
from pilothouse.authz.policy_file import checked_pattern, checked_rules, subject_of
from pilothouse.authz.replay import replayed, uses
from pilothouse.types import limits
from pilothouse.types.authority import Example, Grant, Pattern, PolicyCheck, PolicyReplay, Rule, RuleUse
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, encode, plain
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import JsonStore
from pilothouse.types.records import AuthorityRecords, PastCall

T = TypeVar("T")


class PersonPermissions:
    """Implements the ports `AuthorityAdmin` and `Grants`."""

    def __init__(self, file: JsonStore[RuleSet], records: AuthorityRecords, expiry: Expiry | None = None) -> None:
        self.policy = Policy(file)
        self._file = file
        self._records = records
        self._expiry = expiry or Expiry()
        # Those that were seen to stand: using one asks the steady clock again.
        self._seen: dict[str, Grant] = {}

    def vet(self, pattern: Pattern, *, lasting: bool) -> None:
        """Raise `bad_request` with why a permission for such calls cannot be kept."""
        rule = Rule(id="new", verdict="allow", pattern=pattern)
        _plainly(lambda: checked_rules((rule,)) if lasting else checked_pattern(pattern))

    # --- passing permissions ---

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission; its time runs from now, whatever becomes of the clock."""
        _plainly(lambda: checked_pattern(grant.pattern))
        await self._records.add_grant(grant)
        self._standing([grant])

    async def standing_grants(self, owner: str, conversation_id: str) -> Sequence[Grant]:
        """Return the permissions of a conversation that stand."""
        return self._standing(await self._records.grants(owner, conversation_id))

    async def grants(self, owner: str, conversation_id: str | None) -> Sequence[Grant]:
        """Return the permissions of a conversation or of all that stand now, newest first."""
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
        """Withdraw a passing permission."""
        await self._records.revoke_grant(owner, grant_id)

    # --- rules ---

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in force, or the last that could be read."""
        return self.policy.rules

    @property
    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file of the rules."""
        return self.policy.problem

    async def add_rule(self, rule: Rule) -> None:
        """Keep a rule beside the others; while their file cannot be read, none is added."""
        problem = self.problem
        if problem is not None:
            raise PilothouseError(
                "conflict", f"The rule was not kept: {problem.file} cannot be read.", fix="Mend the file first."
            )
        await self._change(lambda kept: [*kept, plain(_dated(rule))])

    async def replace_rules(self, rules: Sequence[Rule]) -> None:
        """Put these rules in the place of all others; a file that cannot be read is put aside."""
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
        """Return what rules would have done about calls of the past."""
        return replayed(_plainly(lambda: checked_rules(tuple(rules))), calls)

    def uses(self, calls: Sequence[PastCall]) -> tuple[RuleUse, ...]:
        """Return how often rules decided about these calls."""
        return uses(calls)

    def check(self, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""
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
