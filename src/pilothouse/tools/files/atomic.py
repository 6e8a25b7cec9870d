"""Changes that happen as a whole or not at all, by descriptor: no one ever sees half of a file."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pilothouse.tools.files.contents import Snapshot, read_whole
from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder, identity, refusing
from pilothouse.types.durable_files import sync

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Where there is no such flag this opens a folder for writing, which fails, as it does on file systems without it.
_NAMELESS = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", 0)
_PRIVATE = 0o600
# File systems without hard links say so in one of these ways.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES})


def write_new(folder: Folder, name: str, content: bytes, mode: int | None = None) -> None:
    """Create a file with its whole content; refuse to do so over anything."""
    with refusing(_path(folder, name)), _written(folder, content, usual_mode() if mode is None else mode) as fresh:
        fresh.become(name)
    _sync(folder)


def write_over(folder: Folder, name: str, content: bytes, before: Snapshot) -> None:
    """Replace a file's content; refuse when it is not as it was read any more."""
    with refusing(_path(folder, name)), _written(folder, content, before.mode, before) as fresh:
        _check_unchanged(folder, name, before)
        fresh.replace(name)
    _sync(folder)


def remove(folder: Folder, name: str, before: Snapshot) -> None:
    """Delete a file; refuse when it is not as it was read any more."""
    _check_unchanged(folder, name, before)
    with refusing(_path(folder, name)):
        os.unlink(name, dir_fd=folder.descriptor)
    _sync(folder)


def move(source: Folder, old: str, target: Folder, new: str) -> None:
    """Move a file, a folder or a link; never over anything."""
    found = source.stat(old)
    path = _path(target, new)
    if found is not None and stat.S_ISREG(found.st_mode):
        with refusing(path):
            try:
                _place(source, old, target, new)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _carry(source, old, target, new)
    else:
        if target.stat(new) is not None:
            raise PathRefused(f"{path} exists already.", "EXISTS")
        with refusing(path):
            os.rename(old, new, src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)
    _sync(source)
    _sync(target)


def change_mode(folder: Folder, name: str, before: os.stat_result, mode: int) -> None:
    """Give a file or a folder other rights, also one that nobody may read; refuse when it is not the one seen."""
    held = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.descriptor)
    try:
        if identity(os.fstat(held)) != identity(before):
            raise changed_meanwhile(_path(folder, name))
        by_descriptor = f"/proc/self/fd/{held}"
        os.chmod(by_descriptor if os.path.exists(by_descriptor) else held, mode)
    finally:
        os.close(held)


def usual_mode() -> int:
    """Return the permission bits that a new file gets here."""
    # Asking the system without setting it, which would be seen by every other thread.
    with suppress(OSError):
        found = re.search(r"^Umask:\s*([0-7]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
        if found:
            return 0o666 & ~int(found[1], 8)
    return 0o644


def _check_unchanged(folder: Folder, name: str, before: Snapshot) -> None:
    """Refuse to touch what is not as it was read; by its content too, for clocks of file systems are coarse."""
    path = _path(folder, name)
    if not before.is_still(folder.stat(name)) or read_whole(folder, name, path).content != before.content:
        raise changed_meanwhile(path)


def changed_meanwhile(path: str) -> PathRefused:
    """Return what is said about a file that someone else changed in between."""
    return PathRefused(f"{path} was changed by someone else just now; read it again.", "CONFLICT")


class _Fresh:
    """A file of our own with its whole content, durable, that nobody else has a name for yet."""

    def __init__(self, folder: Folder, descriptor: int, name: str) -> None:
        self._folder = folder
        self._descriptor = descriptor
        # Empty where the file system gives files without names: then a crash leaves nothing behind.
        self.name = name

    def become(self, name: str) -> None:
        """Take a name; never one that is taken."""
        if self.name:
            _place(self._folder, self.name, self._folder, name)
        else:
            os.link(f"/proc/self/fd/{self._descriptor}", name, dst_dir_fd=self._folder.descriptor)
        self.name = ""

    def replace(self, name: str) -> None:
        """Take the name of another file."""
        own = self.name or _random_name()
        if not self.name:
            self.become(own)
        self.name = own
        os.rename(own, name, src_dir_fd=self._folder.descriptor, dst_dir_fd=self._folder.descriptor)
        self.name = ""


@contextmanager
def _written(folder: Folder, content: bytes, mode: int, owner: Snapshot | None = None) -> Iterator[_Fresh]:
    """Write a content to a file of our own in the same folder; it is gone if nothing becomes of it."""
    descriptor, name = _new(folder)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        fresh = _Fresh(folder, descriptor, name)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            if owner is not None:
                _give_to(descriptor, owner)
            os.fchmod(descriptor, mode)
            sync(descriptor)
            yield fresh
        finally:
            if fresh.name:
                with suppress(FileNotFoundError):
                    os.unlink(fresh.name, dir_fd=folder.descriptor)


def _new(folder: Folder) -> tuple[int, str]:
    """Return a new private file: without a name where that is possible, else under a random one."""
    with suppress(OSError):
        nameless = os.open(".", _NAMELESS, _PRIVATE, dir_fd=folder.descriptor)
        if os.path.exists(f"/proc/self/fd/{nameless}"):
            return nameless, ""
        os.close(nameless)
    name = _random_name()
    return os.open(name, _NEW, _PRIVATE, dir_fd=folder.descriptor), name


def _random_name() -> str:
    return f".pilothouse-{secrets.token_hex(12)}"


def _give_to(descriptor: int, owner: Snapshot) -> None:
    """Let the new file belong to whom the old one did, where we may; else it stays ours."""
    now = os.fstat(descriptor)
    if owner.belongs != (now.st_uid, now.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, *owner.belongs)


def _place(source: Folder, old: str, target: Folder, new: str) -> None:
    """Give a file its new name; unlike a rename, a link is never made over anything."""
    at = {"src_dir_fd": source.descriptor, "dst_dir_fd": target.descriptor}
    try:
        os.link(old, new, follow_symlinks=False, **at)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if target.stat(new) is not None:
            raise FileExistsError(errno.EEXIST, "exists") from None
        os.rename(old, new, **at)
    else:
        os.unlink(old, dir_fd=source.descriptor)


def _carry(source: Folder, old: str, target: Folder, new: str) -> None:
    """Move a file to another file system: a copy first, then the end of the original."""
    before = read_whole(source, old, _path(source, old))
    write_new(target, new, before.content, before.mode)
    remove(source, old, before)


def _sync(folder: Folder) -> None:
    """Make a changed folder durable, where the file system can."""
    with suppress(OSError, PathRefused), folder.listable() as descriptor:
        sync(descriptor)


def _path(folder: Folder, name: str) -> str:
    return os.path.join(folder.path, name)
