"""Ignore files, as git reads them: nested, the deeper one wins, the later line wins."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pilothouse.tools.search.globs import shown_path
from pilothouse.types import limits

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

# In one folder, the later of these wins over the earlier.
IGNORE_FILES = (".gitignore", ".ignore")
ALWAYS_SKIPPED = frozenset({".git", ".hg", ".svn", ".jj"})
# A group with a name, which may stand in an expression once.
_GROUP = re.compile(r"\(\?P<\w+>")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Rules:
    """What the ignore files from the top down to one folder say about the entries of that folder and below."""

    def __init__(self, stages: tuple[tuple[int, _Spec], ...] = ()) -> None:
        # Each with the length of its folder's path, the deepest first.
        self._stages = stages

    def left(self, prefix: str, names: list[str], end: str = "") -> list[str]:
        """Return which entries of a folder are not left out; `end` is a slash for folders."""
        listed = "\n".join(names)
        # Hardly ever does a rule speak of any of them, and that is asked once for all.
        if listed.count("\n") >= len(names) or any(
            spec.speaks(prefix[length:], names, end) for length, spec in self._stages
        ):
            return [name for name in names if not self.ignores(f"{prefix}{name}{end}")]
        return names

    def ignores(self, path: str) -> bool:
        """Return whether a path from the top is left out; a folder's ends in a slash."""
        for length, spec in self._stages:
            verdict = spec.rules.check_file(shown_path(path[length:])).include
            if verdict is not None:
                return verdict
        return False

    def below(self, descriptor: int, prefix: str, names: set[str]) -> Rules:
        """Return the rules for a folder whose entries have these names."""
        texts = [_text(descriptor, name) for name in IGNORE_FILES if name in names]
        if not prefix and ".git" in names:
            texts.insert(0, _exclude(descriptor))
        found = tuple(spec for text in texts for spec in _specs(text))
        if not found:
            return self
        return Rules(tuple((len(prefix), spec) for spec in reversed(found)) + self._stages)


class _Spec:
    """Some lines of an ignore file, and an expression that says of many paths whether any line speaks of one."""

    def __init__(self, patterns: list[GitIgnoreSpecPattern]) -> None:
        import re2
        from pathspec import GitIgnoreSpec

        self.rules = GitIgnoreSpec(patterns)
        options = re2.Options()
        options.log_errors = False
        options.never_nl = True
        either = "|".join(_GROUP.sub("(?:", str(pattern.regex.pattern)) for pattern in patterns if pattern.regex)
        self._any = re2.compile(f"(?m){either}".encode("utf-8", "replace"), options)

    def speaks(self, way: str, names: list[str], end: str) -> bool:
        """Return whether a line speaks of any of these names in a folder."""
        text = "\n".join(f"{way}{name}{end}" for name in names)
        return self._any.search(shown_path(text).encode()) is not None


def _specs(text: str) -> Iterator[_Spec]:
    """Yield the rules of a text, some lines at a time: too many at once are more than their engine takes."""
    batch: list[GitIgnoreSpecPattern] = []
    size = 0
    for line in text.splitlines():
        pattern = _pattern(line) if len(line) <= limits.IGNORE_LINE_CHARS else None
        if pattern is None or pattern.include is None:
            continue
        if batch and (len(batch) == limits.IGNORE_BATCH_LINES or size + len(line) > limits.IGNORE_BATCH_CHARS):
            yield from _made(batch)
            batch, size = [], 0
        batch.append(pattern)
        size += len(line)
    yield from _made(batch)


def _pattern(line: str) -> GitIgnoreSpecPattern | None:
    """Return the pattern of a line; a line that is none is passed over, as git does."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        return GitIgnoreSpecPattern(line)
    except ValueError:
        return None


def _made(patterns: list[GitIgnoreSpecPattern]) -> Iterator[_Spec]:
    import re2

    if not patterns:
        return
    try:
        yield _Spec(patterns)
    except re2.error:
        half = len(patterns) // 2
        if half:
            yield from _made(patterns[:half])
            yield from _made(patterns[half:])


def _exclude(descriptor: int) -> str:
    """Return the rules of a repository that only this copy of it has."""
    opened: list[int] = []
    try:
        for name in (".git", "info"):
            at = opened[-1] if opened else descriptor
            opened.append(os.open(name, _READ | os.O_DIRECTORY, dir_fd=at))
        return _text(opened[-1], "exclude")
    except OSError:
        return ""
    finally:
        for each in opened:
            os.close(each)


def _text(descriptor: int, name: str) -> str:
    try:
        opened = os.open(name, _READ, dir_fd=descriptor)
    except OSError:
        return ""
    try:
        return os.read(opened, limits.IGNORE_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(opened)
