"""What a check costs at most, known before it begins: nothing can interrupt the validator once it is at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject

# A search takes longer than a comparison, and grows with the text: so many steps for each byte.
_SEARCH = 4
# Comparing a member of a fixed list or object.
_COMPARED = 8
# A few members of a list are compared with each other, many are looked up; whole, however deep they are.
_UNIQUE = 16
# Values that stand deeper than so many levels are checked elsewhere.
_LEVELS = 16
# How many answers are remembered while counting; more is no description of a parameter.
_ANSWERS = 10_000
# These say something about the same value.
_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_MANY = ("allOf", "anyOf", "oneOf")
_IN_PLACE_NAMED = ("dependentSchemas", "dependencies")
# Each of these is about every member of a value; of the others, one is about a member.
_MEMBERS = ("additionalProperties", "additionalItems", "items", "contains", "propertyNames")
# What these come to depends on what others found out.
_UNFORESEEN = frozenset({"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"})
_NAMES = frozenset({"$id", "id"})
_OPEN = -1
_NESTING = {dict, list}


class Unforeseen(Exception):
    """Nobody can say beforehand how long a check by this schema takes."""


class Unusable(Exception):
    """The schema is none, refers to elsewhere or to itself without end, or has a pattern that cannot be read."""


class Endless(Unusable):
    """The schema refers to itself without going on in the value."""


class Cost(msgspec.Struct, frozen=True):
    """How often one schema looks at a value and searches it at most, by how deep the value stands."""

    looks: tuple[int, ...]
    searches: tuple[int, ...]

    def searched(self, size: int) -> int:
        """Return how many steps go into searching a value that has so many bytes as JSON."""
        return size * max(self.searches) * _SEARCH

    def is_within(self, left: int, value: object, size: int) -> bool:
        """Return whether all else about a value takes no more steps than are left."""
        # A value has at least one byte, and something stands before the next one.
        if len(self.looks) < _LEVELS and (size // 2 + 1) * max(self.looks) <= left:
            return True
        level: list[Any] = [value]
        for looks in self.looks:
            left -= len(level) * looks
            level = [each for each in level if type(each) in _NESTING]
            if not level or left < 0:
                return left >= 0
            level = [inner for each in level for inner in (each.values() if type(each) is dict else each)]
        # What stands below the last level that is spoken of is not looked at.
        return len(self.looks) < _LEVELS


def cost(schema: JsonObject) -> Cost:
    """Return what checks by a schema cost at most; raise Unforeseen if nobody can say, Endless if they never end."""
    try:
        looks = tuple(_levels(_Counting(schema, _looks)))
        searching = _Counting(schema, _searches)
        searches = tuple(searching.at(schema, level) for level in range(len(looks)))
    except (RecursionError, TypeError, AttributeError):
        raise Unforeseen from None
    if searching.found > limits.PATTERNS_AT_ONCE:
        raise Unforeseen
    return Cost(looks, searches)


def _levels(counting: _Counting) -> Iterator[int]:
    """Yield the numbers from the value itself down to the last level that the schema speaks of."""
    for level in range(_LEVELS):
        if not (found := counting.at(counting.root, level)):
            return
        yield found


def _looks(piece: JsonObject) -> int:
    """Return how many comparisons a schema asks for by itself."""
    compared = _parts(piece.get("const")) + sum(map(_parts, piece.get("enum", ())))
    return len(piece) + compared + len(piece.get("required", ()))


def _parts(value: Any) -> int:
    """Return what comparing with a fixed value costs; that of lists and objects is slow."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_COMPARED + _parts(each) for each in inner)


def _searches(piece: JsonObject) -> int:
    return ("pattern" in piece) + len(piece.get("patternProperties", ()))


class _Counting:
    """Counts for one schema, its references followed, how often a value is looked at that stands so deep."""

    def __init__(self, root: JsonObject, own: Callable[[JsonObject], int]) -> None:
        self.root = root
        self._own = own
        self._known: dict[tuple[int, int], int] = {}
        # What its pieces come to by themselves.
        self.found = 0

    def at(self, piece: Any, level: int) -> int:
        """Return the number for a value so many levels below the one that this piece is about."""
        if isinstance(piece, bool):
            return int(level == 0)
        place = (id(piece), level)
        known = self._known.get(place)
        if known == _OPEN:
            raise Endless
        if len(self._known) > _ANSWERS:
            raise Unforeseen
        if known is None:
            self._known[place] = _OPEN
            known = self._known[place] = self._count(piece, level)
        return known

    def _count(self, piece: JsonObject, level: int) -> int:
        if piece.keys() & _UNFORESEEN or (piece is not self.root and piece.keys() & _NAMES):
            raise Unforeseen
        found = sum(self.at(each, level) for each in self._in_place(piece))
        if level == 0:
            own = self._own(piece)
            self.found += own
            return found + own
        if piece.get("uniqueItems"):
            found += _UNIQUE
        found += max((self.at(each, level - 1) for each in _of_one_member(piece)), default=0)
        return found + sum(self.at(each, level - 1) for each in _of_all_members(piece))

    def _in_place(self, piece: JsonObject) -> Iterator[Any]:
        """Yield what is said about the same value."""
        if "$ref" in piece:
            yield target(self.root, piece["$ref"])
        yield from (piece[word] for word in _IN_PLACE if word in piece)
        for word in _IN_PLACE_MANY:
            yield from piece.get(word, ())
        for word in _IN_PLACE_NAMED:
            # Old schemas name fields there that must be there too.
            yield from (each for each in piece.get(word, {}).values() if not isinstance(each, list))


def _of_one_member(piece: JsonObject) -> Iterator[Any]:
    """Yield what is said about certain members of a value, of which each is about another one."""
    yield from piece.get("properties", {}).values()
    yield from piece.get("prefixItems", ())
    if isinstance(piece.get("items"), list):
        yield from piece["items"]


def _of_all_members(piece: JsonObject) -> Iterator[Any]:
    yield from (piece[word] for word in _MEMBERS if word in piece and not isinstance(piece[word], list))
    yield from piece.get("patternProperties", {}).values()


def target(root: Any, reference: str) -> Any:
    """Return the part of a schema that a reference within it leads to; raise Unforeseen if it leads elsewhere."""
    if not reference.startswith("#"):
        raise Unforeseen
    place = root
    for step in filter(None, reference[1:].split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and name in place:
            place = place[name]
        elif isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        else:
            raise Unforeseen
    return place
