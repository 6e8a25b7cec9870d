"""Where a repository leads: the places outside of the working directory that git would read for it.

They are found out from git's own files before git is asked anything: where its folder is, what that shares with others,
whose objects it uses, where its links and settings lead.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.places import contains, resolved
from pilothouse.types import limits

BAD_REPOSITORY = "BAD_REPOSITORY"
_POINTER = "gitdir: "
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
# What git does not look into to say what changed, nor to commit; hooks are told by themselves.
_NOT_READ = frozenset({"hooks", "lfs", "annex", "modules", "rr-cache", "svn"})
# Settings that name files: git takes patterns from these and says nothing else of them …
_PATTERNS = frozenset({"core.excludesfile", "diff.orderfile"})
# … but repeats words of these, or does what they say.
_WORDS = frozenset({"core.attributesfile", "mailmap.file", "commit.template"})
# Before a file's name in a setting: newer versions of git pass over one that is not there; where git is installed, from
# which any place can be reached, only git knows.
_IF_THERE = ":(optional)"
_INSTALLED = "%(prefix)/"
_WORK_TREE = "core.worktree"
_REFERENCES = "extensions.refstorage"
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Lead(msgspec.Struct, frozen=True):
    """A place outside of the working directory, links resolved."""

    path: str
    # Whether it is part of what the folder is: a repository that names this folder as one of its working trees, objects
    # that are reached by their hash only, patterns.
    belongs: bool


class Reach(msgspec.Struct, frozen=True):
    """How far a repository reaches beyond the working directory."""

    leads: tuple[Lead, ...] = ()
    # Whether its own settings place its files in another folder.
    is_elsewhere: bool = False


class Layout(msgspec.Struct, frozen=True):
    """Where a repository's own files are, links resolved: of this working tree, and those it shares with others."""

    root: str
    git: str
    common: str
    # The files of its settings, as far as they exist.
    settings: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True):
    """A setting, its name as git writes it, and the file that it stands in."""

    name: str
    value: str
    file: str

    @property
    def is_include(self) -> bool:
        """Return whether it brings in the settings of another file."""
        return self.name == "include.path" or (self.name.startswith("includeif.") and self.name.endswith(".path"))

    @property
    def included(self) -> str:
        """Return the file whose settings it brings in."""
        return _set(os.path.dirname(self.file), self.value)


def layout(root: str) -> Layout:
    """Return where the files of the repository that begins in a folder are."""
    dot = os.path.join(root, ".git")
    pointed = _text(dot)
    git = _real(root, pointed[len(_POINTER) :].rstrip("\r\n")) if pointed.startswith(_POINTER) else resolved(dot)
    shared = _text(os.path.join(git, "commondir")).rstrip("\r\n")
    common = _real(git, shared) if shared else git
    files = (os.path.join(common, "config"), os.path.join(git, "config.worktree"))
    return Layout(root, git, common, tuple(filter(os.path.exists, files)))


def included(place: Layout, settings: Sequence[Setting], folder: str, known: Sequence[str]) -> list[str]:
    """Return the further files of settings that are the repository's own; those of others are not opened for this."""
    own = (folder, place.git, place.common)
    named = dict.fromkeys(each.included for each in settings if each.is_include)
    new = [file for file in named if file not in known and os.path.exists(file)]
    return [file for file in new if any(contains(area, file) for area in own)]


def reach(place: Layout, settings: Sequence[Setting], folder: str) -> Reach:
    """Return every place outside of a folder that git would read for a repository."""
    looking = _Looking(folder)
    known = _is_known(place, settings)
    for own in (place.common, place.git):
        looking.note(own, belongs=known)
        looking.areas += [own] if known else []
    for path, belongs in _named(place, settings):
        looking.note(path, belongs=belongs)
    for own in dict.fromkeys((place.git, place.common)):
        looking.follow_links(own)
    looking.follow_objects(os.path.join(place.common, "objects"))
    found = tuple(Lead(path, belongs) for path, belongs in sorted(looking.found.items()))
    return Reach(found, any(path != place.root for path in _work_trees(place, settings)))


class _Looking:
    """Goes through the files of a repository and notes what lies outside."""

    def __init__(self, folder: str) -> None:
        self.found: dict[str, bool] = {}
        # What needs no note of its own: the working directory, and what has one already.
        self.areas = [folder]
        self._left = limits.GIT_ENTRIES

    def note(self, path: str, *, belongs: bool) -> None:
        """Note a place, unless it lies inside or does not exist."""
        if path and os.path.lexists(path) and not any(contains(area, path) for area in self.areas):
            self.found[path] = self.found.get(path, True) and belongs

    def follow_links(self, top: str) -> None:
        """Note where the links in a folder of git's lead, also those behind links."""
        waiting, seen = [top], set()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            for entry in self._entries(at):
                if at == top and entry.name in _NOT_READ:
                    continue
                if not entry.is_symlink():
                    waiting += [entry.path] if entry.is_dir(follow_symlinks=False) else []
                    continue
                target = resolved(entry.path)
                self.note(target, belongs=False)
                if os.path.isdir(target) and any(contains(area, target) for area in self.areas):
                    waiting.append(target)

    def follow_objects(self, own: str) -> None:
        """Note whose objects are used, and whose those use."""
        waiting, seen = [own], {own}
        while waiting:
            objects = waiting.pop()
            for line in _text(os.path.join(objects, "info", "alternates")).split("\n"):
                path = _real(objects, _unquoted(line)) if line and line[0] != "#" else ""
                if not path or path in seen:
                    continue
                seen.add(path)
                waiting.append(path)
                self.note(path, belongs=True)
                if len(seen) > limits.GIT_ALTERNATES:
                    raise _refused(f"{own} uses the objects of more than {limits.GIT_ALTERNATES} other folders")

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        raise _refused(
                            f"{folder} is in a repository of more than {limits.GIT_ENTRIES:,} files of git's"
                        )
                    if _is_pipe(entry):
                        raise _refused(f"{entry.path} is a pipe, which git would wait for")
                    yield entry
        except OSError:
            return


def _is_pipe(entry: os.DirEntry[str]) -> bool:
    # Of nearly all, reading the folder has told already what they are.
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) or entry.is_symlink():
        return False
    return stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode)


def _named(place: Layout, settings: Sequence[Setting]) -> Iterator[tuple[str, bool]]:
    """Yield the files that settings name, and whether nothing of them can be seen in what git says."""
    for setting in settings:
        if setting.is_include:
            yield setting.included, False
        elif setting.name in _PATTERNS or setting.name in _WORDS:
            yield _set(place.root, setting.value), setting.name in _PATTERNS
        elif setting.name == _REFERENCES and "://" in setting.value:
            yield _real(place.git, setting.value.partition("://")[2]), False


def _is_known(place: Layout, settings: Sequence[Setting]) -> bool:
    """Return whether a repository elsewhere says itself that the folder is a working tree of its own.

    git writes that for a second working tree and for a submodule. A folder cannot say it in the repository's place.
    """
    if place.git == place.common:
        return any(path == place.root for path in _work_trees(place, settings))
    back = _text(os.path.join(place.git, "gitdir")).rstrip("\r\n")
    dot = os.path.join(place.root, ".git")
    is_one_of_its = os.path.dirname(place.git) == os.path.join(place.common, "worktrees")
    return is_one_of_its and bool(back) and _real(place.git, back) == dot


def _work_trees(place: Layout, settings: Sequence[Setting]) -> Iterator[str]:
    # Not from a file that is included: that one is no part of the repository.
    own = (setting for setting in settings if setting.file in place.settings)
    return (_real(place.git, setting.value) for setting in own if setting.name == _WORK_TREE)


def _set(base: str, value: str) -> str:
    """Return where a setting that names a file leads from a folder."""
    name = value.removeprefix(_IF_THERE)
    if name.startswith(_INSTALLED):
        raise _refused(f"A setting of the repository names a file by where git is installed, {value}")
    return _real(base, name)


def _real(base: str, name: str) -> str:
    """Return where a name of git's leads from a folder; nothing for one that leads nowhere."""
    name = os.path.expanduser(name)
    return resolved(os.path.join(base, name)) if name and "\0" not in name else ""


def _unquoted(line: str) -> str:
    """Return a name that git may have put between quotation marks."""
    if len(line) < 2 or line[0] != '"' or line[-1] != '"':
        return line
    inner = line[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(_meant, inner).decode("utf-8", "surrogateescape")


def _meant(escaped: re.Match[bytes]) -> bytes:
    said = escaped[1]
    return bytes([int(said, 8) & 0xFF]) if said.isdigit() else _ESCAPES.get(said, said)


def _text(path: str) -> str:
    """Return what a small file says; nothing when it is none. It is only ever taken for the name of a place."""
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError):
        return ""
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(kind):
            raise _refused(f"{path} is a pipe, which git would wait for")
        if not stat.S_ISREG(kind):
            return ""
        content = os.read(descriptor, limits.GIT_POINTER_BYTES + 1)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    if len(content) > limits.GIT_POINTER_BYTES:
        raise _refused(f"{path} is too long to be the name of a place")
    return content.decode("utf-8", "surrogateescape")


def _refused(why: str) -> BadArgument:
    return BadArgument(f"{why}; git is not asked about it.", BAD_REPOSITORY)
