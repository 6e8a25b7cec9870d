"""The files that a command line names and that are code, wherever on it they stand: what a consent is bound to.

Nobody knows the options of every program. So each word is looked at, and each part of one that may be a path: it counts
if it is a file that only code looks like, or stands where an interpreter's script stands. What a server reads and
writes as data does not count, or its consent would end with its first note.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pilothouse.mcp.servers.programs import INTERPRETERS, plain_name
from pilothouse.types import limits


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# Ends of names that only code has, libraries and archives of code included.
_CODE = _words(
    "py pyw pyc pyz pyx pex js mjs cjs jsx ts mts cts tsx wasm node coffee sh bash zsh fish ksh csh ps1 psm1 bat cmd",
    "exe com msi dll so dylib rb pl pm php phar lua tcl r jl ex exs erl escript hs ml clj cljs bb scm rkt groovy kts",
    "kt scala java class jar war go rs swift dart zig nim cr cs csx fsx csproj fsproj awk whl egg tgz asar mcpb dxt",
    "appimage mk gradle",
)
_LIBRARY = re.compile(r"\.so(\.\d+)+$")
# Ends of names that only data has: after an option this is no script.
_DATA = _words(
    "json jsonl json5 db sqlite sqlite3 log csv tsv md txt yaml yml toml ini conf cfg xml html htm pdf png jpg jpeg",
    "gif svg env lock pem crt key xlsx docx zip gz tar parquet duckdb out tmp bak",
)
_MAGIC = (b"#!", b"\x7fELF", b"\0asm", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
# Other things begin like these too: they count for a file whose name has no end.
_LOOSE_MAGIC = (b"MZ", b"PK\x03\x04")
# Options whose file a launcher reads before it runs anything: variables, maps of imports, settings.
_READ_FIRST = _words(
    "--env-file --env-file-if-exists --import-map --tsconfig --with-requirements --config-file --userconfig",
    "--globalconfig --init-file --rcfile --import --require --loader --experimental-loader --preload",
)
# Options whose file is written.
_WRITTEN = re.compile(r"-o|--?(out|output|log|dump|save|export|record|report|trace)([-_.]?(file|path|dir))?")
# Programs that start the one that is named after their own words.
WRAPPERS = _words(
    "env timeout nice nohup setsid stdbuf sudo doas xargs time ionice chrt taskset unbuffer caffeinate dotenv op",
    "doppler mise direnv",
)
CONTAINERS = _words("docker podman nerdctl")
# Programs that start what a project has, and where that lies in it.
_BINS = {"node": "node_modules/.bin", "python": ".venv/bin"}
RUNNERS = {
    **dict.fromkeys(("npx", "npm", "pnpm", "yarn", "bunx", "bun"), "node"),
    **dict.fromkeys(("uv", "uvx", "poetry", "pdm", "hatch", "rye", "pipenv", "pipx", "conda", "mamba"), "python"),
}
# Programs that do what a file of their own in the folder says.
RECIPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("package.json",)),
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "cargo": ("Cargo.toml", "build.rs"),
    "composer": ("composer.json",),
    "nix": ("flake.nix", "default.nix"),
}
# Files of these names say what is run, wherever on a line they stand.
_BY_NAME = frozenset(name for names in RECIPES.values() for name in names) | _words(
    "fastmcp.json deno.json deno.jsonc compose.yml compose.yaml docker-compose.yml docker-compose.yaml Dockerfile"
)
# Words of a shell that read the file after them.
_READERS = frozenset({"source", "."})
COMMANDS = _words("run exec x start tool dlx run-script task")
# After these an interpreter is given code or a module instead of a script.
INLINE = _words("-c -e -p --eval --print -lc -ec -ic")
MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m")
_SHEBANGS = 4
# Where a shell or another language ends a word.
_BREAKS = re.compile(r"[\s\"'`;|&()<>]")
_PARTS = re.compile(r"[^\s\"'`;|&()<>]+")


class Program(msgspec.Struct, frozen=True):
    """A program on a command line, and where its own words begin."""

    name: str
    path: Path
    after: int


class CommandLine:
    """A command line as it would be started in a folder, with the variables that are declared for it."""

    def __init__(self, argv: Sequence[str], folder: Path, variables: Mapping[str, str], path: str) -> None:
        self._whole = argv
        self._variables = variables
        self._path = path
        self._looks = 0
        # Programs that the line names by a bare name, or not at all: they were found.
        self.helpers: set[Path] = set()
        self.folders = [folder]
        self.words = [part for word in argv for part in self._split(word)]
        for piece in (piece for word in self.words[1:] for piece in _pieces(word)):
            place = _joined(folder, piece)
            if len(self.folders) < limits.NAMED_FOLDERS and self._kind(place) == "folder" and place not in self.folders:
                self.folders.append(place)
        self.programs = tuple(self._programs())

    @property
    def is_cut(self) -> bool:
        """Return whether it names more than was looked at."""
        return self._looks > limits.NAMED_LOOKS

    def files(self) -> tuple[Path, ...]:
        """Return every file that counts, the program first, each once and no more than are looked at."""
        found = dict.fromkeys(self._found())
        for path in list(found):
            for helper in self._shebang(path):
                if helper not in found:
                    self.helpers.add(helper)
                    found[helper] = None
        return tuple(found)[: limits.NAMED_FILES]

    def script(self, program: Program) -> Path | None:
        """Return the file that an interpreter is told to run, where there is one."""
        option = ""
        for word in self.words[program.after :]:
            if word in INLINE or (MODULE.fullmatch(word) and program.name.startswith(("py", "pypy"))):
                return None
            if word.startswith("-"):
                option = word
                continue
            # What stands after an option may be its value; a script named like data is one only where nothing precedes.
            for path in self._at(word) if option not in _READ_FIRST else ():
                if not option or _end(path) not in _DATA:
                    return path
            if not option and word not in COMMANDS:
                return None
            option = ""
        return None

    def is_local(self, word: str) -> Path | None:
        """Return the program of this name that a project of the line has, if one does."""
        places = (base / bins / word for base in self.folders for bins in _BINS.values())
        return next((place for place in places if "/" not in word and self._kind(place) == "file"), None)

    def named(self, words: Sequence[str]) -> Iterator[Path]:
        """Yield the files that some words name, whatever they are."""
        for word in words:
            for piece in _pieces(word):
                yield from self._at(piece)

    def _found(self) -> Iterator[Path]:
        for program in self.programs:
            yield program.path
            if INTERPRETERS.fullmatch(program.name) and (script := self.script(program)) is not None:
                yield script
            for recipe in RECIPES.get(program.name, ()):
                yield from self._at(recipe)
        yield from self._named()

    def _named(self) -> Iterator[Path]:
        """Yield the files of words that count by what they are, or by the option before them."""
        option = ""
        for word in (*self._whole[1:], *self.words[1:]):
            first = word.partition("=")[0] if word.startswith("-") else option
            option = word if (word.startswith("-") and "=" not in word) or word in _READERS else ""
            if _WRITTEN.fullmatch(first):
                continue
            for piece in _pieces(word):
                yield from (path for path in self._at(piece) if first in _READ_FIRST | _READERS or is_code(path))
        for value in self._variables.values():
            for piece in (*_pieces(value), *(part for word in _spoken(value) for part in _pieces(word))):
                yield from filter(is_code, self._at(piece))

    def _at(self, piece: str) -> Iterator[Path]:
        for folder in self.folders:
            place = _joined(folder, piece)
            if self._kind(place) == "file":
                yield place

    def _kind(self, place: Path) -> str:
        self._looks += 1
        return "" if self.is_cut else _kind(place)

    def _split(self, word: str) -> Sequence[str]:
        is_one = not _BREAKS.search(word) or self._kind(_joined(self.folders[0], word))
        return (word,) if is_one else _spoken(word)

    def _programs(self) -> Iterator[Program]:
        yield Program(plain_name(self.words[0]), Path(self.words[0]), 1)
        outer = plain_name(self.words[0])
        if outer in CONTAINERS:
            # What it starts is a program of the image.
            return
        for at, word in enumerate(self.words[1:], 1):
            if word.startswith("-") or word in COMMANDS or "=" in word:
                continue
            name = plain_name(word)
            # A shell's own line names its programs as well.
            known = INTERPRETERS.fullmatch(name) or name in RUNNERS or name in WRAPPERS or name in RECIPES
            if known or outer in WRAPPERS or outer in RUNNERS:
                path = self._program(word, anywhere=bool(known) or outer in WRAPPERS or RUNNERS.get(outer) == "python")
                if path is not None:
                    yield Program(name, path, at + 1)
                    outer = name
            if any(map(is_code, self._at(word))):
                # What follows a script are the words of the server itself.
                return

    def _program(self, word: str, *, anywhere: bool) -> Path | None:
        if "/" in word:
            return next((path for path in self._at(word) if os.access(path, os.X_OK)), None)
        local = self.is_local(word)
        found = on_path(word, self._path) if anywhere and local is None else None
        if found is not None:
            self.helpers.add(found)
        return local or found

    def _shebang(self, path: Path) -> Iterator[Path]:
        """Yield what runs a script by its own first line, and what runs that."""
        for _ in range(_SHEBANGS):
            first = _beginning(path, limits.SHEBANG_BYTES)
            if not first.startswith(b"#!"):
                return
            words = first[2:].split(b"\n")[0].decode(errors="replace").split()
            if words and plain_name(words[0]) == "env":
                yield Path(words[0])
                words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            found = on_path(words[0], self._path) if words and "/" not in words[0] else Path(*words[:1])
            if found is None or not found.is_absolute() or _kind(found) != "file":
                return
            yield found
            path = found


def is_code(path: Path) -> bool:
    """Return whether a file is code: by the end of its name, or by how it begins."""
    end = _end(path)
    if end in _CODE or path.name in _BY_NAME or _LIBRARY.search(path.name.lower()):
        return True
    beginning = _beginning(path, 4)
    return beginning.startswith(_MAGIC) or (not end and beginning.startswith(_LOOSE_MAGIC))


def on_path(name: str, path: str) -> Path | None:
    """Return the program of this name in the absolute folders of a PATH."""
    for folder in path.split(os.pathsep):
        found = Path(folder) / name
        if os.path.isabs(folder) and _kind(found) == "file" and os.access(found, os.X_OK):
            return found
    return None


def _end(path: Path) -> str:
    return path.suffix[1:].lower()


def _pieces(word: str) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, what is attached to an option, and the parts of a list."""
    if not word or len(word) > limits.NAMED_WORD_CHARS:
        return
    yield word
    for mark in ("@", "file://"):
        if word.startswith(mark):
            yield word[len(mark) :]
    if len(word) > 2 and word[0] == "-" and word[1] != "-":
        yield word[2:]
    if "=" in word:
        yield word.partition("=")[2]
    parts = re.split(r"[=:,;]", word)
    yield from filter(None, parts if len(parts) > 1 else ())


def _spoken(text: str) -> list[str]:
    """Return the words of a text that a shell or another launcher would split again."""
    return _PARTS.findall(text[: limits.NAMED_WORD_CHARS])


def _joined(folder: Path, piece: str) -> Path:
    # An argument that begins like a home folder may mean something else: then nothing is there.
    return folder / os.path.expanduser(piece)


def _kind(path: Path) -> str:
    """Return whether a path leads to a file or a folder; nothing for all else."""
    with suppress(OSError, ValueError):
        mode = path.stat().st_mode
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else ""
    return ""


def _beginning(path: Path, size: int) -> bytes:
    with suppress(OSError):
        # What is a file now may be a pipe in a moment.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            return file.read(size)
    return b""
