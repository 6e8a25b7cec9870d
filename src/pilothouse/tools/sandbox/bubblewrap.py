"""The arguments of `bwrap`: which parts of the machine a command sees, and which of them it may change."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from pilothouse.tools.sandbox.hidden import EMPTIED
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.visible import View
from pilothouse.tools.sandbox.write_protected import WriteProtected, write_protected
from pilothouse.types.guarded_places import is_in, outermost

# Runs inside, before the command: takes on its bounds, and makes sure that the folder is the one that was allowed.
# $1 tasks, $2 the largest file in blocks of 512 bytes, $3 memory in KiB, $4 what is known of the folder,
# $5 what stands in it and may not be changed, a name a line, $6 what is known of that. One program looks at all.
_WITHIN = """\
nl='
'
ulimit -c 0
ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null
ulimit -f "$2" 2>/dev/null
ulimit -d "$3" 2>/dev/null
echo 800 2>/dev/null >/proc/self/oom_score_adj
now="$(IFS="$nl"; set -f; stat -c '%d:%i %n' -- . $5 2>/dev/null)"
if [ "${now%%"$nl"*}" != "$4" ]; then
    echo "pilothouse: the folder was replaced by another one" >&2
    exit 125
fi
if [ -n "$5" ] && [ "${now#*"$nl"}" != "$6" ]; then
    echo "pilothouse: something in the folder was replaced by something else" >&2
    exit 125
fi
shift 6
exec "$@"
"""
# Joins a control group on the way to the command; $1 is the group's file.
JOINING = 'echo 0 2>/dev/null >"$1"; shift; exec "$@"'
# Inside: its temporary files and its caches, and its folder where that is one of ours.
INSIDE = ("/tmp", "/tmp/cache")  # noqa: S108 - the enclosed command's own
OWN_FOLDER = "/tmp/folder"  # noqa: S108


class Enclosure(msgspec.Struct, frozen=True):
    """What a command's mount namespace is made from."""

    # The folder as the command sees it, and where it really is.
    folder: str
    source: str
    identity: tuple[int, int]
    # A folder that it has as its /tmp, and one for its caches that outlives it, if it has one.
    scratch: str
    cache: str
    view: View
    network: bool
    # A command that is typed at keeps the terminal's session.
    terminal: bool = False
    # Descriptors of the filters for the kernel's calls.
    filters: tuple[int, ...] = ()


def bwrap_arguments(program: str, enclosure: Enclosure, caps: Caps, command: Sequence[str]) -> list[str]:
    """Return the whole command line that runs a command enclosed."""
    known = "{}:{} .".format(*enclosure.identity)
    ours = enclosure.folder != enclosure.source
    kept = WriteProtected((), (), "") if ours else write_protected(enclosure.folder, enclosure.view.hidden)
    largest = (str(caps.tasks), str(caps.file_bytes // 512), str(caps.memory // 1024))
    bounds = (*largest, known, "\n".join(kept.names), kept.facts)
    session = () if enclosure.terminal else ("--new-session",)
    net = () if enclosure.network else ("--unshare-net",)
    cache = ("--bind", enclosure.cache, INSIDE[1]) if enclosure.cache else ()
    return [
        program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", *net,
        "--cap-drop", "ALL", "--die-with-parent", *session,
        *(word for each in enclosure.filters for word in ("--seccomp", str(each))),
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--tmpfs", "/run", *_resolver(enclosure.network),
        "--bind", enclosure.scratch, "/tmp", "--bind", enclosure.scratch, "/var/tmp",  # noqa: S108 - its own
        *_showing(enclosure.view), *cache, "--bind", enclosure.source, enclosure.folder, *kept.arguments,
        *_hiding(enclosure), "--chdir", enclosure.folder,
        "--", "/bin/sh", "-c", _WITHIN, "sh", *bounds, *command,
    ]  # fmt: skip


def _resolver(network: bool) -> tuple[str, ...]:
    """Keep the names of the network known: their file is often a link into the folder that is emptied."""
    path = os.path.realpath("/etc/resolv.conf")
    return ("--ro-bind-try", path, path) if network and path.startswith("/run/") else ()


def _showing(view: View) -> list[str]:
    """Mount what is shown of places that are emptied; what went away meanwhile is left out."""
    return [word for each in view.shown for word in ("--ro-bind-try", each.source, each.path)]


def _hiding(enclosure: Enclosure) -> list[str]:
    said: list[str] = []
    folder = enclosure.folder
    sockets = (path for path in enclosure.view.sockets if not is_in(path, folder))
    for path in outermost((*enclosure.view.hidden, *sockets)):
        if any(is_in(path, place) for place in EMPTIED) and not is_in(path, folder):
            # Not there inside anyway.
            continue
        if os.path.isdir(path):
            said += ["--tmpfs", path, *_installed(enclosure.view, path), "--remount-ro", path]
        else:
            said += ["--ro-bind", "/dev/null", path]
    return said if enclosure.view.installed in said else [*said, *_installed(enclosure.view, "/")]


def _installed(view: View, hidden: str) -> tuple[str, ...]:
    """Show what was installed for a program where it really is, although it lies in a hidden place."""
    is_there = bool(view.installed) and is_in(view.installed, hidden)
    return ("--ro-bind", view.installed, view.installed) if is_there else ()
