"""The terminal that the person and the agent share."""

from __future__ import annotations

import asyncio
import os
import re
import time
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.terminal.output_buffer import Ring
from pilothouse.tools.terminal.recording import Began, Recording
from pilothouse.tools.terminal.screen import Output, render
from pilothouse.tools.terminal.session import Window
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.tools.terminal.text import TypedLine, decode, plain
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.terminals import SandboxKind, TerminalSettings
from tests.support.processes import all_ended, processes_with
from tests.support.terminals import KINDS, TerminalCalls, open_terminal_tool
from tests.support.waiting import AT_ONCE, PATIENCE, eventually

pytestmark = pytest.mark.slow
_PROMPT = re.compile(r"^/\S* [#$] ", re.MULTILINE)


async def prompted(terminal: TerminalCalls, times: int = 1) -> None:
    """Wait until the shell has asked for input so many times; a line that ends with \\r\\n is two lines to it."""

    async def look() -> bool:
        return len(_PROMPT.findall((await terminal.does("get_history")).text)) >= times

    await eventually(look, "a prompt")


@pytest.mark.case("TST-11", "TRM-07", "TRM-08", "TRM-09", "TRM-11", "TRM-17")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_session_is_created_typed_at_read_and_closed(kind: SandboxKind, home: Path, work: Path) -> None:
    async with open_terminal_tool(home, work, kind) as terminal:
        created = await terminal.does("create_session", conversation_id=terminal.conversation_id)
        assert created.data["sessionId"] == terminal.conversation_id
        assert created.data["ttyName"].startswith("/dev/pts/")
        await prompted(terminal)
        typed = await terminal.does("send_input", session_id=terminal.conversation_id, input="echo te''st\r\n")
        assert typed.data["endIndex"] > 0
        await terminal.says("\ntest\n")
        await prompted(terminal, 3)
        read = await terminal.does("get_output", session_id=terminal.conversation_id, from_index=0)
        assert "test" in read.text
        assert f"end_index: {read.data['endIndex']}." in read.text
        assert (await terminal.does("get_output", from_index=read.data["endIndex"])).text.endswith("(no output)")
        await terminal.does("close_session", session_id=terminal.conversation_id)
        assert "NOT_FOUND" in await terminal.fails("get_output")


@pytest.mark.case("TRM-15")
async def test_input_is_sent_as_it_is_and_runs_only_with_a_line_end(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await prompted(terminal)
    await terminal.types("echo one")
    assert "\none\n" not in (await terminal.types(" two"))
    await terminal.types(" three\r\n")
    await terminal.says("\none two three\n")


@pytest.mark.case("TRM-16")
async def test_typing_waits_for_the_answer_but_never_long(
    terminal: TerminalCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await terminal.does("create_session")
    await prompted(terminal)
    usual = limits.TERMINAL_ANSWER
    monkeypatch.setattr(limits, "TERMINAL_ANSWER", PATIENCE)
    # Only the first bytes of the answer are certain to be in it: on a busy machine the rest may come after a pause.
    assert "(no output)" not in await terminal.types("echo $((6*7))\r\n")
    await terminal.says("\n42\n")
    monkeypatch.setattr(limits, "TERMINAL_ANSWER", usual)
    began = time.monotonic()
    await terminal.types("sleep 30\r\n")
    assert time.monotonic() - began < AT_ONCE
    await terminal.types("\x03")


@pytest.mark.case("TRM-21")
async def test_variables_and_folders_stay_from_one_command_to_the_next(terminal: TerminalCalls, work: Path) -> None:
    (work / "below").mkdir()
    await terminal.does("create_session")
    await terminal.types("cd below; NAME=harbour; greet() { echo hello $NAME; }\r\n")
    await terminal.types("greet; pwd\r\n")
    said = await terminal.says("hello harbour")
    assert f"{work}/below" in said


@pytest.mark.case("TRM-18", "TRM-19")
async def test_a_session_is_used_again_until_the_folder_is_another(terminal: TerminalCalls, work: Path) -> None:
    first = await terminal.terminals.open_terminal(terminal.conversation_id, str(work), 80, 24)
    again = await terminal.terminals.open_terminal(terminal.conversation_id, str(work), 80, 24)
    assert first.pid == again.pid
    other = work / "other"
    other.mkdir()
    await terminal.types("sleep 90488101 &\r\n")
    moved = await terminal.terminals.open_terminal(terminal.conversation_id, str(other), 80, 24)
    assert (moved.pid != first.pid, moved.working_directory) == (True, str(other))
    assert all_ended("90488101")
    (listed,) = (await terminal.terminals.terminals(terminal.conversation_id)).sessions
    assert listed == moved


@pytest.mark.case("TRM-13", "TRM-17")
async def test_sessions_are_listed_with_their_id_and_folder_and_belong_to_one_conversation(
    terminal: TerminalCalls, work: Path
) -> None:
    await terminal.does("create_session")
    (listed,) = (await terminal.terminals.terminals(terminal.conversation_id)).sessions
    assert (listed.session_id, listed.working_directory) == (terminal.conversation_id, str(work))
    assert (listed.shell, listed.running, listed.sandbox) == ("bash", True, "bubblewrap")
    assert (await terminal.terminals.terminals("c-of-another")).sessions == ()
    for operation in ("send_input", "get_output", "get_history", "get_terminal_buffer", "close_session"):
        typed = {"input": "id\r\n"} if operation == "send_input" else {}
        assert "no terminal session" in await terminal.fails(operation, session_id="c-of-another", **typed)


async def test_a_session_that_does_not_exist_is_told_in_one_sentence(terminal: TerminalCalls) -> None:
    for operation in ("send_input", "get_output", "get_history", "get_terminal_buffer", "close_session"):
        typed = {"input": "x"} if operation == "send_input" else {}
        assert "no terminal session" in await terminal.fails(operation, **typed)


@pytest.mark.case("TRM-12")
async def test_programs_are_told_the_size_of_the_window(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.terminals.resize(terminal.conversation_id, 97, 31)
    await terminal.types("stty size\r\n")
    await terminal.says("31 97")
    await terminal.terminals.resize(terminal.conversation_id, 0, 10**9)
    await terminal.types("stty size\r\n")
    await terminal.says("1000 2")


@pytest.mark.case("TRM-20")
async def test_the_person_and_the_agent_type_into_the_same_session(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.terminals.type(terminal.conversation_id, b"WHO=person\r")
    await terminal.types("echo from the $WHO\r\n")
    await terminal.says("from the person")


@pytest.mark.case("TRM-14", "TRM-25")
@pytest.mark.parametrize("kind", KINDS)
async def test_closing_ends_everything_in_the_session(kind: SandboxKind, home: Path, work: Path) -> None:
    async with open_terminal_tool(home, work, kind) as terminal:
        await terminal.does("create_session")
        # The quotes keep the shell that starts them from being taken for them: it has their numbers in its own words.
        stubborn = (
            "trap '' HUP TERM; (setsid sleep 9048820''1 &); "
            "(setsid nohup sleep 9048820''2 >/dev/null &); sleep 9048820''3"
        )
        await terminal.types(f'bash -c "{stubborn}" & disown\r\n')

        async def running() -> bool:
            return all(processes_with(f"9048820{mark}") for mark in "123")

        await eventually(running, "all of them")
        began = time.monotonic()
        await terminal.does("close_session")
        assert time.monotonic() - began < AT_ONCE
        assert all_ended("904882")


@pytest.mark.case("TRM-25")
async def test_what_listens_is_told_politely_before_it_is_killed(
    terminal: TerminalCalls, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All the time that it needs; then the shell ends by itself, and nothing is waited for any more.
    monkeypatch.setattr(limits, "COMMAND_GRACE", 2 * PATIENCE)
    await terminal.does("create_session")
    await terminal.types(
        "bash -c 'trap \"echo asked > told; exit\" TERM; echo ready; while :; do sleep 0.05; done'; exit\r\n"
    )
    await terminal.says("\nready")
    await terminal.does("close_session")
    assert (work / "told").read_text() == "asked\n"


@pytest.mark.case("TRM-10")
async def test_the_whole_history_is_there_also_when_it_is_longer_than_memory(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("echo the-be''ginning; seq 1 400000; echo the-e''nd\r\n")
    said = await terminal.says("\nthe-end")
    assert "\nthe-beginning\n" in said
    assert "the middle is left out" in said
    session = terminal.terminals.session(terminal.conversation_id)
    assert session.ring.start > 0


@pytest.mark.case("TRM-22")
async def test_it_is_bash_on_a_terminal_of_256_colours(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("echo $TERM ${BASH_VERSION:+is-bash}; test -t 0 && echo a-tt''y\r\n")
    said = await terminal.says("\na-tty")
    assert "xterm-256color is-bash" in said


@pytest.mark.case("TRM-22")
def test_code_page_437_becomes_lines_and_boxes() -> None:
    old = bytes([0xC9, 0xCD, 0xBB, 0x0D, 0x0A, 0xBA, 0xDB, 0xBA])
    assert decode(old) == "╔═╗\r\n║█║"
    assert decode("déjà ╔".encode()) == "déjà ╔"
    # A character that was cut in two is not taken for old ones.
    assert decode("déjà ╔".encode()[2:-1]) == "jà "
    # The line-drawing set of a terminal, and a screen that is drawn over.
    assert render(Output("\x1b(0lqk\x1b(B\x1b[2;1Hhello\x1b[2;1Hj", 10, 3)) == "┌─┐\njello"


async def test_old_programs_draw_boxes_in_the_terminal(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("clear; printf '\\311\\315\\273\\n'; read -p wait''ing\r\n")
    await terminal.says("waiting")
    assert (await terminal.does("get_terminal_buffer")).text.splitlines()[0] == "╔═╗"
    await terminal.types("\r\n")


@pytest.mark.case("TRM-22", "TRM-29")
async def test_another_shell_may_be_chosen_and_one_that_is_not_installed_is_told(terminal: TerminalCalls) -> None:
    terminal.settings = TerminalSettings(shell="sh")
    await terminal.does("create_session")
    await terminal.types("echo ${BASH_VERSION:-plain} $0\r\n")
    await terminal.says("plain ")
    await terminal.does("close_session")
    terminal.settings = TerminalSettings(shell="fish")
    if not any(os.access(f"{folder}/fish", os.X_OK) for folder in os.environ["PATH"].split(":")):
        assert "The shell fish is not installed." in await terminal.fails("create_session")


@pytest.mark.case("TRM-03")
async def test_the_visible_screen_is_what_a_person_sees(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types(
        "clear; printf 'old text\\rnew\\n\\033[31mred\\033[0m\\n'; seq 1 200 >/dev/null; echo at-the-e''nd\r\n"
    )
    await terminal.says("\nat-the-end")
    screen = (await terminal.does("get_terminal_buffer")).text.splitlines()
    assert screen[:3] == ["new text", "red", "at-the-end"]


@pytest.mark.case("TRM-05")
async def test_the_agent_sees_what_the_person_selected(terminal: TerminalCalls) -> None:
    assert "Nothing is selected" in (await terminal.does("get_terminal_selection")).text
    await terminal.terminals.select(terminal.conversation_id, "error: no such table")
    assert (await terminal.does("get_terminal_selection")).text == "error: no such table"


@pytest.mark.case("TRM-04")
async def test_the_last_command_may_be_one_that_was_typed(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("echo wromg\x7f\x7fng\r\n")
    assert (await terminal.does("get_last_command")).data["command"] == "echo wrong"


def test_typed_lines_are_followed_as_far_as_typing_tells() -> None:
    line = TypedLine()
    line.typed(b"ls -l\r")
    line.typed(b"rm everything\x15pwd\x1b[A\n\r\n")
    assert line.entered == "pwd"
    line.typed(b"half a li")
    line.typed(b"\x03")
    line.typed(b"\r")
    assert line.entered == "pwd"


@pytest.mark.case("TRM-23")
async def test_the_buffer_starts_small_grows_and_is_cleared_at_the_end(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    session = terminal.terminals.session(terminal.conversation_id)
    assert session.ring.capacity == limits.TERMINAL_BUFFER_FIRST == 4096
    await terminal.types("seq 1 5000; echo en''d\r\n")
    await terminal.says("\nend")
    assert session.ring.capacity > 4096
    await terminal.does("close_session")
    assert session.ring.read(0, 10) == b""


def test_a_ring_keeps_the_newest_bytes_at_their_indexes() -> None:
    ring = Ring(start=100, first=4, most=8)
    ring.add(b"abcdef")
    assert (ring.start, ring.end, ring.capacity) == (100, 106, 8)
    ring.add(b"ghijkl")
    assert (ring.start, ring.end) == (104, 112)
    assert ring.read(0, 3) == b"efg"
    assert ring.read(110, 99) == b"kl"


@pytest.mark.case("TRM-24")
async def test_output_comes_as_it_is_written_and_ends_with_the_session(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    pieces: list[tuple[int, bytes]] = []

    async def follow() -> None:
        async with aclosing(terminal.terminals.output(terminal.conversation_id, 0)) as output:
            async for piece in output:
                pieces.append(piece)

    reading = asyncio.create_task(follow())
    await terminal.terminals.type(terminal.conversation_id, b"echo fol''lowed; exit 3\r")
    await asyncio.wait_for(reading, 10)
    assert b"followed" in b"".join(piece for _, piece in pieces)
    ends = [index + len(piece) for index, piece in pieces]
    assert [index for index, _ in pieces] == [0, *ends[:-1]]
    (listed,) = (await terminal.terminals.terminals(terminal.conversation_id)).sessions
    assert (listed.running, listed.exit_code) == (False, 3)
    assert "has ended" in await terminal.fails("send_input", input="ls\r\n")


async def test_a_program_that_does_not_read_is_told_about_and_input_is_bounded(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("stty -icanon -echo; sleep 90488301\r\n")

    async def flood() -> None:
        for _ in range(40):
            await terminal.terminals.type(terminal.conversation_id, b"x" * limits.TERMINAL_INPUT_BYTES)

    with pytest.raises(PilothouseError, match="does not read"):
        await flood()
    with pytest.raises(PilothouseError, match="too much"):
        await terminal.terminals.type(terminal.conversation_id, b"x" * (limits.TERMINAL_INPUT_BYTES + 1))


# --- recordings ----------------------------------------------------------------------------------


@pytest.mark.case("TRM-29")
async def test_a_session_is_shown_again_after_a_restart_with_its_folder_and_its_output(home: Path, work: Path) -> None:
    sandbox = Sandbox(home, TerminalSettings)
    first = Terminals(sandbox, home / "recordings")
    await first.open_terminal("c1", str(work), 90, 25)
    await first.type("c1", b"echo before-the-re''start\r")

    async def said() -> bool:
        return b"before-the-restart" in (await first.session("c1").read(0, 100_000))[1]

    await eventually(said, "its output")
    await first.close()
    second = Terminals(sandbox, home / "recordings")
    (listed,) = (await second.terminals("c1")).sessions
    assert (listed.running, listed.working_directory, listed.columns) == (False, str(work), 90)
    shown = b"".join([piece async for _, piece in second.output("c1", 0)])
    assert b"before-the-restart" in shown
    assert listed.end_index == len(shown)
    # A new session goes on where the old one ended; readers keep their place.
    again = await second.open_terminal("c1", str(work), 90, 25)
    assert second.session("c1").began.index == len(shown)
    assert again.running
    await second.close()


@pytest.mark.case("TRM-29")
async def test_a_recording_is_an_asciicast_that_players_read(terminal: TerminalCalls) -> None:
    with pytest.raises(PilothouseError, match="no recording"):
        await terminal.terminals.recording(terminal.conversation_id)
    await terminal.does("create_session")
    await terminal.terminals.resize(terminal.conversation_id, 100, 40)
    await terminal.types("echo on-the-re''cord\r\n")
    await terminal.says("on-the-record")
    recording = await terminal.terminals.recording(terminal.conversation_id)
    header, *events = [msgspec.json.decode(line) for line in recording.data.splitlines()]
    assert (header["version"], header["width"], header["height"]) == (2, 120, 30)
    assert recording.name.endswith(".cast")
    assert any(kind == "o" and "on-the-record" in text for _, kind, text in events)
    assert any(kind == "r" and text == "100x40" for _, kind, text in events)
    times = [event[0] for event in events]
    assert times == sorted(times)
    assert times[0] >= 0


async def test_a_full_recording_stops_and_the_session_goes_on(
    terminal: TerminalCalls, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RECORDING_BYTES", 20_000)
    await terminal.does("create_session")
    await terminal.types("seq 1 20000; echo still-he''re\r\n")
    await terminal.says("\nstill-here")
    session = terminal.terminals.session(terminal.conversation_id)
    assert session.recording.stopped == "The recording is full."
    assert sum(path.stat().st_size for path in (home / "recordings").glob("*.bytes")) <= 20_000
    before = session.ring.end
    await terminal.does("close_session")
    await terminal.does("create_session")
    # Indexes never go back, although a new recording was begun.
    assert terminal.terminals.session(terminal.conversation_id).began.index >= before


async def test_a_disk_that_takes_no_more_stops_the_recording_not_the_session(home: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    recording = Recording(blocked, "c1")
    recording.begin(Began(folder="/", shell="bash", columns=80, rows=24, at=0.0, sandbox="none", index=0))
    recording.add(b"something")
    # What a terminal does that waits for the disk.
    going_on: list[bool] = []
    recording.when_written(lambda: going_on.append(True))
    await recording.close()
    assert "cannot be written" in recording.stopped
    assert going_on == [True]


async def test_what_a_crash_cut_short_in_a_recording_is_passed_over(home: Path, tmp_path: Path) -> None:
    recording = Recording(tmp_path, "c1")
    recording.begin(Began(folder="/w", shell="bash", columns=80, rows=24, at=0.0, sandbox="none", index=0))
    recording.add(b"hello")
    await recording.close()
    with (tmp_path / "c1.times").open("ab") as file:
        file.write(b'[1.0,"o",')
    again = Recording(tmp_path, "c1")
    assert again.last is not None
    assert again.last.folder == "/w"
    assert b'"hello"' in await again.cast("c1")


async def test_a_session_that_ended_holds_no_output_and_shows_all_of_it(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    await terminal.types("echo fare''well; exit\r")
    session = terminal.terminals.session(terminal.conversation_id)
    async with asyncio.timeout(10):
        await asyncio.wait([session._watching])
    assert session.ring.start == session.ring.end > 0
    assert "\nfarewell\n" in (await terminal.does("get_output", from_index=0)).text
    assert session.view(terminal.conversation_id).end_index == session.ring.end


async def test_nothing_is_typed_at_a_shell_that_is_being_put_away(
    terminal: TerminalCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await terminal.does("create_session")
    session = terminal.terminals.session(terminal.conversation_id)
    ending, go, end = asyncio.Event(), asyncio.Event(), session._child.end

    async def slowly() -> None:
        ending.set()
        await go.wait()
        await end()

    monkeypatch.setattr(session._child, "end", slowly)
    session.type(b"exit\r")
    async with asyncio.timeout(10):
        await ending.wait()
    # The number of its descriptor may be another file's by now.
    session.resize(Window(50, 20))
    with pytest.raises(BadArgument, match="has ended"):
        session.type(b"rm -rf everything\r")
    go.set()


async def test_everything_of_a_deleted_conversation_ends_and_its_recording_goes_in_time(
    terminal: TerminalCalls, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await terminal.does("create_session")
    await terminal.types("sleep 90488401 &\r\n")
    await terminal.does("run_command", command="touch /tmp/x; sleep 90488402", is_background=True)
    await terminal.terminals.forget(terminal.conversation_id)
    assert all_ended("904884")
    assert terminal.conversation_id not in os.listdir(home / "scratch" / str(os.getpid()))
    sandbox = terminal.terminals.sandbox
    # Brought back, it has its recording; deleted again and for too long, it has none.
    restored = Terminals(sandbox, home / "recordings")
    found = await restored.terminals(terminal.conversation_id)
    assert [each.running for each in found.sessions] == [False]
    await restored.forget(terminal.conversation_id)
    monkeypatch.setattr(limits, "UNDO_DELETE_DAYS", 0)
    late = Terminals(sandbox, home / "recordings")
    assert os.listdir(home / "recordings") == []
    assert (await late.terminals(terminal.conversation_id)).sessions == ()


def test_text_for_a_model_has_neither_colours_nor_overwritten_progress() -> None:
    raw = "\x1b]0;title\x07\x1b[1;32mok\x1b[0m\r\n 10%\r 50%\r100%\r\nab\x08\x08cd\x07\n\x1b[?2004h$ "
    assert plain(raw) == "ok\n100%\ncd\n$ "
