"""Places that no command may look into: our own data, keys, tokens, and what browsers and shells remember."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pilothouse.types.guarded_places import Kind, by_first_name, is_in, of_system, outermost
from pilothouse.types.identities import names_of, with_other_names

# What the sandbox has for itself: nothing of the machine's own is there.
EMPTIED = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - named to be kept out
# Nothing is held in here: to let a command write there is to give it the machine.
_MACHINE = ("/proc", "/sys", "/dev")
_UNIX_SOCKETS = "/proc/net/unix"


def hidden_places(data_folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what is hidden from every command and exists now, links resolved, none inside another."""
    home = environ.get("HOME") or os.path.expanduser("~")
    systems = (path for path, place in of_system() if place.kind == "secret" and os.path.lexists(path))
    there = map(os.path.realpath, (str(data_folder), *places_there(home, environ, "secret"), *systems))
    # A link to all of the home folder, or to a device, hides nothing.
    whole = os.path.realpath(home)
    return outermost(path for path in there if not is_the_machines(path) and not is_in(whole, path))


def places_there(home: str, environ: Mapping[str, str], kind: Kind) -> Iterator[str]:
    """Yield the person's places of a kind that exist: most do not, and one look at the home folder tells of which."""
    try:
        names = {name.lower() for name in os.listdir(home)}
    except OSError:
        names = None
    for first, paths in by_first_name(home, environ, kind).items():
        if not first or names is None or first in names:
            yield from filter(os.path.lexists, paths)


def second_names(folder: str, hidden: Sequence[str]) -> Iterator[str]:
    """Return the names that hidden files have in a folder, too; as far as both are looked through."""
    wanted = {identity for _, identity in with_other_names(hidden)}
    return names_of(wanted, folder) if wanted else iter(())


def is_the_machines(folder: str) -> bool:
    """Return whether a folder is one in which no command can be held."""
    return folder in ("/", "/run") or any(is_in(folder, place) for place in _MACHINE)


def services() -> tuple[str, ...]:
    """Return the sockets of this machine's services, wherever they stand.

    One that can only be read can still be connected to; what listens there does what it is told outside.
    """
    try:
        with open(_UNIX_SOCKETS, encoding="utf-8", errors="surrogateescape") as file:
            names = {"/" + line.partition(" /")[2].rstrip("\n") for line in file if " /" in line}
    except OSError:
        return ()
    # Most are those of programs that are gone, or of others' namespaces: where they would lead is not looked up.
    return tuple(sorted({os.path.realpath(name) for name in names if _is_socket(name)}))


def open_below(root: str, hidden: Sequence[str]) -> Iterator[str]:
    """Yield the outermost places below a root that hold nothing hidden; links are left out."""
    if any(is_in(root, place) for place in hidden):
        return
    within = [place for place in hidden if is_in(place, root)]
    if not within:
        yield root
        return
    try:
        with os.scandir(root) as entries:
            names = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for path in sorted(names):
        yield from open_below(path, within)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
