"""Recognises guarded places under other names: where a link leads, one more name of a file, a folder mounted twice.

Nothing is looked at twice within a moment, and everything with a bound: this is on the way of every call for a file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from msgspec.structs import replace

from pilothouse.permissions.guarded_names import FIRST_NAMES, Parts, Rooted, begun_by
from pilothouse.types import limits
from pilothouse.types.guarded_places import WITHIN_GIT, Place
from pilothouse.types.identities import Identity, entry, with_other_names

_GIT = ".git"


class _Around:
    """What of guarded places stands in the folders that a file lies in."""

    def __init__(self, mounted: Place | None, places: tuple[tuple[str, Place], ...]) -> None:
        # The place that the innermost folder lies in by what it is, whatever the way to it.
        self.mounted = mounted
        self.places = places
        leads = list(_led(places))
        # Where those of them lead that are links, or lie behind one.
        self.leads = Rooted(leads) if leads else None

    @cached_property
    def linked(self) -> dict[Identity, Place]:
        """Return their files that have other names, too."""
        return _linked(self.places)


class FileAliases:
    """Knows what exists of the places of a person, and of those of the projects around a file."""

    def __init__(self, places: Sequence[tuple[str, Place]]) -> None:
        self._places = places
        self._until = self._until_deep = 0.0
        self._leads = Rooted(())
        self._tops: dict[Identity, Place] = {}
        self._linked: dict[Identity, Place] = {}
        self._folders: dict[str, _Around] = {}

    def found(self, path: str, parts: Parts, opened: Identity | None) -> Iterator[Place]:
        """Yield the places that a path, or what was opened there, is or lies in, and say which they are."""
        self._look()
        return map(_told, self._found(path, parts, opened))

    def _found(self, path: str, parts: Parts, opened: Identity | None) -> Iterator[Place]:
        around = self._around(os.path.dirname(path))
        if around.mounted is not None:
            yield around.mounted
        yield from self._leads.around(parts)
        if around.leads is not None:
            yield from around.leads.around(parts)
        at = entry(path)
        identity = opened or (at.identity if at else None)
        if identity is None:
            return
        if place := self._tops.get(identity):
            yield place
        # What has one name only is at that name and nowhere else.
        if at is None or at.identity != identity or at.has_other_names:
            yield from (known[identity] for known in (self._all_linked(), around.linked) if identity in known)

    def beneath(self, parts: Parts) -> Iterator[Place]:
        """Yield a place that a folder brings along."""
        self._look()
        return self._leads.beneath(parts)

    def _look(self) -> None:
        """Look again at what exists of the places themselves: a few hundred names."""
        now = time.monotonic()
        if now < self._until:
            return
        self._folders.clear()
        there = [(path, place, found) for path, place in self._places if (found := entry(path, follow=True))]
        self._tops = {found.identity: place for _, place, found in reversed(there)}
        self._leads = Rooted(_led([(path, place) for path, place, _ in there]))
        self._until = _rested(now)

    def _around(self, folder: str) -> _Around:
        """Return what stands around the files of a folder; one with nothing in it shares that of the folder above."""
        unknown = []
        while (around := self._folders.get(folder)) is None:
            unknown.append(folder)
            above = os.path.dirname(folder)
            if above == folder:
                around = _Around(None, ())
                break
            folder = above
        for below in reversed(unknown):
            found = entry(below, follow=True)
            mounted = self._tops.get(found.identity) if found else None
            places = tuple(_begun_in(below)) if found else ()
            if places or mounted:
                around = _Around(mounted or around.mounted, (*places, *around.places))
            self._folders[below] = around
        return around

    def _all_linked(self) -> dict[Identity, Place]:
        now = time.monotonic()
        if now >= self._until_deep:
            self._linked = _linked(self._places)
            self._until_deep = _rested(now)
        return self._linked


def _told(place: Place) -> Place:
    """Return a place with words for someone who sees another name."""
    return replace(place, why=f"It is another name of {place.path}. {place.why}") if place.parts else place


def _rested(since: float) -> float:
    """Return when to look again; where looking takes long, that is later."""
    now = time.monotonic()
    return now + max(limits.GUARD_FRESH, limits.GUARD_REST * (now - since))


def _linked(places: Sequence[tuple[str, Place]]) -> dict[Identity, Place]:
    """Return the files of places that have other names, too."""
    of = dict(reversed(places))
    known: dict[Identity, Place] = {}
    for path, identity in with_other_names(path for path, _ in places):
        known.setdefault(identity, of[path])
    return known


def _begun_in(folder: str) -> Iterator[tuple[str, Place]]:
    """Yield the places that begin in a folder and exist; in a very full one those whose whole names are known."""
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in islice(entries, limits.GUARD_FILES)]
    except (OSError, ValueError):
        return
    if len(names) == limits.GUARD_FILES:
        names = [*dict.fromkeys((*names, *FIRST_NAMES))]
    for name in names:
        for place in begun_by(name):
            # Of git's own folder most is what people committed.
            ways = (_GIT, *WITHIN_GIT) if place.path == _GIT else (place.path,)
            for way in ways:
                path = os.path.join(folder, name, *way.split("/")[1:])
                if os.path.lexists(path) and not (way == _GIT and os.path.isdir(path)):
                    yield path, place


def _led(places: Sequence[tuple[str, Place]]) -> Iterator[tuple[str, Place]]:
    """Yield where those places are that are not where their names say."""
    for path, place in places:
        real = os.path.realpath(path)
        if real != path:
            yield real, place
