"""Folders of servers that run in a sandbox: what each keeps for itself, gone when the server is deleted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Rooms:
    """A room for each server: a folder to work in for one that has none, and what it would keep in caches."""

    def __init__(self, base: Path) -> None:
        self._base = base

    def of(self, server_id: str) -> str:
        """Return a server's room, without links in its path; made when it is needed."""
        room = self._base / server_id
        room.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.path.realpath(room)

    def folder_in(self, room: str) -> str:
        """Return the folder to work in."""
        folder = os.path.join(room, "folder")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder

    def forget(self, server_id: str) -> None:
        """Remove a server's room with everything in it."""
        shutil.rmtree(self._base / server_id, ignore_errors=True)
