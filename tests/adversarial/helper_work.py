"""Work for the helper process that no honest file is."""

from __future__ import annotations


def double(number: int) -> int:
    """Return twice a number; for the helper process."""
    return 2 * number


def endless(number: int) -> int:
    """Return nothing, ever."""
    while True:
        number += 1


def greedy(size: int) -> bytes:
    """Return more than fits."""
    return bytes(size)
