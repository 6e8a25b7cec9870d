"""The project's own tasks, wherever it describes them. The files are only read: nothing in them is run to find out.

Who wrote them may want to hold us up: they are read in the helper process.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds import jsonc, vscode
from pilothouse.tools.builds.task import Task
from pilothouse.tools.files.contents import read_whole
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.walk import look, parent_of
from pilothouse.types import limits

_RECIPE = re.compile(r"^@?(?P<name>[A-Za-z][\w-]*)(?:[ \t][^:\n]*)?:(?!=)", re.MULTILINE)
_TARGET = re.compile(r"^(?P<names>[A-Za-z0-9][\w./ -]*+)[ \t]*+::?(?![:=])", re.MULTILINE)
# What is before the name of a script, by the lock file that the project has.
_MANAGERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
# Where `pyproject.toml` has tasks, and what runs them.
_PYTHON = (
    ("poe", ("tool", "poe", "tasks"), ("poe",)),
    ("pdm", ("tool", "pdm", "scripts"), ("pdm", "run")),
    ("taskipy", ("tool", "taskipy", "tasks"), ("task",)),
    ("hatch", ("tool", "hatch", "envs", "default", "scripts"), ("hatch", "run")),
)


class TaskFile(msgspec.Struct, frozen=True):
    """A file that describes tasks, on its way to the helper process."""

    name: str
    text: str
    folder: str
    # What runs the scripts of this project.
    manager: str


class Described(msgspec.Struct, frozen=True):
    """The tasks of one file, or why it cannot be read."""

    tasks: tuple[Task, ...] = ()
    problem: str = ""


class Found(msgspec.Struct, frozen=True):
    """All tasks of a project, and the files that could not be read."""

    tasks: tuple[Task, ...]
    problems: tuple[str, ...] = ()

    def named(self, label: str) -> Task:
        """Return the task of a label, or of `source: label`; raise with what there is."""
        wanted = label.strip()
        for task in self.tasks:
            if wanted in (f"{task.source}: {task.label}", f"{task.source}:{task.label}"):
                return task
        same = [task for task in self.tasks if task.label == wanted]
        if len(same) > 1:
            several = ", ".join(f"“{task.source}: {task.label}”" for task in same)
            raise BadArgument(f"Several tasks are called {wanted}; say which: {several}.", "AMBIGUOUS")
        if not same:
            raise BadArgument(f"There is no task {wanted}. {self._known()}", "NOT_FOUND")
        if same[0].problem:
            raise BadArgument(same[0].problem, "UNSUPPORTED")
        return same[0]

    def _known(self) -> str:
        names = [f"{task.source}: {task.label}" for task in self.tasks]
        left = len(names) - limits.TASKS_NAMED
        more = f", and {left} more" if left > 0 else ""
        there = f"There are {', '.join(names[: limits.TASKS_NAMED])}{more}." if names else "The project has none."
        return " ".join((there, *self.problems))


def find_tasks(folder: str, helper: Helper) -> Found:
    """Return the tasks of a folder; a file that cannot be read is named and passed over."""
    found = [_described(folder, names, helper) for names in _FILES]
    tasks = tuple(task for each in found for task in each.tasks)
    return Found(tasks, tuple(each.problem for each in found if each.problem))


def _described(folder: str, names: tuple[str, ...], helper: Helper) -> Described:
    try:
        name, text = text_of(folder, *names)
        if not name:
            return Described()
        return helper.ask(described_in, TaskFile(name, text, folder, _manager(folder)))
    except BadArgument as error:
        return Described(problem=error.message)
    except Unreadable as error:
        return Described(problem=f"{name} cannot be read: {error.why}.")


def described_in(file: TaskFile) -> Described:
    """Return the tasks of a file; this is done in the helper process."""
    reader = next(read for names, read in _FILES.items() if file.name in names)
    try:
        return Described(tuple(reader(file)))
    except BadArgument as error:
        return Described(problem=error.message)


def text_of(folder: str, *names: str) -> tuple[str, str]:
    """Return the name and the text of the first file of these names that exists; links are not followed."""
    for name in names:
        place = Place(folder, tuple(name.split("/")), True)
        found = look(place)
        if found is None:
            continue
        if found.st_size > limits.TASK_FILE_BYTES:
            raise BadArgument(f"{name} is too large to be a list of tasks.", "BAD_FILE")
        with parent_of(place, None) as parent:
            return name, read_whole(parent, place.last, place.name).content.decode(errors="replace")
    return "", ""


def _manager(folder: str) -> str:
    locks = (manager for lock, manager in _MANAGERS if os.path.lexists(os.path.join(folder, lock)))
    return next(locks, "npm")


def _just(file: TaskFile) -> Iterator[Task]:
    for name in _unique(match["name"] for match in _RECIPE.finditer(file.text)):
        if name not in ("set", "import", "mod", "export", "alias"):
            yield Task(source="just", label=name, argv=("just", name), digest=_digest(file))


def _make(file: TaskFile) -> Iterator[Task]:
    names = (name for match in _TARGET.finditer(file.text) for name in match["names"].split())
    for name in _unique(names):
        yield Task(source="make", label=name, argv=("make", name), digest=_digest(file))


def _package(file: TaskFile) -> Iterator[Task]:
    scripts = jsonc.read(file.text, file.name).get("scripts")
    for name, script in scripts.items() if isinstance(scripts, dict) else ():
        if isinstance(script, str):
            argv = (file.manager, "run", name)
            yield Task(source="npm", label=name, argv=argv, means=script, digest=_digest(file))


def _python(file: TaskFile) -> Iterator[Task]:
    try:
        project = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        raise BadArgument(f"{file.name} cannot be read: {error}.", "BAD_FILE") from None
    for source, path, runner in _PYTHON:
        scripts: Any = project
        for step in path:
            scripts = scripts.get(step) if isinstance(scripts, Mapping) else None
        for name, script in scripts.items() if isinstance(scripts, Mapping) else ():
            if not name.startswith("_"):
                argv = (*runner, name)
                yield Task(source=source, label=name, argv=argv, means=_meaning(script), digest=_digest(file))


def _meaning(script: object) -> str:
    if isinstance(script, Mapping):
        script = script.get("cmd") or script.get("shell") or script.get("script") or ""
    if isinstance(script, list):
        return " && ".join(str(step) for step in script)
    return str(script or "")


def _digest(file: TaskFile) -> str:
    return hashlib.sha256(file.text.encode()).hexdigest()


def _unique(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _vscode(file: TaskFile) -> Iterator[Task]:
    return vscode.find(file.text, file.folder)


# The names of each kind of file, of which the first that exists counts, and what reads it.
_FILES: dict[tuple[str, ...], Callable[[TaskFile], Iterator[Task]]] = {
    (vscode.FILE,): _vscode,
    ("justfile", "Justfile", ".justfile"): _just,
    ("GNUmakefile", "makefile", "Makefile"): _make,
    ("package.json",): _package,
    ("pyproject.toml",): _python,
}
