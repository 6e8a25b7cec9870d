"""Rights as servers and issuers name them: those that a person can read before they agree, and an address can carry."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pilothouse.types import limits

# RFC 6749, 3.3. What else is named there would be read as something other than what is asked for.
_SCOPE = re.compile(r"[!#-\[\]-~]+")


def readable(named: Iterable[str]) -> tuple[str, ...]:
    """Return the rights that are asked for and shown, in their order and each once; as many as there is room for."""
    kept: list[str] = []
    room = limits.SCOPES_CHARS
    for scope in dict.fromkeys(named):
        is_one = len(scope) <= limits.SCOPE_CHARS and _SCOPE.fullmatch(scope)
        if is_one and len(scope) < room and len(kept) < limits.SCOPES_MOST:
            kept.append(scope)
            room -= len(scope) + 1
    return tuple(kept)
