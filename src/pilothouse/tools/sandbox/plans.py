"""What the launcher is told, and what Landlock must be told: it can only allow, so hiding means allowing the rest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice

from pilothouse.tools.sandbox.hidden import EMPTIED, open_below
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.seccomp import filter_of
from pilothouse.tools.sandbox.visible import View
from pilothouse.types.guarded_places import is_in, outermost
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


def landlock_plan(folder: str, own: Sequence[str], view: View, version: int, network: bool) -> JsonObject:
    """Return what a command may touch: the folder and places of its own, and the rest for reading."""
    inside = [place for place in view.hidden if is_in(place, folder)]
    resolver = [os.path.realpath("/etc/resolv.conf")] if network else []
    return {
        "landlock": version,
        "keyless": True,
        "network": network,
        "filter": filter_of("network" if network else "none").hex(),
        "read": [
            *_allowed("/", outermost((*view.hidden, *_NOT_READ))),
            *(each.source for each in view.shown),
            *((view.installed,) if view.installed else ()),
            *resolver,
        ],
        "write": [*own, *_SHARED, *(_allowed(folder, inside) if inside else ())],
        "whole_folder": not inside,
        "devices": [f"/dev/{name}" for name in _DEVICES],
    }


def _allowed(root: str, hidden: Sequence[str]) -> list[str]:
    """Return the outermost places below a root that hold nothing hidden."""
    return list(islice(open_below(root, hidden), _MOST))


def written(plan: JsonObject) -> AbstractContextManager[int]:
    """Hold a plan in a file without a name; its descriptor goes to the launcher."""
    return held_open(encode(plan))


@contextmanager
def held_open(data: bytes) -> Iterator[int]:
    """Hold data in a file without a name, to be read from its beginning by whoever gets the descriptor."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        file.seek(0)
        yield file.fileno()
