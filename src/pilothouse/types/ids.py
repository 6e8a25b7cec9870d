"""Identifiers that sort by the time they were made and say what they name."""

from __future__ import annotations

import secrets
import time
from typing import Literal

Prefix = Literal["c", "r", "i", "s", "p", "f", "g", "u", "t"]


def new_id(prefix: Prefix) -> str:
    """Return a fresh id.

    c conversation, r run, i item, s session, p replica process, f change, g grant, u rule, t topic.
    """
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(7)}"
