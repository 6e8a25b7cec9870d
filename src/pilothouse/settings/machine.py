"""What this machine has room for, where a setting leaves that open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pilothouse.types import limits


def usual_local_servers(root: Path = Path("/")) -> int:
    """Return how many local servers run side by side when nobody said otherwise: as many as a share of memory holds."""
    share = memory(root) * limits.SERVERS_SHARE / limits.SERVER_BYTES
    return int(min(max(share, limits.SERVERS_LEAST), limits.SERVERS_MOST))


def memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use: the machine's, or what its container was given of it."""
    return min([_installed(root), *_allowed(root)])


def _installed(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemTotal:"))
    except (OSError, ValueError, IndexError, StopIteration):
        # No Linux.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _allowed(root: Path) -> Iterator[int]:
    """Yield the bounds of the control groups that it is in, from its own outwards; both generations of them."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for group in groups:
        _, _, rest = group.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        base = root / "sys/fs/cgroup" / top
        inner = base / path.strip("/")
        # In a container the path may be that of the machine around it; its own group is then the top one.
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(base):
                yield from _bound(folder / name)


def _bound(file: Path) -> Iterator[int]:
    try:
        yield int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # There is none, or it says "max".
        return
