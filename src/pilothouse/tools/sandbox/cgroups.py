"""Control groups, where this account may make some: the one bound on processes that also holds for root."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.types.ids import new_id

_MOUNTS = Path("/proc/self/mountinfo")
_OURS = Path("/proc/self/cgroup")


class Group:
    """A control group of one command; removed when the command is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def joined_by(self) -> str:
        """Return the file that a process joins by writing to it.

        The older hierarchy has one for a single thread, as a shell is: the kernel need not halt everybody's forks for
        that, which takes ten milliseconds.
        """
        single = self._folder / "tasks"
        return str(single if single.exists() else self._folder / "cgroup.procs")

    def kill(self) -> None:
        """End every process in it; newer kernels do that at once."""
        with contextlib.suppress(OSError):
            (self._folder / "cgroup.kill").write_text("1")
            return
        with contextlib.suppress(OSError, ValueError):
            for pid in (self._folder / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> bool:
        """Remove the group; False while there is something in it."""
        try:
            self._folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


class Groups:
    """Makes groups below the one that this process is in, or beside it."""

    def __init__(self) -> None:
        self._parent = _find_parent()
        self._sweep()

    def _sweep(self) -> None:
        """End what hosts that are gone have left in their groups, and remove those."""
        for folder in self._parent.glob("pilothouse-*") if self._parent is not None else ():
            if not Path("/proc", folder.name.split("-")[1]).exists():
                Group(folder).kill()
                Group(folder).remove()

    def make(self, caps: Caps) -> Group | None:
        """Make a group with bounds; None where that is not possible."""
        if self._parent is None:
            return None
        folder = self._parent / f"pilothouse-{os.getpid()}-{new_id('p')}"
        try:
            folder.mkdir()
            # Its own keeper and shells count too.
            (folder / "pids.max").write_text(str(caps.tasks + 8))
        except OSError:
            Group(folder).remove()
            return None
        return Group(folder)


def _find_parent() -> Path | None:
    """Return where groups that count processes can be made: tried, because rights alone do not tell."""
    for candidate in _candidates():
        probe = candidate / f"pilothouse-{os.getpid()}-probe"
        try:
            probe.mkdir()
        except OSError:
            continue
        usable = (probe / "pids.max").exists() and os.access(probe / "cgroup.procs", os.W_OK)
        with contextlib.suppress(OSError):
            probe.rmdir()
        if usable:
            return candidate
    return None


def _candidates() -> list[Path]:
    try:
        ours = [line.split(":", 2) for line in _OURS.read_text().splitlines()]
        mounts = _mounts()
    except OSError:
        return []
    found = []
    for _, controllers, path in ours:
        mounted = mounts.get(controllers or "cgroup2")
        if mounted is None or (controllers and controllers != "pids"):
            continue
        own = mounted / path.lstrip("/")
        # In the newer hierarchy a group that holds processes has no children with bounds: those stand beside it.
        found += [own] if controllers else [own.parent, own]
    return [folder for folder in found if folder.is_dir()]


def _mounts() -> dict[str, Path]:
    found = {}
    for line in _MOUNTS.read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        if kind == "cgroup2":
            found["cgroup2"] = Path(fields.split()[4])
        elif kind == "cgroup" and "pids" in options.split(" ")[-1].split(","):
            found["pids"] = Path(fields.split()[4])
    return found
