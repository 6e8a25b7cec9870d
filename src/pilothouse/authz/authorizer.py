"""Decides about calls.

A built-in tool that touches nothing is harmless. For any other the person is asked: each time, unless they
allowed a server's tool for the conversation or beforehand for the run.
"""

from __future__ import annotations

import hashlib

from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import CallContext, Permit, PermitNeeded, PermitRefused, Tool

ASKED = "touches something"
SERVERS = "belongs to a server"
_YES = frozenset({"allow", "conversation"})


class _Permit:
    """Leave for one call, recognised by the authorizer that made it."""

    __slots__ = ("_maker", "call_hash")

    def __init__(self, call_hash: str, maker: object) -> None:
        self.call_hash = call_hash
        self._maker = maker

    def made_by(self, maker: object) -> bool:
        """Return whether this authorizer made the permit."""
        return self._maker is maker


class PersonAuthorizer:
    """Lets harmless tools pass, and what the person allowed; asks about every other call."""

    def __init__(self) -> None:
        self._maker = object()

    def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, answer: str | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return leave to execute, a question for the person, or a refusal."""
        # What a server says about its own tools is no reason to trust them.
        harmless = not tool.effects and not tool.server
        rule = SERVERS if tool.server else ASKED
        if answer is not None and answer not in _YES:
            return PermitRefused(reason="The person did not allow this.", rule=rule)
        if harmless or answer is not None or _is_granted(tool, context):
            return _Permit(call_hash(tool, arguments, context), self._maker)
        return PermitNeeded(question=_question(tool, arguments), rule=rule)

    def verify(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> bool:
        """Return whether this authorizer gave the permit for exactly this call."""
        ours = isinstance(permit, _Permit) and permit.made_by(self._maker)
        return ours and permit.call_hash == call_hash(tool, arguments, context)


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
