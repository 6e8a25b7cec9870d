"""Leave to execute one call, and the hash that ties it to exactly that call."""

from __future__ import annotations

import hashlib

import msgspec

from pilothouse.types.access import Access
from pilothouse.types.authority import Decision
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.ports import CallContext, Tool


class GivenPermit:
    """Leave for one call, recognised by the authorizer that made it, good for one use."""

    __slots__ = ("_maker", "_used", "call_hash", "decision")

    def __init__(self, decision: Decision, maker: object) -> None:
        self.call_hash = decision.call_hash
        self.decision = decision
        self._maker = maker
        self._used = False

    def use(self, maker: object) -> bool:
        """Use it up; return whether this authorizer made it and nobody used it before."""
        good = self._maker is maker and not self._used
        self._used = True
        return good


def call_hash(tool: Tool, arguments: JsonObject, context: CallContext) -> str:
    """Return the hash of the exact call: the tool as defined, its arguments, what it touches, and whose call it is."""
    whose = [context.owner, context.conversation_id, context.run_id, context.call_id]
    exact = [tool.spec.name, tool.grant_key, whose, arguments, _touched(context.access)]
    return hashlib.sha256(encode(exact)).hexdigest()


def _touched(access: Access | None) -> JsonObject:
    """Return what a call touches; a preview only shows it, and may change with the file it is of."""
    if access is None:
        return {}
    facts: JsonObject = msgspec.to_builtins(access)
    facts |= {"effects": sorted(access.effects), "brings": sorted(access.brings), "preview": None}
    return facts
