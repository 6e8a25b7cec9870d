"""Decides about calls.

What touches nothing passes. What is denied is refused whatever anyone allowed. What needs a word of its own is
asked about each time. For the rest the person's rules, passing permissions and the conversation's mode count,
in this order; and where none of them speaks, the person is asked. What cannot be looked up allows nothing.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec

from pilothouse.permissions import checks
from pilothouse.permissions.approval_cards import card, question
from pilothouse.permissions.case import Case, Finding, Ruling
from pilothouse.permissions.cures import cure
from pilothouse.permissions.flows import Flow, flow_of, sources_of, told_by
from pilothouse.permissions.grants import PersonPermissions
from pilothouse.permissions.matching import Subject, covers_all
from pilothouse.permissions.policy import Policy
from pilothouse.types.access import Access
from pilothouse.types.authority import LASTING, Approval, Decision, arguments_digest
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import CallContext, PathGuard, Permit, PermitNeeded, PermitRefused, Tool

_log = logging.getLogger(__name__)
_YES = LASTING | {"allow"}
_UNREADABLE = Ruling("ask", "policy", "The rules cannot be read, so nothing is allowed by rule.")
_UNKNOWN = Finding("deny", "default", "unknown", "What this call would touch is not known.")
_WITHDRAWN = "The permission for this was used up, ran out or was withdrawn before the call began."
_NO = "The person did not allow this."
_HERE = "in this conversation"
# What of an access, or of its command, the person's word is not about, since it follows from the rest: without it a
# call has the hash that it had before there was any, and who was asked then is not asked again. For the same reason
# `through` counts only where it says something, and the preview, which may change with the file it is of, is empty.
_FOLLOWS = frozenset({"destructive", "covered", "uncovered", "costs"})


class PersonAuthorizer:
    """Lets pass what the person allowed, in whatever way; asks about the rest. Implements the port `Authorizer`."""

    def __init__(
        self,
        rules: Policy,
        grants: PersonPermissions,
        guard: PathGuard,
        minutes: Callable[[], int],
        *,
        confirm: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._maker = object()
        # Waits until the rules are known as all processes have them; None where no other can change them unseen.
        self._confirm = confirm
        # How long a permission for a while lasts that a question offers.
        self._minutes = minutes
        self._rules = rules
        self._grants = grants
        self._guard = guard

    async def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, approval: Approval | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return a permit, a question for the person, or a refusal."""
        exact = call_hash(tool, arguments, context)
        if context.access is None:
            return PermitRefused(reason=_UNKNOWN.why, decision=_decision(_UNKNOWN, exact))
        case = Case(tool, arguments, context, context.access)
        if self._confirm is not None:
            await self._confirm()
        finding = await self._found(case)
        if finding.verdict == "deny":
            return PermitRefused(reason=refusal(case, finding), decision=_decision(finding, exact))
        if approval is not None and (approval.call_hash == exact or _holds_for_changed(case, approval, finding)):
            return self._answered(case, msgspec.structs.replace(approval, call_hash=exact), finding)
        if finding.verdict == "allow":
            return Permit(msgspec.structs.replace(_decision(finding, exact), bits=told_by(case)), self._maker)
        flow = flow_of(case)
        data = card(case, finding, flow, self._minutes()) | {"cure": cure(case, finding, flow, self._guard)}
        return PermitNeeded(question=question(case, finding), decision=_decision(finding, exact), data=data)

    def _answered(self, case: Case, approval: Approval, asked: Finding) -> Permit | PermitRefused:
        if approval.choice in _YES:
            allowed = Finding("allow", "person", asked.rule, "The person allowed exactly this call.")
            return Permit(_decision(allowed, approval.call_hash, approval.by), self._maker)
        refused = Finding("deny", "person", asked.rule, no(approval))
        decision = _decision(refused, approval.call_hash, approval.by)
        return PermitRefused(reason=said_no(case, approval), decision=decision)

    async def _found(self, case: Case) -> Finding:
        if case.context.user_initiated:
            return checks.BY_HAND
        flow = flow_of(case)
        ruling = self._ruling(case, flow)
        if (refused := checks.denied(case, self._guard, ruling)) is not None:
            return refused
        if case.touches_nothing:
            return checks.HARMLESS
        first = checks.insisted(case, self._guard)
        if first is None and ruling is not None and ruling.verdict == "ask":
            first = checks.ruled(ruling)
        first = first or checks.allowed_for_run(case, flow) or await self._granted(case, flow) or checks.ruled(ruling)
        return first or (checks.leaving(flow) if flow is not None else checks.by_default(case))

    def _ruling(self, case: Case, flow: Flow | None) -> Ruling | None:
        try:
            return self._rules.verdict(case.access, case.tool, case.context, sources_of(flow))
        except Exception:
            _log.exception("the rules could not be looked at")
            return _UNREADABLE

    async def _granted(self, case: Case, flow: Flow | None) -> Finding | None:
        """Return the passing permission that covers a call; one that cannot be looked up does not."""
        context = case.context
        try:
            standing = await self._grants.standing_grants(context.owner, context.conversation_id, context.branch)
            subject = Subject(case.access, case.tool.grant_key, context.working_directory, sources_of(flow))
            for grant in standing:
                if grant.run_id in ("", context.run_id) and covers_all(grant.pattern, subject):
                    long = "for this task" if grant.run_id else "for a while" if grant.expires_at else _HERE
                    return Finding("allow", "grant", grant.id, f"The person allowed this {long}.")
        except Exception:
            _log.exception("the permissions of %s could not be looked at", context.conversation_id)
        return None

    async def redeem(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> str:
        ours = permit.use(self._maker)
        if not ours or context.access is None or permit.call_hash != call_hash(tool, arguments, context):
            return "A permission was not given for this call."
        case, decision = Case(tool, arguments, context, context.access), permit.decision
        if decision.rule == checks.BY_HAND.rule:
            return ""
        # Something may have been forbidden since it was allowed, by whichever process.
        if self._confirm is not None:
            await self._confirm()
        refused = checks.denied(case, self._guard, self._ruling(case, None))
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


def _holds_for_changed(case: Case, approval: Approval, finding: Finding) -> bool:
    """Return whether a permission holds for a call whose arguments the person changed when they gave it.

    They wrote what it is given; what it touches was never on their card. So it must be asked about for exactly the
    reason that they saw, its destination included, and for none that needs a word of its own.
    """
    asked_alike = finding.verdict == "ask" and finding.lasting and finding.why == approval.why
    return asked_alike and approval.changed == arguments_digest(case.arguments)


def refusal(case: Case, finding: Finding) -> str:
    """Return why a rule, the mode or the program itself refuses a call."""
    return f"{finding.why} Operation: {case.access.operation}. {_how_to_ask(case, finding.authority != 'default')}"


def no(approval: Approval) -> str:
    """Return that the person said no, in their own words where they gave any."""
    reason = approval.reason.strip()
    return f"{_NO} They say: {reason}" if reason else _NO


def said_no(case: Case, approval: Approval) -> str:
    """Return the person's no as the model is told it."""
    return f"{no(approval)}\nOperation: {case.access.operation}. {_how_to_ask(case, may_help=True)}"


def _how_to_ask(case: Case, may_help: bool) -> str:
    if not may_help:
        return "Nobody can allow it; find another way."
    access, line = case.access, case.tool.shown(case.arguments).summary
    prompt = f"a prompt such as: “May I do this: {line}?”"
    if case.tool.server or access.command or access.destination:
        # Permission for these is given for exactly one call at a time, or by a rule.
        return f"If it is needed, say why with user_collaboration, {prompt} Then call it again."
    return f"If it is needed, ask with user_collaboration, authorize_operation “{access.operation}”, and {prompt}"


def call_hash(tool: Tool, arguments: JsonObject, context: CallContext) -> str:
    """Return the hash of the exact call: the tool as defined, its arguments, what it touches, and whose call it is."""
    whose = [context.owner, context.conversation_id, context.run_id, context.call_id]
    exact = [tool.spec.name, tool.grant_key, whose, arguments, _touched(context.access)]
    return hashlib.sha256(encode(exact)).hexdigest()


def _touched(access: Access | None) -> JsonObject:
    """Return what a call touches, as far as the person's word is about it."""
    if access is None:
        return {}
    facts: JsonObject = msgspec.to_builtins(access)
    facts |= {"effects": sorted(access.effects), "brings": sorted(access.brings), "preview": None}
    facts["command"] = facts["command"] and _without(_FOLLOWS, facts["command"])
    return _without(_FOLLOWS if access.through else _FOLLOWS | {"through"}, facts)


def _without(names: frozenset[str], facts: JsonObject) -> JsonObject:
    return {name: fact for name, fact in facts.items() if name not in names}
