"""JSON as editors write it, with comments and trailing commas: made plain, everything else where it was."""

from __future__ import annotations

import re

# Strings and comments that nothing ends go on to the end, so that no text is looked through twice.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?P<end>\*/)?", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|,(?=\s*+[\]}}])", re.DOTALL)
_SHOWN = re.compile(r"[^\n]")


def without_comments(text: str) -> str:
    """Return the text with blanks for its comments; one that nothing ends stays, and is no JSON."""
    return _TOKEN.sub(_blank, text.removeprefix("\ufeff"))


def plain(text: str) -> str:
    """Return the text with blanks for its comments and trailing commas."""
    return _TRAILING.sub(lambda token: " " if token[0] == "," else token[0], without_comments(text))


def _blank(token: re.Match[str]) -> str:
    is_comment = token[0].startswith("//") or token["end"]
    return _SHOWN.sub(" ", token[0]) if is_comment else token[0]
