"""Where a symbol is used: candidates from the index, told from mere mentions by each file's grammar, as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import msgspec

from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.grammars import Grammars, Source
from pilothouse.tools.search.queries import Definition
from pilothouse.tools.search.reading import Reader
from pilothouse.tools.search.results import Found, Hit, cut
from pilothouse.tools.search.symbols import language_of, places_of
from pilothouse.tools.search.tree import Protects, Stopped
from pilothouse.types import limits

_ORDER = {"definition": 0, "declaration": 0, "import": 2}


class Question(msgspec.Struct, frozen=True):
    """Which name is looked for, and where it may be."""

    name: str
    defined: Sequence[Definition]
    paths: Sequence[str]
    stop: Event
    protects: Protects
    notes: tuple[str, ...] = ()


class _Uses:
    def __init__(self, question: Question, grammars: Grammars) -> None:
        self._name = question.name
        self._grammars = grammars
        self._defined = {(each.path, each.line) for each in question.defined}
        self.hits: list[Hit] = []
        # In comments and texts, and in files without a grammar.
        self.mentions = 0

    def take(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Keep the uses in some files, for all of which the grammars are asked at once."""
        known = {path: Source(language, source) for path, source in files if (language := _language(path, source))}
        roles = dict(zip(known, self._grammars.roles(list(known.values()), self._name), strict=True))
        for path, source in files:
            self._keep(path, source, roles.get(path, []))

    def _keep(self, path: str, source: bytes, roles: Sequence[str]) -> None:
        places = list(places_of(source, self._name))
        shown: set[int] = set()
        for start, role in zip(places, roles or [""] * len(places), strict=True):
            line = source.count(b"\n", 0, start) + 1
            label = "definition" if (path, line) in self._defined else role
            if not label:
                self.mentions += 1
            elif line not in shown:
                shown.add(line)
                self.hits.append(Hit(path=path, line=line, text=_line(source, start), label=label))


def usages(top: Folder, question: Question, grammars: Grammars) -> Found:
    """Return the definitions and uses of a name: files that define it first."""
    reader, uses = Reader(), _Uses(question, grammars)
    group: list[tuple[str, bytes]] = []
    for path in question.paths[: limits.USAGE_FILES]:
        if question.stop.is_set():
            raise Stopped
        if reader.read_below(top, path) and not question.protects(path, reader.identity):
            group.append((path, reader.content))
        if sum(len(each) for _, each in group) >= limits.USAGE_GROUP_BYTES:
            uses.take(group)
            group = []
    uses.take(group)
    defining = {each.path for each in question.defined}
    hits = sorted(uses.hits, key=lambda hit: (hit.path not in defining, hit.path, _ORDER.get(hit.label, 1), hit.line))
    notes = list(question.notes)
    if not question.defined and hits:
        notes.append("It is not defined in this folder.")
    if uses.mentions:
        notes.append(f"Mentions in comments, texts and files without a grammar, left out: {uses.mentions:,}.")
    if len(question.paths) > limits.USAGE_FILES:
        notes.append(f"Only {limits.USAGE_FILES:,} of {len(question.paths):,} files with this name were looked at.")
    return Found(
        what=f"`{question.name}`",
        unit="usage",
        hits=tuple(hits[: limits.SEARCH_KEPT]),
        more=len(hits) > limits.SEARCH_KEPT,
        notes=tuple(notes),
    )


def _language(path: str, source: bytes) -> str:
    return language_of(path) if len(source) <= limits.SYMBOL_FILE_BYTES else ""


def _line(source: bytes, at: int) -> str:
    start, end = source.rfind(b"\n", 0, at) + 1, source.find(b"\n", at)
    text = source[start : len(source) if end < 0 else end].decode("utf-8", "replace").strip()
    return cut(text, at - start, at - start)
