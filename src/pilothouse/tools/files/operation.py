"""What an operation on files looks like: reading ones run side by side, writing ones in turn and with a diff."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from pilothouse.tools.arguments import BadArgument, require_string, success
from pilothouse.tools.consolidated import Operation
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.shown_changes import counts, shown_changes
from pilothouse.tools.files.steps import Step
from pilothouse.tools.files.workspace import PathEffect, Workspace, folder_identity
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, PathUse
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput

TOOL = "file_operations"
FILE_PATH: JsonObject = {"type": "string", "description": "A file, relative to the working directory or absolute."}


class FileOperation(Operation):
    """An operation on files; what it does with the file system happens in a thread."""

    icon = "file"
    _effect: PathEffect
    _lane = ""
    # Whether a result, or why there is none, tells what is in files.
    _tells = True
    # Whether it takes away what stands somewhere, with everything in it.
    _takes_away = False

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        """Return the files and folders that a call is about."""
        return [self.workspace.place(require_string(arguments, "filePath"), context)]

    def uses(self, arguments: JsonObject, context: CallContext) -> list[PathUse]:
        """Return everything that a call touches, as a decision sees it."""
        return [self.workspace.use(place, self._effect) for place in self.places(arguments, context)]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return await asyncio.to_thread(self._access, arguments, context)

    def _access(self, arguments: JsonObject, context: CallContext) -> Access:
        uses = self.uses(arguments, context)
        open_to_us = all(self.workspace.may_read(use) for use in uses)
        return Access(
            operation=f"{TOOL}.{self.name}",
            effects=self.effects,
            paths=tuple(uses),
            brings=frozenset({"private"}) if self._tells else frozenset(),
            source="files" if self._tells else "",
            lane=self._lane,
            destructive=self._takes_away,
            # Nothing is read of what was not allowed yet, not even to say that the call would fail.
            preview=self.preview(arguments, context) if open_to_us else {},
            folder_identity=folder_identity(context),
        )

    def preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return what the person sees before they decide."""
        return {}

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return the name of the file that a call is about."""
        return str(arguments.get("filePath") or "").rstrip("/").rpartition("/")[2]

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        path = arguments.get("filePath")
        return [f"File: {path}"] if path else []


class ReadOperation(FileOperation):
    """Reads files or folders."""

    effects: frozenset[Effect] = frozenset({"reads"})
    times = CallTimes(limits.FILE_READ_TIME)
    _effect: PathEffect = "reads"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Read what was allowed."""

        def work() -> ToolOutput:
            self.workspace.hold(context, self.uses(arguments, context))
            return self.read(arguments, context)

        return await asyncio.to_thread(work)

    @abstractmethod
    def read(self, arguments: JsonObject, context: CallContext) -> ToolOutput:
        """Return what was read."""


class WriteOperation(FileOperation):
    """Changes files: planned from what they are, then carried out as a whole."""

    effects: frozenset[Effect] = frozenset({"writes"})
    times = CallTimes(limits.FILE_WRITE_TIME)
    icon = "pencil"
    _effect: PathEffect = "writes"
    _lane = "files"

    @abstractmethod
    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the steps of a call, from what the files are now; nothing is changed yet."""

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        """Return what the model is told afterwards."""
        return f"Edited {', '.join(change['path'] for change in changes['changes'])} ({counts(changes)})."

    def preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        return shown_changes(self._planned(arguments, context))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Change what was allowed, all of it or nothing."""

        def prepare() -> list[Step]:
            self.workspace.hold(context, self.uses(arguments, context))
            return self._planned(arguments, context)

        steps = await asyncio.to_thread(prepare)
        ids = await self.workspace.carry_out(steps, context)
        changes = await asyncio.to_thread(shown_changes, steps, ids)
        return success(self.told(arguments, changes), changes)

    def _planned(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        steps = self.plan(arguments, context)
        if not steps:
            raise BadArgument("This would change nothing: what is there already is what was asked for.", "NO_CHANGE")
        return steps
