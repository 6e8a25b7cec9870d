"""Commands that look for a way out through what the machine itself offers: services, devices, its own folders."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox import launch
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from tests.support.terminals import HOLDING, sandbox


@pytest.fixture(params=HOLDING)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    made = sandbox(tmp_path / "data", request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def beside() -> Iterator[Path]:
    """A folder that commands see: neither temporary nor the working directory."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        yield Path(folder)


async def run(held: Sandbox, folder: str | Path, *argv: str, network: bool = False) -> bytes:
    return (await SandboxRunner(held).run(argv, str(folder), 20.0, network)).output


@pytest.mark.case("EXFIL-02")
@pytest.mark.parametrize("network", [False, True])
async def test_a_service_that_listens_beside_the_usual_places_cannot_be_reached(
    held: Sandbox, work: Path, beside: Path, network: bool
) -> None:
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('through')"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as own:
        service = str(beside / f"{held.kind()}-{network}")
        listener.bind(service)
        listener.listen()
        said = await run(held, work, "python3", "-c", script, service, network=network)
        assert b"through" not in said
        if held.kind() == "bubblewrap":
            # What the project has for itself stays.
            own.bind(str(work / "own"))
            own.listen()
            assert b"through" in await run(held, work, "python3", "-c", script, "own", network=network)


async def test_a_service_that_ends_while_a_command_starts_costs_no_command(
    work: Path, tmp_path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sandbox(tmp_path / "data", "bubblewrap")
    seen = iter([(str(beside / "gone" / "service"),), ()])
    monkeypatch.setattr("pilothouse.tools.sandbox.sandbox.services", lambda: next(seen))
    try:
        assert await run(made, work, "echo", "done") == b"done\n"
    finally:
        made.close()


@pytest.mark.case("EXFIL-02")
async def test_with_the_network_there_are_sockets_for_it_and_pairs_of_them(held: Sandbox, work: Path) -> None:
    script = "import socket; socket.socketpair(); socket.create_server(('127.0.0.1', 0)); print('good')"
    assert b"good" in await run(held, work, "python3", "-c", script, network=True)


@pytest.mark.case("CMD-10")
@pytest.mark.parametrize("folder", ["/", "/proc", "/dev/shm", "/sys/kernel", "/run"])
async def test_no_command_is_run_where_nothing_can_hold_it(held: Sandbox, folder: str) -> None:
    with pytest.raises(BadArgument, match="choose another working directory"):
        await run(held, folder, "echo", "here")


_SPEAKING = "import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + {name!r}); print('reached')"
_BOTH = "import socket; a = socket.socket(socket.AF_UNIX); a.bind(chr(0) + 'inside'); a.listen(); " + _SPEAKING


@pytest.mark.case("FS-05", "EXFIL-02")
@pytest.mark.parametrize("network", [False, True])
async def test_a_command_reaches_no_service_that_listens_without_a_file(
    held: Sandbox, work: Path, network: bool
) -> None:
    if held.kind() == "bubblewrap" and launch.landlock_version() < 6:
        pytest.skip("this kernel cannot keep a command with the network from them")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0service-of-the-machine-{os.getpid()}")
        service.listen()
        name = f"service-of-the-machine-{os.getpid()}"
        assert b"reached" not in await run(held, work, "python3", "-c", _SPEAKING.format(name=name), network=network)


async def test_a_command_with_the_network_has_the_network_and_services_of_its_own(tmp_path: Path, work: Path) -> None:
    made = sandbox(tmp_path / "data", "bubblewrap")
    try:
        assert await run(made, work, "python3", "-c", _BOTH.format(name="inside"), network=True) == b"reached\n"
        with socket.create_server(("127.0.0.1", 0)) as listener:
            script = f"import socket; socket.create_connection({listener.getsockname()!r}); print('reached')"
            assert await run(made, work, "python3", "-c", script, network=True) == b"reached\n"
    finally:
        made.close()
