"""A memory as the call that was about it shows it."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen
from pilothouse.types.scopes import ScopeKind

# Whose word a memory is: the person wrote it; the agent stored it; or the agent stored it after it had read what
# strangers wrote, so that it may be theirs.
Sayer = Literal["person", "agent", "stranger"]


class MemoryUse(Frozen, frozen=True):
    """What a call did about a memory."""

    key: str
    title: str
    text: str = ""
    scope: ScopeKind = "everywhere"
    says: Sayer = "agent"
    outcome: Literal["kept", "known", "alike", "changed", "forgotten"] = "kept"
    # The one whose place it took, and how many older ones it may contradict.
    replaced: str = ""
    doubts: int = 0
