"""Swaps two names again and again, as fast as a system call allows: a program of its own."""

from __future__ import annotations

import ctypes
import os
import sys
import time

_AT_HERE = -100
_EXCHANGE = 2
# Long enough for someone to be caught in between, short enough for ten thousand swaps.
_PAUSE = 0.0003


def main(first: str, second: str, times: int) -> None:
    """Exchange two entries so many times; then leave them as they were."""
    libc = ctypes.CDLL(None, use_errno=True)
    one, two = os.fsencode(first), os.fsencode(second)
    for _time in range(times - times % 2):
        if libc.renameat2(_AT_HERE, one, _AT_HERE, two, _EXCHANGE):
            raise OSError(ctypes.get_errno(), "the names cannot be exchanged")
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
