"""Programs of local servers as they are on this machine: found, owned by whom, and unchanged or not."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.types import limits

# Programs that run whatever their arguments say.
INTERPRETERS = re.compile(
    r"(python|pypy|node|nodejs|tsx|ts-node|deno|bun|ruby|perl|php|lua|rscript|julia|sh|bash|dash|zsh|fish|ksh|pwsh)[\d.]*"
)
_CHUNK = 1024 * 1024
# Instead of a hash.
OF_THE_SYSTEM = "system"
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


def download_of(argv: Sequence[str]) -> Download | None:
    """Return what a command downloads before it runs it; None for one that runs what is there."""
    launcher = _LAUNCHERS.get(plain_name(argv[0]))
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


def plain_name(program: str) -> str:
    """Return a program's name as the tables here know it."""
    return Path(program).name.lower().removesuffix(".exe")


def whole_path(path: str) -> Path:
    """Return a path with the home folder that it names; raise a ChannelError when there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        message = f"Nobody knows the home folder in {path}."
        raise ChannelError(message, fix="Give the whole path.", sent=False) from None


def facts_of(path: Path, known: FileFacts | None = None, *, found: bool = False) -> FileFacts:
    """Return what a file is now; it is read only if something touched it since `known`.

    One that was not named by its path but found, such as a script's interpreter, is known by its place and owner alone
    where only the system can change it: an update of the system asks nothing.
    """
    info = path.stat()
    if found and is_the_systems(path, info):
        return FileFacts(str(path), _owner(info.st_uid), OF_THE_SYSTEM, ())
    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_uid)
    for before in (known, _seen.get(str(path))):
        if before is not None and before.path == str(path) and before.stamp == stamp:
            return before
    facts = _seen[str(path)] = FileFacts(str(path), _owner(info.st_uid), _digest(path, info), stamp)
    return facts


def is_the_systems(path: Path, info: os.stat_result) -> bool:
    """Return whether a file is the administrator's, and this account can change neither it nor its folder."""
    real = Path(os.path.realpath(path))
    places = (real, real.parent, path.parent)
    return info.st_uid == 0 and os.name == "posix" and not any(os.access(place, os.W_OK) for place in places)


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
    # A name that no file can have is an error to the system.
    with suppress(OSError):
        return path.is_file() and os.access(path, os.X_OK)
    return False


def _digest(path: Path, info: os.stat_result) -> str:
    if info.st_size > limits.HASHED_FILE_BYTES:
        return f"{info.st_size} bytes of {info.st_mtime_ns}"
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
