"""Lengths of time as people write them: "5m", "1h 30m", "90 seconds"."""

from __future__ import annotations

import re

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
_PIECE = re.compile(r"\s*+(\d{1,9}(?:\.\d{1,3})?)\s*+([a-z]*+)\s*+,?")
_EXAMPLES = "Write it like “5m”, “1h 30m” or “90s”."


def seconds_of(text: str) -> float:
    """Return how many seconds a duration means; a bare number is seconds. Raise one sentence if it means none."""
    total, at, said = 0.0, 0, text.strip().lower()
    while at < len(said):
        piece = _PIECE.match(said, at)
        unit = _WORDS.get(piece[2] or "s") if piece else None
        if piece is None or unit is None or (not piece[2] and said != piece[0].strip()):
            raise PilothouseError("bad_request", f"“{text[:40]}” is not a duration.", fix=_EXAMPLES)
        total, at = total + float(piece[1]) * _UNITS[unit], piece.end()
    if not total:
        raise PilothouseError("bad_request", "A duration must be longer than nothing.", fix=_EXAMPLES)
    if total > limits.GRANT_LONGEST:
        longest = f"{limits.GRANT_LONGEST / 3600:g} hours"
        raise PilothouseError("bad_request", f"A permission lasts at most {longest}.", fix=_EXAMPLES)
    return total


def words_of(seconds: float) -> str:
    """Return a length of time in words: "5 minutes", "1 hour 30 minutes"."""
    left, said = round(seconds), []
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, left = divmod(left, size)
        if count:
            said.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(said) or "no time"


def age_of(seconds: float) -> str:
    """Return about how long ago something was: "less than a minute", "3 hours", "2 days"."""
    for unit, size in (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
