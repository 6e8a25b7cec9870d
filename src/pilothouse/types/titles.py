"""Titles: one line, whoever wrote it."""

from __future__ import annotations

import re

from pilothouse.types import limits
from pilothouse.types.invisible import whole

_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]+")
_SPACES = re.compile(r"\s+")


def one_line(title: str) -> str:
    """Return a title on one line that is not too long, without control characters."""
    return _bounded(_SPACES.sub(" ", _UNSEEN.sub(" ", whole(title))).strip())


def clean_title(title: str) -> str:
    """Return a title on one line, without control characters, quotes around it or a final dot."""
    line = _SPACES.sub(" ", _UNSEEN.sub(" ", whole(title)).strip()).strip("\"'“”‘’* #").removesuffix(".")
    return _bounded(line)


def _bounded(line: str) -> str:
    return line if len(line) <= limits.TITLE_CHARS else line[: limits.TITLE_CHARS - 1].rstrip() + "…"
