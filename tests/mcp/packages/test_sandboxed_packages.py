"""A package in a sandbox: its own code is read only, and what it keeps at home is in its own room."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
import pytest_asyncio

from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.types.terminals import SandboxKind
from tests.support.mcp_hosting import McpHost, open_mcp_host, text
from tests.support.package_indexes import Indexes
from tests.support.terminals import HOLDING, sandbox

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture(params=HOLDING)
async def held(home: Path, quick: None, index: Indexes, request: pytest.FixtureRequest) -> AsyncIterator[McpHost]:
    """The servers of a fresh data folder, with a sandbox of each kind."""
    kind: SandboxKind = request.param
    async with open_mcp_host(home, sandbox=sandbox(home, kind)) as opened:
        yield opened


async def ask_server(held: McpHost) -> tuple[dict[str, object], int]:
    """Return what the server says of itself, and which process it is for us."""
    said: dict[str, object] = json.loads(text(await held.call_when_known("tiny-server.where")))
    view = await held.view("tiny-server")
    assert view.process is not None
    return said, view.process.pid


async def test_a_package_of_python_runs_in_a_sandbox_with_a_home_of_its_own(held: McpHost, index: Indexes) -> None:
    index.python("tiny-server", "1.0.0")
    await held.add(ServerInput(command_line="uvx tiny-server", sandbox=True))
    said, _ = await ask_server(held)
    assert said["version"] == "1.0.0"
    assert said["home"] != os.environ.get("HOME")


async def test_a_package_of_node_and_its_install_scripts_run_in_a_sandbox_with_a_home_of_the_server(
    held: McpHost, index: Indexes, home: Path, tmp_path: Path
) -> None:
    tried = {"outside": str(tmp_path / "mark"), "data": str(home / "mark"), "home": f"{Path.home()}/{uuid4().hex}"}
    code = (
        "const fs=require('fs');const writes=(p)=>{try{fs.writeFileSync(p,'x');return true}catch(e){return false}};"
        f"const told={{home:process.env.HOME,kept:writes(process.env.HOME+'/built')}};const tried={json.dumps(tried)};"
        "for(const k in tried)told[k]=writes(tried[k]);"
        "fs.writeFileSync('told.json',JSON.stringify(told));"
    )
    index.node("tiny-server", "1.0.0", scripts={"postinstall": f"node -e {shlex.quote(code)}"})
    body = ServerInput(command_line="npx -y tiny-server --pry", sandbox=True, scripts=True)
    view = await held.add(body)
    said, first = await ask_server(held)
    assert said["version"] == "1.0.0"
    assert said["home"] != os.environ.get("HOME")
    assert (said["home_is_open"], said["code_is_open"]) == (True, False)
    own = home / "servers" / view.id
    assert (own / "cache" / "home" / "kept").read_text() == "x"
    (file,) = (own / "packages").glob("*/node_modules/tiny-server/told.json")
    told = json.loads(file.read_text())
    assert told["home"] != os.environ.get("HOME")
    assert (told["kept"], (own / "cache" / "home" / "built").read_text()) == (True, "x")
    for name, path in tried.items():
        # The sandbox has a /tmp of its own, in which it may write what it likes.
        assert not told[name] or path.startswith("/tmp/"), (name, told)
        there = await asyncio.to_thread(os.path.exists, path)
        await asyncio.to_thread(Path(path).unlink, missing_ok=True)
        assert not there, path
    view = await held.admin.update(ME, view.id, msgspec.structs.replace(body, network=False))
    if view.consent is not None:
        await held.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    said, second = await ask_server(held)
    assert said["version"] == "1.0.0", "it works without the network, too"
    assert second != first
