"""Searches that look at the files themselves: by name, and by text."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Event
from typing import ClassVar

from pilothouse.tools.arguments import optional_bool, optional_string, require_string
from pilothouse.tools.files.places import Place
from pilothouse.tools.search.globs import PathTest, path_test, shown_path
from pilothouse.tools.search.grep import Grep, grep_files, grep_tree, walk_notes
from pilothouse.tools.search.index import Index
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.operation import PATH, QUERY, SearchOperation
from pilothouse.tools.search.patterns import Pattern, literal_pattern, regex_pattern
from pilothouse.tools.search.queries import files_with
from pilothouse.tools.search.results import Found, Hit
from pilothouse.tools.search.tree import Stopped, Walk, Wanted
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext

_IGNORED: JsonObject = {"type": "boolean", "description": "Also hidden and ignored files."}


def _called(place: Place) -> Callable[[str], str]:
    """Return what paths below a folder are called: from the working directory, or absolute."""
    start = place.name if place.name != "." else ""
    return lambda path: shown_path(os.path.join(start, path))


def _where(place: Place) -> str:
    return "" if place.name == "." else f" in {place.name}"


class _InFiles(SearchOperation):
    """Looks through the files of a folder themselves."""

    def _wanted(
        self, arguments: JsonObject, place: Place, context: CallContext, stop: Event, include: PathTest | None
    ) -> Wanted:
        everything = optional_bool(arguments, "includeIgnored", False)
        return Wanted(
            stop=stop,
            hidden=everything,
            ignored=everything,
            include=include,
            protects=self.protects(place.path, context),
        )


class FileSearch(_InFiles):
    """Finds files by a glob pattern."""

    name = "file_search"
    doing = "Finding files"
    properties: ClassVar[JsonObject] = {"query": QUERY, "path": PATH, "includeIgnored": _IGNORED}

    def find(self, arguments: JsonObject, context: CallContext, stop: Event) -> Found:
        """Return the files whose path matches."""
        query = require_string(arguments, "query")
        place = self.held(arguments, context)
        wanted = self._wanted(arguments, place, context, stop, path_test(query))
        walk = Walk(wanted)
        called, until = _called(place), time.monotonic() + limits.SEARCH_TIME
        hits: list[Hit] = []
        more = late = False
        with self.opened(place, context) as folder:
            for level in walk.levels(folder.descriptor):
                if stop.is_set():
                    raise Stopped
                hits += [Hit(called(level.prefix + name)) for name in level.files]
                more, late = len(hits) > limits.SEARCH_KEPT, time.monotonic() > until
                if more or late:
                    break
        notes = walk_notes(walk.seen)
        if late:
            notes.append(f"Stopped after {limits.SEARCH_TIME:.0f} s; name a folder further down.")
        kept = tuple(hits[: limits.SEARCH_KEPT])
        what = f"`{query}`{_where(place)}"
        return Found(what=what, unit="file", hits=kept, more=more or late, notes=tuple(notes))


class GrepSearch(_InFiles):
    """Finds lines by a text or a regular expression."""

    name = "grep_search"
    doing = "Searching text"
    properties: ClassVar[JsonObject] = {
        "query": QUERY,
        "isRegexp": {"type": "boolean", "description": "Whether `query` is a regular expression (RE2)."},
        "caseSensitive": {"type": "boolean"},
        "includePattern": {"type": "string", "description": "Glob of the files to search."},
        "path": PATH,
        "includeIgnored": _IGNORED,
    }

    def begin(self, arguments: JsonObject, context: CallContext) -> None:
        """Begin an index of a folder that turned out to be large."""
        root = os.path.realpath(context.working_directory or "")
        if root in self.searching.large:
            self.searching.indexes.get(root)

    def find(self, arguments: JsonObject, context: CallContext, stop: Event) -> Found:
        pattern = self._pattern(arguments)
        include = optional_string(arguments, "includePattern")
        place = self.held(arguments, context)
        wanted = self._wanted(arguments, place, context, stop, path_test(include) if include else None)
        what = f"`{arguments['query']}`{_where(place)}"
        grep = Grep(pattern=pattern, what=what, wanted=wanted, called=_called(place))
        narrowed = None if wanted.ignored or not place.inside else self._narrowed(place, pattern)
        with self.opened(place, context) as folder:
            if narrowed is not None:
                return grep_files(folder, narrowed, grep)
            found, seen = grep_tree(folder, grep)
        if seen.entries > limits.INDEX_WORTH_FILES and place.inside:
            self.searching.large.add(place.root)
        return found

    def _pattern(self, arguments: JsonObject) -> Pattern:
        query = require_string(arguments, "query")
        make = regex_pattern if optional_bool(arguments, "isRegexp", False) else literal_pattern
        return make(query, case_sensitive=optional_bool(arguments, "caseSensitive", False))

    def _narrowed(self, place: Place, pattern: Pattern) -> list[str] | None:
        """Return the files that an index leaves, by their way from the folder; None when it cannot say."""
        index = self.searching.indexes.peek(place.root)
        if index is None or not pattern.literals:
            return None
        progress = index.catch_up(limits.INDEX_NARROW_WAIT)
        if not progress.fresh or progress.capped:
            return None
        return _below(_candidates(index, pattern), "/".join((*place.parts, "")) if place.parts else "")


def _candidates(index: Index, pattern: Pattern) -> list[str]:
    with reading(index.file) as connection:
        return [*(files_with(connection, pattern.literals) or ()), *index.unindexed]


def _below(paths: list[str], prefix: str) -> list[str]:
    return [path[len(prefix) :] for path in paths if path.startswith(prefix)]
