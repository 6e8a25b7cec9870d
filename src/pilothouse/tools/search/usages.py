"""Where a symbol is used: candidates from the index, told from mere mentions by each file's grammar, as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

import msgspec

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.found import Found, Hit, cut
from pilothouse.tools.search.queries import Definition
from pilothouse.tools.search.reading import Reader
from pilothouse.tools.search.symbols import Parsed, language_of
from pilothouse.tools.search.tree import Protects, Stopped
from pilothouse.types import limits

_ORDER = {"definition": 0, "declaration": 0, "import": 2}
_PART_OF_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")


class Question(msgspec.Struct, frozen=True):
    """Which name is looked for, and where it may be."""

    name: str
    defined: Sequence[Definition]
    paths: Sequence[str]
    stop: Event
    notes: tuple[str, ...] = ()


class _Uses:
    def __init__(self, question: Question) -> None:
        self._name = question.name.encode()
        self._defined = {(each.path, each.line): each for each in question.defined}
        self.hits: list[Hit] = []
        # In comments and texts, and in files without a grammar.
        self.mentions = 0

    def take(self, path: str, source: bytes) -> None:
        """Keep the uses in one file."""
        language = language_of(path) if len(source) <= limits.SYMBOL_FILE_BYTES else ""
        parsed = Parsed(source, language) if language else None
        shown: set[int] = set()
        for start in _whole_words(source, self._name):
            role = parsed.role(start, start + len(self._name)) if parsed is not None else ""
            line = source.count(b"\n", 0, start) + 1
            definition = self._defined.get((path, line))
            if definition is not None:
                role = "definition"
            if not role:
                self.mentions += 1
            elif line not in shown:
                shown.add(line)
                self.hits.append(Hit(path=path, line=line, text=_line(source, start), label=role))


def usages(top: Folder, question: Question, protects: Protects) -> Found:
    """Return the definitions and uses of a name: files that define it first."""
    reader, uses = Reader(), _Uses(question)
    for path in question.paths[: limits.USAGE_FILES]:
        if question.stop.is_set():
            raise Stopped
        source = _source(top, path, reader)
        if source is not None and not protects(path, reader.identity):
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


def _whole_words(source: bytes, name: bytes) -> Iterator[int]:
    at = source.find(name)
    while at >= 0:
        after = at + len(name)
        before_ok = at == 0 or not _belongs(source[at - 1])
        if before_ok and (after == len(source) or not _belongs(source[after])):
            yield at
        at = source.find(name, after)


def _belongs(byte: int) -> bool:
    return byte in _PART_OF_NAME or byte > 127


def _line(source: bytes, at: int) -> str:
    start, end = source.rfind(b"\n", 0, at) + 1, source.find(b"\n", at)
    text = source[start : len(source) if end < 0 else end].decode("utf-8", "replace").strip()
    return cut(text, at - start, at - start)
