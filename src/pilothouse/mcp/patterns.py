"""Regular expressions of strangers: those that could take for ever on a short text are recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# The parser of `re` itself. Its module is private, so whoever changes the Python version looks here.
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from pilothouse.types import limits

# Enough of the alphabet to see whether two pieces can match the same character.
_ALPHABET = frozenset(map(chr, range(32, 127))) | {"\n", "\t", "é", "世"}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
_CLASSES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_Node = tuple[Any, Any]


def objection(pattern: str) -> str:
    """Return why a pattern is not used, in one sentence; empty when there is nothing against it."""
    if len(pattern) > limits.SCHEMA_PATTERN_CHARS:
        return "a pattern is too long"
    try:
        tree = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return "a pattern is not a regular expression that can be read here"
    return "a pattern could take for ever" if _explosive(list(tree)) else ""


def _explosive(nodes: Sequence[_Node]) -> bool:
    for node in nodes:
        if _is_endless(node):
            body = list(node[1][2])
            if _ambiguous(body, first(body)):
                return True
        if any(_explosive(inner) for inner in _inner(node)):
            return True
    return False


def _is_endless(node: _Node) -> bool:
    return node[0] in _REPEATS and node[1][1] is codes.MAXREPEAT


def _ambiguous(nodes: Sequence[_Node], again: frozenset[str]) -> bool:
    """Return whether a repeated body can match the same text in two ways; `again` is what may follow it."""
    for index, node in enumerate(nodes):
        rest = nodes[index + 1 :]
        after = first(rest) | (again if _may_be_empty(rest) else frozenset())
        if _is_endless(node) and first(list(node[1][2])) & after:
            return True
        if node[0] is codes.BRANCH and _overlap(node[1][1]):
            return True
        if any(_ambiguous(inner, after) for inner in _inner(node)):
            return True
    return False


def _overlap(choices: Iterable[Any]) -> bool:
    seen: frozenset[str] = frozenset()
    for choice in choices:
        begins = first(list(choice))
        if begins & seen or not list(choice):
            return True
        seen |= begins
    return False


def _inner(node: _Node) -> list[list[_Node]]:
    code, value = node
    if code in _REPEATS:
        return [list(value[2])]
    if code is codes.SUBPATTERN:
        return [list(value[3])]
    if code is codes.BRANCH:
        return [list(choice) for choice in value[1]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [list(value[1])]
    return []


def _may_be_empty(nodes: Sequence[_Node]) -> bool:
    return all(_node_may_be_empty(node) for node in nodes)


def _node_may_be_empty(node: _Node) -> bool:
    code, value = node
    if code in _REPEATS:
        return value[0] == 0 or _may_be_empty(list(value[2]))
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return True
    inner = _inner(node)
    return bool(inner) and any(_may_be_empty(each) for each in inner)


def first(nodes: Sequence[_Node]) -> frozenset[str]:
    """Return the characters with which a match can begin, of those we look at."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        found |= _begins(node)
        if not _node_may_be_empty(node):
            break
    return found


def _begins(node: _Node) -> frozenset[str]:
    code, value = node
    if code is codes.LITERAL:
        return frozenset({chr(value)})
    if code is codes.NOT_LITERAL:
        return _ALPHABET - {chr(value)}
    if code is codes.ANY:
        return _ALPHABET
    if code is codes.IN:
        return _of_set(value)
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return frozenset()
    inner = _inner(node)
    # What is not known here may begin with anything.
    return frozenset().union(*(first(each) for each in inner)) if inner else _ALPHABET


def _of_set(members: Sequence[_Node]) -> frozenset[str]:
    found: set[str] = set()
    for code, value in members:
        if code is codes.LITERAL:
            found.add(chr(value))
        elif code is codes.RANGE:
            found.update(char for char in _ALPHABET if value[0] <= ord(char) <= value[1])
        elif code is codes.CATEGORY and value in _CLASSES:
            found.update(char for char in _ALPHABET if re.match(_CLASSES[value], char))
    return _ALPHABET - found if members and members[0][0] is codes.NEGATE else frozenset(found)
