"""Finds, among very many rules, the few that can speak about a call. It may find too many, never too few."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pilothouse.permissions import commands, globs
from pilothouse.permissions.matching import SeenPath, Subject, real_prefix
from pilothouse.permissions.programs import name_of
from pilothouse.types import limits
from pilothouse.types.authority import EDIT_TOOLS, EDITING, Rule

Rules = list[Rule]
# The components before the first wildcard, and whether they begin at the working directory.
_Key = tuple[bool, tuple[str, ...]]


class RuleIndex:
    """Rules by tool, and within a tool by what else they name."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_tool: dict[str, _Bucket] = {}
        for rule in rules:
            self._by_tool.setdefault(rule.pattern.tool, _Bucket()).add(rule)
        for bucket in self._by_tool.values():
            bucket.finish()

    def candidates(self, subject: Subject) -> Iterator[Rule]:
        """Yield every rule that can match, perhaps more than once."""
        for name in _names(subject.access.operation):
            bucket = self._by_tool.get(name)
            if bucket is not None:
                yield from bucket.candidates(subject)


def _names(operation: str) -> Iterator[str]:
    yield "*"
    yield operation
    if operation in EDITING:
        yield EDIT_TOOLS
    place = operation.find(".")
    while place >= 0:
        yield f"{operation[:place]}.*"
        place = operation.find(".", place + 1)


class _Bucket:
    """The rules of one tool, each in the one place that says most about it."""

    def __init__(self) -> None:
        self._open: Rules = []
        self._any_command: Rules = []
        self._by_program: dict[str, Rules] = defaultdict(list)
        self._by_host: dict[str, Rules] = defaultdict(list)
        self._by_prefix: dict[_Key, Rules] = defaultdict(list)
        self._prefixes: list[_Key] = []
        # Those of rules that refuse or ask: a permission never reaches over a link.
        self._strict: list[_Key] = []
        self._linked: dict[str, tuple[float, list[tuple[tuple[str, ...], _Key]]]] = {}

    def add(self, rule: Rule) -> None:
        pattern = rule.pattern
        if pattern.command:
            name = name_of(pattern.command[0])
            # A name of several pieces is not found by looking its pieces up.
            named = name != "*" and commands.pieces(name) == {name}
            (self._by_program[name] if named else self._any_command).append(rule)
        elif pattern.destination:
            self._by_host[pattern.destination.lower().removesuffix(".").removeprefix("*.")].append(rule)
        elif pattern.paths:
            for glob in map(globs.glob, pattern.paths):
                self._by_prefix[glob.is_relative, glob.prefix].append(rule)
        else:
            self._open.append(rule)

    def finish(self) -> None:
        self._prefixes = sorted(self._by_prefix)
        strict = (key for key, rules in self._by_prefix.items() if any(rule.verdict != "allow" for rule in rules))
        self._strict = sorted(strict)

    def candidates(self, subject: Subject) -> Iterator[Rule]:
        yield from self._open
        if subject.access.command is not None:
            yield from self._any_command
            yield from self._of_programs(subject)
        if self._by_host:
            yield from self._of_hosts(subject)
        if self._by_prefix:
            yield from self._of_paths(subject)

    def _of_programs(self, subject: Subject) -> Iterator[Rule]:
        if not self._by_program:
            return
        if subject.is_plain and subject.words is not None:
            yield from self._by_program.get(name_of(subject.words[0]), ())
            return
        known = self._by_program.keys() & subject.pieces
        if subject.words is not None:
            known = known | {name_of(subject.words[0])}
        for name in known:
            yield from self._by_program.get(name, ())

    def _of_hosts(self, subject: Subject) -> Iterator[Rule]:
        hosts = {subject.access.destination, subject.access.through, *subject.hosts}
        yield from self._by_host.get("*", ())
        for host in hosts:
            labels = host.lower().removesuffix(".").split(".")
            for at in range(len(labels)):
                yield from self._by_host.get(".".join(labels[at:]), ())

    def _of_paths(self, subject: Subject) -> Iterator[Rule]:
        if subject.names_too_much:
            for rules in self._by_prefix.values():
                yield from rules
            return
        paths = (*subject.paths, *subject.named)
        for path in paths:
            yield from self._along(False, path.parts, path.writes)
            if path.inner is not None:
                yield from self._along(True, path.inner, path.writes)
        yield from self._behind_links(paths, subject.folder)

    def _along(self, is_relative: bool, parts: tuple[str, ...], writes: bool) -> Iterator[Rule]:
        for depth in range(len(parts) + 1):
            yield from self._by_prefix.get((is_relative, parts[:depth]), ())
        if writes:
            at = bisect_left(self._prefixes, (is_relative, parts))
            while at < len(self._prefixes) and self._prefixes[at][1][: len(parts)] == parts:
                yield from self._by_prefix[self._prefixes[at]]
                at += 1

    def _behind_links(self, paths: tuple[SeenPath, ...], folder: str) -> Iterator[Rule]:
        for real, key in self._linked_in(folder):
            if any(path.parts[: len(real)] == real for path in paths):
                yield from self._by_prefix[key]

    def _linked_in(self, folder: str) -> list[tuple[tuple[str, ...], _Key]]:
        """Return the beginnings of patterns that lead elsewhere over a link, as it was a moment ago."""
        since, found = self._linked.get(folder, (-math.inf, []))
        now = time.monotonic()
        if now - since > limits.LINKS_BELIEVED:
            begin = tuple(globs.split(folder))
            places = ((real_prefix(prefix, relative, folder), relative, prefix) for relative, prefix in self._strict)
            found = [(real, (rel, prefix)) for real, rel, prefix in places if real != (begin if rel else ()) + prefix]
            self._linked = {folder: (now, found)}
        return found
