"""What an answer cites."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.types.json import Frozen


class Source(Frozen, frozen=True):
    """What an answer cites: a page with its address, or a document that has only a title; strangers wrote all of it."""

    url: str = ""
    title: str = ""
    quote: str = ""


def each_once(sources: Iterable[Source]) -> list[Source]:
    """Return sources without those that were named before: by their address, or by their title where there is none."""
    first: dict[str, Source] = {}
    for source in sources:
        if name := source.url or source.title:
            first.setdefault(name, source)
    return list(first.values())
