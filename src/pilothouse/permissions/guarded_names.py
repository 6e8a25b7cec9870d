"""Recognises guarded places by name: component by component, in any letter case and spelling, there or not."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from pilothouse.types.guarded_places import ANYWHERE, FILES, PLAIN, Place
from pilothouse.types.lazy import Lazy

Parts = tuple[str, ...]
# As many different names as a large project has; each is short.
_REMEMBERED = 16_384


class Rooted:
    """Places by their whole paths."""

    def __init__(self, places: Iterable[tuple[str, Place]]) -> None:
        self._places: dict[Parts, Place] = {}
        self._above: dict[Parts, Place] = {}
        for path, place in places:
            parts = parts_of(path)
            self._places.setdefault(parts, place)
            for end in range(2, len(parts)):
                self._above.setdefault(parts[:end], place)
        self._longest = max(map(len, self._places), default=0)

    def around(self, parts: Parts) -> Iterator[Place]:
        """Yield the places that a path is or lies in."""
        for end in range(2, min(len(parts), self._longest) + 1):
            if place := self._places.get(parts[:end]):
                yield place

    def beneath(self, parts: Parts) -> Iterator[Place]:
        """Yield a place that a folder brings along."""
        if place := self._above.get(parts):
            yield place


def anywhere(parts: Parts) -> Iterator[Place]:
    """Yield the places that a path is or lies in, wherever the project begins."""
    for at, name in enumerate(parts):
        for place in _NAMED.get(name, ()):
            if parts[at : at + len(place.parts)] == place.parts:
                yield place
    if parts:
        yield from by_last_name(parts[-1])


def brought_along(parts: Parts) -> Iterator[Place]:
    """Yield the places that a folder brings along when it gets such a name, or loses it."""
    for at in range(1, len(parts)):
        for place in _NAMED.get(parts[at], ()):
            if parts[at:] == place.parts[: len(parts) - at]:
                yield place


def begun_by(name: str) -> tuple[Place, ...]:
    """Return the places of a folder whose way begins with a name in it."""
    plain = plain_name(name)
    return (*_NAMED.get(plain, ()), *by_last_name(plain))


def by_last_name(name: str) -> tuple[Place, ...]:
    """Return the place that a file is by its plain name alone."""
    if not name.endswith(_ENDS) and not name.startswith(_BEGINNINGS):
        return ()
    found = _PATTERNS().fullmatch(name)
    if found is None or _EXAMPLES().fullmatch(name) is not None:
        return ()
    return (FILES[(found.lastindex or 1) - 1],)


def parts_of(path: str) -> Parts:
    """Return the components of a path as the most forgiving file system compares them."""
    return tuple(map(plain_name, path.split("/")))


def plain_name(name: str) -> str:
    """Return a name as the most forgiving file system compares it."""
    plain = name.lower() if name.isascii() else _plain(name)
    # Some file systems pass over dots and spaces at the end.
    return plain.rstrip(". ") or plain


@lru_cache(_REMEMBERED)
def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Some pass over characters that nobody sees.
    return folded if folded.isascii() else "".join(char for char in folded if unicodedata.category(char) != "Cf")


def _hints(patterns: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how names end that fit a pattern, and how those begin that may end in any way: most names do neither."""
    ends, beginnings = set(), set()
    for pattern in patterns:
        if end := re.split(r"[*?\]]", pattern)[-1]:
            ends.add(end)
        else:
            beginnings.add(re.split(r"[*?[]", pattern)[0])
    return tuple(ends), tuple(beginnings)


def _either(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"({fnmatch.translate(pattern)})" for pattern in patterns))


def _named() -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for each in ANYWHERE:
        place = msgspec.structs.replace(each, parts=parts_of(each.path))
        found.setdefault(place.parts[0], []).append(place)
    return found


_NAMED = _named()
# Places begin with one of these, or with a name that fits a pattern; as people write them, too.
FIRST_NAMES = tuple(
    dict.fromkeys(
        spelled for name in _NAMED for spelled in (name, name.capitalize(), name.upper().replace(".MD", ".md"))
    )
)
# Compiled when a name may fit one: a run without calls asks about none.
_PATTERNS = Lazy(lambda: _either(place.path for place in FILES))
_ENDS, _BEGINNINGS = _hints(place.path for place in FILES)
_EXAMPLES = Lazy(lambda: _either(PLAIN))
