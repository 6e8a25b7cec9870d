"""Hostile inputs for a regular expression, made from its own tree: what its repeats take, again and again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # the parser that `re` itself has
from typing import Any

from tests.adversarial.expression_uses import Compiled

# As many turns count as many; fewer are a constant factor.
MANY = 16
# As many characters are tried for each repeat: those first that other parts of the expression take, too.
_PUMPS = 4
_COMMON = "a0 _\n\t-.\"'\\/:,=*`[](){}<>$#@~|;&A\x00é"
# More than so many are alike: an expression of many branches takes them in turn.
_MOST = 150
# What stands between two turns, so that what ends a hit is there and does not fit.
_BETWEEN = (" ", "\n", "a", ",")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@dataclass(frozen=True)
class Hostile:
    """A text that grows: what it begins with, what comes again and again, and what it ends with."""

    before: str
    again: str
    after: str

    def of(self, size: int) -> str:
        """Return it with about that many characters."""
        return self.before + self.again * max(1, size // len(self.again)) + self.after


@dataclass(frozen=True)
class _Repeat:
    """A repeat that can go on, and a text that leads to it."""

    before: str
    pumps: tuple[str, ...]


def is_linear(pattern: Compiled) -> bool:
    """Whether nothing in it repeats often: then each place of a text costs the same, wherever it begins."""
    return not any(_goes_on(node) for node in _nodes(_parsed(pattern)))


def inputs(pattern: Compiled) -> list[Hostile]:
    """Return texts that lead to each repeat and pump it; each ends so that the match fails late."""
    found: dict[Hostile, None] = {}
    tree = _Tree(_parsed(pattern))
    parsed = list(_parsed(pattern))
    repeats = list(dict.fromkeys((*tree.repeats(parsed, "", whole=False), *tree.repeats(parsed, "", whole=True))))
    ends = tree.ends()
    for one in repeats:
        for pump in one.pumps:
            for end in ends:
                found[Hostile(one.before, pump, end)] = None
            found[Hostile("", one.before + pump, "")] = None
            for between in dict.fromkeys((*_BETWEEN, ends[-1])):
                found[Hostile("", one.before + pump + between, "")] = None
        if one.before:
            found[Hostile("", one.before, "")] = None
    for first, second in pairwise(repeats):
        found[Hostile(first.before, first.pumps[0] + second.pumps[0], "\x00")] = None
        found[Hostile("", second.before + second.pumps[0] + first.before + first.pumps[0], "")] = None
    made = [one for one in found if one.again]
    return made[:: -(-len(made) // _MOST)]


@cache
def _parsed(pattern: Compiled) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)


def _name(node: Any) -> str:
    return str(node[0])


def _goes_on(node: Any) -> bool:
    return _name(node) in _REPEATS and (node[1][1] is _constants.MAXREPEAT or node[1][1] >= MANY)


def _inner(node: Any) -> list[Any]:
    """Return the sequences within a node."""
    name, value = _name(node), node[1]
    if name == "BRANCH":
        return list(value[1])
    if name in _REPEATS:
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[-1]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    if name == "GROUPREF_EXISTS":
        return [one for one in value[1:] if one is not None]
    return []


def _nodes(sequence: Iterable[Any]) -> Iterator[Any]:
    for node in sequence:
        yield node
        for inner in _inner(node):
            yield from _nodes(inner)


class _Tree:
    """What is asked of one expression's tree."""

    def __init__(self, parsed: Any) -> None:
        self._parsed = parsed
        self._sets = [node for node in _nodes(parsed) if _name(node) in ("LITERAL", "NOT_LITERAL", "ANY", "IN")]
        self._alphabet = self._letters()
        self._taken = {index: self._accepted(node) for index, node in enumerate(self._sets)}
        self._groups: dict[int, str] = {}

    def ends(self) -> list[str]:
        """Return ends that no match goes on with: nothing, a break, and what is refused most often."""
        refused = min(self._alphabet, key=lambda char: sum(char in taken for taken in self._taken.values()))
        return list(dict.fromkeys(("", "\n", refused)))

    def repeats(self, sequence: list[Any], before: str, *, whole: bool) -> Iterator[_Repeat]:
        """Yield every repeat that can go on, with what leads to it: the least, or also what may be left out."""
        for node in sequence:
            if _goes_on(node):
                yield _Repeat(before, self._pumps(node, before))
            for inner in _inner(node):
                yield from self.repeats(list(inner), before, whole=whole)
            before += self._example([node], whole=whole)

    def _letters(self) -> str:
        found = dict.fromkeys(_COMMON)
        for node in self._sets:
            members = node[1] if _name(node) == "IN" else [node]
            for kind, value in members:
                codes = value if str(kind) == "RANGE" else (value,)
                found |= dict.fromkeys(chr(code) for code in codes if isinstance(code, int) and str(kind) != "CATEGORY")
        return "".join(found)

    def _accepted(self, node: Any) -> str:
        probe = _compiler.compile(_parser.SubPattern(self._parsed.state, [node]), self._parsed.state.flags)
        as_bytes = isinstance(self._parsed.state.str, bytes)
        letters = (char for char in self._alphabet if not as_bytes or ord(char) < 256)
        return "".join(char for char in letters if probe.fullmatch(char.encode("latin-1") if as_bytes else char))

    def _of(self, node: Any) -> str:
        return next((self._taken[index] for index, each in enumerate(self._sets) if each is node), "")

    def _pumps(self, repeat: Any, before: str) -> tuple[str, ...]:
        body = list(repeat[1][2])
        found: dict[str, None] = {}
        if len(body) == 1 and _name(body[0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            shared = sorted(self._of(body[0]), key=lambda char: -sum(char in taken for taken in self._taken.values()))
            found |= dict.fromkeys(shared[:_PUMPS])
        else:
            found |= dict.fromkeys(self._variants(body, before)[: 2 * _PUMPS])
        return tuple(found) or ("a",)

    def _variants(self, body: list[Any], before: str) -> list[str]:
        """Return texts that a longer body takes: the shortest, and one for each of its branches and sets."""
        found = {self._example(body): None}
        # What led here, taken for something else: an escaped quote begins a string when it is looked at alone.
        for prefer in dict.fromkeys(before[:1] + before[-1:]):
            found[self._example(body, prefer=prefer)] = None
            for node in _nodes(body):
                if _name(node) == "BRANCH":
                    found |= dict.fromkeys(self._example(branch, prefer=prefer) for branch in node[1][1])
        for node in _nodes(body):
            if _name(node) == "BRANCH":
                found |= dict.fromkeys(self._example(branch) for branch in node[1][1])
            elif _name(node) in _REPEATS:
                found[self._example(body) + self._example(node[1][2])] = None
            elif _name(node) in ("ANY", "IN", "NOT_LITERAL"):
                found |= dict.fromkeys(self._of(node)[:2])
        return [text for text in found if text]

    def _example(self, sequence: Iterable[Any], *, whole: bool = False, prefer: str = "") -> str:
        """Return a short text that a sequence takes; `whole` has also what may be left out."""
        made = ""
        for node in sequence:
            name, value = _name(node), node[1]
            if name == "LITERAL":
                made += chr(value)
            elif name in ("NOT_LITERAL", "ANY", "IN"):
                taken = self._of(node) or "a"
                made += prefer if prefer and prefer in taken else taken[0]
            elif name in _REPEATS:
                made += self._example(value[2], whole=whole, prefer=prefer) * min(max(value[0], whole), MANY)
            elif name == "BRANCH":
                made += self._example(value[1][0], whole=whole, prefer=prefer)
            elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
                inside = self._example(value[-1] if name == "SUBPATTERN" else value, whole=whole, prefer=prefer)
                if name == "SUBPATTERN" and value[0] is not None:
                    self._groups[value[0]] = inside
                made += inside
            elif name == "GROUPREF":
                made += self._groups.get(value, "")
        return made
