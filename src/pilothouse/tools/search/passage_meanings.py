"""Finds out what the passages of an index mean, a few at a time, while nothing else is to be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future

import msgspec

from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.excerpts import Excerpts
from pilothouse.tools.search.index_file import IndexFile, Unknown
from pilothouse.tools.search.tree import Protects
from pilothouse.tools.search.words import digest_of, meant
from pilothouse.types import limits


class Embedding(msgspec.Struct, frozen=True):
    """Who makes vectors of texts, as a thread asks for them."""

    # Which model makes them; empty where there is none.
    model: Callable[[], str]
    embed: Callable[[Sequence[str]], Future[Sequence[bytes]]]
    # Says why a file may not be given to a model, which may be elsewhere.
    withheld: Protects
    holds_secret: Callable[[str], bool]


class _Sent(msgspec.Struct, frozen=True):
    model: str
    digests: list[bytes]
    answer: Future[Sequence[bytes]]


class PassageMeanings:
    """Has vectors made for the passages of an index that have none. Used by the index's thread."""

    def __init__(self, file: IndexFile, top: Folder, embedding: Embedding, woken: Callable[[], None]) -> None:
        self._file = file
        self._top = top
        self._embedding = embedding
        self._woken = woken
        self._sent: _Sent | None = None
        self._waiting: deque[Unknown] = deque()
        # As of which change of the index, and of which model, they wait.
        self._as_of: tuple[int, str] = (-1, "")
        # What no vector could be made of.
        self._left_out: set[bytes] = set()
        self._resting = False

    def try_again(self) -> None:
        """Go on after a failure: someone asks."""
        self._resting = False

    def go_on(self) -> bool:
        """Keep what came, and ask for the next; return whether a search need not wait: all is known, or too little."""
        return self._is_done() or len(self._waiting) > limits.MEANING_WAITED_FOR

    def _is_done(self) -> bool:
        if self._sent is not None:
            if not self._sent.answer.done():
                return False
            self._take(self._sent)
            self._sent = None
        model = self._embedding.model()
        if not model or self._resting:
            return True
        self._look(model)
        texts = self._next()
        if not texts:
            return True
        answer = self._embedding.embed(list(texts.values()))
        self._sent = _Sent(model, list(texts), answer)
        answer.add_done_callback(lambda _answer: self._woken())
        return False

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._sent is not None:
            self._sent.answer.cancel()

    def _look(self, model: str) -> None:
        """Note the passages without a vector of this model, if there may be others than before."""
        if self._as_of == (self._file.changes, model):
            return
        with self._file.writing():
            self._file.begin_meanings(model)
        self._waiting = deque(self._file.unknown())
        self._as_of = (self._file.changes, model)

    def _next(self) -> dict[bytes, str]:
        excerpts = Excerpts(self._top, self._embedding.withheld)
        texts: dict[bytes, str] = {}
        while self._waiting and len(texts) < limits.MEANING_BATCH:
            passage = self._waiting.popleft()
            if passage.digest in self._left_out:
                continue
            lines = excerpts.lines(passage.path)[passage.first - 1 : passage.last]
            text = meant(passage.path, "\n".join(lines))
            # The file may be another by now, and a secret may have become known since it was read.
            if digest_of(text) == passage.digest and not self._embedding.holds_secret(text):
                texts[passage.digest] = text
        return texts

    def _take(self, sent: _Sent) -> None:
        try:
            vectors = sent.answer.result()
        except (Exception, CancelledError):
            # Whoever makes them says what is wrong where people see it; here words are left.
            vectors = ()
        if len(vectors) != len(sent.digests):
            self._left_out.update(sent.digests)
            self._resting = True
        elif sent.model == self._as_of[1]:
            with self._file.writing():
                self._file.keep_meanings(dict(zip(sent.digests, vectors, strict=True)))
