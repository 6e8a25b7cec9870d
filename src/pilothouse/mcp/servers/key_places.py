"""Keys that lie elsewhere: read from a file or a variable at each start, trimmed, and never kept.

A file is read only if it is what a person who names it means: a regular file of their own with one line in it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from pilothouse.mcp.client.key_labels import spoken
from pilothouse.mcp.client.start_errors import NeedsPerson, moved_key, places_to_give
from pilothouse.mcp.servers.entries import secret_origin
from pilothouse.types import limits
from pilothouse.types.guarded_places import is_in
from pilothouse.types.server_keys import KeyPlace
from pilothouse.types.servers import ServerEntry

# Variables that are this program's own, its master key among them.
_OWN_VARIABLES = "PILOTHOUSE_"
_OWN_FILE = re.compile(r"PILOTHOUSE_\w+_FILE|CREDENTIALS_DIRECTORY")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class KeyReader:
    """Reads keys from where a person said; what is this program's own is nobody's key."""

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._home = home
        self._environ = environ

    def _own(self) -> list[str]:
        """Return where this program keeps what is its own: its data folder, and files that its variables name."""
        named = [value for name, value in self._environ.items() if _OWN_FILE.fullmatch(name) and value]
        return [os.path.realpath(os.path.expanduser(each)) for each in (str(self._home), *named)]

    def read(self, entry: ServerEntry, key_id: str, place: KeyPlace) -> str:
        """Return a key of an entry; raise one sentence that says why it cannot be had, and the way back."""
        if place.origin and place.origin != secret_origin(entry):
            raise moved_key(entry.name, key_id)
        told = f"The {spoken(key_id)} of “{entry.name}”"
        fix = f"Put it right, or {places_to_give(entry.name)}"
        if place.environment:
            return self._variable(place.environment, told, fix)
        with _Trouble(told, place.file, fix) as trouble:
            return self._file(place.file, trouble)

    def _variable(self, name: str, told: str, fix: str) -> str:
        if name.upper().startswith(_OWN_VARIABLES):
            raise NeedsPerson(f"{told} cannot come from {name}: that is Pilothouse's own.", fix=fix)
        value = self._environ.get(name, "").strip()
        if not value:
            message = f"{told} is to come from the variable {name}, which is not set where Pilothouse runs."
            raise NeedsPerson(message, fix=f"Set it and start Pilothouse again, or {fix.partition(' or ')[2]}")
        if _CONTROL.search(value):
            raise NeedsPerson(f"{told} is to come from the variable {name}, which has more than one line.", fix=fix)
        return value

    def _file(self, named: str, trouble: _Trouble) -> str:
        path = os.path.expanduser(named)
        if not os.path.isabs(path):
            raise trouble.told("is half a path", "Give the whole path.")
        real = os.path.realpath(path)
        if any(is_in(real, place) for place in self._own()):
            raise trouble.told("leads to what is Pilothouse's own")
        # Never the last link, which may have changed since; and a pipe is not waited for.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        with contextlib.closing(_Opened(os.open(real, flags))) as file:
            info = os.fstat(file.descriptor)
            if stat.S_ISDIR(info.st_mode):
                raise trouble.told("is a folder", "Give the path of the file in it.")
            if not stat.S_ISREG(info.st_mode):
                raise trouble.told("is no regular file")
            if info.st_mode & (stat.S_IROTH | stat.S_IWOTH):
                what = "read" if info.st_mode & stat.S_IROTH else "changed"
                close = f"Close it: {shlex.join(['chmod', '600', path])}"
                raise trouble.told(f"can be {what} by everybody on this machine", close)
            data = os.read(file.descriptor, limits.KEY_FILE_BYTES + 1)
        if len(data) > limits.KEY_FILE_BYTES:
            raise trouble.told("is too large to hold one key")
        return _key(data, trouble)


def _key(data: bytes, trouble: _Trouble) -> str:
    try:
        key = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise trouble.told("is no text") from None
    if not key:
        raise trouble.told("is empty", "Put the key into it.")
    if len(key.splitlines()) > 1:
        raise trouble.told("has more than one line", "Leave the key in it and nothing else.")
    if _CONTROL.search(key):
        raise trouble.told("is no text")
    return key


class _Opened:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def close(self) -> None:
        os.close(self.descriptor)


class _Trouble:
    """Says what is wrong with a file, whoever finds out; a system's refusal too."""

    def __init__(self, whose: str, path: str, fix: str) -> None:
        self._whose = whose
        self._path = path
        self._fix = fix

    def __enter__(self) -> _Trouble:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise self.told("is not there") from None
        if isinstance(error, OSError | ValueError):
            reason = (getattr(error, "strerror", None) or "it is no path").lower()
            raise self.told(f"cannot be read ({reason})") from None

    def told(self, what: str, fix: str = "") -> NeedsPerson:
        """Return the failure in one sentence."""
        return NeedsPerson(f"{self._whose} is to come from {self._path}, which {what}.", fix=fix or self._fix)
