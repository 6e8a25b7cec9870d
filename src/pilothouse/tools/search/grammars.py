"""Source files read by their grammars, in a helper process: a file may break or hold up a grammar."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.search.symbols import Symbol, definitions, roles
from pilothouse.types import limits

_log = logging.getLogger(__name__)


class Source(msgspec.Struct, frozen=True, array_like=True):
    """A file's content and its language."""

    language: str
    content: bytes


class Named(msgspec.Struct, frozen=True, array_like=True):
    """A name whose roles in sources are asked for."""

    name: str
    sources: list[Source]


def definitions_in(sources: list[Source]) -> list[list[tuple[str, str, int, int, str]]]:
    """Return what each source defines."""
    found = (definitions(source.content, source.language) for source in sources)
    return [[(each.name, each.kind, each.line, each.last, each.container) for each in one] for one in found]


def roles_in(asked: Named) -> list[list[str]]:
    """Return what a name is at each of its places in each source."""
    return [roles(source.content, source.language, asked.name) for source in asked.sources]


class Grammars:
    """Asks a helper process of its own: an index at work does not keep others waiting."""

    def __init__(self) -> None:
        self.helper = Helper()

    @contextmanager
    def turn(self) -> Iterator[Grammars]:
        """Keep others out while several questions are asked; a question left open is given up at the end."""
        with self.helper.turn():
            yield self

    def ask_definitions(self, sources: list[Source]) -> None:
        """Ask what files define; the answer is fetched later, before anything else is asked."""
        try:
            self.helper.begin(definitions_in, sources, limits.GRAMMAR_TIME)
        except Unreadable:
            # The answer says it, too.
            return

    def definitions(self, sources: list[Source]) -> list[list[Symbol]]:
        """Return what was asked for, file by file; of what is too much for its grammar nothing."""
        try:
            rows = self.helper.finish(definitions_in, limits.GRAMMAR_TIME)
            return [[Symbol(*row) for row in each] for each in rows]
        except Unreadable as error:
            if len(sources) == 1:
                _log.warning("A file is indexed without symbols: %s.", error.why)
                return [[]]
        found = []
        for source in sources:
            self.ask_definitions([source])
            found += self.definitions([source])
        return found

    def roles(self, sources: list[Source], name: str) -> list[list[str]]:
        """Return what a name is at each of its places, file by file; of what is too much for its grammar nothing."""
        try:
            return self.helper.ask(roles_in, Named(name, sources), limits.GRAMMAR_TIME) if sources else []
        except Unreadable:
            return [[]] if len(sources) == 1 else [self.roles([source], name)[0] for source in sources]

    def close(self) -> None:
        """End the process."""
        self.helper.close()
