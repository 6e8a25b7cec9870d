"""What the person is shown when a call is asked about: what it does first, why it is asked, what they may answer."""

from __future__ import annotations

import hashlib

from pilothouse.authz.case import Case, Finding
from pilothouse.authz.danger import danger_of
from pilothouse.types import limits
from pilothouse.types.authority import Pattern
from pilothouse.types.durations import words_of
from pilothouse.types.json import JsonObject, encode, plain
from pilothouse.types.patterns import in_words

ALLOW = {"id": "allow", "label": "Allow once"}
CONVERSATION = {
    "id": "conversation",
    "label": f"Allow in this conversation for {words_of(limits.GRANT_SECONDS)}",
}
ALWAYS = {"id": "always", "label": "Always for this pattern"}
DENY = {"id": "deny", "label": "Deny"}


def question(case: Case, finding: Finding) -> str:
    """Return the question in one line: the call, then why it is asked about."""
    what = case.tool.qualified_name if case.tool.server else case.tool.display(case.arguments)
    return f"Allow {what}? {finding.why}"


def card(case: Case, finding: Finding, proposal: Pattern | None) -> JsonObject:
    """Return what the card shows and offers; what needs a word of its own is offered once only."""
    lasting = finding.lasting and proposal is not None
    return {
        "operation": case.access.operation,
        "dangerous": danger_of(case.access) or (finding.why if finding.rule == "protected" else ""),
        "group": _shape(case, proposal) if lasting and proposal is not None else "",
        "proposal": plain(proposal) if lasting else None,
        "proposalText": in_words(proposal) if lasting and proposal is not None else "",
        "access": _touched(case),
        "preview": case.access.preview,
        "choices": [ALLOW, CONVERSATION, ALWAYS, DENY] if lasting else [ALLOW, DENY],
    }


def _touched(case: Case) -> JsonObject:
    access = case.access
    return {
        "paths": [plain(use) for use in access.paths],
        "command": plain(access.command) if access.command else None,
        "destination": access.destination,
        "payloadBytes": access.payload_bytes,
        "sentBefore": case.context.seen.sent.get(access.destination, 0),
        "effects": sorted(access.effects),
    }


def _shape(case: Case, proposal: Pattern) -> str:
    """Return a key that calls share for which one permission would do."""
    return hashlib.sha256(encode([case.tool.grant_key, proposal, case.context.conversation_id])).hexdigest()[:16]
