"""What a plugin consists of: a digest over its files, found without importing any of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path

# What an installer writes about itself, and what Python makes of sources: both change without the package.
_BESIDE = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
_COMPILED = "__pycache__"


def digest_of(package: Distribution | None, module: str) -> str:
    """Return the same for the same files: all that the package installed, and the source that would be imported."""
    listed = [Path(str(package.locate_file(file))) for file in package.files or ()] if package is not None else []
    paths = {path.resolve() for path in (*listed, *_sources(module)) if _counts(path)}
    facts = hashlib.sha256()
    for path in sorted(paths):
        facts.update(f"{path}\0{_content(path)}\n".encode(errors="surrogateescape"))
    return facts.hexdigest()


def _counts(path: Path) -> bool:
    return _COMPILED not in path.parts and not (path.name in _BESIDE and path.parent.suffix == ".dist-info")


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable {error.errno}"


def _sources(module: str) -> Iterator[Path]:
    """Return the files of the outermost package that has code; a name without code of its own belongs to many."""
    name, where = "", None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            # For a name without dots this imports nothing.
            spec = find_spec(name) if where is None else PathFinder.find_spec(name, where)
        except (ImportError, ValueError, AttributeError):
            return
        if spec is None:
            return
        where = list(spec.submodule_search_locations or ())
        if spec.has_location and spec.origin:
            yield Path(spec.origin)
            for folder in where:
                yield from _below(folder)
            return


def _below(folder: str) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each != _COMPILED]
        yield from (Path(here, name) for name in names)
