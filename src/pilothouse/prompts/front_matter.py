"""A prompt's file: its title and description between two lines of dashes, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pilothouse.types import limits

_FENCE = "---"


class Parsed(msgspec.Struct, frozen=True):
    """What stands in a file."""

    title: str
    description: str
    text: str


class BadFile(Exception):
    """What is wrong with a file, as the rest of a sentence that begins with its name."""


def parsed(content: str) -> Parsed:
    """Return what stands in a file; raise BadFile for what cannot be told apart."""
    content = content.removeprefix("\ufeff").replace("\r\n", "\n")
    first, *lines = content.split("\n")
    if first.strip() != _FENCE:
        return _checked({}, content)
    end = next((number for number, line in enumerate(lines) if line.strip() == _FENCE), None)
    if end is None:
        raise BadFile("begins with “---” and has no second such line that ends what it says about itself")
    return _checked(dict(_fields(lines[:end])), "\n".join(lines[end + 1 :]))


def _fields(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what a file says about itself; the number of a line is as an editor shows it."""
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or not key.strip().replace("-", "").replace("_", "").isalnum():
            raise BadFile(f"has a line {number} that is neither “title: …” nor “description: …”")
        yield key.strip().lower(), _unquoted(value.strip())


def written(title: str, description: str, text: str) -> str:
    """Return the file that says this."""
    said = [("title", title), ("description", description)]
    lines = [f"{key}: {' '.join(value.split())}" for key, value in said if value.strip()]
    head = "\n".join([_FENCE, *lines, _FENCE, "", ""]) if lines or text.lstrip().startswith(_FENCE) else ""
    return f"{head}{text.strip()}\n"


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _checked(fields: Mapping[str, str], text: str) -> Parsed:
    title, description = fields.get("title", ""), fields.get("description", "")
    if len(title) > limits.PROMPT_TITLE_CHARS:
        raise BadFile(f"has a title of more than {limits.PROMPT_TITLE_CHARS} characters")
    if len(description) > limits.PROMPT_DESCRIPTION_CHARS:
        raise BadFile(f"has a description of more than {limits.PROMPT_DESCRIPTION_CHARS} characters")
    if not text.strip():
        raise BadFile("has no text")
    return Parsed(title, description, text.strip())
