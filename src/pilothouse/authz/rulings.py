"""What the rules say about a call, and who can be asked."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pilothouse.types.access import Access
from pilothouse.types.authority import Verdict
from pilothouse.types.ports import CallContext, Tool


class Ruling(msgspec.Struct, frozen=True):
    """What the rules say about a call: the strictest verdict, the rule it comes from, and one sentence why."""

    verdict: Verdict
    rule: str
    why: str


class Rules(Protocol):
    """The person's lasting rules."""

    def verdict(self, access: Access, tool: Tool, context: CallContext) -> Ruling | None:
        """Return the strictest of the rules that speak about a call; None when none does."""
        ...
