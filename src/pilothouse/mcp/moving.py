"""What a command runs that no file on its line says: modules, folders, packages and images, which can change unseen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from pilothouse.mcp.named_files import (
    COMMANDS,
    CONTAINERS,
    INLINE,
    MODULE,
    RECIPES,
    RUNNERS,
    CommandLine,
    Program,
    is_code,
)
from pilothouse.mcp.programs import INTERPRETERS
from pilothouse.types.servers import ServerEntry

_MAY = "what runs may change from start to start, and you are not asked again"
# Of npm “1.2” is any of its versions, of PyPI it is one.
_ONE_OF_NPM = re.compile(r".+@v?\d{1,9}\.\d{1,9}\.\d{1,9}[\w.+-]*|.+[@#][0-9a-f]{40}")
_ONE_OF_PYPI = re.compile(r".+(==|@)\d[\w.!+]*|.+@[0-9a-f]{40}")
_DIGEST = re.compile(r".+@sha256:[0-9a-f]{64}")
# Those that fetch a package by its name, with the commands that do so; others start what a project has.
_FETCHERS = {
    **dict.fromkeys(("npx", "bunx", "uvx"), ""),
    **dict.fromkeys(("npm", "pipx", "pnpm", "yarn"), "exec x run dlx"),
    "uv": "tool",
}
_PACKAGES = frozenset({"--package", "-p", "--from", "--spec", "--with", "-w"})
_BUILDERS = frozenset({"go", "dotnet", "gradle", "mvn", *RECIPES})


def moving(entry: ServerEntry, line: CommandLine) -> Iterator[str]:
    """Yield a sentence for each thing that is run and that a consent cannot be bound to."""
    if line.is_cut:
        yield "It names more than is looked at: some of the files that it runs may change, and you are not asked again."
    if entry.package.type in ("npm", "pypi"):
        kind = "node" if entry.package.type == "npm" else "python"
        if not _is_pinned(kind, entry.package.identifier) and line.is_local(entry.package.identifier) is None:
            yield f"No version is given: {_MAY}."
        return
    for program in line.programs:
        yield from _of(line, program)


def _is_pinned(kind: str, package: str) -> bool:
    found = _ONE_OF_NPM.fullmatch(package) if kind == "node" else _ONE_OF_PYPI.fullmatch(package)
    return found is not None


def _of(line: CommandLine, program: Program) -> Iterator[str]:
    rest = line.words[program.after :]
    if program.name in CONTAINERS:
        if {"run", "create"} & set(rest) and not any(_DIGEST.fullmatch(word) for word in rest):
            yield f"The image is not named by its digest: {_MAY}."
    elif program.name in _FETCHERS and _fetches(program.name, rest):
        yield from _packages(line, program, rest)
    elif program.name in _BUILDERS:
        if not any(map(is_code, line.named(rest))):
            yield f"{program.name} runs what is in its folder: {_MAY}."
    elif INTERPRETERS.fullmatch(program.name):
        yield from _interpreted(line, program, rest)
    elif program.name in RUNNERS and line.programs[-1] == program and not any(map(is_code, line.named(rest))):
        yield f"{program.name} runs what its project or its environment has: {_MAY}."


def _fetches(name: str, rest: list[str]) -> bool:
    first = next((word for word in rest if not word.startswith("-")), "")
    return not _FETCHERS[name] or first in _FETCHERS[name].split()


def _packages(line: CommandLine, program: Program, rest: list[str]) -> Iterator[str]:
    named = [word for option, word in pairwise(rest) if option in _PACKAGES]
    named += [word.partition("=")[2] for word in rest if word.partition("=")[0] in _PACKAGES and "=" in word]
    first = next((word for word in rest if not word.startswith("-") and word not in (*COMMANDS, *named)), "")
    kind = RUNNERS[program.name]
    for package in named or [first]:
        is_bound = _is_pinned(kind, package) or line.is_local(package) or any(map(is_code, line.named([package])))
        if not is_bound:
            yield f"No version is given for {package or 'what it fetches'}: {_MAY}."


def _interpreted(line: CommandLine, program: Program, rest: list[str]) -> Iterator[str]:
    for at, word in enumerate(rest):
        if word in INLINE:
            return
        if MODULE.fullmatch(word) and program.name.startswith("py"):
            yield f"Runs the module {' '.join(rest[at + 1 : at + 2])}, not a file: {_MAY}."
            return
        if not word.startswith("-") and line.script(program) is not None:
            return
    if not any(map(is_code, line.named(rest))) and line.programs[-1] == program:
        yield f"{program.name} is given no file to run: {_MAY}."
