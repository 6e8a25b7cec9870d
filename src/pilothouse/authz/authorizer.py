"""Decides about calls.

What touches nothing passes. What is denied is refused whatever anyone allowed. What needs a word of its own is
asked about each time. For the rest the person's rules, passing permissions and the conversation's mode count,
in this order; and where none of them speaks, the person is asked. What cannot be looked up allows nothing.
"""

from __future__ import annotations

import logging
import time

from pilothouse.authz import judging
from pilothouse.authz.cards import card, question
from pilothouse.authz.case import Case, Finding
from pilothouse.authz.matching import covers
from pilothouse.authz.permits import GivenPermit, call_hash
from pilothouse.authz.proposals import propose
from pilothouse.authz.refusals import no, refusal, said_no
from pilothouse.authz.rulings import Rules, Ruling
from pilothouse.types.authority import Approval, Decision
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Grants, PathGuard, Permit, PermitNeeded, PermitRefused, Tool

_log = logging.getLogger(__name__)
_YES = frozenset({"allow", "conversation", "always"})
_UNREADABLE = Ruling("ask", "policy", "The rules cannot be read, so nothing is allowed by rule.")
_UNKNOWN = Finding("deny", "default", "unknown", "What this call would touch is not known.")
_WITHDRAWN = "The permission for this was used up, ran out or was withdrawn before the call began."


class PersonAuthorizer:
    """Lets pass what the person allowed, in whatever way; asks about the rest. Implements the port `Authorizer`."""

    def __init__(self, rules: Rules, grants: Grants, guard: PathGuard) -> None:
        self._maker = object()
        self._rules = rules
        self._grants = grants
        self._guard = guard

    async def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, approval: Approval | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return leave to execute, a question for the person, or a refusal."""
        exact = call_hash(tool, arguments, context)
        if context.access is None:
            return PermitRefused(reason=_UNKNOWN.why, decision=_decision(_UNKNOWN, exact))
        case = Case(tool, arguments, context, context.access)
        finding = await self._found(case)
        if finding.verdict == "deny":
            return PermitRefused(reason=refusal(case, finding), decision=_decision(finding, exact))
        if approval is not None and approval.call_hash == exact:
            return self._answered(case, approval, finding)
        if finding.verdict == "allow":
            return GivenPermit(_decision(finding, exact), self._maker)
        data = card(case, finding, propose(case) if finding.lasting else None)
        return PermitNeeded(question=question(case, finding), decision=_decision(finding, exact), data=data)

    def _answered(self, case: Case, approval: Approval, asked: Finding) -> Permit | PermitRefused:
        if approval.choice in _YES:
            allowed = Finding("allow", "person", asked.rule, "The person allowed exactly this call.")
            return GivenPermit(_decision(allowed, approval.call_hash, approval.by), self._maker)
        refused = Finding("deny", "person", asked.rule, no(approval))
        decision = _decision(refused, approval.call_hash, approval.by)
        return PermitRefused(reason=said_no(case, approval), decision=decision)

    async def _found(self, case: Case) -> Finding:
        if case.context.user_initiated:
            return judging.BY_HAND
        ruling = self._ruling(case)
        if (refused := judging.denied(case, self._guard, ruling)) is not None:
            return refused
        if case.touches_nothing:
            return judging.HARMLESS
        first = judging.insisted(case, self._guard)
        if first is None and ruling is not None and ruling.verdict == "ask":
            first = judging.ruled(ruling)
        first = first or judging.allowed_for_run(case) or judging.suspected(case) or await self._granted(case)
        return first or judging.ruled(ruling) or judging.by_default(case)

    def _ruling(self, case: Case) -> Ruling | None:
        try:
            return self._rules.verdict(case.access, case.tool, case.context)
        except Exception:
            _log.exception("the rules could not be looked at")
            return _UNREADABLE

    async def _granted(self, case: Case) -> Finding | None:
        """Return the passing permission that covers a call; one that cannot be looked up does not."""
        context = case.context
        try:
            standing = await self._grants.standing_grants(context.owner, context.conversation_id)
            for grant in standing:
                if covers(grant.pattern, case.access, case.tool, context):
                    return Finding("allow", "grant", grant.id, "The person allowed this for a while.")
        except Exception:
            _log.exception("the permissions of %s could not be looked at", context.conversation_id)
        return None

    async def redeem(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> str:
        """Use a permit for exactly its call; return why it does not stand any more, or nothing."""
        ours = isinstance(permit, GivenPermit) and permit.use(self._maker)
        if not ours or context.access is None or permit.call_hash != call_hash(tool, arguments, context):
            return "A permission was not given for this call."
        case, decision = Case(tool, arguments, context, context.access), permit.decision
        if decision.rule == judging.BY_HAND.rule:
            return ""
        # Something may have been forbidden since it was allowed.
        refused = judging.denied(case, self._guard, self._ruling(case))
        if refused is not None:
            return refusal(case, refused)
        if decision.authority == "grant" and not await self._used(decision.rule):
            return _WITHDRAWN
        return ""

    async def _used(self, grant_id: str) -> bool:
        try:
            return await self._grants.use_grant(grant_id, time.time())
        except Exception:
            _log.exception("the permission %s could not be used", grant_id)
            return False


def _decision(finding: Finding, exact: str, by: str = "") -> Decision:
    return Decision(
        verdict=finding.verdict,
        authority=finding.authority,
        rule=finding.rule,
        why=finding.why,
        call_hash=exact,
        at=time.time(),
        by=by,
    )
