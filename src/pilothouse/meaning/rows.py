"""What goes to the process that computes, and what comes back: plain data, which costs nothing to import."""

from __future__ import annotations

import msgspec


class Texts(msgspec.Struct, frozen=True, array_like=True):
    """Texts to be turned into vectors, and the folder of the model's files."""

    folder: str
    texts: list[str]


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A file of vectors: where it is, of which model, and how many numbers a vector has."""

    path: str
    model: str
    dimension: int


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A vector with its number in the table, and who sees it."""

    id: int
    owner: str
    scope_kind: str
    scope: str
    # Of length 1, as little-endian 16-bit floats.
    vector: bytes


class Added(msgspec.Struct, frozen=True, array_like=True):
    """Rows for a file; it is begun anew first if that is said."""

    place: Place
    rows: list[Row]
    anew: bool = False


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """How a file stands: the number of its last row, and how many rows belong to somebody."""

    last: int
    live: int


class Dropped(msgspec.Struct, frozen=True, array_like=True):
    """Rows of a file that nobody is to find any more."""

    place: Place
    ids: list[int]


class Wanted(msgspec.Struct, frozen=True, array_like=True):
    """Whose rows are searched, in which scopes or all, for what, and how many are wanted."""

    place: Place
    query: bytes
    owner: str
    scopes: list[tuple[str, str]] | None
    most: int


class Found(msgspec.Struct, frozen=True, array_like=True):
    """The nearest rows with how alike they are; `damaged` when the file had to be begun anew instead."""

    rows: list[tuple[int, float]]
    damaged: bool = False
