"""What is on disk for certain: each fsync of a process is noted, and what it made durable is kept.

The library in `unsynced_disk.c` is loaded before libc. It holds files to what POSIX says and no more: a content is on
disk when its file was synced, a name when its folder was.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("unsynced_disk.c")
COMPILER = "cc"
MISSING = (
    "The tests of what is on disk need a C compiler and none was found: install one (Debian: apt-get install gcc "
    "libc6-dev)."
)
_SYNC_ALL = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for path in [*(os.path.join(folder, name) for name in names), folder]:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.close(file)
"""


def compile_library(folder: Path) -> Path | None:
    """Compile the library into a folder; None where that cannot be done."""
    library = folder / "synced.so"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    if shutil.which(COMPILER) is None or subprocess.run(command, check=False, timeout=60).returncode:
        return None
    return library


class Disk:
    """The disk below a folder, as processes that are started from now on make it durable."""

    def __init__(self, library: Path, home: Path, notes: Path, *, copies: bool = False) -> None:
        self._home = home
        self._notes = notes
        for folder in (notes / "files", notes / "folders"):
            folder.mkdir(parents=True)
        self.environment = {"LD_PRELOAD": str(library), "SYNCED_HOME": str(home), "SYNCED_FOLDER": str(notes)}
        if copies:
            self.environment["SYNCED_COPIES"] = "1"

    def syncs(self, name: str) -> int:
        """Return how often a file was synced."""
        log = self._notes / "log"
        return log.read_text().splitlines().count(str(self._home / name)) if log.exists() else 0

    @property
    def log_syncs(self) -> int:
        """Return how often the database's log was synced."""
        return self.syncs("pilothouse.db-wal")

    def slow_down(self, seconds: float) -> None:
        """Let each fsync take this long."""
        (self._notes / "delay").write_text(str(round(seconds * 1_000_000)))

    def cut_power(self) -> Path:
        """Put the folder back to what is on disk for certain; return where the rest of it is now."""
        (self._notes / "delay").unlink(missing_ok=True)
        lost = self._home.with_name(f"lost-{len(list(self._home.parent.glob('lost-*')))}")
        self._home.rename(lost)
        self._restore(self._home, "%")
        shutil.rmtree(self._notes)
        for folder in (self._notes / "files", self._notes / "folders"):
            folder.mkdir(parents=True)
        # What came back is what the disk had.
        command = [sys.executable, "-I", "-S", "-c", _SYNC_ALL, str(self._home)]
        subprocess.run(command, check=True, timeout=60, env={**os.environ, **self.environment})
        (self._notes / "log").unlink()
        return lost

    def _restore(self, folder: Path, listing: str) -> None:
        folder.mkdir(mode=0o700)
        names = self._notes / "folders" / listing
        for line in names.read_text().splitlines() if names.exists() else []:
            kind, key, name = line.split(" ", 2)
            if kind == "d":
                self._restore(folder / name, f"{listing}{name}%")
                continue
            content = self._notes / "files" / key
            # A name without a content: what a file comes to that was renamed and never synced.
            (folder / name).write_bytes(content.read_bytes() if content.exists() else b"")
            (folder / name).chmod(0o600)
