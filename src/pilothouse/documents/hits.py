"""A passage that was found, as it is shown: the line that fits best, and the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pilothouse.types.api import Range
from pilothouse.types.documents import Document, DocumentHit, Passage

_SNIPPET = 240


def hit_of(
    document: Document, passage: Passage, words: Sequence[str], likeness: float | None, *, similar: bool
) -> DocumentHit:
    """Return a passage as a hit: one that has the words, or is only similar."""
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in words), re.IGNORECASE) if words else None
    lines = passage.text.split("\n")
    best = max(range(len(lines)), key=lambda at: _score(lines[at], pattern)) if pattern else 0
    if pattern is None or not pattern.search(lines[best]):
        best = next((at for at, line in enumerate(lines) if line.strip()), 0)
    snippet = _snippet(lines, best, pattern)
    ranges = [Range(start=each.start(), end=each.end()) for each in pattern.finditer(snippet)] if pattern else []
    return DocumentHit(
        document_id=document.id,
        name=document.name,
        kind=document.kind,
        page=passage.page,
        line=passage.line + best,
        section=passage.section,
        text=passage.text,
        snippet=snippet,
        ranges=tuple(ranges),
        likeness=likeness,
        similar=similar,
    )


def _score(line: str, pattern: re.Pattern[str]) -> int:
    return len({each.lower() for each in pattern.findall(line)})


def _snippet(lines: Sequence[str], best: int, pattern: re.Pattern[str] | None) -> str:
    """Return the line that fits and what follows, as far as there is room; of a long line what is around a hit."""
    line = lines[best]
    if len(line) > _SNIPPET:
        found = pattern.search(line) if pattern else None
        start = max(0, (found.start() if found else 0) - _SNIPPET // 3)
        return f"{'…' if start else ''}{line[start : start + _SNIPPET].strip()}…"
    shown = " ".join(" ".join(lines[best:]).split())
    return shown if len(shown) <= _SNIPPET else f"{shown[:_SNIPPET].rsplit(' ', 1)[0]}…"
