"""Glob patterns over paths: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any folders between."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from pilothouse.tools.arguments import BadArgument
from pilothouse.types import limits

_WILD = frozenset("*?[{")
# The usual one: files by the end of their name.
_ENDING = re.compile(r"\*\*/\*[\w.-]+")
# Says whether a path from the top is meant.
PathTest = Callable[[str], bool]


def path_test(pattern: str) -> PathTest:
    """Return the test for a pattern.

    Without a slash it is about names, wherever they are; without a wildcard it is about any part of the path.
    """
    if len(pattern) > limits.SEARCH_PATTERN_CHARS:
        raise BadArgument(f"The pattern has more than {limits.SEARCH_PATTERN_CHARS:,} characters.")
    text = pattern.removeprefix("./").lstrip("/")
    if text.endswith("/"):
        text += "**"
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadArgument("The pattern has characters in it that are no text.")
    if not text:
        raise BadArgument("The pattern is empty; give one like `**/*.py`.")
    if not _WILD & set(text):
        wanted = text.casefold()
        return lambda path: wanted in path.casefold()
    if "/" not in text:
        text = f"**/{text}"
    if _ENDING.fullmatch(text):
        return lambda path: path.endswith(text[4:])
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.dot_nl = True
    try:
        compiled = re2.compile(_regex(text), options)
    except re2.error:
        raise BadArgument(f"The pattern {pattern} cannot be used; check its brackets and braces.") from None
    return lambda path: compiled.fullmatch(shown_path(path)) is not None


def shown_path(path: str) -> str:
    """Return a path as text; a name need not be text, and what is not is shown as well as it can be."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def _regex(glob: str) -> str:
    """Return a glob as a regular expression of linear cost."""
    out: list[str] = []
    at = depth = 0
    while at < len(glob):
        piece, at = _piece(glob, at, depth)
        depth += (piece == "(?:") - (piece == ")")
        out.append(piece)
    if depth:
        raise BadArgument(f"The pattern {glob} opens a brace that it does not close.")
    return "".join(out)


def _piece(glob: str, at: int, depth: int) -> tuple[str, int]:
    """Return the next piece of the expression, and where the one after it begins."""
    character = glob[at]
    if glob.startswith("**/", at) and (at == 0 or glob[at - 1] in "/{,"):
        return "(?:.*/)?", at + 3
    if glob.startswith("**", at):
        return ".*", at + 2
    if character == "[":
        return _class(glob, at)
    if character == "\\" and at + 1 < len(glob):
        return re.escape(glob[at + 1]), at + 2
    simple = {"*": "[^/]*", "?": "[^/]", "{": "(?:"} | ({"}": ")", ",": "|"} if depth else {})
    return simple.get(character) or re.escape(character), at + 1


def _class(glob: str, at: int) -> tuple[str, int]:
    end = glob.find("]", at + 2)
    if end < 0:
        return re.escape("["), at + 1
    inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
    if inner.startswith("!"):
        inner = f"^{inner[1:]}/"
    return f"[{inner}]", end + 1
