"""Ports for servers that need a fixed one before they start. No two tests get the same, in any process."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import tempfile
from pathlib import Path

# Above the well-known ports, and below those that systems give to outgoing connections.
FIRST, LAST = 12_000, 32_000
BLOCK = 100


def free_port() -> int:
    """Return a loopback port of this process's own block on which nothing listens."""
    return next(port for port in itertools.islice(_PORTS, BLOCK) if port not in _KEPT and _is_free(port))


def kept_port() -> int:
    """Return a free port that is never given out again, also while nothing listens on it."""
    port = free_port()
    _KEPT.add(port)
    return port


def _claim() -> range:
    """Return a block of ports that is this process's own: it holds a lock until it ends."""
    folder = Path(tempfile.gettempdir()) / f"pilothouse-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    blocks = range(FIRST, LAST, BLOCK)
    for turn in range(len(blocks)):
        first = blocks[(os.getpid() + turn) % len(blocks)]
        lock = os.open(folder / str(first), os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return range(first, first + BLOCK)
    raise RuntimeError(f"Every block of ports is claimed; see {folder}.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_PORTS = itertools.cycle(_claim())
_KEPT: set[int] = set()
