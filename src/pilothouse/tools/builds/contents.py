"""What a commit would contain, found out without touching the repository."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds.changed import STATUS
from pilothouse.tools.builds.git import DIFF, ONLY_THEIR_COMMITS, Repository, is_filter
from pilothouse.tools.builds.status import Status, parse, printable
from pilothouse.tools.files.contents import is_binary, read_whole
from pilothouse.tools.files.diffs import Diff, diff
from pilothouse.tools.files.places import Place, contains
from pilothouse.tools.files.walk import parent_of
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction")
_PATCH = re.compile(rb"^diff --git ", re.MULTILINE)


class Contents(msgspec.Struct, frozen=True):
    """What a commit would contain."""

    changes: tuple[JsonObject, ...]
    # Of all of it, also of what is too large to be shown.
    digest: str
    branch: str
    # The programs of the repository that run along with it, and the settings by which files go through others.
    hooks: tuple[str, ...]
    filters: tuple[str, ...] = ()
    # Where those hooks are, as far as that is outside.
    hooks_outside: tuple[str, ...] = ()
    # What is named and not staged yet, file by file.
    unstaged: tuple[str, ...] = ()
    # Folders that are repositories themselves: a commit only says which commit each of them is at.
    nested: tuple[str, ...] = ()
    more: int = 0

    @property
    def shown(self) -> JsonObject:
        """Return it for the card."""
        about = {"branch": self.branch, "hooks": list(self.hooks)}
        about |= {"filters": list(self.filters)} if self.filters else {}
        shown: JsonObject = {"changes": list(self.changes), "commit": about}
        return shown | ({"moreChanges": self.more} if self.more else {})


class _Chosen(msgspec.Struct, frozen=True):
    """Which of the changed files a commit would contain."""

    status: Status
    # What git does not know yet, what is staged already, and what is named and not staged.
    new: tuple[str, ...]
    staged: tuple[str, ...]
    unstaged: tuple[str, ...]


async def contents(repository: Repository, named: Sequence[str]) -> Contents:
    """Return what is staged together with what is named; raise when that is nothing, or in conflict."""
    said = await repository.ask(*STATUS, ONLY_THEIR_COMMITS)
    chosen = await asyncio.to_thread(_chosen, said, named)
    base = "HEAD" if chosen.status.commit else await repository.line("hash-object", "-t", "tree", os.devnull)
    found = _Gathered()
    if chosen.staged:
        await found.add(repository, "--cached", base, "--", *chosen.staged)
    if named:
        await found.add(repository, base, "--", *named)
    await asyncio.to_thread(found.add_new, repository.root, chosen.new)
    if not found.changes:
        raise BadArgument(_nothing(chosen.status, named), "NOTHING_TO_COMMIT")
    nested = await asyncio.to_thread(_nested, repository.root, chosen.status)
    folder = await repository.hooks_folder()
    hooks = await asyncio.to_thread(_hooks, folder)
    filters = tuple(f"{name} = {value}" for name, value in (await repository.programs()).items() if is_filter(name))
    found.hash.update("\0".join((*hooks.values(), *filters)).encode(errors="surrogateescape"))
    return Contents(
        changes=tuple(found.changes[: limits.COMMIT_SHOWN]),
        digest=found.hash.hexdigest(),
        branch=printable(chosen.status.branch),
        hooks=tuple(hooks),
        hooks_outside=await asyncio.to_thread(_outside, repository.root, [f"{folder}/{name}" for name in hooks]),
        filters=tuple(map(printable, filters)),
        unstaged=chosen.unstaged,
        nested=nested,
        more=max(0, len(found.changes) - limits.COMMIT_SHOWN),
    )


def _chosen(said: bytes, named: Sequence[str]) -> _Chosen:
    """Read what git says of a repository, however much that is."""
    status = parse(said, "surrogateescape")
    _refuse_conflicts(status)
    new = tuple(file.path for file in status.files if file.unstaged == "?" and _is_named(file.path, named))
    staged = tuple(file.path for file in status.files if file.staged and not _is_named(file.path, named))
    if len(new) + len(staged) + len(named) > limits.COMMIT_FILES:
        raise BadArgument(f"That is more than {limits.COMMIT_FILES} files; commit fewer at a time.")
    return _Chosen(status, new, staged, tuple(_unstaged(status, named)))


class _Gathered:
    """Differences from several questions to git."""

    def __init__(self) -> None:
        self.changes: list[JsonObject] = []
        self.hash = hashlib.sha256()
        self._room = limits.DIFFS_CHARS

    async def add(self, repository: Repository, *arguments: str) -> None:
        """Ask for a difference and take it apart, file by file."""
        counted = await repository.ask("diff", *DIFF, ONLY_THEIR_COMMITS, "--numstat", "-z", *arguments)
        patch = await repository.ask("diff", *DIFF, ONLY_THEIR_COMMITS, "--full-index", *arguments)
        await asyncio.to_thread(self._take, counted, patch)

    def _take(self, counted: bytes, patch: bytes) -> None:
        self.hash.update(counted + patch)
        diffs = [b"diff --git " + part for part in _PATCH.split(patch)[1:]]
        for number, (path, added, removed) in enumerate(_counted(counted)):
            patched = diffs[number].decode(errors="replace") if number < len(diffs) else ""
            self.changes.append(
                {
                    "path": printable(path),
                    "kind": _kind(patched),
                    "diff": self._shown(patched),
                    "added": added,
                    "removed": removed,
                }
            )

    def add_new(self, root: str, paths: Sequence[str]) -> None:
        """Read files that git does not know yet."""
        for path in paths:
            content = _content(Place(root, tuple(part for part in path.split("/") if part), True))
            self.hash.update(path.encode(errors="replace") + b"\0" + hashlib.sha256(content or b"").digest())
            text = None if content is None or is_binary(content) else content.decode(errors="replace")
            found = (
                Diff("") if text is None else diff(None, text, "/dev/null", f"b/{printable(path)}", limits.DIFF_CHARS)
            )
            change = {"path": printable(path), "kind": "created", "diff": self._shown(found.text)}
            self.changes.append(change | {"added": found.added, "removed": found.removed})

    def _shown(self, patched: str) -> str:
        """Return a difference from its first `---` on, as far as there is room."""
        start = patched.find("\n--- ")
        text = patched[start + 1 :] if start >= 0 else patched
        room = max(0, min(self._room, limits.DIFF_CHARS))
        self._room -= min(len(text), room)
        return text if len(text) <= room else f"{text[:room]}\n… the rest is left out\n"


def _unstaged(status: Status, named: Sequence[str]) -> Iterator[str]:
    for file in status.files:
        if file.unstaged and _is_named(file.path, named):
            yield from filter(None, (file.path.rstrip("/"), file.source))


def _nested(root: str, status: Status) -> tuple[str, ...]:
    """Return the folders among what changed that are repositories themselves."""
    changed = (os.path.join(root, file.path.rstrip("/")) for file in status.files)
    found = tuple(path for path in changed if _is_repository(path))
    if len(found) > limits.COMMIT_NESTED:
        raise BadArgument(f"More than {limits.COMMIT_NESTED} repositories within this one changed; commit by hand.")
    return found


def _is_repository(path: str) -> bool:
    return os.path.lexists(os.path.join(path, ".git"))


def _content(place: Place) -> bytes | None:
    """Return what is in a new file; None for what is no file, or too large to be looked at."""
    try:
        with parent_of(place, None) as folder:
            return read_whole(folder, place.last, place.name).content
    except (BadArgument, OSError):
        return None


def _counted(output: bytes) -> list[tuple[str, int, int]]:
    """Read `--numstat -z`."""
    records = (record.split("\t", 2) for record in output.decode(errors="replace").split("\0") if record)
    return [(path, _number(added), _number(removed)) for added, removed, path in records]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _kind(patched: str) -> str:
    head = patched[: limits.GIT_WORDS_CHARS].partition("\n@@")[0]
    if "\nnew file mode" in head:
        return "created"
    return "deleted" if "\ndeleted file mode" in head else "modified"


def _is_named(path: str, named: Sequence[str]) -> bool:
    return any(path == name or path.startswith(f"{name.rstrip('/')}/") or name == "." for name in named)


def _refuse_conflicts(status: Status) -> None:
    unresolved = [printable(file.path) for file in status.files if file.conflict]
    if unresolved:
        raise BadArgument(f"Resolve the conflicts first: {', '.join(unresolved[:10])}.", "CONFLICT")


def _nothing(status: Status, named: Sequence[str]) -> str:
    if not status.files:
        return "There is nothing to commit: no file has changed."
    some = ", ".join(printable(file.path) for file in status.files[:10])
    if named:
        return f"Nothing has changed in {', '.join(map(printable, named))}; changed are {some}."
    return f"Nothing is staged; name the `files` to commit. Changed are {some}."


def _hooks(folder: str) -> dict[str, str]:
    """Return the hooks that a commit runs, each with its digest."""
    found = {name: os.path.join(folder, name) for name in _HOOKS}
    there = {name: path for name, path in found.items() if os.path.isfile(path) and os.access(path, os.X_OK)}
    return {name: _digest(path) for name, path in there.items()}


def _outside(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    real = map(os.path.realpath, paths)
    return tuple(path for path in real if not contains(root, path))


def _digest(path: str) -> str:
    try:
        if os.path.getsize(path) > limits.FILE_EDIT_BYTES:
            return str(os.path.getsize(path))
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
