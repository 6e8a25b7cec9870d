"""Regular expressions that others wrote, on text that others wrote: looked for in bounded time.

Python's engine holds everything else up while it searches, and cannot be interrupted. What might take long is
therefore left to a process of its own, which can be ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

# Roughly the steps of a search that are not noticed.
_STEPS = 100_000
# A group under a quantifier may take exponential time; so short a text cannot take long.
_SHORT = 16
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]|\\[1-9]")
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")
_SEARCH = "import json,re,sys; p,t=json.load(sys.stdin); sys.exit(0 if re.search(p,t) else 3)"
_NOT_FOUND = 3


class TooSlow(Exception):
    """A search took longer than anyone waits."""


def found(pattern: str, text: str, seconds: float) -> bool:
    """Return whether a pattern is found in a text; raise TooSlow when that cannot be said in time."""
    compiled = re.compile(pattern)
    if _is_quick(pattern, len(text)):
        return compiled.search(text) is not None
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            input=json.dumps([pattern, text]).encode(),
            timeout=seconds,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooSlow from None
    if done.returncode not in (0, _NOT_FOUND):
        raise TooSlow
    return done.returncode == 0


def _is_quick(pattern: str, length: int) -> bool:
    if _QUANTIFIED_GROUP.search(pattern):
        return length <= _SHORT
    quantifiers = max(1, len(_QUANTIFIER.findall(pattern)))
    # An unanchored search begins anew at every place.
    power = quantifiers if pattern.startswith("^") else quantifiers + 1
    return bool(max(length, 1) ** min(power, 8) <= _STEPS)
