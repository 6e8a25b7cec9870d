"""What an operation on files looks like: reading ones run side by side, writing ones in turn and with a diff."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pilothouse.tools.arguments import BadArgument, success
from pilothouse.tools.files.desk import Desk, PathEffect, folder_identity
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.showing import shown_changes
from pilothouse.tools.files.steps import Step
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, PathUse, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput

TOOL = "file_operations"
FILE_PATH: JsonObject = {"type": "string", "description": "A file, relative to the working directory or absolute."}


class FileOperation(ABC):
    """An operation on files; what it does with the file system happens in a thread."""

    name: str
    effects: frozenset[Effect]
    times: CallTimes
    properties: ClassVar[JsonObject]
    # What people call it while it happens, and its picture.
    doing: str
    icon = "file"
    _effect: PathEffect
    _lane = ""
    # Whether a result, or why there is none, tells what is in files.
    _tells = True

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @abstractmethod
    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        """Return the files and folders that a call is about."""

    def uses(self, arguments: JsonObject, context: CallContext) -> list[PathUse]:
        """Return everything that a call touches, as a decision sees it."""
        return [self.desk.use(place, self._effect) for place in self.places(arguments, context)]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch."""
        return await asyncio.to_thread(self._access, arguments, context)

    def _access(self, arguments: JsonObject, context: CallContext) -> Access:
        uses = self.uses(arguments, context)
        open_to_us = all(self.desk.may_read(use) for use in uses)
        return Access(
            operation=f"{TOOL}.{self.name}",
            effects=self.effects,
            paths=tuple(uses),
            brings=frozenset({"private"}) if self._tells else frozenset(),
            source="files" if self._tells else "",
            lane=self._lane,
            # Nothing is read of what was not allowed yet, not even to say that the call would fail.
            preview=self.preview(arguments, context) if open_to_us else {},
            folder_identity=folder_identity(context),
        )

    def preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return what the person sees before they decide."""
        return {}

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words and with a picture."""
        what = self.about(arguments)
        summary = f"{self.doing}: {what}" if what else self.doing
        details = tuple(self.details(arguments))
        return Shown(action=self.name, action_display_name=self.doing, summary=summary, details=details, icon=self.icon)

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return the name of the file that a call is about."""
        return str(arguments.get("filePath") or "").rstrip("/").rpartition("/")[2]

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return what else there is to say about a call, line by line."""
        path = arguments.get("filePath")
        return [f"File: {path}"] if path else []

    @abstractmethod
    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Do it."""


class ReadOperation(FileOperation):
    """Reads files or folders."""

    effects: frozenset[Effect] = frozenset({"reads"})
    times = CallTimes(limits.FILE_READ_TIME)
    _effect: PathEffect = "reads"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Read what was allowed."""

        def work() -> ToolOutput:
            self.desk.hold(context, self.uses(arguments, context))
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

    @abstractmethod
    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        """Return what the model is told afterwards."""

    def preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return the diff of what would be changed."""
        return shown_changes(self._planned(arguments, context))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Change what was allowed, all of it or nothing."""

        def prepare() -> list[Step]:
            self.desk.hold(context, self.uses(arguments, context))
            return self._planned(arguments, context)

        steps = await asyncio.to_thread(prepare)
        ids = await self.desk.carry_out(steps, context)
        changes = await asyncio.to_thread(shown_changes, steps, ids)
        return success(self.told(arguments, changes), changes)

    def _planned(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        steps = self.plan(arguments, context)
        if not steps:
            raise BadArgument("This would change nothing: what is there already is what was asked for.", "NO_CHANGE")
        return steps
