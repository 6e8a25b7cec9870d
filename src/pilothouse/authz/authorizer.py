"""Decides about calls.

A built-in tool that touches nothing is harmless. For any other the person is asked: each time, unless they
allowed a server's tool for the conversation or beforehand for the run.
"""

from __future__ import annotations

import hashlib
import time

from pilothouse.types.authority import Approval, Authority, Decision, Verdict
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import CallContext, Permit, PermitNeeded, PermitRefused, Tool

ASKED = "touches something"
SERVERS = "belongs to a server"
_YES = frozenset({"allow", "conversation"})


class _Permit:
    """Leave for one call, recognised by the authorizer that made it."""

    __slots__ = ("_maker", "call_hash", "decision")

    def __init__(self, decision: Decision, maker: object) -> None:
        self.call_hash = decision.call_hash
        self.decision = decision
        self._maker = maker

    def made_by(self, maker: object) -> bool:
        """Return whether this authorizer made the permit."""
        return self._maker is maker


class PersonAuthorizer:
    """Lets harmless tools pass, and what the person allowed; asks about every other call."""

    def __init__(self) -> None:
        self._maker = object()

    async def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, approval: Approval | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return leave to execute, a question for the person, or a refusal."""
        exact = call_hash(tool, arguments, context)

        def decided(verdict: Verdict, authority: Authority, why: str) -> Decision:
            rule = SERVERS if tool.server else ASKED
            return Decision(verdict=verdict, authority=authority, rule=rule, why=why, call_hash=exact, at=time.time())

        if approval is not None and approval.call_hash == exact:
            if approval.choice not in _YES:
                reason = "The person did not allow this."
                return PermitRefused(reason=reason, decision=decided("deny", "person", reason))
            return _Permit(decided("allow", "person", "The person allowed it."), self._maker)
        # What a server says about its own tools is no reason to trust them.
        if not tool.effects and not tool.server:
            return _Permit(decided("allow", "harmless", "It touches nothing."), self._maker)
        if _is_granted(tool, context):
            return _Permit(decided("allow", "grant", "The person allowed it before."), self._maker)
        question = _question(tool, arguments)
        return PermitNeeded(question=question, decision=decided("ask", "default", question))

    async def redeem(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> str:
        """Return nothing if this authorizer gave the permit for exactly this call."""
        ours = isinstance(permit, _Permit) and permit.made_by(self._maker)
        exact = ours and permit.call_hash == call_hash(tool, arguments, context)
        return "" if exact else "A permission was not given for this call."


def _is_granted(tool: Tool, context: CallContext) -> bool:
    if tool.server and tool.grant_key in context.granted:
        return True
    names = {tool.qualified_name, tool.spec.name}
    if tool.server:
        names |= {f"{tool.qualified_name.partition('.')[0]}.*", f"{tool.server}.*"}
    return not names.isdisjoint(context.allow)


def _question(tool: Tool, arguments: JsonObject) -> str:
    if tool.server:
        return f"Allow {tool.qualified_name}? It is a tool of the server {tool.server}."
    return f"Allow {tool.display(arguments)}? It {', '.join(sorted(tool.effects))}."


def call_hash(tool: Tool, arguments: JsonObject, context: CallContext) -> str:
    """Return the hash of the exact call: which tool as it is defined, which arguments, which call of which run."""
    exact = [tool.spec.name, tool.grant_key, context.run_id, context.call_id, arguments]
    return hashlib.sha256(encode(exact)).hexdigest()
