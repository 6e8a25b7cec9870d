"""Tasks as `.vscode/tasks.json` describes them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds import jsonc
from pilothouse.tools.builds.task import Task
from pilothouse.types.json import JsonObject

FILE = ".vscode/tasks.json"
_VARIABLE = re.compile(r"\$\{([^}]*+)(?P<end>\})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLATFORM = "linux"


def find(text: str, folder: str) -> Iterator[Task]:
    """Yield the tasks of a file; one that cannot be run here says why."""
    described = jsonc.read(text, FILE).get("tasks")
    listed = described if isinstance(described, list) else []
    known = {label_of(each): each for each in listed if isinstance(each, dict) and label_of(each)}
    for label in known:
        try:
            yield _task(label, known, folder)
        except BadArgument as error:
            yield Task(source="vscode", label=label, problem=f"The task {label} cannot be run here: {error.message}")


def label_of(described: JsonObject) -> str:
    """Return a task's name; older files call it otherwise."""
    return str(described.get("label") or described.get("taskName") or "")


def command_of(described: JsonObject, folder: str) -> tuple[str, tuple[str, ...]]:
    """Return what a shell reads, or the words of a program without one."""
    kind = described.get("type") or "shell"
    if kind == "npm":
        return "", ("npm", "run", _text(described.get("script"), folder, "script"))
    if kind not in ("shell", "process"):
        raise BadArgument(f"tasks of the type {kind} need the editor.")
    command = _text(described.get("command"), folder, "command")
    given = described.get("args") or []
    if not isinstance(given, list):
        raise BadArgument("its `args` are no list.")
    words = [_text(each.get("value") if isinstance(each, dict) else each, folder, "args") for each in given]
    if kind == "process":
        return "", (command, *words)
    # A shell splits the command; what stands in the list is one word each, as in the editor.
    return " ".join((command, *(shlex.quote(word) for word in words))), ()


def _task(label: str, known: Mapping[str, JsonObject], folder: str) -> Task:
    described = _here(known[label])
    steps = [_said(_here(known[name]), folder) for name in _in_order(label, known)]
    argv: tuple[str, ...] = ()
    if len(steps) == 1 and not described.get("options"):
        _, argv = command_of(described, folder)
    return Task(
        source="vscode",
        label=label,
        text="" if argv else " && ".join(steps),
        argv=argv,
        background=bool(described.get("isBackground")),
    )


def _said(described: JsonObject, folder: str) -> str:
    """Return a task as a shell reads it, with its variables and its folder: what is shown is all that there is."""
    if not (described.get("command") or described.get("script")):
        return "true"
    text, argv = command_of(described, folder)
    options = described.get("options")
    options = options if isinstance(options, dict) else {}
    before = [f"export {_variable(name, value, folder)}" for name, value in (options.get("env") or {}).items()]
    if options.get("cwd"):
        wanted = os.path.normpath(os.path.join(folder, _text(options["cwd"], folder, "cwd")))
        before += [f"cd {shlex.quote(wanted)}"] if wanted != folder else []
    said = text or shlex.join(argv)
    return f"({' && '.join((*before, said))})" if before else said


def _variable(name: str, value: object, folder: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadArgument(f"it sets {name[:40]}, which is no variable's name.")
    return f"{name}={shlex.quote(_text(str(value), folder, 'env') if value else '')}"


def _here(described: JsonObject) -> JsonObject:
    """Return the description with what it says for this system only."""
    special = described.get(_PLATFORM)
    return {**described, **special} if isinstance(special, dict) else described


def _in_order(label: str, known: Mapping[str, JsonObject]) -> list[str]:
    """Return a task after all that it depends on, each once."""
    order: list[str] = []
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in order:
            return
        if name not in known:
            raise BadArgument(f"it depends on the task {name}, which does not exist.")
        if name in begun:
            raise BadArgument(f"it depends on itself, by the task {name}.")
        begun.add(name)
        needed = known[name].get("dependsOn") or []
        for each in [needed] if isinstance(needed, str) else needed:
            visit(str(each))
        order.append(name)

    visit(label)
    return order


def _text(value: object, folder: str, what: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise BadArgument(f"its `{what}` is no text.")

    def put(match: re.Match[str]) -> str:
        known = {"workspaceFolder": folder, "workspaceRoot": folder, "cwd": folder}
        known["workspaceFolderBasename"] = os.path.basename(folder)
        if not match["end"]:
            return match[0]
        if match[1] not in known:
            raise BadArgument(f"only the editor knows ${{{match[1]}}}.")
        return known[match[1]]

    return _VARIABLE.sub(put, value)


class Adding(msgspec.Struct, frozen=True):
    """One more task for a file, on its way to the helper process."""

    text: str
    described: JsonObject


class Added(msgspec.Struct, frozen=True):
    """The text with the task in it, or why there is none."""

    text: str = ""
    problem: str = ""
    code: str = ""


def added(adding: Adding) -> Added:
    """Return a file with one more task in it, comments and order kept; this is done in the helper process."""
    label = adding.described["label"]
    try:
        known = jsonc.read(adding.text, FILE).get("tasks")
        if any(isinstance(each, dict) and label_of(each) == label for each in known or ()):
            return Added(problem=f"{FILE} has a task {label} already.", code="EXISTS")
        return Added(jsonc.with_entry(adding.text, "tasks", adding.described, FILE))
    except BadArgument as error:
        return Added(problem=error.message, code=error.code)
