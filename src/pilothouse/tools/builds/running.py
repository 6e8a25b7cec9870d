"""Running tasks: the project's own and the agent's, like commands in the terminal, and what they wrote."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.arguments import BadArgument, optional_bool, optional_string, require_string, success
from pilothouse.tools.builds import vscode
from pilothouse.tools.builds.operation import TOOL, BuildOperation
from pilothouse.tools.builds.task import Task
from pilothouse.tools.builds.tasks import Found, find_tasks
from pilothouse.tools.files.places import Place, working_root
from pilothouse.tools.files.shown_changes import joined_changes, shown_changes
from pilothouse.tools.files.steps import Step, WriteFile
from pilothouse.tools.files.walk import look
from pilothouse.tools.files.workspace import Workspace, missing_folders
from pilothouse.tools.terminal.background import Background
from pilothouse.tools.terminal.shells import text_command
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.tools.terminal.text import shortened, whole_of
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput

_LABEL: JsonObject = {"type": "string", "description": "The task's name; `source: name` where several have it."}
_MADE = "conversation"


class ConversationTasks:
    """The tasks that the agent made, and the last run of each, by conversation."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        self._made: dict[str, dict[str, Task]] = {}
        self._runs: dict[str, dict[str, str]] = {}

    def add(self, conversation_id: str, task: Task) -> None:
        """Remember a task for this conversation."""
        self._made.setdefault(conversation_id, {})[task.label] = task

    def find(self, conversation_id: str, folder: str) -> Found:
        """Return the conversation's own tasks and the project's."""
        found = find_tasks(folder, self.helper)
        own = self._made.get(conversation_id, {})
        others = [task for task in found.tasks if task.label not in own]
        return Found((*own.values(), *others), found.problems)

    def ran(self, conversation_id: str, label: str, process_id: str) -> None:
        """Remember by which process a task was run last."""
        runs = self._runs.setdefault(conversation_id, {})
        runs.pop(label, None)
        runs[label] = process_id

    def process(self, conversation_id: str, label: str) -> str:
        """Return the process of a task's last run, or of the last run of any."""
        runs = self._runs.get(conversation_id, {})
        if not runs or (label and label not in runs):
            what = f"The task {label}" if label else "No task"
            raise BadArgument(f"{what} was {'not ' if label else ''}run in this conversation yet.", "NOT_FOUND")
        return runs[label] if label else list(runs.values())[-1]


class _Running(BuildOperation):
    """Runs a task and waits for it, or leaves it running."""

    icon = "terminal"
    effects: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})

    def __init__(self, terminals: Terminals, tasks: ConversationTasks) -> None:
        super().__init__(terminals)
        self.tasks = tasks

    @property
    def times(self) -> CallTimes:
        most = max(self._terminals.sandbox.settings.timeout, limits.COMMAND_TIME) + limits.COMMAND_SLACK
        return CallTimes(most)

    async def command(self, task: Task, context: CallContext) -> CommandUse:
        """Return a task's command as a decision sees it."""
        network = self._terminals.sandbox.settings.network
        return await self.use(context, task.text, task.argv, network, ends=not task.background)

    async def task_access(self, task: Task, context: CallContext) -> Access:
        """Return what running a task touches, and what it means where its command is only a name."""
        access = await self.command_access(await self.command(task, context), context)
        means = {"task": {"label": task.label, "source": task.source, "means": task.means}}
        return msgspec.structs.replace(access, preview=means, content=task.digest)

    async def run(self, task: Task, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Run a task as it was allowed; one that takes long is left running."""
        now = await self.command(task, context)
        self.hold(context, now)
        if context.access is not None and context.access.content != task.digest:
            raise BadArgument(
                f"What the task {task.label} does has changed since it was allowed; ask again.", "CONFLICT"
            )
        async with self.covering(context, now) as covered:
            process = await self._ran(task, context, feedback, now)
        output = told(task.label, process)
        return covered.added_to(output)

    async def _ran(self, task: Task, context: CallContext, feedback: CallFeedback, now: CommandUse) -> Background:
        order = self.order(context, now, now.argv or text_command(now.text))
        view = await self._terminals.start_background(order, context.call_id, task.said)
        self.tasks.ran(context.conversation_id, task.label, view.id)
        process = self._terminals.background(context.conversation_id, view.id)
        feedback.progress(None, None, f"Running {task.label}")
        if not task.background:
            try:
                await asyncio.wait_for(process.wait(), self._terminals.sandbox.settings.timeout)
            except TimeoutError:
                if context.mode == "sandboxed" and now.covered and not context.asked:
                    # It needed nobody's word because it ends with its call, and what it changes is seen then.
                    await process.stop()
                else:
                    feedback.progress(None, None, "It takes longer and is left running")
            except asyncio.CancelledError:
                await process.stop()
                raise
        return process


def told(label: str, process: Background) -> ToolOutput:
    """Return a task's output and how it stands."""
    view, output = process.view(), process.output(0)
    state = (
        "is running; look at it with get_task_output" if output.running else f"ended with exit code {view.exit_code}"
    )
    note = f" {process.note}" if process.note else ""
    data: JsonObject = {"processId": view.id, "running": output.running, "exitCode": view.exit_code, "task": label}
    said = shortened(output.output)
    text = f"The task {label} {state}.{note}\n{said or '(no output)'}"
    return success(text, data, whole_of(output.output, said))


class RunTask(_Running):
    """Runs a task by its name."""

    name = "run_task"
    doing = "Running task"
    properties: ClassVar[JsonObject] = {"label": _LABEL}

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("label") or "")

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return await self.task_access(await self._named(arguments, context), context)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        return await self.run(await self._named(arguments, context), context, feedback)

    async def _named(self, arguments: JsonObject, context: CallContext) -> Task:
        def work() -> Task:
            found = self.tasks.find(context.conversation_id, working_root(context.working_directory))
            return found.named(require_string(arguments, "label"))

        return await asyncio.to_thread(work)


class CreateAndRunTask(_Running):
    """Makes a task for this conversation, or for the project, and runs it."""

    name = "create_and_run_task"
    doing = "Running new task"
    properties: ClassVar[JsonObject] = {
        "task": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "command": {"type": "string"},
                "args": {"type": "array", "items": {"type": "string"}},
                "type": {"type": "string", "enum": ["shell", "process"]},
                "isBackground": {"type": "boolean", "description": "Leave it running."},
            },
            "required": ["label", "command"],
        },
        "save": {"type": "boolean", "description": "Also keep it in .vscode/tasks.json; the person is asked."},
    }

    def __init__(self, terminals: Terminals, tasks: ConversationTasks, workspace: Workspace) -> None:
        super().__init__(terminals, tasks)
        self._workspace = workspace

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return the task's name."""
        task = arguments.get("task")
        return str(task.get("label") or "") if isinstance(task, dict) else ""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the command, and the file that it is kept in."""
        task = await asyncio.to_thread(_task, arguments, context)
        access = await self.task_access(task, context)
        if not optional_bool(arguments, "save", False):
            return access
        place = _file(context)
        use = await asyncio.to_thread(self._workspace.use, place, "writes")
        steps = await asyncio.to_thread(self._steps, arguments, context)
        return msgspec.structs.replace(access, paths=(use,), preview=access.preview | shown_changes(steps))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Keep it and run it."""
        task = await asyncio.to_thread(_task, arguments, context)
        changes: JsonObject = {}
        if optional_bool(arguments, "save", False):
            self._workspace.hold(context, [await asyncio.to_thread(self._workspace.use, _file(context), "writes")])
            steps = await asyncio.to_thread(self._steps, arguments, context)
            changes = shown_changes(steps, await self._workspace.carry_out(steps, context))
        self.tasks.add(context.conversation_id, task)
        output = await self.run(task, context, feedback)
        return msgspec.structs.replace(output, data=output.data | joined_changes(changes, output.data))

    def _steps(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        place, described = _file(context), _described(arguments)
        if look(place) is None:
            text = json.dumps({"version": "2.0.0", "tasks": [described]}, indent=2, ensure_ascii=False) + "\n"
            return [*missing_folders(place), WriteFile(place, None, text.encode())]
        before = self._workspace.read(place, msgspec.structs.replace(context, access=None))
        if len(before.content) > limits.TASK_FILE_BYTES:
            raise BadArgument(f"{vscode.FILE} is too large to be a list of tasks.", "BAD_FILE")
        return [WriteFile(place, before, self._with_task(before.content, described).encode())]

    def _with_task(self, content: bytes, described: JsonObject) -> str:
        try:
            adding = vscode.Adding(content.decode(errors="replace"), described)
            added = self.tasks.helper.ask(vscode.added, adding)
        except Unreadable as error:
            raise BadArgument(f"{vscode.FILE} cannot be read: {error.why}.", "BAD_FILE") from None
        if added.problem:
            raise BadArgument(added.problem, added.code)
        return added.text


def _described(arguments: JsonObject) -> JsonObject:
    given = arguments.get("task")
    if not isinstance(given, dict):
        raise BadArgument("`task` is missing; it needs a label and a command.")
    label, command = require_string(given, "label").strip(), require_string(given, "command")
    if not label or len(label) > limits.CHOICE_CHARS or not label.isprintable():
        raise BadArgument(f"A task's label has 1 to {limits.CHOICE_CHARS} characters on one line.")
    if len(command) + len(str(given.get("args") or "")) > limits.COMMAND_CHARS:
        raise BadArgument("The command is too long; put it into a file and run that.")
    kind = optional_string(given, "type", "shell") or "shell"
    described: JsonObject = {"label": label, "type": kind, "command": command}
    if given.get("args"):
        described["args"] = given["args"]
    return described | ({"isBackground": True} if optional_bool(given, "isBackground", False) else {})


def _task(arguments: JsonObject, context: CallContext) -> Task:
    described = _described(arguments)
    text, argv = vscode.command_of(described, working_root(context.working_directory))
    background = bool(described.get("isBackground"))
    return Task(source=_MADE, label=described["label"], text=text, argv=argv, background=background)


def _file(context: CallContext) -> Place:
    return Place(working_root(context.working_directory), tuple(vscode.FILE.split("/")), True)


class GetTaskOutput(BuildOperation):
    """Looks at the last run of a task."""

    name = "get_task_output"
    doing = "Reading task output"
    icon = "terminal"
    properties: ClassVar[JsonObject] = {"label": _LABEL}

    def __init__(self, terminals: Terminals, tasks: ConversationTasks) -> None:
        super().__init__(terminals)
        self._tasks = tasks

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("label") or "")

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Say that it looks at what a command wrote."""
        access = await super().access(arguments, context)
        return msgspec.structs.replace(access, operation=f"{TOOL}.{self.name}")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return its output and how it stands."""
        label = optional_string(arguments, "label").strip()
        process_id = self._tasks.process(context.conversation_id, label)
        process = self._terminals.background(context.conversation_id, process_id)
        return told(label or process.view().command, process)
