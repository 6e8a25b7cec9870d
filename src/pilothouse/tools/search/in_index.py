"""Searches that ask the index: by meaning, by symbol, by words."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument, require_string
from pilothouse.tools.files.places import Place, working_root
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.excerpts import Excerpts
from pilothouse.tools.search.index import Index, IndexProgress
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.indexes import SEMANTIC
from pilothouse.tools.search.operation import QUERY, SearchOperation
from pilothouse.tools.search.queries import (
    Alike,
    Definition,
    about,
    alike,
    definitions_of,
    files_with,
    files_with_word,
    passages_with,
    paths_like,
    question_words,
    symbols_like,
)
from pilothouse.tools.search.results import Found, Hit
from pilothouse.tools.search.usages import Question, usages
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext

# What is found by meaning is for reading, not for counting.
_PASSAGES = 20
_SYMBOLS = 30
_FILES = 20
# An index may be thrown away to be made anew while it is asked.
_TRIES = 2
_WORDS_ONLY = "Searches words: no embedding model is there."
_NO_MEANING = "Found by words: the embedding model did not say what the question means."


class Asked(msgspec.Struct, frozen=True):
    """An index that was brought up to date, with what it is about."""

    connection: sqlite3.Connection
    index: Index
    folder: Folder
    stop: Event
    notes: tuple[str, ...]
    context: CallContext
    # What the question means, where that is looked for and known.
    vector: bytes = b""


class IndexOperation(SearchOperation):
    """Asks the index of the working directory."""

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        return [Place(working_root(context.working_directory), (), True)]

    def begin(self, arguments: JsonObject, context: CallContext) -> None:
        self.searching.indexes.get(working_root(context.working_directory))

    @abstractmethod
    def ask(self, arguments: JsonObject, asked: Asked) -> Found:
        """Return what the index says."""

    def find(self, arguments: JsonObject, context: CallContext, stop: Event, vector: bytes = b"") -> Found:
        """Wait for the index to take up what happened until now, and ask it."""
        place = self.held(arguments, context)
        for _ in range(_TRIES):
            index = self.searching.indexes.peek(place.root)
            if index is None:
                raise BadArgument("The index was closed; search again.", "INDEX_CLOSED")
            progress = index.catch_up(limits.INDEX_WAIT)
            if progress.problem:
                raise BadArgument(f"{progress.note} Use grep_search instead.", "INDEX_FAILED")
            notes = (progress.note,) if progress.note else ()
            try:
                with reading(index.file) as connection, self.opened(place, context) as folder:
                    return self.ask(arguments, Asked(connection, index, folder, stop, notes, context, vector))
            except sqlite3.OperationalError:
                # It has not even begun, or was just thrown away to be made anew.
                continue
        return Found(
            what=f"`{self.about(arguments)}`", unit="passage", hits=(), notes=(IndexProgress(fresh=False).note,)
        )

    def excerpts(self, asked: Asked) -> Excerpts:
        """Return who reads the lines to show."""
        return Excerpts(asked.folder, self.protects(asked.index.root, asked.context))


class SemanticSearch(IndexOperation):
    """Finds passages by what they are about: their words, and what they mean where a model can say that."""

    name = SEMANTIC
    doing = "Searching by meaning"
    properties: ClassVar[JsonObject] = {"query": QUERY}

    async def work(self, arguments: JsonObject, context: CallContext) -> Callable[[Event], Found]:
        self.begin(arguments, context)
        vector = await self._vector(require_string(arguments, "query"))
        return lambda stop: self.find(arguments, context, stop, vector)

    def ask(self, arguments: JsonObject, asked: Asked) -> Found:
        """Return the passages that several measures together put first."""
        query = require_string(arguments, "query")
        words, excerpts = question_words(query), self.excerpts(asked)
        near, note = self._near(asked)
        places = about(asked.connection, query, near.passages, _PASSAGES)
        hits = [hit for place in places if (hit := excerpts.passage(place, words)) is not None]
        notes = (*asked.notes, *filter(None, (note,)))
        return Found(what=f"`{query}`", unit="passage", hits=tuple(hits), notes=notes)

    async def _vector(self, query: str) -> bytes:
        meaning = self.searching.indexes.meaning
        if not meaning.is_there:
            return b""
        try:
            async with asyncio.timeout(limits.MEANING_QUESTION_TIME):
                return next(iter(await meaning.embed([query], "query")), b"")
        except TimeoutError:
            return b""

    def _near(self, asked: Asked) -> tuple[Alike, str]:
        """Return what means about the same, and what is to be said about how it was looked for."""
        meaning = self.searching.indexes.meaning
        if not meaning.is_there:
            return Alike(), _WORDS_ONLY
        if not asked.vector:
            return Alike(), _NO_MEANING
        asked.index.catch_up_meanings(limits.MEANING_WAIT)
        near = alike(asked.connection, meaning.model, asked.vector)
        return near, _how_far(near)


class ListUsages(IndexOperation):
    """Finds where a symbol is defined and used."""

    name = "list_usages"
    doing = "Finding usages"
    properties: ClassVar[JsonObject] = {"symbolName": {"type": "string", "description": "The symbol's exact name."}}

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("symbolName") or "")

    def ask(self, arguments: JsonObject, asked: Asked) -> Found:
        """Return definitions, calls, imports and references."""
        name = _symbol(arguments)
        candidates = files_with(asked.connection, (name,))
        paths = candidates if candidates is not None else files_with_word(asked.connection, name)
        question = Question(
            name=name,
            defined=definitions_of(asked.connection, name),
            paths=sorted(paths),
            stop=asked.stop,
            protects=self.protects(asked.index.root, asked.context),
            notes=asked.notes,
        )
        return usages(asked.folder, question, self.searching.indexes.grammars)


class SearchIndex(IndexOperation):
    """Looks words up: in the names of symbols and files, and in the text."""

    name = "search_index"
    doing = "Searching the index"
    properties: ClassVar[JsonObject] = {"query": QUERY}

    def ask(self, arguments: JsonObject, asked: Asked) -> Found:
        """Return symbols, files and passages that have the words."""
        query = require_string(arguments, "query")
        excerpts, connection = self.excerpts(asked), asked.connection
        words = question_words(query)
        hits = [excerpts.line(each.path, each.line, _kind(each)) for each in symbols_like(connection, query, _SYMBOLS)]
        hits += [Hit(path, label="file") for path in paths_like(connection, query, _FILES)]
        seen = {(hit.path, hit.line) for hit in hits}
        for place in passages_with(connection, query, limits.SEARCH_PAGE):
            hit = excerpts.passage(place, words)
            if hit is not None and (hit.path, hit.line) not in seen:
                hits.append(hit)
        return Found(what=f"`{query}`", unit="entry", hits=tuple(hits), notes=asked.notes)


def _how_far(near: Alike) -> str:
    if near.known >= near.total:
        return ""
    if near.known >= limits.MEANING_PASSAGES:
        return f"The meanings of {near.known:,} of {near.total:,} passages are known; the others are found by words."
    return f"Found by words; the meanings of {near.known:,} of {near.total:,} passages are known so far."


def _kind(definition: Definition) -> str:
    return f"{definition.kind} in {definition.container}" if definition.container else definition.kind


def _symbol(arguments: JsonObject) -> str:
    name = require_string(arguments, "symbolName").strip()
    # `Class.method` and `module::function` mean their last part.
    for separator in ("::", "->", "#", "."):
        name = name.rpartition(separator)[2] or name
    name = name.removesuffix("()")
    if not name or any(character.isspace() for character in name) or len(name) > 200:
        raise BadArgument("`symbolName` must be one name, like `open_store`.")
    return os.fsencode(name).decode("utf-8", "replace")
