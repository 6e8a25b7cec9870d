"""The checkers that a project may have set up: how each is recognised, and what is run."""

from __future__ import annotations

import configparser
import os
import shutil
import tomllib
from collections.abc import Callable, Sequence

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.files.contents import read_up_to
from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.problems import (
    Parser,
    cargo_problems,
    eslint_problems,
    go_problems,
    mypy_problems,
    pyright_problems,
    ruff_problems,
    tsc_problems,
)
from pilothouse.types import limits

_PYTHON = (".py", ".pyi")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
# Where a project keeps its own programs, before those of the system.
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")


class Setup:
    """What the files at the top of a project say about it."""

    def __init__(self, folder: Folder, helper: Helper) -> None:
        self._folder = folder
        self._helper = helper
        with folder.scan() as entries:
            self.names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
        self._tables: dict[str, dict[str, list[str]]] = {}
        # A sentence for each file that cannot be read.
        self.problems: list[str] = []

    def table(self, file: str, name: str) -> list[str] | None:
        """Return the names in a tool's table of a settings file; None when it has no such table."""
        if file not in self.names:
            return None
        if file not in self._tables:
            self._tables[file] = self._read(file)
        return self._tables[file].get(name)

    def _read(self, file: str) -> dict[str, list[str]]:
        try:
            return self._helper.ask(tables_in, SettingsText(file, self.text(file)))
        except Unreadable as error:
            self.problems.append(f"{file} cannot be read: {error.why}.")
            return {}

    def text(self, name: str) -> str:
        """Return the beginning of a file; nothing when it is not there."""
        if name not in self.names:
            return ""
        try:
            descriptor = self._folder.open(name)
        except PathRefused:
            return ""
        with os.fdopen(descriptor, "rb", buffering=0):
            return read_up_to(descriptor, limits.SETTINGS_FILE_BYTES).decode("utf-8", "replace")


class SettingsText(msgspec.Struct, frozen=True):
    """A settings file on its way to the helper process."""

    name: str
    text: str


def tables_in(file: SettingsText) -> dict[str, list[str]]:
    """Return the names in each tool's table of a TOML file, or in each section of an ini file.

    This is done in the helper process.
    """
    if not file.name.endswith(".toml"):
        return _sections(file.text)
    try:
        tools = tomllib.loads(file.text).get("tool")
    except tomllib.TOMLDecodeError:
        return {}
    tables = tools if isinstance(tools, dict) else {}
    return {name: list(table) for name, table in tables.items() if isinstance(table, dict)}


def _sections(text: str) -> dict[str, list[str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: list(parser[name]) for name in parser.sections()}


class Checker(msgspec.Struct, frozen=True):
    """A program that finds mistakes."""

    name: str
    program: str
    # Returns the name of the file that sets it up; empty when nothing does.
    set_up: Callable[[Setup], str]
    # Returns the words after the program's name, from the files that are asked about (none: all).
    arguments: Callable[[Setup, Sequence[str]], list[str]]
    problems: Parser
    # Files that it is about, by the ends of their names.
    about: tuple[str, ...]
    # Exit codes that mean "I looked"; others that it could not.
    looked: frozenset[int] = frozenset({0, 1})


def _first(setup: Setup, *names: str) -> str:
    return next((name for name in names if name in setup.names), "")


def _ruff(setup: Setup) -> str:
    return _first(setup, "ruff.toml", ".ruff.toml") or (
        "pyproject.toml" if setup.table("pyproject.toml", "ruff") is not None else ""
    )


def _pyright(setup: Setup) -> str:
    return _first(setup, "pyrightconfig.json") or (
        "pyproject.toml" if setup.table("pyproject.toml", "pyright") is not None else ""
    )


def _mypy(setup: Setup) -> str:
    if named := _first(setup, "mypy.ini", ".mypy.ini"):
        return named
    if setup.table("pyproject.toml", "mypy") is not None:
        return "pyproject.toml"
    return "setup.cfg" if setup.table("setup.cfg", "mypy") is not None else ""


def _eslint(setup: Setup) -> str:
    modern = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))
    return _first(setup, *modern, *(f".eslintrc{ending}" for ending in ("", ".js", ".cjs", ".json", ".yml", ".yaml")))


def _mypy_arguments(setup: Setup, files: Sequence[str]) -> list[str]:
    tables = (setup.table(file, "mypy") for file in ("pyproject.toml", "mypy.ini", ".mypy.ini", "setup.cfg"))
    chosen = any(table and {"files", "packages", "modules"} & set(table) for table in tables)
    plain = ["--no-pretty", "--no-error-summary", "--show-column-numbers", "--show-error-codes", "--no-color-output"]
    return [*plain, *(files or ([] if chosen else ["."]))]


CHECKERS = (
    Checker(
        "ruff",
        "ruff",
        _ruff,
        lambda _setup, files: ["check", "--no-fix", "--no-cache", "--output-format=json", *(files or ["."])],
        ruff_problems,
        _PYTHON,
    ),
    Checker("pyright", "pyright", _pyright, lambda _setup, files: ["--outputjson", *files], pyright_problems, _PYTHON),
    Checker("mypy", "mypy", _mypy, _mypy_arguments, mypy_problems, _PYTHON),
    Checker(
        "tsc",
        "tsc",
        lambda setup: _first(setup, "tsconfig.json"),
        lambda _setup, _files: ["--noEmit", "--pretty", "false", "--project", "tsconfig.json"],
        tsc_problems,
        _SCRIPTS,
        frozenset({0, 1, 2}),
    ),
    Checker(
        "eslint",
        "eslint",
        _eslint,
        lambda _setup, files: ["--format", "json", *(files or ["."])],
        eslint_problems,
        _SCRIPTS,
    ),
    Checker(
        "cargo check",
        "cargo",
        lambda setup: _first(setup, "Cargo.toml"),
        lambda _setup, _files: ["check", "--quiet", "--offline", "--all-targets", "--message-format=json"],
        cargo_problems,
        (".rs",),
        frozenset({0, 101}),
    ),
    Checker(
        "go vet",
        "go",
        lambda setup: _first(setup, "go.mod"),
        lambda _setup, _files: ["vet", "./..."],
        go_problems,
        (".go",),
        frozenset({0, 1, 2}),
    ),
)


def find_program(folder: str, name: str) -> str:
    """Return the path of a project's own program, else of the system's; empty when there is none."""
    for own in _OWN_PROGRAMS:
        path = os.path.join(folder, own, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which(name) or ""
