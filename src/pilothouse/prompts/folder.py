"""A folder of prompts: read anew where a file changed, and what cannot be read is told and leaves the others alone."""

from __future__ import annotations

import os
import re
import stat
from itertools import islice
from pathlib import Path

import msgspec

from pilothouse.prompts.front_matter import BadFile, parsed
from pilothouse.prompts.variables import variables
from pilothouse.types import limits
from pilothouse.types.prompts import PromptDetails

SUFFIX = ".md"
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{limits.PROMPT_NAME_CHARS - 1}}}")
# What tells one content of a file from another.
_Stamp = tuple[int, int, int, int]


class Contents(msgspec.Struct, frozen=True):
    """What is in a folder: the prompts by name, and a sentence for each file that was left out."""

    prompts: dict[str, PromptDetails]
    problems: tuple[str, ...] = ()


def is_name(name: str) -> bool:
    """Return whether a prompt can be called so: it is the name of a file, and what is typed after a slash."""
    return _NAME.fullmatch(name) is not None


class PromptFolder:
    """One folder; a file is read again when it changed."""

    def __init__(self, path: Path, most_bytes: int, *, built_in: bool = False) -> None:
        self.path = path
        self._most_bytes = most_bytes
        self._built_in = built_in
        self._known: dict[str, tuple[_Stamp, PromptDetails | str]] = {}

    def contents(self) -> Contents:
        """Return what is there now."""
        names, problems = self._names()
        prompts: dict[str, PromptDetails] = {}
        known: dict[str, tuple[_Stamp, PromptDetails | str]] = {}
        for name in names:
            try:
                known[name] = found = self._read(name)
            except (OSError, BadFile) as error:
                problems.append(f"{name}{SUFFIX} {_reason(error)}; it is left out.")
                continue
            if isinstance(found[1], str):
                problems.append(f"{name}{SUFFIX} {found[1]}; it is left out.")
            else:
                prompts[name] = found[1]
        self._known = known
        return Contents(prompts, tuple(problems[: limits.PROMPTS]))

    def _names(self) -> tuple[list[str], list[str]]:
        """Return the names of the prompts' files in order, and what is wrong with other files."""
        names, problems = [], []
        for file in self._files():
            if not file.lower().endswith(SUFFIX) or file.startswith("."):
                continue
            name = file[: -len(SUFFIX)]
            if is_name(name) and file.endswith(SUFFIX):
                names.append(name)
            else:
                shown = "".join(each if each.isprintable() else "�" for each in file[: limits.PROMPT_TITLE_CHARS])
                problems.append(f"“{shown}” is left out: name it with letters, digits, hyphens and underscores only.")
        if len(names) > limits.PROMPTS:
            last = names[limits.PROMPTS - 1]
            problems.append(f"There are more than {limits.PROMPTS} files; those after “{last}” are left out.")
        return names[: limits.PROMPTS], problems

    def _files(self) -> list[str]:
        try:
            with os.scandir(self.path) as entries:
                return sorted(entry.name for entry in islice(entries, limits.PROMPT_FOLDER_ENTRIES))
        except OSError:
            # There is none yet: whoever writes the first prompt makes it.
            return []

    def _read(self, name: str) -> tuple[_Stamp, PromptDetails | str]:
        path = self._real(name)
        # Not following a link that was put there just now, and not waiting for a pipe's other end.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise BadFile("is not a file")
            stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
            known = self._known.get(name)
            if known is not None and known[0] == stamp:
                return known
            # One byte more than may be: it may have grown since. A regular file gives all that it has at once.
            return stamp, self._understood(name, os.read(descriptor, self._most_bytes + 1))
        finally:
            os.close(descriptor)

    def _real(self, name: str) -> str:
        """Return where a file is; raise BadFile for one that leads out of the folder."""
        path = self.path / f"{name}{SUFFIX}"
        if not path.is_symlink():
            return str(path)
        real, inside = os.path.realpath(path), os.path.realpath(self.path)
        if os.path.dirname(real) != inside:
            raise BadFile("is a link that leads out of the folder")
        return real

    def _understood(self, name: str, content: bytes) -> PromptDetails | str:
        """Return the prompt that a file is, or what is wrong with it."""
        try:
            if len(content) > self._most_bytes:
                raise BadFile(f"is larger than {self._most_bytes // 1024} KiB")
            said = parsed(content.decode())
            asked = variables(said.text)
            if len(asked) > limits.PROMPT_VARIABLES:
                raise BadFile(f"has more than {limits.PROMPT_VARIABLES} variables")
        except BadFile as error:
            return str(error)
        except UnicodeDecodeError:
            return "is not text in UTF-8"
        return PromptDetails(
            name=name,
            title=said.title or name.replace("-", " ").replace("_", " ").capitalize(),
            description=said.description,
            variables=asked,
            built_in=self._built_in,
            path="" if self._built_in else str(self.path / f"{name}{SUFFIX}"),
            text=said.text,
        )


def _reason(error: OSError | BadFile) -> str:
    if isinstance(error, BadFile):
        return str(error)
    return f"cannot be read: {(error.strerror or 'it is not possible').lower()}"
