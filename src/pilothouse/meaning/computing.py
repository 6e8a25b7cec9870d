"""What the helper process is asked for. What computes is imported there alone, when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.meaning.rows import Added, Dropped, Found, Standing, Texts, Wanted
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from pilothouse.meaning.minilm import MiniLM


def embed(asked: Texts) -> list[bytes]:
    """Return the vector of each text by the built-in model."""
    return [vector.astype("<f2").tobytes() for vector in _model(asked.folder).encode(asked.texts)]


def add(added: Added) -> Standing:
    """Add rows to a file and return how it stands."""
    from pilothouse.meaning.vector_file import Damaged, opened

    with _disk():
        try:
            with opened(added.place, anew=added.anew) as file:
                file.add(added.rows)
                return file.standing
        except Damaged:
            with opened(added.place, anew=True) as file:
                return file.standing


def drop(dropped: Dropped) -> None:
    """Take rows out of a file."""
    from pilothouse.meaning.vector_file import Damaged, opened

    with _disk():
        try:
            with opened(dropped.place) as file:
                file.drop(dropped.ids)
        except Damaged:
            with opened(dropped.place, anew=True):
                return


def find(wanted: Wanted) -> Found:
    """Return the nearest rows of a file; one that is damaged is emptied, and that is said."""
    from pilothouse.meaning.vector_file import Damaged, opened

    with _disk():
        try:
            with opened(wanted.place) as file:
                return Found(file.nearest(wanted))
        except Damaged:
            with opened(wanted.place, anew=True):
                return Found([], damaged=True)


@cache
def _model(folder: str) -> MiniLM:
    from pilothouse.meaning.minilm import MiniLM

    return MiniLM(Path(folder))


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        message = f"The copy of vectors in the cache folder cannot be used: {reason}."
        raise PilothouseError("disk_full", message, fix="Free some space, or see that you may write there.") from None
