"""What a command left behind that starts by itself: hooks, tasks, settings of editors, words for agents."""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pilothouse.tools.files.contents import read_whole
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.steps import Move, RemoveFile, RemoveLink, Step, WriteFile
from pilothouse.tools.files.walk import parent_of
from pilothouse.tools.snapshots.entries import Entry
from pilothouse.tools.snapshots.mirror import Difference, Mirror
from pilothouse.types.guarded_places import ANYWHERE, FILES
from pilothouse.types.ports import PathGuard

_GIT = ".git"
_HOOK = "It is a hook, which git runs."
_SETTINGS = "It is settings of git, which can have programs run."
_LEADS = "It makes git take its settings from elsewhere."
_PIPE = "It is a pipe, which git would wait for."
_TO_RUN = "It has git run a program when a rebase goes on."
# Installed by the thousand, each with its own project's files; nothing looks for settings in there.
_DEPENDENCIES = frozenset({"node_modules", "bower_components", "site-packages", ".venv", "venv"})
# What git writes into the settings of a new or cloned repository; every other key may have a program run.
_SECTION = re.compile(r'\[\s*(core|remote|branch|submodule|user|init|lfs)\s*(?:"[^"\\\n]*"\s*)?\]')
_KEYS = frozenset(
    {
        *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"),
        *("symlinks", "url", "fetch", "pushurl", "remote", "merge", "rebase", "active", "name", "email", "prune"),
        *("tagopt", "defaultbranch", "autocrlf", "partialclonefilter", "promisor"),
    }
)  # fmt: skip
# Where a repository has its hooks, if not in git's own folder.
_HOOKS_PATH = re.compile(r'^[ \t]*+hookspath[ \t]*+=[ \t]*+"?+([^"\n]*+)', re.IGNORECASE | re.MULTILINE)
# What a branch points to, and the record of that: no line of it is a setting.
_COMMITS = re.compile(rb"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?(?: [^\n]*)?\n)+")
# Template hooks, which git passes over.
_SAMPLE = ".sample"
_ASIDE = ".set-aside"
# How places begin that start by themselves or steer an assistant, and patterns of such files.
_NAMES = frozenset(place.parts[0] for place in ANYWHERE if place.may_be_read)
_FILES = re.compile("|".join(fnmatch.translate(place.path) for place in FILES if place.may_be_read))
# What a rebase has still to do; some lines of it may be commands.
_REBASE = "git-rebase-todo"


class Finding(NamedTuple):
    """Something that starts by itself, and why."""

    path: str
    before: Entry | None
    after: Entry
    why: str


def may_start(paths: Sequence[str], folder: str, guard: PathGuard) -> Iterator[str]:
    """Yield those of very many paths in a folder that may start by themselves, by their names."""
    rest = []
    for path in paths:
        *above, last = path.lower().split("/")
        if last in _NAMES or not _NAMES.isdisjoint(above) or _FILES.fullmatch(last):
            yield path
        else:
            rest.append(path)
    taken = guard.git_takes(os.path.join(folder, path) for path in rest)
    yield from (path for path in rest if os.path.join(folder, path) in taken)


def starting(found: Iterable[Difference], mirror: Mirror, guard: PathGuard) -> list[Finding]:
    """Return what of the differences starts by itself; what was there before as it is now is none of them."""
    inside = not guard.protects(mirror.folder, None)
    new = [
        Finding(each.path, each.before, each.after, "")
        for each in found
        if each.after is not None and not each.after.is_folder
        if each.before is None or _is_new(each.before, each.after, mirror)
    ]
    taken = guard.git_takes(os.path.join(mirror.folder, each.path) for each in new)
    findings = []
    for each in new:
        path = each.path
        why = _of_git(path, each.after, mirror) if _GIT in path.split("/") else _of_others(path, mirror, guard, inside)
        if not why and not path.endswith(_SAMPLE):
            why = _HOOK if _is_hook(path, mirror) else taken.get(os.path.join(mirror.folder, path), "")
        if why:
            findings.append(each._replace(why=why))
    return findings


def _is_new(before: Entry, after: Entry, mirror: Mirror) -> bool:
    """Return whether it says something else now, or may be run only now."""
    if after.is_special:
        return before.inode != after.inode or not before.is_special
    if before.mode != after.mode or min(before.at, after.at) < 0:
        return True
    return mirror.content(before) != mirror.content(after)


def _is_hook(path: str, mirror: Mirror) -> bool:
    """Return whether a repository around a file has git take its hooks from the folder that the file is in."""
    above = path.split("/")[:-1]
    folder = os.path.join(mirror.folder, *above)
    for depth in range(len(above) + 1):
        settings = mirror.at("/".join((*above[:depth], _GIT, "config")))
        if settings is None or settings.at < 0:
            continue
        root = os.path.join(mirror.folder, *above[:depth])
        for named in _HOOKS_PATH.findall(mirror.content(settings).decode("utf-8", "replace")):
            if os.path.normpath(os.path.join(root, os.path.expanduser(named.strip()))) == folder:
                return True
    return False


def _of_others(path: str, mirror: Mirror, guard: PathGuard, inside: bool) -> str:
    if not inside or not _DEPENDENCIES.isdisjoint(path.split("/")[:-1]):
        return ""
    whole = os.path.join(mirror.folder, path)
    return "" if guard.protects(whole, None, "reads") else guard.protects(whole, None, "writes")


def _of_git(path: str, after: Entry, mirror: Mirror) -> str:
    """Return why a file of git's own has something run; a repository with nothing but its template is fine."""
    parts = path.split("/")
    name, above = parts[-1], parts[-2] if len(parts) > 1 else ""
    if name == _GIT:
        return _pointer(path, after, mirror)
    if after.is_link:
        # Git makes none there; a folder of hooks may be behind any of them.
        return _LEADS
    if after.is_pipe:
        return _PIPE
    if above == "hooks":
        return "" if name.endswith(_SAMPLE) else _HOOK
    content = mirror.content(after) if after.is_file and after.at >= 0 else None
    if name == _REBASE:
        return "" if content is not None and not _runs(content) else _TO_RUN
    if name in ("config", "config.worktree"):
        # A branch may have that name, too.
        return "" if content is not None and (_COMMITS.fullmatch(content) or _is_plain(content)) else _SETTINGS
    if (name, above) == ("attributes", "info"):
        return _SETTINGS
    if name != "commondir":
        return ""
    within = parts[parts.index(_GIT) + 1 :]
    is_of_tree = within[-3:-2] == ["worktrees"] and content is not None and content.strip() == b"../.."
    return "" if is_of_tree else _LEADS


def _runs(todo: bytes) -> bool:
    return any(line.split()[:1] in ([b"exec"], [b"x"]) for line in todo.splitlines())


def _pointer(path: str, after: Entry, mirror: Mirror) -> str:
    """Return why a file that says where git's own folder is leads astray; submodules and working trees have theirs."""
    text = mirror.content(after).decode("utf-8", "replace") if after.is_file and after.at >= 0 else ""
    where = text.removeprefix("gitdir:").strip()
    leads = os.path.normpath(os.path.join(mirror.folder, os.path.dirname(path), where))
    own = os.path.join(mirror.folder, _GIT)
    fine = where and leads.startswith((f"{own}/modules/", f"{own}/worktrees/"))
    return "" if fine else _LEADS


def _is_plain(content: bytes) -> bool:
    """Return whether settings have only keys that name things."""
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.strip()
        if not words or words[0] in "#;" or _SECTION.fullmatch(words.lower()):
            continue
        key, _, value = words.partition("=")
        if key.strip().lower() not in _KEYS or words.endswith("\\") or value.strip().startswith(("ext:", "!")):
            return False
    return True


def aside(findings: Iterable[Finding], mirror: Mirror) -> Iterator[tuple[Finding, Step]]:
    """Yield how each is set aside: taken away with its content kept, and what was there before put back.

    What is too large to be kept, or has no content as a pipe, gets another name, under which nothing starts it.
    """
    for each in findings:
        place = Place(mirror.folder, tuple(each.path.split("/")), True)
        try:
            yield each, _away(each, place, mirror)
        except PathRefused:
            # It is gone already, or something else by now: the next look will see that.
            continue


def _away(each: Finding, place: Place, mirror: Mirror) -> Step:
    if each.after.is_link:
        return RemoveLink(place, os.fsdecode(mirror.content(each.after)))
    if each.after.at < 0:
        return Move(place, _unused(place, mirror), None)
    with parent_of(place) as folder:
        now = read_whole(folder, place.last, place.path)
    before = each.before
    if before is None or before.at < 0 or not before.is_file or mirror.content(before) == now.content:
        return RemoveFile(place, now)
    return WriteFile(place, now, mirror.content(before))


def _unused(place: Place, mirror: Mirror) -> Place:
    """Return where something gets another name; a command may have taken the usual one to be in the way."""
    path = "/".join(place.parts) + _ASIDE
    number = f"-{secrets.token_hex(4)}" if mirror.has(path) else ""
    return Place(place.root, (*place.parts[:-1], place.last + _ASIDE + number), True)


def renamed(paths: Iterable[str], folder: str, guard: PathGuard) -> dict[str, str]:
    """Give new files another name that start by themselves and whose own cannot be written down; return both names."""
    done = {}
    for path in paths:
        whole = os.path.join(folder, path)
        if guard.protects(whole, None, "reads") or not guard.protects(whole, None, "writes"):
            continue
        last = os.fsencode(os.path.basename(path)).decode("ascii", "backslashreplace").replace("\\", "%")
        place = Place(folder, (*path.split("/")[:-1], f"{last}{_ASIDE}-{secrets.token_hex(4)}"), True)
        try:
            with parent_of(place) as at:
                os.rename(os.path.basename(path), place.last, src_dir_fd=at.descriptor, dst_dir_fd=at.descriptor)
        except (OSError, PathRefused):
            continue
        done[path] = place.last
    return done
