"""How much of the machine a command may use."""

from __future__ import annotations

import os

import msgspec

from pilothouse.types import limits


class Caps(msgspec.Struct, frozen=True):
    """Bounds that the kernel keeps, for all processes of a command together or for each."""

    # Processes and threads of a command together.
    tasks: int = limits.COMMAND_TASKS
    # One file, and the memory of one process.
    file_bytes: int = limits.COMMAND_FILE_BYTES
    memory_bytes: int = 0
    # What of the disk a command must leave free.
    disk_reserve: int = limits.COMMAND_DISK_RESERVE
    # The same as a part of what is free at its start, for a disk that is nearly full.
    disk_share: float = 0.5

    @property
    def memory(self) -> int:
        """Return the memory of one process: three quarters of the machine's, unless said otherwise."""
        return self.memory_bytes or _physical_memory() * 3 // 4


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 8 * 1024**3
