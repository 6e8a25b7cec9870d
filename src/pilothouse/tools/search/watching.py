"""Changes below a folder, told by the system: every one that happened before a look is seen by that look."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Container

import msgspec

_EVENT = struct.Struct("iIII")
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _IS_FOLDER = 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _NOT_UNLINKED = 0x01000000, 0x04000000
_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS | _NOT_UNLINKED
_READ_BYTES = 256 * 1024


class Changes(msgspec.Struct):
    """What happened since the last look."""

    # Ways from the top; a folder's ends in a slash.
    paths: set[str] = msgspec.field(default_factory=set)
    # So much happened that the system stopped counting; everything must be looked at.
    lost: bool = False


class Watch:
    """Watches folders through inotify. Its descriptor is readable when something happened."""

    def __init__(self) -> None:
        # The one that is there already: to look for it by name is to start a program.
        library = ctypes.CDLL(None, use_errno=True)
        self._add = library.inotify_add_watch
        self._remove = library.inotify_rm_watch
        self.descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify is exhausted")
        self._prefixes: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def close(self) -> None:
        """Stop watching."""
        os.close(self.descriptor)

    def add(self, folder: int, prefix: str) -> None:
        """Watch an open folder; raise OSError when the system has no room for more."""
        number = self._add(self.descriptor, f"/proc/self/fd/{folder}".encode(), _MASK)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify is exhausted")
        # The same folder has the same number, whatever it is called now.
        before = self._prefixes.get(number)
        if before is not None and before != prefix:
            self._numbers.pop(before, None)
        self._prefixes[number] = prefix
        self._numbers[prefix] = number

    def is_watching(self, prefix: str) -> bool:
        """Return whether a folder is watched still: one that was deleted is not, whatever has its name now."""
        return prefix in self._numbers

    def keep_only(self, wanted: Container[str], prefix: str) -> None:
        """Stop watching folders at or below a place that are not wanted: they are gone, or ignored now."""
        for below in [each for each in self._numbers if each.startswith(prefix) and each not in wanted]:
            number = self._numbers.pop(below)
            self._prefixes.pop(number, None)
            self._remove(self.descriptor, number)

    def changes(self) -> Changes:
        """Return everything that happened until now, without waiting."""
        changes = Changes()
        while True:
            try:
                data = os.read(self.descriptor, _READ_BYTES)
            except BlockingIOError:
                return changes
            except OSError as error:
                if error.errno == errno.EINTR:
                    continue
                raise
            self._take(data, changes)

    def _take(self, data: bytes, changes: Changes) -> None:
        at = 0
        while at < len(data):
            number, mask, _cookie, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            prefix = self._prefixes.get(number)
            if mask & _OVERFLOW:
                changes.lost = True
            elif mask & _IGNORED:
                self._gone(number)
            elif prefix is not None and name:
                changes.paths.add(prefix + os.fsdecode(name) + ("/" if mask & _IS_FOLDER else ""))

    def _gone(self, number: int) -> None:
        prefix = self._prefixes.pop(number, None)
        if prefix is not None and self._numbers.get(prefix) == number:
            del self._numbers[prefix]


def watch_is_there() -> bool:
    """Return whether this system tells of changes in a way that loses none silently."""
    return sys.platform == "linux" and os.path.isdir("/proc/self/fd")
