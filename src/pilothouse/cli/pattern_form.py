"""What a rule or a permission is about, as options of a command and in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pilothouse.cli.form_options import given
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    # Imported when a form is read: it takes longer to import than all of `--help` may.
    from pilothouse.types.authority import Example, Pattern


@dataclass(frozen=True, kw_only=True)
class PatternForm:
    """The options as they were given; examples are commands, hosts or paths, whichever the pattern is about."""

    tool: str | None = None
    path: Sequence[str] | None = None
    command: str | None = None
    destination: str | None = None
    folder: str | None = None
    match: Sequence[str] | None = None
    not_match: Sequence[str] | None = None

    @property
    def pattern(self) -> Pattern:
        """Return what the options mean."""
        from pilothouse.types.authority import Pattern

        return Pattern(
            tool=self.tool or "*",
            paths=tuple(self.path or ()),
            command=_words(self.command or ""),
            destination=self.destination or "",
            folder=self.folder or "",
        )

    @property
    def allowed(self) -> Pattern:
        """Return what the options mean, for leave: whatever there is is not allowed by leaving them all out."""
        from pilothouse.types.authority import Pattern

        if self.pattern == Pattern():
            fix = "Say what it is about, for example --tool."
            raise PilothouseError("bad_request", "Not everything can be allowed.", fix=fix)
        return self.pattern

    @property
    def examples(self) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        """Return what the pattern must and must not be about."""
        pattern = self.pattern
        match, not_match = (
            tuple(_example(said, pattern) for said in each or ()) for each in (self.match, self.not_match)
        )
        return match, not_match


_PATH = "A pattern of paths, `src/**`; without a slash in front it begins at the working directory."

# One for each field of the form that says what a permission is about; a rule has examples too.
ABOUT = (
    given(str | None, "--tool", metavar="NAME", help="`file_operations.create_file`, `github.*`; none means any."),
    given(list[str] | None, "--path", metavar="GLOB", help=_PATH),
    given(str | None, "--command", metavar="WORDS", help="A command; `*` at its end is for further plain words."),
    given(str | None, "--destination", metavar="HOST", help="A host or a server, or `*.example.com`."),
    given(str | None, "--folder", metavar="FOLDER", help="Only in this working directory."),
)
EXAMPLES = (
    given(list[str] | None, "--match", metavar="EXAMPLE", help="A command, path or host that it must be about."),
    given(list[str] | None, "--not-match", metavar="EXAMPLE", help="One that it must not be about."),
)


def _example(said: str, pattern: Pattern) -> Example:
    from pilothouse.types.authority import Example

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
