"""Where a symbol is used: candidates from the index, told from mere mentions by each file's grammar, as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import msgspec

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.found import Found, Hit, cut
from pilothouse.tools.search.grammars import Grammars, Source
from pilothouse.tools.search.queries import Definition
from pilothouse.tools.search.reading import Reader
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

    def take(self, path: str, source: bytes) -> None:
        """Keep the uses in one file."""
        language = language_of(path) if len(source) <= limits.SYMBOL_FILE_BYTES else ""
        places = list(places_of(source, self._name))
        roles = self._grammars.roles(Source(language, source), self._name) if language and places else []
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
    for path in question.paths[: limits.USAGE_FILES]:
        if question.stop.is_set():
            raise Stopped
        source = _source(top, path, reader)
        if source is not None and not question.protects(path, reader.identity):
            uses.take(path, source)
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


def _source(top: Folder, path: str, reader: Reader) -> bytes | None:
    prefix, _, name = path.rpartition("/")
    try:
        with top.descend(tuple(prefix.split("/")) if prefix else ()) as folder:
            if not reader.read(folder.descriptor, name, limits.INDEX_FILE_BYTES):
                return None
    except PathRefused:
        return None
    return bytes(memoryview(reader.buffer)[: reader.size])


def _line(source: bytes, at: int) -> str:
    start, end = source.rfind(b"\n", 0, at) + 1, source.find(b"\n", at)
    text = source[start : len(source) if end < 0 else end].decode("utf-8", "replace").strip()
    return cut(text, at - start, at - start)
