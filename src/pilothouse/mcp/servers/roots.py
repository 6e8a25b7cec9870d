"""Folders that a server is told of: its entry's own, and the conversation's where the consent names that folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from pilothouse.mcp.servers.entries import is_address
from pilothouse.mcp.servers.programs import whole_path
from pilothouse.types import limits
from pilothouse.types.servers import ServerEntry


class SharedFolders:
    """The folders of the conversations that called over one connection lately."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[str | None, float]] = {}

    def take(self, conversation_id: str, folder: str | None) -> None:
        """Hear that a conversation in this folder is about to call."""
        now = time.monotonic()
        lately = {key: each for key, each in self._used.items() if now - each[1] < limits.IDLE_STOP}
        self._used = {**lately, conversation_id: (folder, now)}

    def common(self) -> str | None:
        """Return the one folder that all of them have; None where they differ or one has none."""
        folders = {folder for folder, _ in self._used.values()}
        return folders.pop() if len(folders) == 1 else None


def may_have_roots(entry: ServerEntry) -> bool:
    """Return whether a server is ever told of a folder; it looks at the disk."""
    return bool(entry.config.roots) or any(map(os.path.isdir, _named(entry)))


def roots_of(entry: ServerEntry, folder: str | None) -> tuple[str, ...]:
    """Return the addresses of the folders that a server is told of, for conversations in this one."""
    own = [root if is_address(root) else whole_path(root).as_uri() for root in entry.config.roots]
    if folder is not None and any(Path(folder).is_relative_to(named) for named in _named(entry)):
        own.append(Path(folder).as_uri())
    return tuple(dict.fromkeys(own))


def _named(entry: ServerEntry) -> Iterator[str]:
    """Yield the folders that the person saw when they agreed to a local command: its own, and its arguments."""
    if entry.transport != "stdio":
        return
    for word in (entry.config.cwd or "", *entry.config.args):
        path = os.path.expanduser(word.partition("=")[2] if word.startswith("-") else word)
        if os.path.isabs(path):
            yield os.path.normpath(path)
