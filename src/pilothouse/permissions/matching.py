"""Whether a pattern is about a call.

There are two questions, and doubt answers them differently. A permission must cover the call: all of it, for
certain. A refusal only has to concern it: any part of it, as far as can be told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from pilothouse.permissions import commands, globs
from pilothouse.permissions.fetches import host_of
from pilothouse.permissions.programs import is_open_ended, name_of
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import EDIT_TOOLS, EDITING, Pattern, unmarked

_resolved: dict[str, str] = {}
_resolved_at = 0.0


class SeenPath(NamedTuple):
    """A path as patterns look at it: from the root, and from the working directory when it lies in it."""

    parts: tuple[str, ...]
    inner: tuple[str, ...] | None
    writes: bool
    whole: bool = False


class Subject:
    """A call as patterns look at it; what takes time to find out is found out once."""

    def __init__(
        self, access: Access, definition: str, folder: str | None, sources: frozenset[str] = frozenset()
    ) -> None:
        self.access = access
        self.definition = definition
        # Whose private data it can take along.
        self.sources = sources
        self.folder = os.path.realpath(folder) if folder else ""
        self._folder = tuple(globs.split(self.folder))

    @cached_property
    def words(self) -> tuple[str, ...] | None:
        """Return the words of the command, when they are certain."""
        command = self.access.command
        if command is None or command.typed:
            return None
        if command.argv:
            return command.argv if not command.text else None
        read = commands.read(command.text)
        return read.words if isinstance(read, commands.Certain) else None

    @cached_property
    def line(self) -> tuple[str, ...] | None:
        """Return the whole line that a shell reads as one word: no program's name is like that."""
        command = self.access.command
        if command is None or command.typed or command.argv or len(command.text) > limits.COMMAND_CERTAIN_CHARS:
            return None
        return (command.text,) if command.text.isprintable() and " " in command.text.strip() else None

    @cached_property
    def pieces(self) -> frozenset[str]:
        """Return everything in the command that could be a word."""
        command = self.access.command
        if command is None:
            return frozenset()
        return commands.pieces(command.text).union(command.argv, *map(commands.pieces, command.argv))

    @cached_property
    def is_plain(self) -> bool:
        """Return whether the command runs one program, and that one nothing else that its words name."""
        return self.words is not None and not is_open_ended(self.words)

    @cached_property
    def paths(self) -> tuple[SeenPath, ...]:
        """Return the paths that it would touch."""
        uses = self.access.paths
        return tuple(self._seen(use.path, use.effect == "writes")._replace(whole=use.whole) for use in uses)

    @cached_property
    def named(self) -> tuple[SeenPath, ...]:
        """Return what could be paths in the command; nothing when there are too many to look at."""
        if self.names_too_much:
            return ()
        whole = (os.path.normpath(os.path.join(self.folder, os.path.expanduser(piece))) for piece in self.pieces)
        return tuple(self._seen(path, False) for path in whole if len(path) <= limits.COMMAND_PATH_CHARS)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Return what could be names of other machines in a command that has the network."""
        command = self.access.command
        named = self.pieces if command is not None and command.network else ()
        return frozenset(piece for piece in named if len(piece) <= limits.COMMAND_HOST_CHARS)

    @property
    def names_too_much(self) -> bool:
        """Return whether the command has more words than are looked at one by one."""
        return len(self.pieces) > limits.COMMAND_PIECES

    def _seen(self, path: str, writes: bool) -> SeenPath:
        parts = tuple(globs.split(path))
        return SeenPath(parts, parts[len(self._folder) :] if self._is_inside(parts) else None, writes)

    def is_in_folder(self, path: str) -> bool:
        """Return whether a path is the working directory or lies in it."""
        return self._is_inside(tuple(globs.split(path)))

    def _is_inside(self, parts: tuple[str, ...]) -> bool:
        return bool(self.folder) and parts[: len(self._folder)] == self._folder


def covers_all(pattern: Pattern, subject: Subject) -> bool:
    """Return whether a permission for this pattern is one for the whole call, beyond doubt."""
    return covers_call(pattern, subject) and _covers_sources(pattern, subject)


def covers_call(pattern: Pattern, subject: Subject) -> bool:
    """Return the same, whatever private data it takes along."""
    return (
        is_about(pattern, subject)
        and _covers_paths(pattern, subject)
        and _covers_command(pattern, subject)
        and (not pattern.destination or goes_to(subject.access, pattern.destination))
    )


def covers_sources(sources: Iterable[str], subject: Subject) -> bool:
    """Return whether these are all whose private data a call can take along; a name is any server's that has it."""
    named = frozenset(sources)
    return all(source in named or unmarked(source) in named for source in subject.sources)


def _covers_sources(pattern: Pattern, subject: Subject) -> bool:
    if pattern.sources is None:
        # Whoever names a server's tool or a place means whatever goes there. "Any tool" is no word about anyone's data,
        # and words of a command are none about the network.
        networked = subject.access.command is not None and subject.access.destination != ""
        return not subject.sources or bool(pattern.destination) or (pattern.tool != "*" and not networked)
    return covers_sources(pattern.sources, subject)


def concerns(pattern: Pattern, subject: Subject) -> bool:
    """Return whether a refusal by this pattern is one of the call, or of any part of it."""
    return (
        is_about(pattern, subject)
        and (not pattern.paths or _touches_paths(pattern, subject))
        and (not pattern.command or _may_run(pattern.command, subject))
        and (not pattern.destination or _may_send(pattern.destination, subject))
        and (not pattern.sources or _names_source(pattern.sources, subject))
    )


def _names_source(sources: tuple[str, ...], subject: Subject) -> bool:
    """Return whether a refusal is about data of one of these, whichever server has the name."""
    return not {unmarked(source) for source in subject.sources}.isdisjoint(map(unmarked, sources))


def is_about(pattern: Pattern, subject: Subject) -> bool:
    """Return whether tool, definition and working directory are the ones meant."""
    if not tool_matches(pattern.tool, subject.access.operation):
        return False
    if pattern.definition and not _is_defined(pattern.definition, subject.definition):
        return False
    return not pattern.folder or subject.folder in (pattern.folder, resolved(pattern.folder))


def _is_defined(wanted: str, definition: str) -> bool:
    """Return whether a definition is the one meant; one that ends with a colon stands for all tools of a server."""
    return definition.startswith(wanted) if wanted.endswith(":") else definition == wanted


def tool_matches(name: str, operation: str) -> bool:
    """Return whether a name of the pattern stands for an operation; a dot is a boundary."""
    if name in ("*", operation) or (name == EDIT_TOOLS and operation in EDITING):
        return True
    return name.endswith(".*") and len(operation) > len(name) - 1 and operation.startswith(name[:-1])


def host_matches(name: str, destination: str) -> bool:
    """Return whether a name of the pattern stands for a destination; `*.` for whatever is under a host."""
    if name == "*":
        return destination != ""
    wanted, there = _host(name), _host(destination)
    if wanted.startswith("*."):
        return there.endswith(wanted[1:]) and len(there) > len(wanted) - 1 and not there.startswith(".")
    return wanted == there != ""


def goes_to(access: Access, name: str) -> bool:
    """Return whether a name of the pattern stands for where a call sends data: the host, or the server there."""
    return any(host_matches(name, to) for to in (access.destination, access.through, host_of(access)))


def _host(name: str) -> str:
    return name.lower().removesuffix(".")


def _covers_paths(pattern: Pattern, subject: Subject) -> bool:
    if not pattern.paths:
        return True
    if pattern.tool == EDIT_TOOLS and any(path.whole for path in subject.paths):
        # A folder that is moved with everything in it is more than an edit.
        return False
    compiled = [globs.glob(text) for text in pattern.paths]
    return bool(subject.paths) and all(any(_covers_path(glob, path) for glob in compiled) for path in subject.paths)


def _covers_path(glob: globs.Glob, path: SeenPath) -> bool:
    seen = path.inner if glob.is_relative else path.parts
    return seen is not None and glob.covers(seen) and (not path.whole or glob.covers_all_below(seen))


def _covers_command(pattern: Pattern, subject: Subject) -> bool:
    command = subject.access.command
    if command is None:
        return not pattern.command
    if command.folder and not subject.is_in_folder(command.folder):
        return False
    if not pattern.command:
        # A permission that does not say which command is none for any, but for asking the host that it names.
        return pattern.destination != "*" and host_matches(pattern.destination, host_of(subject.access))
    if pattern.command == subject.line:
        return True
    return subject.words is not None and _are_meant(pattern.command, subject.words)


def _are_meant(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if pattern[-1] != "*":
        return pattern == words
    fixed = pattern[:-1]
    if not fixed or words[: len(fixed)] != fixed or is_open_ended(words):
        return False
    return not any(word.startswith("-") for word in words[len(fixed) :])


def _touches_paths(pattern: Pattern, subject: Subject) -> bool:
    if subject.names_too_much:
        return True
    compiled = [globs.glob(text) for text in pattern.paths]
    return any(_touches(glob, path, subject) for path in (*subject.paths, *subject.named) for glob in compiled)


def _touches(glob: globs.Glob, path: SeenPath, subject: Subject) -> bool:
    seen = path.inner if glob.is_relative else path.parts
    if seen is not None and (glob.concerns(seen) or (path.writes and glob.is_in(seen))):
        return True
    if seen is not None and path.whole and glob.may_be_below(seen):
        return True
    # The rule may name its folder by a link; paths of calls never do.
    real = real_prefix(glob.prefix, glob.is_relative, subject.folder)
    return path.parts[: len(real)] == real and glob.concerns(glob.prefix + path.parts[len(real) :])


def real_prefix(prefix: tuple[str, ...], is_relative: bool, folder: str) -> tuple[str, ...]:
    """Return where the beginning of a pattern lies when every link is followed."""
    begin = folder if is_relative else ""
    return tuple(globs.split(resolved(f"{begin}/{'/'.join(prefix)}")))


def _may_run(pattern: tuple[str, ...], subject: Subject) -> bool:
    if subject.access.command is None:
        return False
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    if not fixed:
        return True
    if subject.is_plain and subject.words is not None:
        words = iter(subject.words[1:])
        # Options may stand between the words that count; a refusal holds with them too.
        return name_of(fixed[0]) == name_of(subject.words[0]) and all(word in words for word in fixed[1:])
    return _has_piece(name_of(fixed[0]), subject) and all(_has_piece(word, subject) for word in fixed[1:])


def _has_piece(word: str, subject: Subject) -> bool:
    if word in subject.pieces:
        return True
    # What is no single piece itself is looked for piece by piece.
    own = commands.pieces(word)
    return own != {word} and bool(own) and own <= subject.pieces


def _may_send(destination: str, subject: Subject) -> bool:
    return goes_to(subject.access, destination) or any(host_matches(destination, name) for name in subject.hosts)


def resolved(path: str) -> str:
    """Return an absolute path with its links followed; what does not exist is itself."""
    global _resolved_at  # noqa: PLW0603
    now = time.monotonic()
    if now - _resolved_at > limits.LINKS_BELIEVED:
        _resolved.clear()
        _resolved_at = now
    return _resolve(os.path.normpath(path))


def _resolve(path: str) -> str:
    known = _resolved.get(path)
    if known is not None:
        return known
    parent, name = os.path.split(path)
    if not name:
        return "/"
    whole = os.path.join(_resolve(parent), name)
    try:
        os.readlink(whole)
        whole = os.path.realpath(whole)
    except OSError:
        pass  # It is no link, or not there at all.
    _resolved[path] = whole
    return whole
