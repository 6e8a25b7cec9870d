"""What rules would have done about calls of the past, before they are kept; and how often the kept ones did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from pilothouse.permissions.matching import Subject
from pilothouse.permissions.policy import RuleSet
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import Decision, PolicyReplay, ReplayedCall, RuleUse, Verdict
from pilothouse.types.records import PastCall

# Where only the person's word about the very call counts, no rule would have changed that they were asked.
_INSISTED = frozenset({"protected", "dangerous", "tainted", "leaving", "volume"})


class _Past(msgspec.Struct, frozen=True):
    """A call of the past with what is known about its decision."""

    call: PastCall
    access: Access
    decision: Decision

    @property
    def before(self) -> Verdict:
        """Return what was done about it; where the person decided, they were asked."""
        return "ask" if self.decision.authority == "person" else self.decision.verdict


def replayed(rules: RuleSet, calls: Iterable[PastCall]) -> PolicyReplay:
    """Return what would be different."""
    counts: Counter[Verdict] = Counter()
    changed: list[ReplayedCall] = []
    for past in _known(calls):
        after, rule = _after(rules, past)
        counts[after] += 1
        if after != past.before and len(changed) < limits.REPLAYED_SHOWN:
            changed.append(_row(past, after, rule))
    return PolicyReplay(
        looked_at=counts.total(),
        allowed=counts["allow"],
        asked=counts["ask"],
        denied=counts["deny"],
        changed=tuple(changed),
    )


def uses(calls: Iterable[PastCall]) -> tuple[RuleUse, ...]:
    """Return how often each rule decided about these calls, and when last."""
    found: dict[str, list[float]] = {}
    for past in _known(calls):
        if past.decision.authority == "rule":
            found.setdefault(past.decision.rule, []).append(past.decision.at)
    return tuple(RuleUse(rule_id=rule, uses=len(times), last_used_at=max(times)) for rule, times in found.items())


def _known(calls: Iterable[PastCall]) -> Iterable[_Past]:
    for call in calls:
        access, decision = call.call.data.access, call.call.data.decision
        # One that was written by a version that knew calls differently has none.
        if access is not None and decision is not None:
            yield _Past(call, access.as_access(), decision)


def _after(rules: RuleSet, past: _Past) -> tuple[Verdict, str]:
    decision, before = past.decision, past.before
    subject = Subject(past.access, past.call.call.data.definition, past.call.working_directory)
    rule = rules.strictest(subject)
    if rule is not None and rule.verdict == "deny":
        return "deny", rule.id
    if decision.authority == "harmless" or (before == "deny" and decision.authority != "rule"):
        return before, decision.rule
    if before == "ask" and decision.rule in _INSISTED:
        return "ask", decision.rule
    if rule is not None:
        return rule.verdict, rule.id
    # What a rule decided then, and none does now, is asked about.
    return ("ask", "") if decision.authority == "rule" else (before, decision.rule)


def _row(past: _Past, after: Verdict, rule: str) -> ReplayedCall:
    call = past.call.call
    return ReplayedCall(
        item_id=call.id,
        conversation_id=call.conversation_id,
        at=call.created_at,
        operation=past.access.operation,
        summary=call.data.display or past.access.operation,
        before=past.before,
        after=after,
        rule=rule,
    )
