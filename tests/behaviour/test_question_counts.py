"""How often a person is asked: small tasks as agents do them, in each mode, with answers for this task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pilothouse.types.access import Access, Effect
from pilothouse.types.api import Answer
from pilothouse.types.authority import ChosenMode, Mode
from pilothouse.types.item_data import CallData
from pilothouse.types.items import is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.chats import ME, Chat, open_chat
from tests.support.repositories import make_repository
from tests.support.tools import ToolOf, add_tools
from tests.support.waiting import eventually

ANYTHING: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
MODES: tuple[ChosenMode, ...] = ("default", "ask", "auto_edit", "sandboxed", "auto_approve")
# Stands for a file beside the working directory.
BESIDE = "BESIDE"
REQUEST = "Make the greeting friendlier and look for a ticket about it"


class ServerTool(ToolOf):
    """A tool of a server: on this machine and without a way out, or at a host."""

    def __init__(self, name: str, host: str = "") -> None:
        async def act(arguments: JsonObject, context: CallContext) -> ToolOutput:
            return ToolOutput(text="A ticket that nobody typed.")

        server = name.partition("__")[0]
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        super().__init__(name, act, server=server, effects=ANYTHING, schema=schema)
        self.grant_key = f"{server}-id:{name}:1"
        self.touching = lambda given, _context: Access(
            operation=self.qualified_name,
            effects=ANYTHING,
            destination=host,
            through=server if host else "",
            brings=frozenset({"private", "untrusted"}),
            source=f"server:{server}",
        )


def a_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


def read(path: str) -> dict[str, Any]:
    return a_call("file_operations", operation="read_file", filePath=path)


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return a_call("file_operations", operation="replace_string", filePath=path, oldString=old, newString=new)


def run(command: str, **more: Any) -> dict[str, Any]:
    return a_call("terminal_operations", operation="run_command", command=command, **more)


LOOKING = [[read("src/greet.py"), read("src/words.py"), read("tests/check.sh")]]
CHANGING = [
    [edit("src/greet.py", "Hello", "Hello there")],
    [edit("src/words.py", "Bye", "See you")],
    [run("sh tests/check.sh")],
    [edit("tests/check.sh", "Hello", "Hello there")],
    [edit("src/words.py", "See you", "See you soon")],
    [run("sh tests/check.sh")],
]
TICKETS = [[a_call("tickets__find", text="greeting in greet.py")], [a_call("tickets__note", text="done in words.py")]]


def at(host: str, *names: str) -> tuple[ServerTool, ...]:
    return tuple(ServerTool(name, host) for name in names)


LOCAL = at("", "tickets__find", "tickets__note")
REMOTE = at("tickets.example.com", "tickets__find", "tickets__note")
THREE = (*at("pages.example.com", "web__open", "web__type"), *at("", "notes__write"), *REMOTE)
TWO = (ServerTool("notes__read", "notes.example.com"), ServerTool("tickets__note", "tickets.example.com"))


class Task(NamedTuple):
    """What an agent does, with which servers, and how often the person is asked in each of the modes."""

    name: str
    turns: Sequence[Sequence[dict[str, Any]]]
    servers: Sequence[ServerTool]
    questions: dict[Mode, int]
    # Whether it takes something private elsewhere.
    sends: bool = False


TASKS = [
    Task(
        "a small coding task with a local server",
        [*LOOKING, *CHANGING, *TICKETS],
        LOCAL,
        {"ask": 4, "auto_edit": 3, "sandboxed": 0, "auto_approve": 0},
    ),
    Task(
        "the same with a remote one",
        [*LOOKING, *CHANGING, *TICKETS],
        REMOTE,
        {"ask": 4, "auto_edit": 3, "sandboxed": 1, "auto_approve": 1},
        sends=True,
    ),
    Task(
        "what one server told goes to another, twice",
        [
            [a_call("notes__read", text="ticket")],
            [a_call("tickets__note", text="a ticket that nobody typed")],
            [a_call("tickets__note", text="and another")],
        ],
        TWO,
        {"ask": 2, "auto_edit": 2, "sandboxed": 1, "auto_approve": 1},
        sends=True,
    ),
    Task(
        "a page is noted and made a ticket, with notes that stay here",
        [
            [a_call("web__open", text="greeting")],
            [a_call("notes__write", text="what the page says")],
            [a_call("tickets__find")],
            [a_call("tickets__note", text="what the page and the notes say")],
            [a_call("tickets__find", text="what the notes say")],
            [a_call("web__open", text="what the ticket names")],
            [a_call("web__type", text="what the ticket says")],
        ],
        THREE,
        {"ask": 7, "auto_edit": 7, "sandboxed": 2, "auto_approve": 2},
    ),
    Task(
        "mails and appointments, to and fro",
        [
            [a_call("calendar__list")],
            [a_call("mail__list")],
            [a_call("mail__send", text="what the calendar says")],
            [a_call("calendar__add", text="what the mail says")],
            [a_call("mail__send", text="what was added")],
            [a_call("calendar__list"), a_call("mail__list")],
        ],
        (*at("m.example.com", "mail__list", "mail__send"), *at("c.example.com", "calendar__list", "calendar__add")),
        {"ask": 4, "auto_edit": 4, "sandboxed": 2, "auto_approve": 2},
        sends=True,
    ),
    Task(
        "building, and throwing the build away",
        [[run("mkdir build && cp src/greet.py build/")], [run("rm -rf build")], [run("git status --short")]],
        (),
        {"ask": 3, "auto_edit": 3, "sandboxed": 0, "auto_approve": 1},
    ),
    Task(
        "a command with the network",
        [[run("true")], [run("true", network=True)], [run("true", network=True)]],
        (),
        {"ask": 2, "auto_edit": 2, "sandboxed": 1, "auto_approve": 1},
        sends=True,
    ),
    Task(
        "a command that goes on behind its call, which undo cannot cover",
        [[run("true", is_background=True)]],
        (),
        {"ask": 1, "auto_edit": 1, "sandboxed": 1, "auto_approve": 0},
    ),
    Task(
        "writing next to the folder",
        [[a_call("file_operations", operation="create_file", filePath=BESIDE, content="x")]],
        (),
        {"ask": 1, "auto_edit": 1, "sandboxed": 1, "auto_approve": 0},
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project")
    (folder / "src").mkdir()
    (folder / "tests").mkdir()
    (folder / "src" / "greet.py").write_text("print('Hello')\n")
    (folder / "src" / "words.py").write_text("BYE = 'Bye'\n")
    (folder / "tests" / "check.sh").write_text("grep -q Hello src/greet.py\n")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return what is in the files of a project, those of git apart."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.name: path.read_bytes() for path in files}


async def asked(chat: Chat, *, denied: bool = False) -> int:
    """Do the task; answer each question for this task, if it takes that, or deny it; return how many there were."""
    questions, run_id = 0, (await chat.send(REQUEST)).run_id

    async def status() -> str | None:
        now = (await chat.api.runs.get(ME, run_id)).status
        return None if now in ("queued", "running") else now

    while (ended := await eventually(status, "the run to end or to ask")) == "waiting":
        waiting = [item for item in await chat.items("question") if item.status == "waiting"]
        for question in waiting:
            choices = [choice["id"] for choice in question.raw["choices"]]
            choice = "deny" if denied else "task" if "task" in choices else "allow"
            await chat.api.questions.answer(ME, question.id, Answer(choice=choice))
        questions += len(waiting)
    assert ended == "completed"
    return questions


@asynccontextmanager
async def doing(home: Path, project: Path, task: Task, mode: ChosenMode) -> AsyncIterator[Chat]:
    """Open a conversation in which an agent will do the task."""
    settings = {"working_directory": str(project), "mode": mode}
    turns = json.loads(json.dumps([*task.turns, "Done."]).replace(BESIDE, str(project.parent / "beside.txt")))
    async with open_chat(home, turns, settings=settings) as chat:
        add_tools(chat.host, *task.servers)
        for server in task.servers:
            server.calls.clear()
        yield chat


@pytest.mark.sampled(always=("what one server told goes to another, twice-default",), share=0.25)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("task", [task for task in TASKS if task.sends], ids=lambda task: task.name)
async def test_of_what_is_denied_nothing_was_sent(home: Path, project: Path, task: Task, mode: ChosenMode) -> None:
    async with doing(home, project, task, mode) as chat:
        assert await asked(chat, denied=True) > 0
        for tool in task.servers:
            # What the person wrote may go anywhere; nothing that was read did.
            assert {given["text"] for given, _ in tool.calls if given} <= set(REQUEST.split()), tool.spec.name
        for call in [item for item in await chat.items("tool_call") if is_a(item, CallData)]:
            access = call.data.access
            if access is not None and access.command is not None and access.command.network:
                assert call.data.decision is not None
                assert call.data.decision.verdict == "deny"


@pytest.mark.sampled(
    always=(
        "a small coding task with a local server-auto_edit",
        "the same with a remote one-default",
        "mails and appointments, to and fro-auto_approve",
        "a command with the network-sandboxed",
        "writing next to the folder-ask",
    ),
    share=0.2,
)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
async def test_a_person_is_asked_so_often_and_nothing_leaves_unasked(
    home: Path, project: Path, task: Task, mode: ChosenMode
) -> None:
    async with doing(home, project, task, mode) as chat:
        # Where nobody chose, a folder is sandboxed.
        assert await asked(chat) == task.questions["sandboxed" if mode == "default" else mode]
        calls = [item for item in await chat.items("tool_call") if is_a(item, CallData)]
        assert [call.status for call in calls] == ["completed"] * len(calls)
        private: set[str] = set()
        for call in calls:
            access, decision = call.data.access, call.data.decision
            assert access is not None
            assert decision is not None
            # A call without arguments takes nothing along.
            if access.destination and call.data.arguments and private - {access.source}:
                assert decision.authority in ("person", "grant"), call.data.tool
            if "private" in access.brings:
                private.add(access.source)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
async def test_in_a_read_only_conversation_nobody_is_asked_and_nothing_is_done(
    home: Path, project: Path, task: Task
) -> None:
    before = contents(project)
    async with doing(home, project, task, "read_only") as chat:
        assert await asked(chat) == 0
        assert [tool.spec.name for tool in task.servers if tool.calls] == []
    assert contents(project) == before
    assert not (project.parent / "beside.txt").exists()
