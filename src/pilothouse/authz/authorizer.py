"""Decides about calls. A tool that touches nothing is harmless; for any other the person is asked, each time."""

from __future__ import annotations

import hashlib

from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import CallContext, Permit, PermitNeeded, PermitRefused, Tool

HARMLESS = "touches nothing"
ASKED = "touches something"


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
    """Lets harmless tools pass and asks the person about every other call."""

    def __init__(self) -> None:
        self._maker = object()

    def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, answer: str | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return leave to execute, a question for the person, or a refusal."""
        if not tool.effects or answer == "allow":
            return _Permit(call_hash(tool, arguments, context), self._maker)
        if answer is not None:
            return PermitRefused(reason="The person did not allow this.", rule=ASKED)
        effects = ", ".join(sorted(tool.effects))
        return PermitNeeded(question=f"Allow {tool.display(arguments)}? It {effects}.", rule=ASKED)

    def verify(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> bool:
        """Return whether this authorizer gave the permit for exactly this call."""
        ours = isinstance(permit, _Permit) and permit.made_by(self._maker)
        return ours and permit.call_hash == call_hash(tool, arguments, context)


def call_hash(tool: Tool, arguments: JsonObject, context: CallContext) -> str:
    """Return the hash of the exact call: which tool, which arguments, which call of which run."""
    exact = [tool.spec.name, context.run_id, context.call_id, arguments]
    return hashlib.sha256(encode(exact)).hexdigest()
