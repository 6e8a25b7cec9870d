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
from tests.mcp.packages.tiny_server import consent_of, where
from tests.support.mcp_hosting import McpHost
from tests.support.package_indexes import Indexes

# Each installs a package.
pytestmark = pytest.mark.slow


async def test_scripts_run_only_where_the_person_allowed_them_and_a_package_of_git_is_never_prepared(
    hosted: McpHost, index: Indexes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, prepared, installed = tmp_path / "ran", tmp_path / "prepared", tmp_path / "installed"
    code = f"require('fs').writeFileSync('{mark}',process.env.HOME + ' ' + process.env.npm_config_secret_auth)"
    in_git(tmp_path / "part", {"prepare": f"touch {prepared}", "postinstall": f"touch {installed}"})
    needs = {"part": f"git+file://{tmp_path / 'part'}"}
    index.node("tiny-server", "1.0.0", scripts={"postinstall": f'node -e "{code}"'}, dependencies=needs)
    monkeypatch.setenv("npm_config_secret_auth", "a-credential-of-mine")

    def ran() -> list[str]:
        return [path.name for path in (mark, prepared, installed) if path.exists()]

    view, consent = await consent_of(hosted, "npx -y tiny-server")
    assert "Install scripts do not run." in consent.installs
    assert any("Nobody vouches for the content of part" in warning for warning in consent.warnings)
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=consent.fingerprint))
    assert (await where(hosted))["version"] == "1.0.0"
    assert ran() == []
    changed = await hosted.admin.update(ME, view.id, ServerInput(command_line="npx -y tiny-server", scripts=True))
    assert changed.consent is not None
    assert "Install scripts may run now." in changed.consent.changes
    assert any("run while they are installed" in warning for warning in changed.consent.warnings)
    assert ran() == []
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=changed.consent.fingerprint))
    # The same packages lie there already; they are installed anew for their scripts.
    assert (await where(hosted))["version"] == "1.0.0"
    assert ran() == ["ran", "installed"]
    own, credential = mark.read_text().split()
    assert own.endswith(f"/servers/{view.id}/cache/home"), "it has a home of its own"
    assert credential == "undefined"


def in_git(repository: Path, scripts: dict[str, str]) -> None:
    """Make a package that is a repository."""
    repository.mkdir()
    (repository / "package.json").write_text(json.dumps({"name": "part", "version": "1.0.0", "scripts": scripts}))
    who = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=repository, check=True)


@pytest.mark.parametrize("scripts", [False, True])
async def test_nothing_is_built_before_the_person_agreed(
    hosted: McpHost, index: Indexes, tmp_path: Path, scripts: bool, monkeypatch: pytest.MonkeyPatch
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
