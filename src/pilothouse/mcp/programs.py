"""Programs of local servers as they are on this machine: found, owned by whom, and unchanged or not."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.mcp.channel import ChannelError
from pilothouse.types import limits

# Programs that run whatever their arguments say.
INTERPRETERS = re.compile(r"(python|pypy|node|nodejs|deno|bun|ruby|perl|php|lua|sh|bash|dash|zsh|fish|ksh|pwsh)[\d.]*")
_CHUNK = 1024 * 1024
# Programs that download what they run, from where, and the options that name it; of some only these commands do so.
_PYTHON_OPTIONS, _NODE_OPTIONS = ("--from", "--with", "-w", "--spec"), ("--package", "-p")
_LAUNCHERS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "uvx": ("PyPI", _PYTHON_OPTIONS, ()),
    "uv": ("PyPI", _PYTHON_OPTIONS, ("tool",)),
    "pipx": ("PyPI", _PYTHON_OPTIONS, ("run",)),
    "npx": ("npm", _NODE_OPTIONS, ()),
    "bunx": ("npm", _NODE_OPTIONS, ()),
    "npm": ("npm", _NODE_OPTIONS, ("exec", "x")),
    "pnpm": ("npm", _NODE_OPTIONS, ("dlx",)),
    "yarn": ("npm", _NODE_OPTIONS, ("dlx",)),
}


class FileFacts(msgspec.Struct, frozen=True):
    """A file as it was when someone agreed to it; the stamp spares reading it again while nothing touched it."""

    path: str
    owner: str
    sha256: str
    stamp: tuple[int, ...]


class Download(msgspec.Struct, frozen=True):
    """What a command downloads before it runs it: from where, and what its options name."""

    registry: str
    named: tuple[str, ...]


# Many servers are started by the same few programs.
_seen: dict[str, FileFacts] = {}


def find_program(program: str, cwd: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the absolute path of a program; raise a ChannelError when there is none.

    A bare name is looked for in the absolute folders of PATH only, never in the current one.
    """
    if os.sep in program or program.startswith("~"):
        path = whole_path(program)
        if not path.is_absolute():
            if cwd is None:
                raise ChannelError(
                    f"The program {program} is given by half a path.", fix="Give the whole path.", sent=False
                )
            path = whole_path(cwd) / path
        if not _is_program(path):
            fix = "Check the path, and that you may execute the file."
            raise ChannelError(f"There is no program at {path}.", fix=fix, sent=False)
        return Path(os.path.normpath(path))
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        found = Path(folder) / program
        if os.path.isabs(folder) and _is_program(found):
            return found
    raise ChannelError(f"The program “{program}” was not found on this machine.", fix=_how_to_get(program), sent=False)


def script_of(argv: Sequence[str], cwd: str | None) -> Path | None:
    """Return the file that an interpreter is told to run, where there is one."""
    if not INTERPRETERS.fullmatch(Path(argv[0]).name.lower().removesuffix(".exe")):
        return None
    words = [word for word in argv[1:] if word not in {"run", "--"}]
    first = next((word for word in words if not word.startswith("-")), None)
    before = words[: words.index(first)] if first is not None else words
    if first is None or any(word in {"-c", "-e", "-m", "-p", "--eval", "--print"} for word in before):
        return None
    # An argument that begins like a home folder may mean something else.
    path = Path(os.path.expanduser(first))
    path = path if path.is_absolute() else whole_path(cwd or str(Path.home())) / path
    return path if path.is_file() else None


def download_of(argv: Sequence[str]) -> Download | None:
    """Return what a command downloads before it runs it; None for one that runs what is there."""
    launcher = _LAUNCHERS.get(Path(argv[0]).name.lower().removesuffix(".exe"))
    if launcher is None:
        return None
    registry, options, commands = launcher
    named = []
    for word, following in zip(argv[1:], (*argv[2:], ""), strict=True):
        option, equals, value = word.partition("=")
        if option in options:
            named.append(value if equals else following)
    first = next((word for word in argv[1:] if not word.startswith("-")), "")
    return Download(registry, tuple(named)) if named or not commands or first in commands else None


def whole_path(path: str) -> Path:
    """Return a path with the home folder that it names; raise a ChannelError when there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        message = f"Nobody knows the home folder in {path}."
        raise ChannelError(message, fix="Give the whole path.", sent=False) from None


def facts_of(path: Path, known: FileFacts | None = None) -> FileFacts:
    """Return what a file is now; it is read only if something touched it since `known`."""
    info = path.stat()
    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_uid)
    for before in (known, _seen.get(str(path))):
        if before is not None and before.path == str(path) and before.stamp == stamp:
            return before
    facts = _seen[str(path)] = FileFacts(str(path), _owner(info.st_uid), _digest(path, info.st_size), stamp)
    return facts


def may_be_changed_by_others(path: Path) -> bool:
    """Return whether another account may replace this file."""
    if os.name != "posix":
        return False
    try:
        places = [path, path.parent, path.resolve()]
        modes = [place.stat().st_mode for place in places]
    except OSError:
        return True
    return any(mode & stat.S_IWOTH and not mode & stat.S_ISVTX for mode in modes)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _digest(path: Path, size: int) -> str:
    if size > limits.HASHED_FILE_BYTES:
        return f"{size} bytes"
    made = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.hexdigest()


def _owner(uid: int) -> str:
    try:
        import pwd  # noqa: PLC0415

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)


def _how_to_get(program: str) -> str:
    known = {
        "npx": "Install Node.js, which brings npx.",
        "node": "Install Node.js.",
        "uvx": "Install uv, which brings uvx.",
        "uv": "Install uv.",
        "docker": "Install Docker and start it.",
    }
    return known.get(program, "Install it, or give its whole path.")
