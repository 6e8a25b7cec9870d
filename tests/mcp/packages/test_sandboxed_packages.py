"""A package in a sandbox: its own code is read only, and what it keeps at home is in its own room."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from pilothouse.types.servers import ServerInput
from pilothouse.types.terminals import SandboxKind
from tests.support.mcp_hosting import Hosted, hosting, text
from tests.support.package_indexes import Indexes
from tests.support.terminals import HOLDING, sandbox

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture(params=HOLDING)
async def held(home: Path, quick: None, index: Indexes, request: pytest.FixtureRequest) -> AsyncIterator[Hosted]:
    """The servers of a fresh data folder, with a sandbox of each kind."""
    kind: SandboxKind = request.param
    async with hosting(home, sandbox=sandbox(home, kind)) as opened:
        yield opened


@pytest.mark.parametrize("line", ["npx -y tiny-server --pry", "uvx tiny-server"])
async def test_a_package_runs_in_a_sandbox_with_a_home_of_its_own(
    held: Hosted, index: Indexes, line: str, home: Path
) -> None:
    index.node("tiny-server", "1.0.0")
    index.python("tiny-server", "1.0.0")
    view = await held.add(ServerInput(command_line=line, sandbox=True))
    said = json.loads(text(await held.call_when_known("tiny-server.where")))
    assert said["version"] == "1.0.0"
    assert said["home"] != os.environ.get("HOME")
    if "--pry" in line:
        assert (said["home_is_open"], said["code_is_open"]) == (True, False)
        assert (home / "servers" / view.id / "cache" / "home" / "kept").read_text() == "x"


async def test_a_package_works_in_a_sandbox_without_the_network(held: Hosted, index: Indexes) -> None:
    index.node("tiny-server", "1.0.0")
    await held.add(ServerInput(command_line="npx -y tiny-server", sandbox=True, network=False))
    assert json.loads(text(await held.call_when_known("tiny-server.where")))["version"] == "1.0.0"


async def test_install_scripts_that_the_person_allowed_run_in_the_sandbox_with_a_home_of_the_server(
    held: Hosted, index: Indexes, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "mark"
    tried = {"outside": str(outside), "data": str(home / "mark"), "home": f"{Path.home()}/{uuid4().hex}"}
    code = (
        "const fs=require('fs');const writes=(p)=>{try{fs.writeFileSync(p,'x');return true}catch(e){return false}};"
        f"const told={{home:process.env.HOME,kept:writes(process.env.HOME+'/kept')}};const tried={json.dumps(tried)};"
        "for(const k in tried)told[k]=writes(tried[k]);"
        "fs.writeFileSync('told.json',JSON.stringify(told));"
    )
    index.node("tiny-server", "1.0.0", scripts={"postinstall": f"node -e {shlex.quote(code)}"})
    view = await held.add(ServerInput(command_line="npx -y tiny-server", sandbox=True, scripts=True))
    assert json.loads(text(await held.call_when_known("tiny-server.where")))["version"] == "1.0.0"
    (file,) = (home / "servers" / view.id / "packages").glob("*/node_modules/tiny-server/told.json")
    told = json.loads(file.read_text())
    assert told["home"] != os.environ.get("HOME")
    assert (told["kept"], (home / "servers" / view.id / "cache" / "home" / "kept").read_text()) == (True, "x")
    for name, path in tried.items():
        # The sandbox has a /tmp of its own, in which it may write what it likes.
        assert not told[name] or path.startswith("/tmp/"), (name, told)
        there = await asyncio.to_thread(os.path.exists, path)
        await asyncio.to_thread(Path(path).unlink, missing_ok=True)
        assert not there, path
