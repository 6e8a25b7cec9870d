"""`get_errors`: what the project's own checkers say about it."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.arguments import BadArgument, optional_string, success
from pilothouse.tools.files.operation import FileOperation
from pilothouse.tools.files.places import PathRefused, Place, components, contains
from pilothouse.tools.files.walk import open_root
from pilothouse.tools.files.workspace import PathEffect, Workspace
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.search.checkers import CHECKERS, Checker, Setup, find_program
from pilothouse.tools.search.last_search import LastSearches
from pilothouse.tools.search.problems import Problem
from pilothouse.tools.search.results import Found, Hit, cut, page_of
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.terminals import Ran


class _Check(msgspec.Struct, frozen=True):
    """A checker with what it would run."""

    checker: Checker
    argv: tuple[str, ...]


class _Plan(msgspec.Struct, frozen=True):
    """What would be run, and a sentence for each settings file that cannot be read."""

    checks: list[_Check]
    problems: list[str]


class GetErrors(FileOperation):
    """Runs the checkers that the project has set up."""

    name = "get_errors"
    doing = "Checking for errors"
    icon = "check"
    effects: frozenset[Effect] = frozenset({"reads", "runs"})
    times = CallTimes(limits.CHECK_TIME)
    properties: ClassVar[JsonObject] = {
        "filePaths": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Files to check; everything when it is left out.",
        },
        "path": {"type": "string", "description": "A folder; the working directory when it is left out."},
    }
    _effect: PathEffect = "reads"

    def __init__(self, workspace: Workspace, runner: SandboxRunner, last: LastSearches, helper: Helper) -> None:
        super().__init__(workspace)
        self._runner = runner
        self._helper = helper
        self._last = last

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        folder = self.workspace.place(optional_string(arguments, "path") or ".", context)
        files = [self.workspace.place(path, context) for path in _file_paths(arguments)]
        outside = next((place for place in (folder, *files) if not place.inside), None)
        if outside is not None:
            raise PathRefused(f"{outside.path} is not in the working directory; only projects in it are checked.")
        return [folder, *files]

    def about(self, arguments: Mapping[str, object]) -> str:
        files = arguments.get("filePaths")
        if isinstance(files, list) and files:
            return f"{len(files)} files" if len(files) > 1 else str(files[0])
        return str(arguments.get("path") or "")

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        return []

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the folder, the files, and exactly what would be run."""
        plain = await super().access(arguments, context)
        plan = await asyncio.to_thread(self._plan, arguments, context)
        return msgspec.structs.replace(plain, command=self._command(plan.checks, self.places(arguments, context)[0]))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Run what was allowed, one after the other, and gather what it says."""
        self.workspace.hold(context, await asyncio.to_thread(self.uses, arguments, context))
        folder, *files = self.places(arguments, context)
        plan = await asyncio.to_thread(self._plan, arguments, context)
        checks = plan.checks
        if context.access is None or context.access.command != self._command(checks, folder):
            raise PathRefused("The project's checkers are not what the call was allowed to run; ask again.", "CONFLICT")
        hits: list[Hit] = []
        notes: list[str] = []
        for number, check in enumerate(checks):
            feedback.progress(number, len(checks), f"Running {check.checker.name}")
            ran = await self._runner.run(check.argv, folder.path, limits.CHECK_ONE_TIME)
            problems, note = await asyncio.to_thread(_read, check.checker, ran, self._helper)
            hits += _hits(problems, folder, files)
            notes += [note] if note else []
        if notes and not hits and len(notes) == len(checks):
            raise BadArgument(" ".join(notes), "CHECK_FAILED")
        return self._told(hits, checks, [*plan.problems, *notes], context)

    def _told(self, hits: list[Hit], checks: list[_Check], notes: list[str], context: CallContext) -> ToolOutput:
        names = ", ".join(check.checker.name for check in checks)
        hits.sort(key=lambda hit: (hit.path, hit.line, hit.column))
        kept = tuple(hits[: limits.SEARCH_KEPT])
        more = len(hits) > len(kept)
        found = Found(what=names, unit="problem", hits=kept, more=more, notes=tuple(notes))
        self._last.keep(context.conversation_id, found)
        text, data = page_of(found, 1)
        return success(text if hits or notes else f"No problems: {names} found nothing.", data)

    def _plan(self, arguments: JsonObject, context: CallContext) -> _Plan:
        """Return what would be run; say why when that is nothing."""
        folder, *files = self.places(arguments, context)
        with open_root(folder) as root, root.descend(folder.parts) as opened:
            return _planned(Setup(opened, self._helper), folder, files)

    def _command(self, checks: Sequence[_Check], folder: Place) -> CommandUse:
        held = self._runner.view()
        return CommandUse(
            text="; ".join(shlex.join(check.argv) for check in checks) if len(checks) > 1 else "",
            argv=checks[0].argv if len(checks) == 1 else (),
            folder=folder.path,
            sandbox="" if held.kind == "none" else held.kind,
            network=held.is_open,
        )


def _planned(setup: Setup, folder: Place, files: Sequence[Place]) -> _Plan:
    fitting = [(each, named) for each in CHECKERS if (named := each.set_up(setup)) and _is_about(each, files)]
    if not fitting:
        known = ", ".join(checker.name for checker in CHECKERS)
        what = "for these files" if files else f"in {folder.name}" if folder.parts else "here"
        raise BadArgument(" ".join((f"No checker is set up {what}; known are {known}.", *setup.problems)), "NO_CHECKER")
    checks, absent = [], []
    for checker, named in fitting:
        program = find_program(folder.path, checker.program)
        if not program:
            absent.append(f"{checker.name} (set up in {named})")
            continue
        wanted = [place.path for place in files if place.path.endswith(checker.about)]
        checks.append(_Check(checker, (program, *checker.arguments(setup, wanted))))
    if not checks:
        raise BadArgument(f"Not installed in the project or on this machine: {', '.join(absent)}.", "NO_CHECKER")
    return _Plan(checks, list(dict.fromkeys(setup.problems)))


def _file_paths(arguments: JsonObject) -> list[str]:
    value = arguments.get("filePaths")
    if value is None:
        return []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise BadArgument("`filePaths` must be a list of paths.")
    if len(value) > limits.CHECK_FILES:
        raise BadArgument(f"`filePaths` has more than {limits.CHECK_FILES} files; leave it out to check everything.")
    return value


def _is_about(checker: Checker, files: Sequence[Place]) -> bool:
    return not files or any(place.path.endswith(checker.about) for place in files)


class Said(msgspec.Struct, frozen=True):
    """What a checker wrote, on its way to the helper process."""

    checker: str
    output: bytes
    errors: bytes


def problems_in(said: Said) -> list[Problem] | None:
    """Return the problems in what a checker wrote, None when that is not what it writes.

    This is done in the helper process: a project's checker may be any program.
    """
    checker = next(each for each in CHECKERS if each.name == said.checker)
    try:
        return checker.problems(*(data.decode("utf-8", "replace") for data in (said.output, said.errors)))
    except ValueError:
        return None


def _read(checker: Checker, ran: Ran, helper: Helper) -> tuple[list[Problem], str]:
    """Return what a checker found, or one sentence about why it could not look."""
    if ran.timed_out:
        return [], f"{checker.name} was stopped after {limits.CHECK_ONE_TIME:.0f} s."
    try:
        read = helper.ask(problems_in, Said(checker.name, ran.output, ran.errors), limits.CHECKER_READ_TIME)
    except Unreadable as error:
        return [], f"What {checker.name} said cannot be read: {error.why}."
    problems = read or []
    looked = read is not None and ran.exit_code in checker.looked and (bool(problems) or ran.exit_code == 0)
    if looked or problems:
        cut_off = f"{checker.name} said more than is kept." if ran.cut else ""
        return problems, cut_off
    text = (ran.errors[:_WORDS] + b"\n" + ran.output[:_WORDS]).decode("utf-8", "replace")
    said = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return [], f"{checker.name} could not check (exit code {ran.exit_code}): {cut(said).rstrip('.')}."


def _hits(problems: Sequence[Problem], folder: Place, files: Sequence[Place]) -> list[Hit]:
    """Return problems by what their files are called; of those that were asked about, when some were."""
    wanted = {place.path for place in files}
    hits = []
    for problem in problems:
        path = os.path.normpath(os.path.join(folder.path, problem.path))
        if wanted and path not in wanted:
            continue
        inside = contains(folder.root, path)
        called = "/".join(components(path)[len(components(folder.root)) :]) if inside else path
        label = f"{problem.severity} {problem.code}".strip()
        message = " ".join(problem.message.split())
        hits.append(
            Hit(path=called, line=max(problem.line, 1), column=problem.column, label=label, text=message[:_MESSAGE])
        )
    return hits


# A message of a type checker may be a page long; its beginning says it.
_MESSAGE = 500
# What is looked at of what a checker wrote that could not check.
_WORDS = 16_384
