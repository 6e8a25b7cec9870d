"""Reading unified diffs, as `diff -u` and git write them and as models nearly do."""

from __future__ import annotations

import re

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.types import limits

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_FILE_MODES = {"100644": 0o644, "100755": 0o755}
_NO_END = "\\"


class BadPatch(BadArgument):
    """A patch that cannot be read or does not apply, and why in one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "BAD_PATCH")


class Hunk(msgspec.Struct, frozen=True):
    """A piece of a patch: lines with their signs, each with its line feed unless the file ends without one."""

    header: str
    start: int
    lines: tuple[tuple[str, str], ...]

    @property
    def old(self) -> list[str]:
        """Return the lines as they must be."""
        return [line for sign, line in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        """Return the lines as they shall be."""
        return [line for sign, line in self.lines if sign != "-"]


class FilePatch(msgspec.Struct, frozen=True):
    """What a patch does to one file; None stands for no file before or after."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    renames: bool = False
    # The permission bits of a new file; None for the usual ones.
    mode: int | None = None

    @property
    def path(self) -> str:
        """Return the name that it has in sentences."""
        return self.new or self.old or ""


def read_patch(text: str) -> list[FilePatch]:
    """Return the files of a patch, each once."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if len(lines) > limits.PATCH_LINES:
        raise BadPatch(f"The patch has {len(lines):,} lines; at most {limits.PATCH_LINES:,} are taken at once.")
    files = _Reader(lines).files()
    if not files:
        raise BadPatch(
            "This is no unified diff: it needs `--- file` and `+++ file` lines, then hunks that begin with @@."
        )
    if len(files) > limits.PATCH_FILES:
        raise BadPatch(f"The patch touches {len(files)} files; at most {limits.PATCH_FILES} are changed at once.")
    seen: set[str] = set()
    for file in files:
        for path in {file.old, file.new} - {None}:
            if path in seen:
                raise BadPatch(f"{path} stands twice in the patch; put its hunks together.")
            seen.add(str(path))
    return files


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> list[FilePatch]:
        files: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._line()
            if line.startswith("diff --git "):
                files.append(self._git())
            elif self._begins_file():
                files.append(self._file({}))
            elif line.startswith("@@"):
                raise BadPatch(f"Line {self._at + 1} of the patch begins a hunk, but no `--- file` line says of what.")
            else:
                self._at += 1
        return files

    def _line(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else ""

    def _begins_file(self) -> bool:
        return self._line().startswith("--- ") and self._line(1).startswith("+++ ")

    def _git(self) -> FilePatch:
        """Read what git says about a file before its hunks."""
        names = re.match(r"diff --git (\"?a/.+?) (\"?b/.+)$", self._line())
        self._at += 1
        facts: dict[str, str] = {}
        while self._at < len(self._lines) and not self._begins_file():
            line = self._line()
            if line.startswith(("diff --git ", "@@")):
                break
            fact = re.match(r"(rename from|rename to|new file mode|deleted file mode|old mode|copy from) (.+)", line)
            if fact:
                facts[fact[1]] = fact[2]
            if line.startswith(("GIT binary patch", "Binary files ")):
                facts["binary"] = line
            self._at += 1
        path = _unquoted(names[2])[2:] if names else "the file"
        _refuse_facts(facts, path)
        if self._begins_file():
            return self._file(facts)
        return _without_hunks(facts, path)

    def _file(self, facts: dict[str, str]) -> FilePatch:
        old, new = (_name(self._line(ahead)[4:]) for ahead in (0, 1))
        if (old is None or old.startswith("a/")) and (new is None or new.startswith("b/")):
            old, new = old and old[2:], new and new[2:]
        self._at += 2
        hunks: list[Hunk] = []
        while self._line().startswith("@@"):
            hunks.append(self._hunk(new or old or "", len(hunks) + 1))
        if old is None and new is None:
            raise BadPatch("A file of the patch has no name on either side.")
        if not hunks and "rename to" not in facts and old is not None and new is not None:
            raise BadPatch(f"The patch has no hunks for {new}.")
        mode = facts.get("new file mode", "")
        return FilePatch(old, new, tuple(hunks), "rename to" in facts, _FILE_MODES.get(mode))

    def _hunk(self, path: str, number: int) -> Hunk:
        header = self._line()
        counts = _HUNK.match(header)
        if counts is None:
            raise BadPatch(f"Hunk {number} of {path} begins with {header[:60]!r}; it must be like `@@ -1,3 +1,4 @@`.")
        left = [int(counts[2] or 1), int(counts[4] or 1)]
        self._at += 1
        lines: list[tuple[str, str]] = []
        while self._at < len(self._lines) and not self._ends_hunk(left):
            line = self._line()
            sign, rest = (line[0], line[1:]) if line else (" ", "")
            if sign == _NO_END and lines:
                lines[-1] = lines[-1][0], lines[-1][1].removesuffix("\n")
            elif sign not in " +-":
                raise BadPatch(
                    f"Line {self._at + 1} of the patch, in hunk {number} of {path}, begins with {sign!r}; "
                    "it must begin with a space, + or -."
                )
            else:
                lines.append((sign, f"{rest}\n"))
                left[0] -= sign != "+"
                left[1] -= sign != "-"
            self._at += 1
        if not lines:
            raise BadPatch(f"Hunk {number} of {path} is empty.")
        return Hunk(header, int(counts[1]), tuple(lines))

    def _ends_hunk(self, left: list[int]) -> bool:
        """Return whether a hunk is over; what its header counts is believed only where it makes a difference."""
        line = self._line()
        if line.startswith(("@@ ", "diff --git ")):
            return True
        done = left[0] <= 0 and left[1] <= 0
        if self._begins_file() and (done or self._line(2).startswith("@@")):
            return True
        return done and line[:1] not in ("+", "-", " ", _NO_END)


def _refuse_facts(facts: dict[str, str], path: str) -> None:
    if "binary" in facts:
        raise BadPatch(f"The patch changes {path} as a binary file; only text can be patched.")
    if "copy from" in facts:
        raise BadPatch(f"The patch copies {facts['copy from']} to {path}; create the file with its content instead.")
    if "old mode" in facts:
        raise BadPatch(f"The patch changes the permissions of {path}; only contents and names can be patched.")
    for fact in ("new file mode", "deleted file mode"):
        if facts.get(fact, "100644") not in _FILE_MODES:
            raise BadPatch(f"The patch says that {path} is no regular file (mode {facts[fact]}).")


def _without_hunks(facts: dict[str, str], path: str) -> FilePatch:
    """Return what git says without hunks: a mere rename, or an empty file that comes or goes."""
    if "rename to" in facts:
        return FilePatch(_unquoted(facts["rename from"]), _unquoted(facts["rename to"]), (), True)
    if "new file mode" in facts:
        return FilePatch(None, path, (), mode=_FILE_MODES[facts["new file mode"]])
    if "deleted file mode" in facts:
        return FilePatch(path, None, ())
    raise BadPatch(f"The patch has no hunks for {path}.")


def _name(text: str) -> str | None:
    name = _unquoted(text.split("\t", maxsplit=1)[0].rstrip())
    return None if name == _NOTHING else name


def _unquoted(name: str) -> str:
    """Return a name as it is: git puts unusual ones in quotes, their bytes as octal numbers."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    try:
        return name[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        raise BadPatch(f"The patch has a name that cannot be read: {name[:80]}.") from None
