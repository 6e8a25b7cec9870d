"""Ports for servers that must be told theirs before they start: no other test, in any process, is given the same."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

# Below the ports that systems give to clients, and above those that services are known by.
FIRST, LAST = 12_000, 32_000
BLOCK = 100


def free_port() -> int:
    """Return a loopback port of this process's own block on which nothing listens."""
    return next(port for port in itertools.islice(_PORTS, BLOCK) if _is_free(port))


def _claimed() -> tuple[range, IO[str]]:
    """Return a block of ports, and the file whose lock keeps it this process's own."""
    folder = Path(tempfile.gettempdir()) / f"pilothouse-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    blocks = range(FIRST, LAST, BLOCK)
    for turn in range(len(blocks)):
        first = blocks[(os.getpid() + turn) % len(blocks)]
        lock = (folder / str(first)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return range(first, first + BLOCK), lock
    raise RuntimeError(f"Every block of ports is claimed; see {folder}.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_BLOCK, _LOCK = _claimed()
_PORTS = itertools.cycle(_BLOCK)
