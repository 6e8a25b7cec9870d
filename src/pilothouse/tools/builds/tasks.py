"""The project's own tasks, wherever it describes them. The files are only read: nothing in them is run to find out."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds import jsonc, vscode
from pilothouse.tools.builds.task import Task
from pilothouse.tools.files.contents import read_whole
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.walk import look, parent_of
from pilothouse.types import limits

_RECIPE = re.compile(r"^@?(?P<name>[A-Za-z][\w-]*)(?:[ \t][^:\n]*)?:(?!=)", re.MULTILINE)
_TARGET = re.compile(r"^(?P<names>[A-Za-z0-9][\w./ -]*?)[ \t]*::?(?![:=])", re.MULTILINE)
# What is before the name of a script, by the lock file that the project has.
_MANAGERS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
# Where `pyproject.toml` has tasks, and what runs them.
_PYTHON = (
    ("poe", ("tool", "poe", "tasks"), ("poe",)),
    ("pdm", ("tool", "pdm", "scripts"), ("pdm", "run")),
    ("taskipy", ("tool", "taskipy", "tasks"), ("task",)),
    ("hatch", ("tool", "hatch", "envs", "default", "scripts"), ("hatch", "run")),
)


# The text of the first file of these names that exists.
TextOf = Callable[..., str | None]


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


def find_tasks(folder: str) -> Found:
    """Return the tasks of a folder; a file that cannot be read is named and passed over."""
    tasks: list[Task] = []
    problems: list[str] = []
    for finder in (vscode.find, _just, _make, _package, _python):
        try:
            tasks += finder(lambda *names: text_of(folder, *names), folder)
        except BadArgument as error:
            problems.append(error.message)
    return Found(tuple(tasks), tuple(problems))


def text_of(folder: str, *names: str) -> str | None:
    """Return the text of the first file of these names that exists; links are not followed."""
    for name in names:
        place = Place(folder, tuple(name.split("/")), True)
        found = look(place)
        if found is None:
            continue
        if found.st_size > limits.TASK_FILE_BYTES:
            raise BadArgument(f"{name} is too large to be a list of tasks.", "BAD_FILE")
        with parent_of(place, None) as parent:
            return read_whole(parent, place.last, place.name).content.decode(errors="replace")
    return None


def _just(text: TextOf, folder: str) -> Iterator[Task]:
    found = text("justfile", "Justfile", ".justfile")
    for name in _unique(match["name"] for match in _RECIPE.finditer(found or "")):
        if name not in ("set", "import", "mod", "export", "alias"):
            yield Task(source="just", label=name, argv=("just", name), digest=_digest(found))


def _make(text: TextOf, folder: str) -> Iterator[Task]:
    found = text("GNUmakefile", "makefile", "Makefile")
    names = (name for match in _TARGET.finditer(found or "") for name in match["names"].split())
    for name in _unique(names):
        yield Task(source="make", label=name, argv=("make", name), digest=_digest(found))


def _package(text: TextOf, folder: str) -> Iterator[Task]:
    found = text("package.json")
    if found is None:
        return
    scripts = jsonc.read(found, "package.json").get("scripts")
    if not isinstance(scripts, dict):
        return
    locks = (manager for lock, manager in _MANAGERS if os.path.lexists(os.path.join(folder, lock)))
    manager = next(locks, "npm")
    for name, script in scripts.items():
        if isinstance(script, str):
            yield Task(source="npm", label=name, argv=(manager, "run", name), means=script, digest=_digest(found))


def _python(text: TextOf, folder: str) -> Iterator[Task]:
    found = text("pyproject.toml")
    if found is None:
        return
    try:
        project = tomllib.loads(found)
    except tomllib.TOMLDecodeError as error:
        raise BadArgument(f"pyproject.toml cannot be read: {error}.", "BAD_FILE") from None
    for source, path, runner in _PYTHON:
        scripts: Any = project
        for step in path:
            scripts = scripts.get(step) if isinstance(scripts, Mapping) else None
        for name, script in scripts.items() if isinstance(scripts, Mapping) else ():
            if not name.startswith("_"):
                yield Task(
                    source=source, label=name, argv=(*runner, name), means=_meaning(script), digest=_digest(found)
                )


def _meaning(script: object) -> str:
    if isinstance(script, Mapping):
        script = script.get("cmd") or script.get("shell") or script.get("script") or ""
    if isinstance(script, list):
        return " && ".join(str(step) for step in script)
    return str(script or "")


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


def _unique(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))
