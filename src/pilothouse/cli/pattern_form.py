"""What a rule or a permission is about, as options of a command and in words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from pilothouse.cli.options import given
from pilothouse.types.authority import Example, Pattern
from pilothouse.types.errors import PilothouseError

_TOOL = "`file_operations.create_file`, `github.*`; none means any."
_PATH = "A pattern of paths, `src/**`; without a slash in front it begins at the working directory."
_COMMAND = "A command; `*` at its end is for further plain words."
_SOURCE = "Whose data may go along: `files`, `server:NAME`; left out: anyone's."
_MATCH = "A command, path or host that it must be about."


@dataclass(frozen=True, kw_only=True)
class PatternForm:
    """What a permission is about."""

    tool: Annotated[str | None, given(metavar="NAME", help=_TOOL)] = None
    path: Annotated[list[str] | None, given(metavar="GLOB", help=_PATH)] = None
    command: Annotated[str | None, given(metavar="WORDS", help=_COMMAND)] = None
    destination: Annotated[str | None, given(metavar="HOST", help="A host or a server, or `*.example.com`.")] = None
    source: Annotated[list[str] | None, given(metavar="SOURCE", help=_SOURCE)] = None
    folder: Annotated[str | None, given(metavar="FOLDER", help="Only in this working directory.")] = None

    @property
    def pattern(self) -> Pattern:
        """Return what the options mean."""
        return Pattern(
            tool=self.tool or "*",
            paths=tuple(self.path or ()),
            command=_words(self.command or ""),
            destination=self.destination or "",
            sources=tuple(self.source) if self.source else None,
            folder=self.folder or "",
        )

    @property
    def allowed(self) -> Pattern:
        """Return what the options mean, as a permission: whatever there is is not allowed by leaving them all out."""
        if self.pattern == Pattern():
            fix = "Say what it is about, for example --tool."
            raise PilothouseError("bad_request", "Not everything can be allowed.", fix=fix)
        return self.pattern


@dataclass(frozen=True, kw_only=True)
class RuleForm(PatternForm):
    """What a rule is about, with examples: commands, hosts or paths, whichever the pattern is about."""

    match: Annotated[list[str] | None, given(metavar="EXAMPLE", help=_MATCH)] = None
    not_match: Annotated[list[str] | None, given(metavar="EXAMPLE", help="One that it must not be about.")] = None

    @property
    def examples(self) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        """Return what the pattern must and must not be about."""
        match, not_match = (
            tuple(_example(said, self.pattern) for said in each or ()) for each in (self.match, self.not_match)
        )
        return match, not_match


def _example(said: str, pattern: Pattern) -> Example:
    name = pattern.tool
    tool = "example" if name == "*" else f"{name.removesuffix('*')}example" if name.endswith(".*") else name
    folder = pattern.folder or "/"
    if pattern.command:
        return Example(tool=tool, command=said, folder=folder)
    if pattern.destination:
        return Example(tool=tool, destination=said, folder=folder)
    return Example(tool=tool, paths=(said,), folder=folder)


def _words(text: str) -> tuple[str, ...]:
    try:
        # Read without taking quotes away, so that what stands in them is no sign of the shell's.
        pieces = [*shlex.shlex(text, posix=False, punctuation_chars=True)]
        words = tuple(shlex.split(text))
    except ValueError:
        raise PilothouseError("bad_request", f"“{text}” has a quote that is not closed.") from None
    if any(not piece.strip("();<>|&") for piece in pieces):
        fix = "Name one command of plain words; several need a rule each."
        raise PilothouseError("bad_request", f"“{text}” is more than one command.", fix=fix)
    return words
