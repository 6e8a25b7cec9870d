"""What models read when they are reminded of memories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from pilothouse.memory import texts
from pilothouse.types import limits
from pilothouse.types.durations import age_of
from pilothouse.types.memories import Memory

_STORED = (Path(__file__).parent / "reminder_stored.md").read_text().strip()
_OFFERED = (Path(__file__).parent / "reminder_offered.md").read_text().strip()
_SAID_BY = {"person": "the person's word", "agent": "an agent's note", "stranger": "perhaps a stranger's words"}


def stored_text(memories: Sequence[Memory]) -> str:
    """Return what a model is told of memories that it has just stored."""
    lines = [
        f"- {texts.preview(one.title)} [{one.short}]: {texts.preview(one.text)}"
        for one in memories[-limits.MEMORIES_REMINDED :]
    ]
    left = len(memories) - len(lines)
    more = [f"and {left} more"] if left > 0 else []
    return "\n".join(["<recentlyStoredMemories>", *lines, *more, _STORED, "</recentlyStoredMemories>"])


def offered_text(memories: Sequence[Memory]) -> str:
    """Return what a model is told of memories that may matter to a message."""
    now = time.time()
    lines = [
        f"- {texts.preview(one.title)} [{one.short}], {_SAID_BY[one.says]}, {age_of(now - one.updated_at)} old: "
        f"{texts.preview(one.text, 2 * limits.MEMORY_PREVIEW_CHARS)}"
        for one in memories
    ]
    return "\n".join(["<memoriesThatMayMatter>", *lines, _OFFERED, "</memoriesThatMayMatter>"])
