"""What is looked for in text: a literal or a regular expression, matched in time that grows with the text only."""

from __future__ import annotations

import re
from collections.abc import Callable

from pilothouse.tools.arguments import BadArgument
from pilothouse.types import limits

_PUNCTUATION = frozenset("\\.+*?()|[]{}^$/-_ \"'#&,:;<=>@`~!%")
# Quoted stretches and octal numbers: what comes after them is not what it seems.
_UNCLEAR = re.compile(r"\\[Q0-9]")
_BRACED = re.compile(r"\{[\w,^]*\}")
_LINE_END = re.compile(r"(?:\\[^nr]|[^\\])*\\[nr]")
_OPTIONAL = frozenset("*?{")
# Three characters make a key of the index.
_GRAM = 3
_REASONS = {
    "missing )": "a parenthesis is opened and not closed",
    "unexpected )": "a parenthesis is closed that was not opened",
    "missing ]": "a bracket is opened and not closed",
    "invalid perl operator": "look-around and other Perl extensions are not supported",
    "invalid escape sequence": "this escape is not supported (back-references are not either)",
    "bad repetition operator": "two repetitions follow each other",
    "no argument for repetition operator": "there is nothing to repeat before it",
    "invalid repetition size": "the repetition is out of range or too large",
    "invalid character class range": "this is no range of characters",
    "trailing \\": "it ends in a backslash",
    "pattern too large - compile failed": "it is too large",
}
# Returns where the first match in a buffer, between two places, begins and ends.
Finder = Callable[[bytearray, int, int], tuple[int, int] | None]


class Pattern:
    """A compiled search, and the literals that every match contains."""

    def __init__(self, find: Finder, literals: tuple[str, ...]) -> None:
        self.find = find
        # Each at least three characters long; what an index narrows a search by.
        self.literals = literals


def literal_pattern(text: str, *, case_sensitive: bool) -> Pattern:
    """Return the search for a text as it stands."""
    _check(text)
    literals = (text,) if len(text) >= _GRAM else ()
    return Pattern(_compiled(re.escape(text), text, case_sensitive=case_sensitive), literals)


def regex_pattern(text: str, *, case_sensitive: bool, name: str = "query") -> Pattern:
    """Return the search for a regular expression in RE2's syntax, line by line; errors call it by the name."""
    _check(text, name)
    if _LINE_END.match(text):
        raise BadArgument("Files are searched line by line, so `\\n` never matches; leave it out.", "BAD_PATTERN")
    return Pattern(_compiled(text, text, case_sensitive=case_sensitive), required_literals(text))


def _check(text: str, name: str = "query") -> None:
    if len(text) > limits.SEARCH_PATTERN_CHARS:
        raise BadArgument(f"The {name} has more than {limits.SEARCH_PATTERN_CHARS:,} characters.", "BAD_PATTERN")
    if "\n" in text or "\r" in text:
        raise BadArgument(f"The {name} spans lines, but files are searched line by line.", "BAD_PATTERN")
    if "\0" in text:
        raise BadArgument(f"The {name} has a NUL character, but only text is searched.", "BAD_PATTERN")


def _compiled(expression: str, shown: str, *, case_sensitive: bool) -> Finder:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = case_sensitive
    try:
        compiled = re2.compile(f"(?m){expression}".encode("utf-8", "replace"), options)
    except re2.error as error:
        raise BadArgument(_why(shown, error), "BAD_PATTERN") from None

    def find(buffer: bytearray, start: int, end: int) -> tuple[int, int] | None:
        # Cut to size: `$` is about the end of what it is given.
        match = compiled.search(memoryview(buffer)[:end], start)
        if match is None:
            return None
        span: tuple[int, int] = match.span()
        return span

    return find


def _why(text: str, error: Exception) -> str:
    """Return one sentence with the place in the pattern, counted from 1."""
    said = error.args[0] if error.args else b""
    words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    reason, _, piece = words.partition(": ")
    if reason.startswith(("missing )", "unexpected )")):
        at = _unbalanced(text)
    else:
        at = text.find(piece.removeprefix("(?m)")) if piece else len(text) - 1
    why = _REASONS.get(reason, reason)
    near = f" (`{piece}`)" if piece and piece != text and not piece.startswith("(?m)") else ""
    return f"The regular expression cannot be used: at character {max(at, 0) + 1}, {why}{near}."


def _unbalanced(text: str) -> int:
    """Return where the parenthesis without its other half stands."""
    opened: list[int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            at = _after_class(text, at) - 1
        elif text[at] == "(":
            opened.append(at)
        elif text[at] == ")":
            if not opened:
                return at
            opened.pop()
        at += 1
    return opened[-1] if opened else len(text) - 1


def required_literals(expression: str) -> tuple[str, ...]:
    """Return texts that every match of an expression contains; fewer than there are, never one too many."""
    runs: list[str] = []
    run = ""
    at = 0
    while at < len(expression):
        character = expression[at]
        if character == "|" or _UNCLEAR.match(expression, at):
            return ()
        literal, at = _literal(expression, at)
        if literal and at < len(expression) and expression[at] in _OPTIONAL:
            literal = ""
        if literal:
            run += literal
            continue
        runs.append(run)
        run = ""
    runs.append(run)
    return tuple(text for text in runs if len(text) >= _GRAM)


def _literal(expression: str, at: int) -> tuple[str, int]:
    """Return the character that must be there, or nothing, and where the next piece begins."""
    character = expression[at]
    if character == "\\":
        after = expression[at + 1 : at + 2]
        if after in ("p", "P", "x"):
            return "", _after_brace(expression, at + 2, 2 if after == "x" else 1)
        return (after if after in _PUNCTUATION else ""), at + 2
    if character == "[":
        return "", _after_class(expression, at)
    if character == "(":
        return "", _after_group(expression, at)
    if character == "{":
        return "", _after_brace(expression, at, 1)
    return ("" if character in "^$.*+?)" else character), at + 1


def _after_brace(expression: str, at: int, otherwise: int) -> int:
    """Return where something in braces ends, or so many characters further when there are none."""
    braced = _BRACED.match(expression, at)
    return braced.end() if braced else at + otherwise


def _after_class(expression: str, at: int) -> int:
    """Return where a character class ends; a bracket right at its beginning belongs to it."""
    at += 1
    if expression[at : at + 1] == "^":
        at += 1
    first = True
    while at < len(expression) and (first or expression[at] != "]"):
        first = False
        if expression.startswith("[:", at):
            end = expression.find(":]", at + 2)
            at = end + 2 if end >= 0 else at + 1
        else:
            at += 2 if expression[at] == "\\" else 1
    return at + 1


def _after_group(expression: str, at: int) -> int:
    depth = 0
    while at < len(expression):
        character = expression[at]
        if character == "\\":
            at += 1
        elif character == "[":
            at = _after_class(expression, at) - 1
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return at
