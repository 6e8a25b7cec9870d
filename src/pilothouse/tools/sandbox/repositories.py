"""git's own folders in a project, and what a command may have put there to have others run something."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds.repository_links import layout
from pilothouse.types import limits
from pilothouse.types.guarded_places import is_in

_log = logging.getLogger(__name__)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# git has this only where it keeps second working trees; anywhere else it makes git take its settings from elsewhere.
_SHARED = "commondir"
_ASIDE = "commondir.set-aside"


def git_folders(folder: str) -> list[str]:
    """Return where git keeps what is its own for a project, as far as that lies in the project."""
    try:
        place = layout(folder)
    except BadArgument:
        return []
    own = dict.fromkeys((place.common, place.git))
    return [path for path in own if path != folder and is_in(path, folder) and os.path.isdir(path)]


def module_folders(folder: str) -> list[str]:
    """Return the same for its submodules."""
    return [path for each in git_folders(folder) for path in _modules(each)]


def unshared(folder: str) -> tuple[str, ...]:
    """Return those folders that take their settings from nowhere else."""
    every = (*git_folders(folder), *module_folders(folder))
    return tuple(path for path in every if not os.path.lexists(os.path.join(path, _SHARED)))


def put_right(folders: Sequence[str]) -> None:
    """Set aside what makes git take its settings from elsewhere: there was none of it in these folders before."""
    for path in folders:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, _FOLDER)
            try:
                os.rename(_SHARED, _ASIDE, src_dir_fd=descriptor, dst_dir_fd=descriptor)
                _log.warning("a command put %s into %s; it was set aside", _SHARED, path)
            finally:
                os.close(descriptor)


def _modules(git: str) -> Iterator[str]:
    """Yield the folders of submodules; a name may have slashes, and they may have submodules themselves."""
    waiting = [os.path.join(git, "modules")]
    for _ in range(limits.GIT_MODULES):
        if not waiting:
            return
        at = waiting.pop(0)
        names = _folders(at)
        if "objects" in names and "refs" in names:
            yield at
            names = [name for name in names if name == "modules"]
        waiting += (os.path.join(at, name) for name in names)


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
