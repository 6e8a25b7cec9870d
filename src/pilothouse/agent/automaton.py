"""A regular expression as an automaton: slower per character than Python's engine, but never exponential.

All states that a text may have led to are followed at once. What needs memory of the text (back references,
looking around) cannot be followed like that and is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import msgspec

# Bounded repeats are written out; more than this is no description of a parameter.
_STATES = 20_000
# Characters between two looks at the clock.
_STRIDE = 256

Fits = Callable[[str], bool]
Holds = Callable[[str, int], bool]


class Refused(Exception):
    """The pattern cannot be followed, or not in time."""


class _State(msgspec.Struct):
    """Goes on to `then`: after a character that fits, where something holds, or freely."""

    then: list[int]
    fits: Fits | None = None
    holds: Holds | None = None


class Automaton:
    """One pattern, ready to be looked for."""

    def __init__(self, pattern: str) -> None:
        tree = parser.parse(pattern)
        if tree.state.flags & ~sre.SRE_FLAG_UNICODE:
            raise Refused
        self._states: list[_State] = [_State([])]
        self._start = self._sequence(tree, 0)

    def found(self, text: str, until: float) -> bool:
        """Return whether the pattern stands anywhere in the text; raise Refused when the time is over."""
        reached: set[int] = set()
        for place in range(len(text) + 1):
            if place % _STRIDE == 0 and time.monotonic() > until:
                raise Refused
            here = self._freely([*reached, self._start], text, place)
            if 0 in here:
                return True
            if place < len(text):
                reached = self._after(here, text[place])
        return False

    def _freely(self, states: Iterable[int], text: str, place: int) -> set[int]:
        """Return all states that are reached without a further character."""
        seen: set[int] = set()
        waiting = list(states)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if state.fits is None and (state.holds is None or state.holds(text, place)):
                waiting += state.then
        return seen

    def _after(self, states: set[int], character: str) -> set[int]:
        found: set[int] = set()
        for number in states:
            state = self._states[number]
            if state.fits is not None and state.fits(character):
                found.update(state.then)
        return found

    # --- building: each part is given the state after it and returns its own first one ---

    def _add(self, state: _State) -> int:
        if len(self._states) >= _STATES:
            raise Refused
        self._states.append(state)
        return len(self._states) - 1

    def _sequence(self, parts: Any, then: int) -> int:
        for operation, value in reversed(list(parts)):
            then = self._part(operation, value, then)
        return then

    def _part(self, operation: Any, value: Any, then: int) -> int:
        if operation in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            return self._add(_State([then], fits=_fitting(operation, value)))
        if operation is sre.AT and value in _PLACES:
            return self._add(_State([then], holds=_PLACES[value]))
        if operation is sre.SUBPATTERN and not value[1] and not value[2]:
            return self._sequence(value[3], then)
        if operation is sre.BRANCH:
            return self._add(_State([self._sequence(part, then) for part in value[1]]))
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, parts = value
            return self._repeat(least, most, parts, then)
        raise Refused

    def _repeat(self, least: int, most: int, parts: Any, then: int) -> int:
        if most is sre.MAXREPEAT:
            again = self._add(_State([then]))
            self._states[again].then.append(self._sequence(parts, again))
            first = again
        else:
            first = then
            for _ in range(most - least):
                first = self._add(_State([self._sequence(parts, first), then]))
        for _ in range(least):
            first = self._sequence(parts, first)
        return first


def _fitting(operation: Any, value: Any) -> Fits:
    if operation is sre.ANY:
        return lambda character: character != "\n"
    if operation is sre.LITERAL:
        return lambda character: ord(character) == value
    if operation is sre.NOT_LITERAL:
        return lambda character: ord(character) != value
    negated = value[0][0] is sre.NEGATE
    members = [_member(*part) for part in value[negated:]]
    return lambda character: any(fits(character) for fits in members) is not negated


def _member(operation: Any, value: Any) -> Fits:
    if operation is sre.LITERAL:
        return lambda character: ord(character) == value
    if operation is sre.RANGE:
        return lambda character: bool(value[0] <= ord(character) <= value[1])
    if operation is sre.CATEGORY and value in _CATEGORIES:
        return _CATEGORIES[value]
    raise Refused


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _at_boundary(text: str, place: int) -> bool:
    before = place > 0 and _is_word(text[place - 1])
    return before is not (place < len(text) and _is_word(text[place]))


_CATEGORIES: dict[Any, Fits] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_NOT_DIGIT: lambda character: not character.isdecimal(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    sre.CATEGORY_WORD: _is_word,
    sre.CATEGORY_NOT_WORD: lambda character: not _is_word(character),
}
_PLACES: dict[Any, Holds] = {
    sre.AT_BEGINNING: lambda _text, place: place == 0,
    sre.AT_BEGINNING_STRING: lambda _text, place: place == 0,
    sre.AT_END: lambda text, place: place == len(text) or (place == len(text) - 1 and text[place] == "\n"),
    sre.AT_END_STRING: lambda text, place: place == len(text),
    sre.AT_BOUNDARY: _at_boundary,
    sre.AT_NON_BOUNDARY: lambda text, place: not _at_boundary(text, place),
}
