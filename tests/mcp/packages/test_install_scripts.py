"""What a package may run while it is looked up and installed: nothing, unless the person allowed it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.mcp_hosting import Hosted
from tests.support.package_indexes import Indexes
from tests.support.pinned import consent_of, where
from tests.support.waiting import eventually


async def test_install_scripts_run_only_where_the_person_allowed_them(
    hosted: Hosted, index: Indexes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    code = f"require('fs').writeFileSync('{mark}',process.env.HOME + ' ' + process.env.npm_config_secret_auth)"
    index.node("tiny-server", "1.0.0", scripts={"postinstall": f'node -e "{code}"'})
    monkeypatch.setenv("npm_config_secret_auth", "a-credential-of-mine")
    view, consent = await consent_of(hosted, "npx -y tiny-server")
    assert "Install scripts do not run." in consent.installs
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    await where(hosted)
    assert not mark.exists()
    changed = await hosted.admin.update(ME, view.id, ServerInput(command_line="npx -y tiny-server", scripts=True))
    assert changed.consent is not None
    assert "Install scripts may run now." in changed.consent.changes
    assert any("run while they are installed" in warning for warning in changed.consent.warnings)
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=changed.consent.fingerprint))
    # The same packages lie there already; they are installed anew for their scripts.
    await eventually(lambda: _exists(mark), "the script to run", 60)
    own, credential = mark.read_text().split()
    assert own.endswith(f"/servers/{view.id}/cache/home"), "it has a home of its own"
    assert credential == "undefined"


async def _exists(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


def in_git(repository: Path, scripts: dict[str, str]) -> None:
    """Make a package that is a repository."""
    repository.mkdir()
    (repository / "package.json").write_text(json.dumps({"name": "part", "version": "1.0.0", "scripts": scripts}))
    who = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=repository, check=True)


@pytest.mark.parametrize("scripts", [False, True])
async def test_a_package_of_git_is_never_prepared_neither_when_it_is_looked_up_nor_when_it_is_installed(
    hosted: Hosted, index: Indexes, tmp_path: Path, scripts: bool
) -> None:
    repository, prepared, installed = tmp_path / "part", tmp_path / "prepared", tmp_path / "installed"
    in_git(repository, {"prepare": f"touch {prepared}", "postinstall": f"touch {installed}"})
    index.node("tiny-server", "1.0.0", dependencies={"part": f"git+file://{repository}"})
    view = await hosted.add(ServerInput(command_line="npx -y tiny-server", scripts=scripts), agree=False)
    assert view.consent is not None, view.last_error
    assert not prepared.exists()
    assert not installed.exists()
    assert any("Nobody vouches for the content of part" in warning for warning in view.consent.warnings)
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    assert (await where(hosted))["version"] == "1.0.0"
    assert not prepared.exists()
    assert installed.exists() is scripts


@pytest.mark.parametrize("scripts", [False, True])
async def test_nothing_is_built_before_the_person_agreed(
    hosted: Hosted, index: Indexes, tmp_path: Path, scripts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    mark = tmp_path / "ran"
    project = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    code = f"open({str(mark)!r}, 'w').close()\n"
    index.source("tiny-server", "1.0.0", {"pyproject.toml": project, "own.py": code})
    view = await hosted.add(ServerInput(name="Tiny", command_line="uvx tiny-server", scripts=scripts), agree=False)
    assert not await asyncio.to_thread(mark.exists)
    if scripts:
        # uvx builds it where it is started, once that is allowed.
        assert view.consent is not None, view.last_error
        assert view.consent.argv[-1] == "tiny-server"
        assert view.consent.installs == ()
    else:
        assert "tiny-server must be built here, which runs code of its packages" in view.last_error
