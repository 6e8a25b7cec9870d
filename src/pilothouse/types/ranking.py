"""Several rankings made into one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

# The usual constant of reciprocal rank fusion: the first places count, but do not decide alone.
_SMOOTHING = 60
_Key = TypeVar("_Key", bound=Hashable)


def fused(*rankings: Iterable[_Key]) -> list[_Key]:
    """Return everything that is in any of them, best first, by reciprocal rank."""
    scores: dict[_Key, float] = {}
    for ranking in rankings:
        for place, key in enumerate(dict.fromkeys(ranking)):
            scores[key] = scores.get(key, 0.0) + 1 / (_SMOOTHING + place + 1)
    return sorted(scores, key=lambda key: -scores[key])
