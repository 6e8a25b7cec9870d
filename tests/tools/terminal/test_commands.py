"""Commands that the agent runs."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from pilothouse.tools.sandbox.processes import Child
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.sandbox import Order
from pilothouse.tools.terminal import commands
from pilothouse.tools.terminal.output_buffer import HeadTail
from pilothouse.tools.terminal.running import RunCommand
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.terminals import TerminalSettings
from tests.support.processes import all_ended, processes_with
from tests.support.terminals import TerminalCalls
from tests.support.tools import Silent
from tests.support.waiting import AT_ONCE, eventually

pytestmark = pytest.mark.slow


@pytest.mark.case("TRM-01", "TRM-26")
async def test_a_command_is_run_and_its_output_and_exit_code_are_told(terminal: TerminalCalls, work: Path) -> None:
    (work / "notes.md").write_text("hello")
    output = await terminal.does("run_command", command="cat notes.md; echo; echo wrong >&2; exit 3")
    assert output.text.startswith("Exit code 3 after ")
    assert output.text.endswith("hello\nwrong\n")
    assert output.data["exitCode"] == 3


async def test_words_are_run_without_a_shell(terminal: TerminalCalls) -> None:
    output = await terminal.does("run_command", argv=["echo", "$HOME; *", "`id`"])
    assert output.text.endswith("$HOME; * `id`\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "either `command`"),
        ({"command": "ls", "argv": ["ls"]}, "either `command`"),
        ({"command": "  "}, "either `command`"),
        ({"argv": [""]}, "must name a program"),
        ({"argv": "ls"}, "a list of texts"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "x" * 100_001}, "too long"),
        ({"argv": ["€" * 40_000]}, "too long"),
        ({"command": "echo \ud800"}, "no text"),
        ({"command": "ls", "timeout": 0}, "above 0"),
        ({"command": "ls", "timeout": 601}, "at most 600 seconds"),
        ({"command": "ls", "timeout": "soon"}, "must be a number"),
        ({"command": "ls", "network": "maybe"}, "true or false"),
    ],
)
async def test_what_cannot_be_run_is_refused_in_one_sentence(
    terminal: TerminalCalls, arguments: dict[str, object], said: str
) -> None:
    assert said in await terminal.fails("run_command", **arguments)


@pytest.mark.case("TRM-01")
async def test_what_a_command_touches_is_said_before_it_runs(terminal: TerminalCalls, work: Path) -> None:
    access = await terminal.touched("run_command", command="make test")
    assert access.operation == "terminal_operations.run_command"
    assert access.effects == {"runs", "writes"}
    assert access.command is not None
    assert (access.command.text, access.command.folder, access.command.sandbox) == (
        "make test",
        str(work),
        "bubblewrap",
    )
    assert not access.command.network
    assert access.brings == {"private"}
    assert (access.source, access.destination) == ("terminal", "")


@pytest.mark.case("EXFIL-02")
async def test_a_command_with_the_network_counts_as_one_that_sends(terminal: TerminalCalls) -> None:
    access = await terminal.touched("run_command", command="curl x", network=True)
    assert access.effects == {"runs", "writes", "sends"}
    assert access.command is not None
    assert access.command.network
    assert (access.destination, access.payload_bytes) == ("anywhere", 6)
    assert access.brings == {"private", "untrusted"}


async def test_the_settings_may_give_every_command_the_network(terminal: TerminalCalls) -> None:
    terminal.settings = TerminalSettings(network=True)
    access = await terminal.touched("run_command", command="ls")
    assert access.command is not None
    assert access.command.network


async def test_only_the_command_that_was_allowed_is_run(terminal: TerminalCalls, work: Path) -> None:
    context = terminal.context()
    access = await terminal.touched("run_command", command="touch allowed")
    for other in ({"command": "touch other"}, {"command": "touch allowed", "network": True}):
        output = await terminal.execute({"operation": "run_command", **other}, context, access)
        assert output.error is not None
        assert output.error.code == "CONFLICT"
    assert os.listdir(work) == []


async def test_a_command_that_was_allowed_in_a_sandbox_is_not_run_without_one(
    terminal: TerminalCalls, work: Path
) -> None:
    context = terminal.context()
    access = await terminal.touched("run_command", command="touch x")
    terminal.settings = TerminalSettings(sandbox="off")
    output = await terminal.execute({"operation": "run_command", "command": "touch x"}, context, access)
    assert output.error is not None
    assert "What holds commands has changed" in output.text
    assert os.listdir(work) == []


async def test_without_a_sandbox_no_command_is_covered_by_the_mode_that_asks_nothing(terminal: TerminalCalls) -> None:
    terminal.settings = TerminalSettings(sandbox="off")
    context = msgspec.structs.replace(terminal.context(), mode="auto_approve")
    access = await terminal.tool.access({"operation": "run_command", "command": "ls"}, context)
    assert isinstance(access, Access)
    assert "reach your secrets" in access.dangerous
    assert access.command is not None
    assert access.command.sandbox == ""


@pytest.mark.case("F-59", "CMD-08", "TRM-26")
async def test_a_command_that_takes_too_long_is_ended_with_everything_it_started(
    terminal: TerminalCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The quotes keep the shell from being taken for what it starts.
    script = "echo begun; trap '' TERM; (setsid sleep 9047710''1 &); sleep 9047710''2 & sleep 9047710''3"
    real, began = commands.watched, 0.0

    async def running() -> bool:
        return all(processes_with(f"9047710{mark}") for mark in "123")

    async def watched(child: Child, folder: str, caps: Caps, timeout: float | None) -> commands.Ending:
        nonlocal began
        # Its time is counted once all of it is there, as fast as the machine may be.
        await eventually(running, "all that it starts")
        began = time.monotonic()
        return await real(child, folder, caps, timeout)

    monkeypatch.setattr(commands, "watched", watched)
    output = await terminal.call("run_command", command=script, timeout=0.5)
    assert output.error is not None
    assert output.error.code == "TIMEOUT"
    assert "ended after 0.5 s" in output.text
    assert "begun" in output.text
    assert began
    assert time.monotonic() - began < AT_ONCE
    assert all_ended("9047710")


@pytest.mark.case("CMD-08")
async def test_nothing_of_a_command_runs_on_after_it_has_ended(terminal: TerminalCalls) -> None:
    text = await terminal.run("(setsid sleep 90477111 >/dev/null 2>&1 &); nohup sleep 90477112 & echo done")
    assert "done" in text
    assert all_ended("9047711")


@pytest.mark.case("CMD-08", "TRM-26")
async def test_a_cancelled_command_is_gone_at_once(terminal: TerminalCalls) -> None:
    task = asyncio.create_task(
        terminal.call("run_command", command="trap '' TERM; setsid sleep 90477121; sleep 90477122")
    )

    async def begun() -> bool:
        return bool(processes_with("90477121"))

    await eventually(begun, "the command")
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < AT_ONCE
    assert all_ended("9047712")


@pytest.mark.case("F-59")
async def test_a_command_that_closes_its_output_and_runs_on_is_waited_for(terminal: TerminalCalls, work: Path) -> None:
    text = await terminal.run("echo first; exec >&- 2>&-; sleep 0.3; echo x > late")
    assert text.startswith("Exit code 0")
    assert (work / "late").exists()


@pytest.mark.case("F-59", "CMD-09")
async def test_endless_output_is_cut_in_the_middle_and_told(terminal: TerminalCalls) -> None:
    output = await terminal.does("run_command", command="echo begin; head -c 30000000 /dev/zero | tr '\\0' x; echo end")
    assert output.text.splitlines()[1].startswith("begin")
    assert output.text.endswith("end\n")
    assert "the middle is left out; 30,000,0" in output.text
    assert len(output.text) < limits.RESULT_CHARS
    # People get more of it than the model does.
    assert len(output.parts[0].text) > 1_000_000


async def test_of_an_output_that_is_cut_for_the_model_all_can_be_read(terminal: TerminalCalls) -> None:
    output = await terminal.does("run_command", command="seq 1 20000")
    assert "the middle is left out" in output.text
    assert output.parts[0].text.split() == [str(number) for number in range(1, 20_001)]
    short = await terminal.does("run_command", command="seq 1 5000")
    assert short.text.split()[-5000:] == [str(number) for number in range(1, 5_001)]
    assert not short.parts


async def test_progress_is_told_while_a_command_runs(terminal: TerminalCalls) -> None:
    told: list[str] = []

    class Listening(Silent):
        def progress(self, done: float | None, total: float | None, message: str) -> None:
            told.append(message)

    context = terminal.context()
    given = {"operation": "run_command", "command": "echo one; echo two"}
    access = await terminal.touched("run_command", command=given["command"])
    await terminal.tool.execute(dict(given), msgspec.structs.replace(context, access=access), Listening())
    assert told[-1] in ("one", "two")


@pytest.mark.case("TRM-26", "TMO-02")
async def test_times_are_those_that_were_agreed(terminal: TerminalCalls) -> None:
    times = {name: terminal.tool.times_for({"operation": name}).total for name in terminal.tool.supported_operations}
    assert times["run_command"] == limits.COMMAND_TIME + limits.COMMAND_SLACK == 610
    assert times["get_output"] == times["get_terminal_output"] == times["get_history"] == 30
    assert times["create_session"] == times["send_input"] == 300
    terminal.settings = TerminalSettings(timeout=1_200)
    assert RunCommand(terminal.terminals).times.total == 1_210


# --- in the background ---------------------------------------------------------------------------


@pytest.mark.case("TRM-02", "TRM-27", "CMD-08")
async def test_a_background_command_is_listed_read_and_stopped(terminal: TerminalCalls) -> None:
    output = await terminal.does("run_command", command="echo up; sleep 90477131", is_background=True)
    process_id = output.data["processId"]

    async def up() -> str | None:
        text = (await terminal.does("get_terminal_output", process_id=process_id)).text
        return text if "up\n" in text else None

    text = await eventually(up, "its output")
    assert text.startswith("It is running; end_index: 3.")
    later = await terminal.does("get_terminal_output", process_id=process_id, from_index=3)
    assert "(no new output)" in later.text
    (listed,) = (await terminal.terminals.terminals(terminal.conversation_id)).processes
    assert (listed.id, listed.command, listed.exit_code) == (process_id, "echo up; sleep 90477131", None)
    stopped = await terminal.terminals.stop_process(terminal.conversation_id, process_id)
    assert stopped.ended_at is not None
    assert all_ended("90477131")
    assert "It ended with exit code" in (await terminal.does("get_terminal_output")).text


async def test_a_background_command_that_ends_by_itself_tells_its_exit_code(terminal: TerminalCalls) -> None:
    await terminal.does("run_command", command="echo bye; exit 4", is_background=True)

    async def ended() -> str | None:
        text = (await terminal.does("get_terminal_output")).text
        return text if "exit code 4" in text else None

    assert "bye" in await eventually(ended, "its end")


async def test_a_background_command_of_another_conversation_does_not_exist(terminal: TerminalCalls) -> None:
    assert "NOT_FOUND" in await terminal.fails("get_terminal_output")
    await terminal.does("run_command", command="sleep 90477141", is_background=True)
    assert "NOT_FOUND" in await terminal.fails("get_terminal_output", process_id="p-of-another")


async def test_only_so_many_commands_run_in_the_background(terminal: TerminalCalls) -> None:
    for _ in range(limits.BACKGROUND_COMMANDS):
        await terminal.does("run_command", command="sleep 90477151", is_background=True)
    assert "run in the background already" in await terminal.fails("run_command", command="ls", is_background=True)


async def test_commands_that_ended_are_listed_until_many_others_have(
    terminal: TerminalCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BACKGROUND_KEPT", 2)
    terminals = terminal.terminals
    for number in range(4):
        order = Order(argv=("/bin/true",), folder=str(work), owner=f"c{number}")
        started = await terminals.start_background(order, "i1", "true")
        await terminals.background(f"c{number}", started.id).wait()
    await terminals.start_background(Order(argv=("/bin/true",), folder=str(work), owner="c4"), "i1", "true")
    listed = [len((await terminals.terminals(f"c{number}")).processes) for number in range(5)]
    assert listed == [0, 0, 1, 1, 1]


@pytest.mark.case("TRM-04")
async def test_the_last_command_is_told(terminal: TerminalCalls) -> None:
    assert "No command" in (await terminal.does("get_last_command")).text
    await terminal.run("exit 5")
    last = await terminal.does("get_last_command")
    assert last.data == {"command": "exit 5", "exitCode": 5}


@pytest.mark.case("TRM-06")
async def test_a_folder_is_made_with_those_above_it_and_undone(terminal: TerminalCalls, work: Path) -> None:
    await terminal.does("create_directory", path="a/b/c")
    assert (work / "a/b/c").is_dir()
    assert "EXISTS" in await terminal.fails("create_directory", path="a/b")
    assert "leaves the working directory" in await terminal.fails("create_directory", path="../x")
    access = await terminal.touched("create_directory", path="d")
    assert access.operation == "terminal_operations.create_directory"
    assert access.effects == {"writes"}
    await terminal.undo()
    assert os.listdir(work) == []


async def test_only_what_looks_is_left_of_the_tool_in_a_conversation_that_only_reads(terminal: TerminalCalls) -> None:
    limited = terminal.tool.limited(frozenset({"reads"}))
    assert limited is not None
    assert set(limited.supported_operations) == {
        "get_terminal_output",
        "get_terminal_buffer",
        "get_last_command",
        "get_terminal_selection",
        "get_output",
        "get_history",
    }


def test_the_beginning_and_the_end_of_an_output_are_kept() -> None:
    kept = HeadTail(head=4, tail=4)
    for piece in (b"abc", b"defgh", b"ijklmnopqrstuvwxyz"):
        kept.add(piece)
    assert kept.ends == (b"abcd", b"wxyz")
    assert (kept.total, kept.left_out) == (26, 18)
