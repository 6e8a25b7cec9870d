"""What a person named is seen by commands wherever it is, also in /tmp, and nothing else there is."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.sandbox.visible import Named, Shown, shown_places
from pilothouse.types.terminals import Ran
from tests.support.terminals import HOLDING, sandbox


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in a place that is emptied for commands."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def work(place: Path) -> Path:
    folder = place / "work"
    folder.mkdir()
    return folder


@pytest.fixture(params=HOLDING)
def held(request: pytest.FixtureRequest, place: Path) -> Iterator[Sandbox]:
    made = sandbox(place / "project" / "data", request.param)
    yield made
    made.close()


@pytest.fixture
def project(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a program that needs its neighbours; where the program is, is on the path."""
    folder = place / "project"
    for path, content in {
        "pyproject.toml": "",
        "lib/words": "its own words",
        "data/secrets/key": "canary",
        "env/bin/tool": f"#!/bin/sh\ncat {folder}/lib/words\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    (folder / "env/bin/tool").chmod(0o755)
    (place / "beside").write_text("canary")
    monkeypatch.setenv("PATH", f"{folder}/env/bin:{os.environ['PATH']}")
    return folder


async def run(held: Sandbox, folder: Path, script: str) -> Ran:
    return await SandboxRunner(held).run(["bash", "-c", script], str(folder), 20.0)


@pytest.mark.slow
@pytest.mark.case("CMD-10", "FS-13")
async def test_a_program_on_the_path_works_wherever_it_is_and_nothing_beside_it_is_seen(
    held: Sandbox, work: Path, project: Path, place: Path
) -> None:
    assert (await run(held, work, "tool")).output == b"its own words"
    ran = await run(held, work, f"cat {place}/beside {project}/data/secrets/key; ls -R {project}/data; find {place}")
    assert b"canary" not in ran.output
    assert b"key" not in ran.output
    assert b"beside" not in ran.output
    ran = await run(held, work, f"echo x >> {project}/lib/words; rm -rf {project}/lib")
    assert ran.exit_code != 0
    assert (project / "lib/words").read_text() == "its own words"


@pytest.mark.slow
@pytest.mark.case("EXFIL-02")
async def test_a_socket_in_what_is_shown_leads_nowhere(held: Sandbox, work: Path, project: Path) -> None:
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('through')"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(project / "lib" / "service"))
        service.listen()
        ran = await SandboxRunner(held).run(
            ["python3", "-c", script, f"{project}/lib/service"], str(work), 20.0, network=True
        )
        assert b"through" not in ran.output
        assert (await run(held, work, "tool")).output == b"its own words"


@pytest.mark.slow
@pytest.mark.case("FS-05")
async def test_a_link_that_a_command_made_opens_nothing(
    held: Sandbox, work: Path, project: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "victim" / "bin").mkdir(parents=True)
    (place / "victim" / "bin" / "letter").write_text("canary")
    (work / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{work}/bin:{os.environ['PATH']}")
    await run(held, work, f"rmdir bin && ln -s {place}/victim/bin bin")
    ran = await run(held, work, f"cat bin/letter {place}/victim/bin/letter")
    assert b"canary" not in ran.output


@pytest.mark.slow
async def test_a_folder_in_a_project_comes_with_the_project(held: Sandbox, project: Path) -> None:
    (project / "part").mkdir()
    ran = await run(held, project / "part", "cat ../lib/words && echo new > mine; touch ../other ../lib/other")
    assert ran.output == b"its own words"
    assert (project / "part/mine").exists()
    assert not (project / "other").exists()
    assert not (project / "lib/other").exists()


def test_a_program_comes_with_its_installation_and_a_folder_is_just_itself(place: Path, project: Path) -> None:
    def shown(path: Path, *, program: bool = True) -> list[str]:
        named = Named((str(path),)) if program else Named((), (str(path),))
        return [each.path for each in shown_places(named, "/nowhere", ())]

    (place / "made/bin").mkdir(parents=True)
    (place / "made/bin/tool").touch()
    (place / "open").mkdir()
    (place / "open").chmod(0o1777)
    (place / "open/tool").touch()
    assert shown(project / "env/bin/tool") == [str(project)]
    assert shown(project / "env/bin") == [str(project)]
    assert shown(project / "env/bin", program=False) == [str(project / "env/bin")]
    assert shown(place / "made/bin/tool") == [str(place / "made")]
    # In a folder that everybody may write to nothing belongs to it.
    assert shown(place / "open/tool") == [str(place / "open/tool")]
    assert shown(place / "open") == []
    assert shown(place / "missing") == []
    assert shown(Path("/tmp")) == shown(Path("/tmp"), program=False) == shown(Path("/usr/bin")) == []


def test_what_a_link_leads_to_is_shown_too_under_its_own_name(place: Path, project: Path) -> None:
    (place / "links").mkdir()
    (place / "links/tool").symlink_to(project / "env/bin/tool")
    (place / "short").symlink_to(project / "lib")
    found = shown_places(Named((str(place / "links/tool"),), (str(place / "short"),)), "/nowhere", ())
    assert found == (
        Shown(str(place / "links"), str(place / "links")),
        Shown(str(project), str(project)),
        Shown(str(place / "short"), str(project / "lib")),
    )


def test_what_is_hidden_is_left_out_entry_by_entry(project: Path) -> None:
    named = Named((str(project / "env/bin/tool"),))
    found = shown_places(named, "/nowhere", (str(project / "data/secrets"),))
    assert {each.path for each in found} == {str(project / name) for name in ("pyproject.toml", "lib", "env")}
    assert shown_places(named, "/nowhere", (str(project.parent),)) == ()
