"""Titles: one line, whoever wrote it."""

from __future__ import annotations

import re

from pilothouse.types import limits
from pilothouse.types.invisible import whole


def clean_title(title: str) -> str:
    """Return a title on one line, without control characters, quotes around it or a final dot."""
    line = re.sub(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]+", " ", whole(title)).strip()
    line = re.sub(r"\s+", " ", line).strip("\"'“”‘’* #").removesuffix(".")
    return line if len(line) <= limits.TITLE_CHARS else line[: limits.TITLE_CHARS - 1].rstrip() + "…"
