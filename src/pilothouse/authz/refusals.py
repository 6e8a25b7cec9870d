"""What the model is told when a call is refused: which operation, why, and how to ask the person."""

from __future__ import annotations

from pilothouse.authz.case import Case, Finding
from pilothouse.types.authority import Approval

_NO = "The person did not allow this."


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
    access, line = case.access, case.tool.display(case.arguments)
    prompt = f"a prompt such as: “May I do this: {line}?”"
    if case.tool.server or access.command or access.destination:
        # Leave for these is given for exactly one call at a time, or by a rule.
        return f"If it is needed, say why with user_collaboration, {prompt} Then call it again."
    return f"If it is needed, ask with user_collaboration, authorize_operation “{access.operation}”, and {prompt}"
