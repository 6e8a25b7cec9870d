"""Commands that mean harm, and honest ones that look alike."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import socket
import tarfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
import pytest_asyncio

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.ports import ToolOutput
from pilothouse.types.terminals import Ran, SandboxKind, TerminalSettings
from tests.support.lag import MOST, longest_turn
from tests.support.processes import all_ended, processes_with
from tests.support.sampling import first_and_some
from tests.support.terminals import HOLDING, KINDS, TerminalCalls, open_terminal_tool, sandbox
from tests.support.tools import Silent
from tests.support.waiting import eventually

SMALL = Caps(tasks=60, file_bytes=1024**2, memory_bytes=512 * 1024**2)


@pytest_asyncio.fixture
async def terminal(home: Path, work: Path) -> AsyncIterator[TerminalCalls]:
    async with open_terminal_tool(home, work) as opened:
        yield opened


@pytest.fixture(params=HOLDING)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    made = sandbox(tmp_path / "data", request.param, SMALL)
    yield made
    made.close()


async def run(held: Sandbox, folder: Path, script: str, timeout: float = 20.0) -> Ran:
    return await SandboxRunner(held).run(["bash", "-c", script], str(folder), timeout)


# --- CMD-07: nobody is there to answer -----------------------------------------------------------


@pytest.mark.case("CMD-07")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python3 -c 'input(\"password: \")'", "Nobody can type here"),
        ("read -r answer </dev/tty", "Nobody can type here"),
        ("python3 -c 'import getpass; getpass.getpass()'", "Nobody can type here"),
        ("ssh-keygen -y -f key", ""),
        ("cat", "Exit code 0"),
        ('read -r answer; echo "got <$answer>"', "got <>"),
        ("git clone https://git.example/private.git", "had no network"),
    ],
)
async def test_a_command_that_wants_input_ends_at_once_and_says_so(
    terminal: TerminalCalls, command: str, said: str
) -> None:
    # One that waited would end with its time, and fail.
    assert said in await terminal.run(command)


@pytest.mark.case("CMD-07")
async def test_no_pager_and_no_editor_ever_opens(terminal: TerminalCalls, work: Path) -> None:
    identity = "git config user.email a@b.c; git config user.name n"
    log = await terminal.run(
        f"git init -q .; {identity}; git commit -q --allow-empty -m first; git log; git --paginate diff"
    )
    assert "first" in log
    edited = await terminal.run("git commit --allow-empty")
    assert "There is no editor here" in edited
    # The honest form of the same.
    assert (await terminal.run("git commit -q --allow-empty -m second && git log --oneline | wc -l")).endswith("2\n")


@pytest.mark.case("CMD-07")
async def test_the_administrators_rights_cannot_be_had(terminal: TerminalCalls, work: Path) -> None:
    assert "no administrator's rights" in await terminal.run("echo 'sudo: a password is required' >&2; exit 1")
    # A program that would become root is not root here: the kernel passes over its mark.
    assert "NoNewPrivs:\t1" in await terminal.run("grep NoNewPrivs /proc/self/status")
    assert "CapEff:\t0000000000000000" in await terminal.run("grep CapEff /proc/self/status")


# --- CMD-09: what would take the machine down ----------------------------------------------------


@pytest.mark.case("CMD-09", "F-59")
async def test_a_fork_bomb_is_bounded_ended_and_the_host_answers_all_the_while(held: Sandbox, work: Path) -> None:
    (work / "bomb-90411").write_text("bomb() { bomb | bomb & }; bomb; sleep 100\n")
    bomb = asyncio.create_task(run(held, work, "bash ./bomb-90411", timeout=1.5))
    most = 0

    async def count() -> None:
        nonlocal most
        while not bomb.done():
            most = max(most, len(await asyncio.to_thread(processes_with, "bomb-90411")))

    turn = await longest_turn(count())
    ran = await bomb
    assert ran.timed_out or ran.exit_code != 0
    # Nothing is counted while the loop stands still.
    assert 0 < most <= SMALL.tasks + 20
    assert turn < MOST
    assert all_ended("bomb-90411")
    # Afterwards everything works as before.
    assert (await run(held, work, "echo fine")).output == b"fine\n"


async def test_a_command_with_many_honest_processes_is_not_disturbed(held: Sandbox, work: Path) -> None:
    ran = await run(held, work, "for i in $(seq 30); do sleep 0.2 & done; wait; echo all")
    assert ran.output == b"all\n", ran.errors


@pytest.mark.case("CMD-09")
async def test_a_memory_hog_is_refused_memory_and_dies_before_we_do(held: Sandbox, work: Path) -> None:
    ran = await run(held, work, "python3 -c 'x = bytearray(2 * 1024**3); print(\"had it\")'")
    assert ran.exit_code != 0
    assert b"MemoryError" in ran.errors
    assert b"had it" not in ran.output
    assert (await run(held, work, "cat /proc/self/oom_score_adj")).output == b"800\n"


async def test_a_command_that_needs_some_memory_gets_it(held: Sandbox, work: Path) -> None:
    assert (await run(held, work, "python3 -c 'print(len(bytearray(100 * 1024**2)))'")).output == b"104857600\n"


@pytest.mark.case("CMD-09", "F-59")
async def test_a_file_without_an_end_is_stopped(held: Sandbox, work: Path) -> None:
    ran = await run(held, work, "yes > big")
    assert ran.exit_code != 0
    assert (work / "big").stat().st_size <= SMALL.file_bytes


@pytest.mark.case("CMD-09", "F-59", "F-42")
async def test_a_command_that_fills_the_disk_is_ended_while_there_is_room(home: Path, work: Path) -> None:
    free = shutil.disk_usage(work).free
    # As if nearly all of what is free now had to stay free.
    caps = Caps(disk_reserve=free - 50 * 1024**2, disk_share=1.0)
    async with open_terminal_tool(home, work, caps=caps) as terminal:
        script = "i=0; while :; do head -c 4000000 /dev/zero > part$i; i=$((i+1)); done"
        output = await terminal.call("run_command", command=script, timeout=60)
    shutil.rmtree(work)
    assert output.error is not None
    assert (output.error.code, "almost full" in output.text) == ("DISK_FULL", True)


@pytest.mark.case("CMD-09", "F-59")
async def test_an_output_without_end_costs_no_memory_and_ends_in_time(terminal: TerminalCalls) -> None:
    endless = "yes 0123456789012345678901234567890123456789"
    before = psutil.Process().memory_info().rss
    output = await terminal.call("run_command", command=f"{endless} | head -c 400000000", timeout=600)
    grown = psutil.Process().memory_info().rss - before
    assert output.data["outputBytes"] == 400_000_000
    assert grown < 64 * 1024**2
    output = await terminal.call("run_command", command=endless, timeout=1)
    assert output.error is not None
    assert "ended after 1 s" in output.text


@pytest.mark.case("CMD-09")
async def test_no_core_file_is_ever_written(held: Sandbox, work: Path) -> None:
    assert (await run(held, work, "ulimit -c")).output == b"0\n"
    await run(held, work, "bash -c 'kill -SEGV $$'")
    assert os.listdir(work) == []


# --- CMD-08: nothing stays behind ----------------------------------------------------------------


@pytest.mark.case("CMD-08")
@pytest.mark.parametrize("kind", first_and_some(KINDS, share=0.4))
@pytest.mark.parametrize(
    "escape",
    [
        "(setsid nohup sleep 90422001 >/dev/null 2>&1 &)",
        "python3 -c 'import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
        "time.sleep(90422001)'",
        "env -i setsid sleep 90422001 & disown -a",
        "trap '' TERM INT HUP; (trap '' TERM; sleep 90422001) & ",
    ],
)
async def test_nothing_gets_away_by_forking_twice(kind: SandboxKind, escape: str, home: Path, work: Path) -> None:
    async with open_terminal_tool(home, work, kind) as terminal:
        await terminal.run(f"{escape}\necho done")
        assert all_ended("90422001")
        await terminal.call("run_command", command=f"{escape}\nsleep 90422002", timeout=0.4)
        assert all_ended("904220")


@pytest.mark.case("CMD-08")
@pytest.mark.parametrize("kind", HOLDING)
async def test_a_command_cannot_end_what_holds_it(kind: SandboxKind, home: Path, work: Path) -> None:
    async with open_terminal_tool(home, work, kind) as terminal:
        text = await terminal.run("kill -9 $PPID; kill -9 -1; echo survived", timeout=10)
        assert "Exit code" in text
        assert all_ended("90422")


# --- CMD-10: the folder that was looked at -------------------------------------------------------


def replace(folder: Path, other: Callable[[], None]) -> None:
    """Move a folder away and put something else in its place."""
    folder.rename(folder.parent / "moved")
    other()


@pytest.mark.case("CMD-10")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_folder_that_was_replaced_by_a_link_is_refused(kind: SandboxKind, home: Path, work: Path) -> None:
    elsewhere = work.parent / "elsewhere"
    elsewhere.mkdir()
    async with open_terminal_tool(home, work, kind) as terminal:
        context = terminal.context()
        given: dict[str, object] = {"operation": "run_command", "command": "touch here"}
        access = await terminal.tool.access(given, context)
        assert isinstance(access, Access)
        replace(work, lambda: work.symlink_to(elsewhere))
        output = await terminal.execute(given, context, access)
        assert output.error is not None
        assert os.listdir(elsewhere) == []


@pytest.mark.case("CMD-10")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_folder_that_was_replaced_by_another_of_its_name_is_refused(
    kind: SandboxKind, home: Path, work: Path
) -> None:
    async with open_terminal_tool(home, work, kind) as terminal:
        context = terminal.context()
        given: dict[str, object] = {"operation": "run_command", "command": "touch here"}
        access = await terminal.tool.access(given, context)
        assert isinstance(access, Access)
        replace(work, work.mkdir)
        output = await terminal.execute(given, context, access)
        assert output.error is not None
        assert output.error.code == "CONFLICT"
        assert os.listdir(work) == []
        # The same call, looked at again, is fine.
        assert (await terminal.call("run_command", command="touch here")).error is None
        assert os.listdir(work) == ["here"]


@pytest.mark.case("CMD-10")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_folder_that_is_swapped_all_the_time_is_never_mistaken(
    kind: SandboxKind, work: Path, tmp_path: Path
) -> None:
    """Whatever happens between opening the folder and starting the command, it runs in that folder or not at all."""
    trap = tmp_path / "trap"
    trap.mkdir()
    made = sandbox(tmp_path / "data", kind)
    script = f"cd {tmp_path}; while :; do mv work real; ln -s trap work; rm work; mv real work; done"
    swapping = await asyncio.create_subprocess_exec("sh", "-c", script)
    ended: list[str] = []
    try:
        for _ in range(40):
            try:
                ran = await SandboxRunner(made).run(["touch", "mark"], str(work), 10.0)
            except BadArgument as refused:
                ended.append(refused.code)
            else:
                ended.append("ran" if ran.exit_code == 0 else "refused inside")
    finally:
        swapping.kill()
        await swapping.wait()
        made.close()
    assert os.listdir(trap) == []
    assert len(ended) == 40


# --- FS-13: archives -----------------------------------------------------------------------------


# Takes every name as it is, as careless programs do.
UNPACK = """\
import zipfile
archive = zipfile.ZipFile("a.zip")
for name in archive.namelist():
    try:
        open(name, "wb").write(archive.read(name))
    except OSError as error:
        print(error)
"""


def hostile_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../escaped.txt", "out")
        archive.writestr("../../escaped.txt", "out")
        archive.writestr("/etc/escaped-90433", "out")
        archive.writestr("honest.txt", "in")


def hostile_tar(path: Path, outside: Path) -> None:
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("door")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(link)
        for name in ("door/escaped.txt", "../escaped.txt", "honest.txt"):
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"in"))


@pytest.mark.case("FS-13")
async def test_an_archive_cannot_leave_the_folder_it_is_unpacked_in(held: Sandbox, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    hostile_zip(work / "a.zip")
    hostile_tar(work / "a.tar", outside)
    (work / "unpack.py").write_text(UNPACK)
    await run(held, work, "python3 unpack.py; tar -xPf a.tar; tar -xf a.tar --overwrite")
    assert os.listdir(outside) == []
    assert sorted(os.listdir(tmp_path)) == ["data", "outside", "work"]
    assert "escaped-90433" not in os.listdir("/etc")
    assert (work / "honest.txt").read_text() == "in"


@pytest.mark.case("FS-13")
async def test_an_archive_that_unfolds_without_end_is_stopped(held: Sandbox, work: Path) -> None:
    with zipfile.ZipFile(work / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("huge", b"\0" * (64 * 1024**2))
    assert (work / "bomb.zip").stat().st_size < 100_000
    ran = await run(held, work, "python3 -m zipfile -e bomb.zip .")
    assert (ran.exit_code != 0, (work / "huge").exists()) == (True, True), ran
    assert (work / "huge").stat().st_size <= SMALL.file_bytes


async def test_an_honest_archive_is_unpacked(held: Sandbox, work: Path) -> None:
    ran = await run(held, work, "mkdir s; echo a > s/a; tar -czf s.tgz s; rm -r s; tar -xzf s.tgz; cat s/a")
    assert ran.output == b"a\n"


# --- EXFIL-02 and ways out of the sandbox --------------------------------------------------------


@pytest.mark.case("EXFIL-02")
async def test_services_of_this_machine_cannot_be_reached_by_their_sockets(
    held: Sandbox, work: Path, tmp_path: Path
) -> None:
    """A daemon that does what it is told by a socket, like a container engine, would be a way out."""
    outside = tmp_path / "service"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as abstract:
        listener.bind(str(outside))
        listener.listen()
        abstract.bind("\0pilothouse-test-90444")
        abstract.listen()
        for address in (repr(str(outside)), repr("\0pilothouse-test-90444")):
            script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({address}); print('through')"
            (work / "s.py").write_text(script)
            assert b"through" not in (await run(held, work, "python3 s.py")).output


@pytest.mark.parametrize(
    "way",
    [
        "cat /proc/1/root{secret}; cat /proc/self/root{secret}",
        "ls /proc/*/cwd /proc/*/fd; cat /proc/*/root{secret}",
        "for fd in /proc/self/fd/*; do cat $fd/..{secret}; cat $fd{secret}; done",
        "mount --bind / mnt; cat mnt{secret}",
        "unshare -Ur sh -c 'umount -l {folder}; mount -t proc proc /proc; cat {secret}'",
        "python3 -c 'import os; os.chroot(\".\")'; cat {secret}",
        "ln {secret} mine; cat mine",
        "mknod disk b 254 0; head -c 10 disk",
        "nsenter -t 1 -m cat {secret}",
        "timeout 2 gdb -p 1 -batch; timeout 1 strace -p 1; cat {secret}",
    ],
)
async def test_no_known_way_leads_to_what_is_hidden(held: Sandbox, work: Path, tmp_path: Path, way: str) -> None:
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    secret = data / "secret"
    secret.write_text("canary-90455")
    ran = await run(held, work, way.format(secret=secret, folder=data))
    assert b"canary" not in ran.output + ran.errors
    assert secret.read_text() == "canary-90455"


async def test_no_descriptor_of_ours_reaches_a_command(held: Sandbox, work: Path, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w"):
        ran = await run(held, work, "ls -l /proc/self/fd")
    listed = [line.rpartition("-> ")[2] for line in ran.output.decode().splitlines() if "->" in line]
    assert [line for line in listed if line.startswith("/") and not line.startswith(("/dev/null", "/proc/"))] == []


@pytest.mark.case("SECRET-09")
async def test_variables_are_not_on_anybodys_command_line(held: Sandbox, work: Path) -> None:
    runner = SandboxRunner(held)
    task = asyncio.create_task(
        runner.run(["sleep", "90466001"], str(work), 20, environment={"HANDED": "canary-in-a-variable"})
    )

    async def begun() -> bool:
        return bool(processes_with("90466001"))

    await eventually(begun, "the command")
    assert all_ended("canary-in-a-variable")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_start_files_of_shells_are_not_read(
    terminal: TerminalCalls, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "person"
    mine.mkdir()
    for name in (".bashrc", ".profile", ".bash_profile", ".zshrc"):
        (mine / name).write_text("export LEAKED=canary-of-a-start-file; echo $LEAKED\n")
    monkeypatch.setenv("HOME", str(mine))
    monkeypatch.setenv("BASH_ENV", str(mine / ".bashrc"))
    monkeypatch.setenv("ENV", str(mine / ".bashrc"))
    assert "canary" not in await terminal.run("env; bash -c env")
    await terminal.does("create_session")
    await terminal.types("env; echo ev''erything\r\n")
    assert "canary" not in await terminal.says("\neverything")


async def test_a_session_of_a_conversation_is_reached_by_no_other(terminal: TerminalCalls) -> None:
    await terminal.does("create_session")
    other = msgspec.structs.replace(terminal.context(), conversation_id="c_another")
    for operation in ("send_input", "get_output", "get_history", "get_terminal_buffer", "close_session"):
        for session_id in (terminal.conversation_id, "", "../c", "c_another"):
            given: dict[str, object] = {"operation": operation, "input": "id\r\n", "session_id": session_id}
            assert isinstance(await terminal.tool.access(given, other), ToolOutput) or operation.startswith("get")
            output = await terminal.tool.execute(given, other, Silent())
            assert isinstance(output, ToolOutput)
            assert output.error is not None
    assert terminal.terminals.session(terminal.conversation_id).running


@pytest.mark.case("EXFIL-01")
async def test_a_session_that_began_with_the_network_speaks_for_strangers_until_it_ends(
    terminal: TerminalCalls,
) -> None:
    terminal.settings = TerminalSettings(network=True)
    await terminal.does("create_session")
    terminal.settings = TerminalSettings()
    for operation in ("get_output", "get_history", "get_terminal_buffer", "create_session", "get_terminal_selection"):
        assert (await terminal.touched(operation)).brings == {"private", "untrusted"}
    assert (await terminal.touched("send_input", input="curl x\r\n")).destination == "anywhere"
    await terminal.does("close_session")
    # What was marked in it stays marked.
    assert (await terminal.touched("get_terminal_selection")).brings == {"private", "untrusted"}
    await terminal.does("create_session")
    assert (await terminal.touched("get_history")).brings == {"private"}
    assert (await terminal.touched("get_terminal_selection")).brings == {"private"}


@pytest.mark.case("EXFIL-01")
async def test_a_command_that_nothing_holds_may_bring_strangers_words_without_a_word_about_the_network(
    home: Path, work: Path
) -> None:
    async with open_terminal_tool(home, work, "none") as terminal:
        assert (await terminal.touched("run_command", command="git fetch; git log")).brings == {"private", "untrusted"}
        assert (await terminal.touched("get_terminal_output")).brings == {"private", "untrusted"}
        await terminal.does("create_session")
        assert (await terminal.touched("get_history")).brings == {"private", "untrusted"}
    async with open_terminal_tool(home, work) as terminal:
        assert (await terminal.touched("run_command", command="git log")).brings == {"private"}
        assert (await terminal.touched("get_terminal_output")).brings == {"private"}


async def test_hidden_escape_sequences_of_a_command_do_not_reach_the_model(terminal: TerminalCalls) -> None:
    text = await terminal.run(
        r"printf '\033]0;title\007\033[8mhidden\033[0m \033]8;;http://evil\033\\link\033]8;;\033\\\n'"
    )
    assert "\x1b" not in text
    assert "evil" not in text
    assert len(text) < limits.RESULT_CHARS
