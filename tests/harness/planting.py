"""Copies of the repository with a little more in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from scripts.mutation import tree


@contextmanager
def copy_with(files: Mapping[str, str]) -> Iterator[tree.Copy]:
    """Copy the repository, and write these texts to these places in it."""
    with tree.copied() as made:
        for path, text in files.items():
            (made.folder / path).write_text(text)
        yield made
