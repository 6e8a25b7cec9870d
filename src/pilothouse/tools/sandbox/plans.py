"""What the launcher is told, and what Landlock must be told: it can only allow, so hiding means allowing the rest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pilothouse.tools.sandbox.caps import Caps
from pilothouse.tools.sandbox.hidden import EMPTIED, is_in, outermost
from pilothouse.types.json import JsonObject, encode

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_SHARED = ("/dev/pts", "/dev/shm")  # noqa: S108 - named to be allowed, nothing is put there
# Not part of what may be read: other people's temporary files, sockets of services, the machine's disks.
_NOT_READ = (*EMPTIED, "/dev")
# A home folder has some hundred entries; more rules than this only cost time.
_MOST = 20_000


def caps_plan(caps: Caps) -> JsonObject:
    """Return bounds in the launcher's words."""
    return {"tasks": caps.tasks, "file": caps.file_bytes, "memory": caps.memory}


def landlock_plan(folder: str, own: Sequence[str], hidden: Sequence[str], version: int, network: bool) -> JsonObject:
    """Return what a command may touch: the folder and places of its own, and the rest for reading."""
    inside = [place for place in hidden if is_in(place, folder)]
    resolver = [os.path.realpath("/etc/resolv.conf")] if network else []
    return {
        "landlock": version,
        "network": network,
        "read": [*_allowed("/", outermost((*hidden, *_NOT_READ))), *resolver],
        "write": [*own, *_SHARED, *(_allowed(folder, inside) if inside else ())],
        "whole_folder": not inside,
        "devices": [f"/dev/{name}" for name in _DEVICES],
    }


def _allowed(root: str, hidden: Sequence[str]) -> list[str]:
    """Return the outermost places below a root that hold nothing hidden."""
    found: list[str] = []
    for path in _open_below(root, hidden):
        found.append(path)
        if len(found) >= _MOST:
            break
    return found


def _open_below(root: str, hidden: Sequence[str]) -> Iterator[str]:
    within = [place for place in hidden if is_in(place, root)]
    if not within:
        yield root
        return
    if root in within:
        return
    try:
        with os.scandir(root) as entries:
            names = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for path in sorted(names):
        yield from _open_below(path, within)


@contextmanager
def written(plan: JsonObject) -> Iterator[int]:
    """Hold a plan in a file without a name; its descriptor goes to the launcher."""
    with tempfile.TemporaryFile() as file:
        file.write(encode(plan))
        file.flush()
        yield file.fileno()
