"""Reads settings of git as far as it matters which files have something run; asks git nothing, and runs nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pilothouse.types import limits

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_POINTER = "gitdir:"
_SECTION = re.compile(r'\[\s*+([a-z0-9.-]++)\s*+(?:"(?:[^"\\]|\\.)*+"\s*+)?\]\s*+', re.IGNORECASE)
_KEY = re.compile(r"([a-z][a-z0-9-]*+)\s*+=[ \t]*+", re.IGNORECASE)
_JOINED = re.compile(r"\\\r?\n")
# Before a file's name: newer versions of git pass over one that is not there.
_IF_THERE = ":(optional)"


class Leads(NamedTuple):
    """Where settings lead: folders that git takes hooks from, and files that bring in further settings."""

    hooks: tuple[str, ...]
    files: tuple[str, ...]


def leads_of(root: str, home: str, environ: Mapping[str, str]) -> Leads:
    """Return where the settings lead that count for the repository that begins in a folder.

    Every folder that any of them names counts: which one holds depends on conditions and on the order of files.
    """
    git, common = _own_folders(root)
    files = [os.path.join(common, "config"), os.path.join(git, "config.worktree"), *_of_person(home, environ)]
    own = len(files)
    hooks: dict[str, None] = {}
    # The list grows with what is included.
    for at, file in enumerate(files):
        if at >= limits.GIT_SETTINGS_FILES + own:
            break
        for section, key, value in _settings(_text(file)):
            if section == "core" and key == "hookspath":
                hooks[_real(root, value, home)] = None
            elif section in ("include", "includeif") and key == "path":
                named = _real(os.path.dirname(file), value, home)
                files += [named] if named not in files else []
    return Leads(tuple(filter(None, hooks)), tuple(filter(None, files[own:])))


def _own_folders(root: str) -> tuple[str, str]:
    """Return where git keeps what is the working tree's, and what it shares with others."""
    git = os.path.join(root, ".git")
    text = _text(git)
    if text.startswith(_POINTER):
        git = os.path.normpath(os.path.join(root, text.removeprefix(_POINTER).strip()))
    shared = _text(os.path.join(git, "commondir")).strip()
    return git, os.path.normpath(os.path.join(git, shared)) if shared else git


def _of_person(home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the files whose settings count in every repository."""
    yield environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"
    if elsewhere := environ.get("GIT_CONFIG_GLOBAL"):
        yield elsewhere
        return
    yield os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    yield os.path.join(home, ".gitconfig")


def _real(base: str, value: str, home: str) -> str:
    """Return where a name leads from a folder, links followed; nothing for one that leads nowhere."""
    name = value.removeprefix(_IF_THERE)
    if not name or "\0" in name:
        return ""
    whole = home + name[1:] if name == "~" or name.startswith("~/") else os.path.expanduser(name)
    return os.path.realpath(os.path.join(base, whole))


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of each setting that has a value, as git reads them."""
    section = ""
    for line in _JOINED.sub("", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        while found := _SECTION.match(rest):
            section, rest = found[1].lower(), rest[found.end() :]
        if key := _KEY.match(rest):
            yield section.partition(".")[0], key[1].lower(), _value(rest[key.end() :])


def _value(text: str) -> str:
    """Return a value without its quotation marks and without what is said about it."""
    said: list[str] = []
    quoted = escaped = False
    # How much of it counts: spaces at the end do only in quotation marks.
    counts = 0
    for char in text:
        if escaped:
            said.append({"n": "\n", "t": "\t", "b": "\b"}.get(char, char))
        elif char == "\\":
            escaped = True
            continue
        elif char == '"':
            quoted = not quoted
            continue
        elif char in "#;" and not quoted:
            break
        else:
            said.append(char)
        counts = len(said) if quoted or escaped or not char.isspace() else counts
        escaped = False
    return "".join(said[:counts])


def _text(path: str) -> str:
    """Return what a small file says; nothing when it is none."""
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, limits.GIT_SETTINGS_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
