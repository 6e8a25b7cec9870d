"""Folders of servers that run in a sandbox: what each keeps for itself, gone when the server is deleted."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path


class ServerFolders:
    """A room for each server: a folder to work in for one that has none, and what it would keep in caches."""

    def __init__(self, base: Path, mark: str = "server") -> None:
        self._base = base
        self._mark = mark

    def aside(self) -> ServerFolders:
        """Return folders for one check of a server; `remove` takes them away again."""
        mark = f"check-{uuid.uuid4().hex}"
        return ServerFolders(self._base / mark, mark)

    def owner(self, server_id: str) -> str:
        """Return whose the temporary files of a server are, in a sandbox."""
        return f"{self._mark}-{server_id}"

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

    def borrow(self, kept: ServerFolders, server_id: str) -> None:
        """Take over what a kept server is pinned to, so that nobody has to look that up again."""
        locks = kept._base / server_id / "locks"
        if locks.is_dir():
            shutil.copytree(locks, os.path.join(self.of(server_id), "locks"))

    def remove(self) -> None:
        """Remove all of them."""
        shutil.rmtree(self._base, ignore_errors=True)

    def forget(self, server_id: str) -> None:
        """Remove a server's room with everything in it."""
        shutil.rmtree(self._base / server_id, ignore_errors=True)
