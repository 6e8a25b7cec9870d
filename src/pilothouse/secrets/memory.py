"""What is in this process's memory stays there: no core file, and nobody else's look at it."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def keep_private() -> None:
    """Write no core file when we crash, and let no other program of this account look into us, where that can be."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not there on every system

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # A system that pipes cores to a program passes over the limit; it does not pass over this.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
