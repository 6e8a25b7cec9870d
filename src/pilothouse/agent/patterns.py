"""Regular expressions that others wrote, on text that others wrote: looked for in bounded time.

Python's engine holds everything else up while it searches, cannot be interrupted, and takes exponential time
where a pattern is made for that. What might take long is followed by an automaton instead.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache

from pilothouse.agent.automaton import Automaton, Refused

# Roughly the steps of a search that are not noticed.
_STEPS = 100_000
# A group under a quantifier may take exponential time; so short a text cannot take long.
_SHORT = 16
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]|\\[1-9]")
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")


class TooSlow(Exception):
    """It cannot be said in time whether a pattern is there."""


def found(pattern: str, text: str, seconds: float) -> bool:
    """Return whether a pattern is found in a text; raise TooSlow when that cannot be said in time."""
    compiled = re.compile(pattern)
    if _is_quick(pattern, len(text)):
        return compiled.search(text) is not None
    try:
        return _automaton(pattern).found(text, time.monotonic() + seconds)
    except Refused:
        raise TooSlow from None


_automaton = lru_cache(64)(Automaton)


def _is_quick(pattern: str, length: int) -> bool:
    if _QUANTIFIED_GROUP.search(pattern):
        return length <= _SHORT
    quantifiers = max(1, len(_QUANTIFIER.findall(pattern)))
    # An unanchored search begins anew at every place.
    power = quantifiers if pattern.startswith("^") else quantifiers + 1
    return bool(max(length, 1) ** min(power, 8) <= _STEPS)
