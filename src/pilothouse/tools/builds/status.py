"""What `git status` says, as data."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

_WORDS = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type changed",
    "?": "untracked",
}


# Not looked through for cycles: a hundred thousand of them would keep everyone waiting.
class Changed(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A file that differs from the last commit."""

    path: str
    # What the next commit has of it, and what it has not yet; one letter each as git writes them, or empty.
    staged: str = ""
    unstaged: str = ""
    conflict: bool = False
    # Its former path.
    source: str = ""

    @property
    def words(self) -> str:
        """Return what happened to it."""
        if self.conflict:
            return "conflict"
        said = [f"{_WORDS.get(self.staged, self.staged)}, staged"] if self.staged else []
        said += [_WORDS.get(self.unstaged, self.unstaged)] if self.unstaged else []
        return "; ".join(said)


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a repository."""

    branch: str
    commit: str
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    files: tuple[Changed, ...] = ()


def parse(output: bytes, errors: str = "replace") -> Status:
    """Read `git status --porcelain=v2 --branch -z`; `errors` is for names that are no text."""
    records = iter(output.decode(errors=errors).split("\0"))
    head: dict[str, str] = {}
    files: list[Changed] = []
    for record in records:
        if record.startswith("# "):
            name, _, value = record[2:].partition(" ")
            head[name] = value
        elif record:
            files.append(_file(record, records))
    counts = (head.get("branch.ab") or "+0 -0").split()
    return Status(
        branch=head.get("branch.head", ""),
        commit=head.get("branch.oid", "").removeprefix("(initial)"),
        upstream=head.get("branch.upstream", ""),
        ahead=abs(int(counts[0])),
        behind=abs(int(counts[1])),
        files=tuple(files),
    )


def _file(record: str, following: Iterator[str]) -> Changed:
    match record[0]:
        case "1":
            _, letters, *_, path = record.split(" ", 8)
            return Changed(path, *_sides(letters))
        case "2":
            _, letters, *_, path = record.split(" ", 9)
            return Changed(path, *_sides(letters), source=next(following, ""))
        case "u":
            return Changed(record.split(" ", 10)[-1], conflict=True)
        case _:
            return Changed(record[2:], "", "?")


def _sides(letters: str) -> tuple[str, str]:
    return letters[0].replace(".", ""), letters[1].replace(".", "")


def printable(path: str) -> str:
    """Return a path on one line, whatever characters its name has."""
    return path if path.isprintable() else ascii(path)
