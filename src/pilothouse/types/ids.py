"""Identifiers that sort by the time they were made and say what they name."""

from __future__ import annotations

import secrets
import time
from typing import Literal

# c conversation, d document, r run, i item, s session, p replica process, f change, g grant, u rule, m memory, t topic.
Prefix = Literal["c", "d", "r", "i", "s", "p", "f", "g", "u", "m", "t"]


def new_id(prefix: Prefix) -> str:
    """Return a fresh id; its first letter says of what."""
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(7)}"
