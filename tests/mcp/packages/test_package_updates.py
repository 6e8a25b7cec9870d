"""A newer version of a package is offered with what changes, taken after consent, and never by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.mcp.packages.service import PackageService
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.servers import Consent, ServerInput, ServerView
from tests.support.mcp_hosting import McpHost, text
from tests.support.package_indexes import BROKEN, PYTHON_SERVER, Indexes

# Each installs a package.
pytestmark = pytest.mark.slow


@pytest_asyncio.fixture
async def packages(hosted: McpHost) -> PackageService:
    return PackageService(hosted.supervisor)


async def version(hosted: McpHost) -> str:
    said = json.loads(text(await hosted.call_when_known("tiny-server.where")))
    return str(said["version"])


async def newer(packages: PackageService, view: ServerView) -> tuple[PackageUpdate, Consent]:
    found = await packages.look(ME, view.id)
    assert found.consent is not None, found.message
    return found, found.consent


@pytest.mark.parametrize("line", ["npx -y tiny-server@1.0.0", "uvx tiny-server"])
async def test_a_newer_version_is_shown_with_its_difference_and_taken_after_consent(
    hosted: McpHost, index: Indexes, packages: PackageService, line: str, home: Path
) -> None:
    index.node("tiny-server", "1.0.0", dependencies={"tiny-old": "1.0.0", "tiny-same": "1.0.0"})
    index.python("tiny-server", "1.0.0", needs="tiny-old")
    index.python("tiny-old", "1.0.0", programs={})
    for name in ("tiny-old", "tiny-same", "tiny-new"):
        index.node(name, "1.0.0", bin=None)
    index.node("tiny-same", "1.1.0", bin=None)
    view = await hosted.add(ServerInput(command_line=line))
    assert await version(hosted) == "1.0.0"
    told = await packages.look(ME, view.id)
    assert (told.version, told.newest, told.consent) == ("1.0.0", "1.0.0", None)
    hosted.supervisor.parts.packages().index._locks.clear()
    index.node("tiny-server", "1.1.0", dependencies={"tiny-new": "1.0.0", "tiny-same": "1.1.0"})
    index.python("tiny-server", "1.1.0")
    found, consent = await newer(packages, view)
    assert (found.version, found.newest) == ("1.0.0", "1.1.0")
    assert "Version: was 1.0.0, is 1.1.0." in consent.changes
    assert "Packages that are gone: tiny-old." in consent.changes
    if "npx" in line:
        assert "New packages: tiny-new." in consent.changes
        assert "Packages at another version: tiny-same 1.0.0 → 1.1.0." in consent.changes
    assert await version(hosted) == "1.0.0", "looking changes nothing"
    with pytest.raises(PilothouseError) as refused:
        await packages.update(ME, view.id, UpdateAgreed(version="1.1.0", fingerprint="0" * 64))
    assert refused.value.code == "conflict"
    now = await packages.update(ME, view.id, UpdateAgreed(version="1.1.0", fingerprint=consent.fingerprint))
    assert now.package.version == "1.1.0"
    assert "1.0.0" not in now.address, "the command that is shown is the one that runs"
    # Its one tool describes itself otherwise now: it is set aside with what differs.
    shown = (await hosted.admin.tools(ME, view.id)).tools[0]
    assert (shown.state, shown.approved is not None) == ("changed", True)
    assert len(list((home / "servers" / view.id / "packages").iterdir())) == 1, "the old one is gone"
    assert (await packages.look(ME, view.id)).consent is None


@pytest.mark.parametrize("fault", ["does not install", "does not start"])
async def test_the_old_version_goes_on_where_the_newer_one_fails(
    hosted: McpHost, index: Indexes, packages: PackageService, fault: str
) -> None:
    index.python("tiny-server", "1.0.0")
    view = await hosted.add(ServerInput(command_line="uvx tiny-server"))
    assert await version(hosted) == "1.0.0"
    hosted.supervisor.parts.packages().index._locks.clear()
    index.python("tiny-server", "2.0.0", server=BROKEN if fault == "does not start" else PYTHON_SERVER)
    found, consent = await newer(packages, view)
    if fault == "does not install":
        # uv has the wheel already that it was described by.
        await hosted.supervisor.parts.packages().index.empty()
        index.replace_content("tiny_server-2.0.0")
    with pytest.raises(PilothouseError) as failed:
        await packages.update(ME, view.id, UpdateAgreed(version=found.newest, fingerprint=consent.fingerprint))
    wanted = "changed behind its version" if fault == "does not install" else "does not start, so 1.0.0 goes on"
    assert wanted in failed.value.message
    assert await version(hosted) == "1.0.0"
    view = await hosted.view("tiny-server")
    assert (view.consent, view.package.version) == (None, "1.0.0")


async def test_nothing_is_updated_by_itself(hosted: McpHost, index: Indexes) -> None:
    index.python("tiny-server", "1.0.0")
    view = await hosted.add(ServerInput(command_line="uvx tiny-server"))
    assert await version(hosted) == "1.0.0"
    index.python("tiny-server", "1.1.0")
    hosted.supervisor.parts.packages().index._locks.clear()
    await hosted.admin.disconnect(ME, view.id)
    assert await version(hosted) == "1.0.0"


async def test_what_is_no_package_has_no_update(hosted: McpHost, packages: PackageService, tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    view = await hosted.add(ServerInput(command=str(program)), agree=False)
    with pytest.raises(PilothouseError, match="is no package that is installed here"):
        await packages.look(ME, view.id)
