"""Temporary files of commands: a folder for each owner, gone with the process that made it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class Scratch:
    """Folders that stand for /tmp inside a sandbox; commands of one owner see the same."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._ours = base / str(os.getpid())

    def of(self, owner: str) -> str:
        """Return an owner's folder; made when it is needed."""
        folder = self._ours / (_UNFIT.sub("_", owner) or "shared")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.path.realpath(folder)

    def forget(self, owner: str) -> None:
        """Remove an owner's files."""
        shutil.rmtree(self._ours / (_UNFIT.sub("_", owner) or "shared"), ignore_errors=True)

    def sweep(self) -> None:
        """Remove what processes that are gone have left."""
        for folder in self._base.iterdir() if self._base.is_dir() else ():
            if folder.name.isdigit() and folder != self._ours and not _is_alive(int(folder.name)):
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove everything of this process."""
        shutil.rmtree(self._ours, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._base.rmdir()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
