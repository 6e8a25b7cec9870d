"""The data folder: where it is, and that nobody else can read it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError

FOLDERS = ("secrets", "logs", "cache")
# Windows guards a profile folder by its own means; modes say nothing there.
POSIX = os.name == "posix"


class Home(msgspec.Struct, frozen=True):
    """The data folder and what stands where in it."""

    path: Path
    # One sentence for each thing that was put right when the folder was opened.
    notices: tuple[str, ...] = ()

    @property
    def models_file(self) -> Path:
        """Return the file with the configured models."""
        return self.path / "models.json"

    @property
    def policy_file(self) -> Path:
        """Return the file with the rules about what may be done."""
        return self.path / "policy.json"

    @property
    def secrets(self) -> Path:
        return self.path / "secrets"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def cache(self) -> Path:
        """Return the folder for what can be had again."""
        return self.path / "cache"


def home_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the data folder is: PILOTHOUSE_HOME, else the platform's place for user data."""
    if chosen := environ.get("PILOTHOUSE_HOME"):
        return Path(chosen).expanduser().absolute()
    # Imported late: whoever sets PILOTHOUSE_HOME does not pay for it.
    from platformdirs import user_data_path  # noqa: PLC0415

    return user_data_path("pilothouse", appauthor=False)


def open_home(path: Path | None = None) -> Home:
    """Make the data folder ready: create it, close it to others, or say what is in the way."""
    path = path or home_path()
    try:
        for folder in (path, *(path / name for name in FOLDERS)):
            durable_files.make_folder(folder)
        notices = tuple(_close_to_others(path)) if POSIX else ()
        # The only honest test for a full, read-only or foreign disk is to write.
        with tempfile.TemporaryFile(dir=path):
            pass
    except (FileExistsError, NotADirectoryError):
        raise _unusable(path, "is not a folder", "Move that file away") from None
    except OSError as error:
        reason = (error.strerror or "it cannot be used").lower()
        raise _unusable(path, f"cannot be used: {reason}", "Give yourself the right to write there") from None
    return Home(path, notices)


def _unusable(path: Path, problem: str, fix: str) -> PilothouseError:
    fix = f"{fix}, or set PILOTHOUSE_HOME to another folder."
    return PilothouseError("data_folder", f"The data folder {path} {problem}.", fix=fix)


def _close_to_others(path: Path) -> Iterator[str]:
    """Take the rights of other accounts away, and yield a sentence for each place they could have read."""
    was_open = bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    for folder in (path, *(path / name for name in FOLDERS)):
        info = folder.stat()
        # The administrator may work in anyone's folder: containers with a mounted one do.
        if info.st_uid != os.getuid() and os.getuid() != 0:
            raise _unusable(folder, "belongs to another account", "Take it over with chown")
        if stat.S_IMODE(info.st_mode) & 0o077:
            folder.chmod(0o700)
            yield f"The folder {folder} was open to other accounts; it is closed now (mode 700)."
    for file in _files(path):
        # Inside a closed folder the file's own mode did no harm: nothing worth telling.
        if _is_closed_now(file) and was_open:
            yield f"The file {file} was open to other accounts; it is closed now."


def _is_closed_now(file: Path) -> bool:
    """Take the rights of other accounts to a file away; return whether there were any."""
    try:
        mode = stat.S_IMODE(file.lstat().st_mode)
        if mode & 0o077:
            file.chmod(mode & 0o700)
    except FileNotFoundError:
        # Another process that starts right now made it, and is done with it.
        return False
    return bool(mode & 0o077)


def _files(path: Path) -> Iterator[Path]:
    for folder in (path, *(path / name for name in FOLDERS)):
        with os.scandir(folder) as entries:
            yield from (Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False))
