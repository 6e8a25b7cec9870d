"""The source of an earlier release, packed beside the tests: upgrades are tried with what people really ran.

Packed and not taken from the repository's history, which a shallow clone and a source distribution do not have. That
it is what was committed then is seen by its hash, which is the one that git has for that folder.
"""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

# The last commit before runs were taken from a queue that processes share.
COMMIT = "ca60cce25abdca2e1d86081b7e31d369c511cc31"
# What git calls its folder `src`.
TREE = "7c02ebcba6bdd8778547709f6b230544b4e8b11b"
PACKED = Path(__file__).with_name("before_the_queue.tar.xz")
_EXECUTABLE = 0o100


def unpack(folder: Path) -> Path:
    """Unpack it; return what to have on PYTHONPATH."""
    with tarfile.open(PACKED) as packed:
        packed.extractall(folder, filter="data")
    return folder / "src"


def tree_of(folder: Path) -> str:
    """Return what git would call a folder of files."""
    return _tree(folder).hex()


def _tree(folder: Path) -> bytes:
    # Git sorts folders as if their names ended in a slash.
    # What Python compiled of it meanwhile is not of the release.
    found = (path for path in folder.iterdir() if path.name != "__pycache__")
    entries = sorted(found, key=lambda path: path.name + ("/" if path.is_dir() else ""))
    lines = [b"%s %s\0%s" % (_mode(path), path.name.encode(), _object(path)) for path in entries]
    return _hash(b"tree", b"".join(lines))


def _object(path: Path) -> bytes:
    return _tree(path) if path.is_dir() else _hash(b"blob", path.read_bytes())


def _mode(path: Path) -> bytes:
    if path.is_dir():
        return b"40000"
    return b"100755" if path.stat().st_mode & _EXECUTABLE else b"100644"


def _hash(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).digest()
