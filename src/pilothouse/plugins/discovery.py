"""Finds installed packages that say they are plugins, without importing any of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "pilothouse.plugins"


class Found(msgspec.Struct, frozen=True):
    """A plugin that is installed, and how to get at it."""

    name: str
    package: str
    version: str
    load: Callable[[], object]
    # Over its files as they are now.
    digest: Callable[[], str] = str


def installed() -> list[Found]:
    """Return the installed plugins by name."""
    if not any(_declares(folder) for folder in sys.path):
        return []
    # Imported when there is one: reading all metadata the official way takes 50 ms, this look takes one.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        package = point.dist
        name, version = (package.name, package.version) if package is not None else ("", "")
        found.append(Found(point.name, name, version, point.load, partial(_digest, package, point.module)))
    return found


def _digest(package: Distribution | None, module: str) -> str:
    # Imported when one is asked for: most hosts have no plugins.
    from pilothouse.plugins.files import digest_of  # noqa: PLC0415

    return digest_of(package, module)


def _declares(folder: str) -> bool:
    return any(f"[{GROUP}]" in text for text in _entry_points(folder))


def _entry_points(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    for path in names:
        try:
            with open(f"{path}/entry_points.txt", encoding="utf-8") as file:
                yield file.read()
        except (OSError, UnicodeDecodeError):
            continue
