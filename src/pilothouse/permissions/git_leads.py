"""Recognises what git runs, or takes settings from, where the repositories around a file say that it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pilothouse.permissions.git_settings import leads_of
from pilothouse.permissions.guarded_names import Parts, parts_of
from pilothouse.types import limits
from pilothouse.types.guarded_places import Place

_HOOK = Place((), "starts", "It is a hook, which git runs.")
_SETTINGS = Place((), "starts", "It is settings of git, which can have programs run.")
_SAMPLE = ".sample"


class _Found(NamedTuple):
    """A folder of hooks, or a file of settings, and where the repository begins that names it."""

    parts: Parts
    root: Parts
    is_hooks: bool


class GitLeads:
    """Knows where the repositories around a file have their hooks and settings; nothing is looked at twice at once."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environ
        self._until = 0.0
        self._known: dict[str, tuple[_Found, ...]] = {}

    def anew(self) -> GitLeads:
        """Return the same with nothing known yet: a command may just have changed what they say."""
        return GitLeads(self._home, self._environ)

    def found(self, path: str, parts: Parts) -> Iterator[Place]:
        """Yield what a path is that git runs or reads, lies in it, or brings it along."""
        now = time.monotonic()
        if now >= self._until:
            self._known.clear()
            self._until = now + limits.GUARD_FRESH
        for each in self._around(os.path.dirname(path)):
            if parts == each.parts or each.parts[: len(parts)] == parts:
                yield _HOOK if each.is_hooks else _SETTINGS
            elif each.is_hooks and _is_hook(parts, each):
                yield _HOOK

    def _around(self, folder: str) -> tuple[_Found, ...]:
        unknown = []
        while (around := self._known.get(folder)) is None:
            unknown.append(folder)
            above = os.path.dirname(folder)
            if above == folder:
                around = ()
                break
            folder = above
        for below in reversed(unknown):
            around = self._known[below] = (*self._of(below), *around)
        return around

    def _of(self, root: str) -> Iterator[_Found]:
        if not os.path.lexists(os.path.join(root, ".git")):
            return
        leads = leads_of(root, self._home, self._environ)
        for named, is_hooks in ((leads.hooks, True), (leads.files, False)):
            yield from (_Found(parts_of(each), parts_of(root), is_hooks) for each in named)


def _is_hook(parts: Parts, found: _Found) -> bool:
    """Return whether a path lies in a folder of hooks; in one that holds the whole tree, whether it can be one."""
    if parts[: len(found.parts)] != found.parts or parts[-1].endswith(_SAMPLE):
        return False
    holds_all = found.root[: len(found.parts)] == found.parts
    return not holds_all or (len(parts) == len(found.parts) + 1 and "." not in parts[-1])
