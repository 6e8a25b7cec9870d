"""What a command can see and touch, whatever holds it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.cgroups import Group
from pilothouse.tools.sandbox.environment import command_environment
from pilothouse.tools.sandbox.hidden import hidden_places
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types.guarded_places import outermost
from pilothouse.types.terminals import Ran, SandboxKind, TerminalSettings
from tests.support.terminals import HOLDING, KINDS, sandbox

pytestmark = pytest.mark.slow

KEYS = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gcloud/token", ".gnupg/k")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "key").write_text("canary-of-the-data-folder")
    return folder


@pytest.fixture(params=HOLDING)
def held(request: pytest.FixtureRequest, data: Path) -> Iterator[Sandbox]:
    made = sandbox(data, request.param)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def any_kind(request: pytest.FixtureRequest, data: Path) -> Iterator[Sandbox]:
    made = sandbox(data, request.param)
    yield made
    made.close()


async def run(held: Sandbox, folder: Path, script: str, *, network: bool = False) -> Ran:
    return await SandboxRunner(held).run(["bash", "-c", script], str(folder), 20.0, network=network)


async def test_a_program_runs_in_its_folder_and_tells_its_exit_code(any_kind: Sandbox, work: Path) -> None:
    ran = await run(any_kind, work, "pwd; echo oops >&2; exit 7")
    assert (ran.exit_code, ran.output, ran.errors) == (7, f"{work}\n".encode(), b"oops\n")
    assert not ran.timed_out


async def test_a_program_that_does_not_exist_is_told_like_a_shell_tells_it(any_kind: Sandbox, work: Path) -> None:
    ran = await SandboxRunner(any_kind).run(["no-such-program-here"], str(work), 20.0)
    assert ran.exit_code == 127


async def test_the_working_directory_and_tmp_can_be_written_to(held: Sandbox, work: Path) -> None:
    ran = await run(held, work, 'echo one > a && mkdir -p b/c && mv a b/c && echo two > "$TMPDIR/t" && cat "$TMPDIR/t"')
    assert (ran.exit_code, ran.output) == (0, b"two\n")
    assert (work / "b/c/a").read_text() == "one\n"


@pytest.mark.case("FS-13")
async def test_nothing_outside_of_it_can_be_written_to(held: Sandbox, work: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "there").write_text("as it was")
    ran = await run(
        held, work, f"echo x > {beside}/new; echo x > {beside}/there; rm -rf {beside}; touch /etc/new /usr/new"
    )
    assert ran.exit_code != 0
    assert [path.name for path in beside.iterdir()] == ["there"]
    assert (beside / "there").read_text() == "as it was"
    assert "new" not in os.listdir("/etc")


async def test_what_one_command_leaves_in_tmp_the_next_one_finds(held: Sandbox, work: Path) -> None:
    await run(held, work, 'echo kept > "$TMPDIR/note"')
    assert (await run(held, work, 'cat "$TMPDIR/note"')).output == b"kept\n"
    assert "note" not in os.listdir("/tmp")


async def test_system_files_and_programs_can_be_read(held: Sandbox, work: Path) -> None:
    ran = await run(
        held, work, "cat /etc/hostname /etc/passwd | head -1 | wc -l && git --version && python3 -c 'print(6*7)'"
    )
    assert ran.exit_code == 0
    assert ran.output.endswith(b"42\n")


@pytest.mark.case("SECRET-09")
async def test_the_data_folder_is_not_there(held: Sandbox, work: Path, data: Path) -> None:
    ran = await run(held, work, f"cat {data}/key; ls {data}; grep -r canary {data}; find {data} -type f")
    assert b"canary" not in ran.output + ran.errors
    assert b"key" not in ran.output


@pytest.mark.parametrize("kind", HOLDING)
async def test_keys_in_the_home_folder_are_not_there(
    kind: SandboxKind, work: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "person"
    for secret in KEYS:
        (mine / secret).parent.mkdir(parents=True, exist_ok=True)
        (mine / secret).write_text("canary-of-a-key")
    (mine / "plain.txt").write_text("nothing secret")
    monkeypatch.setenv("HOME", str(mine))
    held = sandbox(data, kind)
    # Working in the home folder itself is the hardest case: all of it may be written to, save what is hidden.
    tries = "; ".join(
        f"cat {mine}/{secret}; cat ~/{secret}; cp -r {mine}/{secret.partition('/')[0]} x; cat x; cat x/*; rm -rf x"
        for secret in KEYS
    )
    for folder in (work, mine):
        ran = await run(held, folder, tries)
        assert b"canary" not in ran.output + ran.errors
    assert (await run(held, mine, "cat plain.txt; echo more >> plain.txt")).output == b"nothing secret"
    assert (mine / "plain.txt").read_text() == "nothing secretmore\n"
    assert {(mine / secret).read_text() for secret in KEYS} == {"canary-of-a-key"}
    held.close()


async def test_a_second_name_for_a_hidden_folder_leads_nowhere(held: Sandbox, work: Path, data: Path) -> None:
    (work / "door").symlink_to(data)
    ran = await run(held, work, "cat door/key; cat ./door/../data/key; ln -s ../data again; cat again/key")
    assert b"canary" not in ran.output + ran.errors


@pytest.mark.case("EXFIL-02")
async def test_there_is_no_network_by_default(held: Sandbox, work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        script = (
            f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo through; "
            f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)' && echo through; "
            'python3 -c \'import socket; socket.socket(2, 2).sendto(b"x", ("127.0.0.1", 53))\' && echo sent; '
            "getent hosts example.com && echo looked-up"
        )
        ran = await run(held, work, script)
        assert b"through\n" not in ran.output
        assert b"looked-up" not in ran.output
        with pytest.raises(TimeoutError):
            listener.accept()


async def test_a_command_that_may_use_the_network_reaches_it(held: Sandbox, work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        script = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]} && echo through"
        ran = await run(held, work, script, network=True)
        assert ran.output == b"through\n"
        listener.accept()[0].close()


async def test_sockets_between_processes_of_a_command_work_without_a_network(held: Sandbox, work: Path) -> None:
    script = "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"hi\"); print(b.recv(2))'"
    assert (await run(held, work, script)).output == b"b'hi'\n"


@pytest.mark.case("SECRET-09")
async def test_a_command_sees_none_of_our_variables_nor_our_memory(
    any_kind: Sandbox, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PILOTHOUSE_TOKEN", "GITHUB_TOKEN", "MY_OWN"):
        monkeypatch.setenv(name, "canary-of-a-variable")
    ran = await run(any_kind, work, "env; cat /proc/self/environ; tr '\\0' ' ' </proc/$PPID/environ")
    assert b"canary" not in ran.output
    assert b"PATH=" in ran.output


@pytest.mark.parametrize("kind", HOLDING)
async def test_a_held_command_cannot_look_into_the_host_by_its_number(
    kind: SandboxKind, work: Path, data: Path
) -> None:
    held = sandbox(data, kind)
    ran = await run(
        held, work, f"cat /proc/{os.getpid()}/environ; head -c 100 /proc/{os.getpid()}/mem; kill -0 {os.getpid()}"
    )
    assert ran.exit_code != 0
    assert b"HOME=" not in ran.output
    held.close()


def test_a_proxy_with_a_password_is_not_handed_on() -> None:
    ours = {"HTTPS_PROXY": "http://me:word@proxy:8080", "http_proxy": "http://proxy:8080", "NO_PROXY": "a@b:c"}
    given = command_environment("/tmp", "/tmp/cache", network=True, attended=False, ours=ours)
    assert "HTTPS_PROXY" not in given
    assert given["http_proxy"] == "http://proxy:8080"
    assert "http_proxy" not in command_environment("/tmp", "/tmp/cache", network=False, attended=False, ours=ours)


def test_package_managers_without_a_network_take_what_they_have() -> None:
    closed, opened = (
        command_environment("/tmp", "/tmp/cache", network=network, attended=False, ours={}) for network in (False, True)
    )
    assert (closed["UV_OFFLINE"], closed["npm_config_offline"]) == ("1", "true")
    assert not {"UV_OFFLINE", "npm_config_offline"} & set(opened)


@pytest.mark.case("CMD-10")
async def test_a_working_directory_that_lies_in_a_hidden_place_is_refused(held: Sandbox, data: Path) -> None:
    with pytest.raises(BadArgument, match="hidden"):
        await run(held, data, "cat key")


def test_a_sandbox_that_is_switched_off_or_missing_says_so(data: Path) -> None:
    off = Sandbox(data, lambda: TerminalSettings(sandbox="off"))
    assert off.view().kind == "none"
    assert "switched off" in off.view().warning
    assert "Install bubblewrap" in sandbox(data, "none").view().warning


def test_the_strongest_kind_that_works_is_chosen_by_trying(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Sandbox(data, TerminalSettings).view().kind == "bubblewrap"
    broken = data / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("pilothouse.tools.sandbox.sandbox.system_program", lambda name: str(broken))
    # Being installed is not enough.
    made = Sandbox(data, TerminalSettings)
    assert made.view().kind == "landlock"
    made.close()


@pytest.mark.case("EXFIL-02")
def test_landlock_counts_as_offline_only_where_a_trial_reached_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself it holds TCP: datagrams, and with them names, go out."""
    view = Sandbox(data, TerminalSettings, only="landlock").view()
    assert (view.kind, view.warning, view.offline, view.is_open) == ("landlock", "", True, False)
    monkeypatch.setattr("pilothouse.tools.sandbox.plans.filter_of", lambda sockets: b"")
    view = Sandbox(data, TerminalSettings, only="landlock").view()
    assert (view.kind, view.offline, view.is_open) == ("landlock", False, True)
    assert "cannot keep commands off the network" in view.warning


def test_where_no_trial_can_be_made_landlock_is_not_offline(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(address: tuple[str, int]) -> socket.socket:
        raise OSError("There is no such network.")

    monkeypatch.setattr(socket, "create_server", refused)
    assert Sandbox(data, TerminalSettings, only="landlock").view().is_open


def test_only_the_outermost_hidden_places_are_kept_by_whole_components() -> None:
    assert outermost(["/a/b", "/a/b/c", "/a/bc", "/a/b"]) == ("/a/b", "/a/bc")


def test_hidden_places_are_found_behind_links(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (tmp_path / "person").mkdir()
    (tmp_path / "person/.ssh").symlink_to(real)
    found = hidden_places(tmp_path / "data", {"HOME": str(tmp_path / "person")})
    assert str(real) in found


@pytest.mark.parametrize(
    ("files", "joined"), [(("tasks", "cgroup.procs"), "tasks"), (("cgroup.procs",), "cgroup.procs")]
)
def test_a_command_joins_its_group_alone_where_the_kernel_can_do_that(
    tmp_path: Path, files: tuple[str, ...], joined: str
) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert Group(tmp_path).joined_by == str(tmp_path / joined)
