"""Bundles of strangers: read with limits, unpacked into the server's room, started by what they say."""

from __future__ import annotations

import asyncio
import io
import json
import stat
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from pilothouse.mcp.packages.bundles import Bundles, KeptBundle, start_of
from pilothouse.mcp.packages.tools import Tools
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.mcp_hosting import McpHost, text
from tests.support.package_indexes import NODE_SERVER, PYTHON_SERVER, Indexes, bundle

# Each installs a package.
pytestmark = pytest.mark.slow

NODE: JsonObject = {
    "manifest_version": "0.3",
    "name": "tiny",
    "display_name": "Tiny",
    "version": "1.2.3",
    "server": {
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js", "--loud"], "env": {}},
    },
}
PYTHON: JsonObject = {
    **NODE,
    "server": {
        "type": "python",
        "entry_point": "server/main.py",
        "mcp_config": {
            "command": "python",
            "args": ["${__dirname}/server/main.py"],
            "env": {"PYTHONPATH": "${__dirname}/server/lib"},
        },
    },
}
MAIN = "import tiny\ntiny.main()\n"


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 10_000):
        yield data[at : at + 10_000]


async def keep_bundle(hosted: McpHost, data: bytes) -> KeptBundle:
    return await hosted.supervisor.parts.packages().bundles.keep(pieces(data))


def server(found: KeptBundle) -> ServerInput:
    start = start_of(found.manifest)
    return ServerInput(name="Tiny", bundle=found.sha256, command=start.command, args=start.args, plain_env=start.env)


@pytest.mark.parametrize(
    ("manifest", "files", "argv"),
    [
        (NODE, {"server/index.js": NODE_SERVER}, ["--loud"]),
        (PYTHON, {"server/main.py": MAIN, "server/lib/tiny.py": PYTHON_SERVER}, []),
    ],
)
async def test_a_bundle_is_unpacked_after_consent_and_started_by_what_it_says(
    hosted: McpHost, manifest: JsonObject, files: dict[str, str], argv: list[str], home: Path
) -> None:
    found = await keep_bundle(hosted, bundle(manifest, files))
    view = await hosted.add(server(found), agree=False)
    assert view.consent is not None, view.last_error
    assert "The bundle Tiny 1.2.3 is unpacked into a folder of its own" in view.consent.installs[0]
    assert found.sha256 in view.consent.installs[1]
    assert not list((home / "servers").glob("*/packages/*"))
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    said = json.loads(text(await hosted.call_when_known("tiny.where")))
    assert said["argv"] == argv
    assert str(said["script"]).startswith(str(home / "servers" / view.id))
    # It goes on when what was dropped is forgotten, and goes with its server.
    (home / "cache" / "bundles" / found.sha256).unlink()
    await hosted.admin.disconnect(ME, view.id)
    assert json.loads(text(await hosted.call_when_known("tiny.where")))["pid"] != said["pid"]
    await hosted.admin.delete(ME, view.id)
    assert not (home / "servers" / view.id).exists()


def archive(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("manifest.json", json.dumps(NODE))
        for name, content in entries:
            made.writestr(name, content)
    return data.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = (stat.S_IFLNK | 0o777) << 16
    return made


def starting(command: str, **more: object) -> bytes:
    return bundle({**NODE, "server": {"type": "binary", "mcp_config": {"command": command, **more}}})


def damaged() -> bytes:
    """Return a bundle with other bytes where its packed manifest begins."""
    data = bytearray(archive())
    start = 30 + len("manifest.json")
    data[start : start + 4] = b"\xff" * 4
    return bytes(data)


HOSTILE = {
    "no zip": (b"hello", "not a ZIP archive"),
    "no manifest": (bundle("{}").replace(b"manifest.json", b"manifest.jsox"), "has no manifest.json"),
    "no JSON": (bundle("{"), "is not JSON"),
    "no server": (bundle({"name": "x"}), "does not say how its server is started"),
    "another type": (bundle({**NODE, "server": {"type": "ruby"}}), "a kind of server that is not known"),
    "no command": (bundle({**NODE, "server": {"type": "node"}}), "does not say which command"),
    "entry outside": (bundle({**NODE, "server": {**NODE["server"], "entry_point": "../x"}}), "a file outside of it"),
    "program outside": (starting("/bin/sh"), "starts a program that is neither in it"),
    "program up": (starting("${__dirname}/../../bin/sh"), "starts a program that is neither in it"),
    "program absent": (starting("server/run"), "starts a program that is neither in it"),
    "program outside here": (
        starting("node", platform_overrides={sys.platform: {"command": "/bin/sh"}}),
        "starts a program that is neither in it",
    ),
    "damaged manifest": (damaged(), "is damaged: its manifest cannot be read"),
    "path up": (archive(("../../evil", b"x")), "leads out of its folder"),
    "absolute path": (archive(("/etc/evil", b"x")), "leads out of its folder"),
    "backslash": (archive(("..\\evil", b"x")), "leads out of its folder"),
    "link": (archive((link("evil"), b"/etc/passwd")), "a link or a device"),
    "bomb": (archive(("zeros", bytes(64 * 1024 * 1024))), "unpacks to far more"),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_what_is_no_whole_bundle_is_one_sentence_and_nothing_is_kept(home: Path, case: str) -> None:
    data, sentence = HOSTILE[case]
    bundles = Bundles(home / "cache" / "bundles", Tools())
    with pytest.raises(PilothouseError, match=sentence) as refused:
        await bundles.keep(pieces(data))
    assert refused.value.code == "bad_request"
    assert list((home / "cache" / "bundles").iterdir()) == []


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ((("x", b"1"), ("x/y", b"2")), "two files of the same name"),
        ((("n" * 300, b"1"),), "could not be unpacked: file name too long"),
    ],
)
async def test_a_bundle_that_cannot_be_unpacked_says_why_and_leaves_nothing(
    hosted: McpHost, home: Path, entries: tuple[tuple[str, bytes], ...], sentence: str
) -> None:
    view = await hosted.add(server(await keep_bundle(hosted, archive(*entries))))
    assert sentence in (await hosted.until(view.id, "error")).last_error
    assert not list((home / "servers" / view.id).glob("packages/*"))


async def test_a_bundle_has_at_most_so_many_files_and_bytes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundles = Bundles(home / "cache" / "bundles", Tools())
    monkeypatch.setattr(limits, "BUNDLE_BYTES", 1_000)
    with pytest.raises(PilothouseError, match="at most") as refused:
        await bundles.keep(pieces(bytes(20_000)))
    assert refused.value.code == "too_large"
    many = archive(*((f"f{number}", b"") for number in range(limits.BUNDLE_FILES + 1)))
    monkeypatch.setattr(limits, "BUNDLE_BYTES", 100_000_000)
    with pytest.raises(PilothouseError, match="more than 50000 files"):
        await bundles.keep(pieces(many))


async def test_a_bundle_is_forgotten_after_an_hour_and_a_server_of_it_says_so(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    first = await keep_bundle(hosted, bundle(NODE, {"server/index.js": NODE_SERVER}))
    monkeypatch.setattr(limits, "BUNDLE_KEPT", -1.0)
    await keep_bundle(hosted, bundle(NODE, {"server/index.js": "other"}))
    assert not (home / "cache" / "bundles" / first.sha256).exists()
    with pytest.raises(PilothouseError, match="is not here any more"):
        await hosted.add(server(first))
    assert (await hosted.admin.list(ME)).servers == ()


async def test_a_bundle_that_was_changed_in_the_room_is_not_started(hosted: McpHost, home: Path) -> None:
    found = await keep_bundle(hosted, bundle(NODE, {"server/index.js": NODE_SERVER}))
    view = await hosted.add(server(found), agree=False)
    assert view.consent is not None
    (place,) = (home / "servers" / view.id).glob("locks/*.mcpb")
    place.write_bytes(bundle(NODE, {"server/index.js": "evil"}))
    with pytest.raises(PilothouseError, match="not the one that was dropped"):
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    assert not list((home / "servers" / view.id).glob("packages/*"))


def test_a_bundle_is_started_as_this_platform_wants_it() -> None:
    config = {
        "command": "server/run",
        "args": ["--a"],
        "env": {"A": "1"},
        "platform_overrides": {sys.platform: {"args": ["--b"], "env": {"B": "2"}}, "amiga": {"command": "x"}},
    }
    start = start_of({"server": {"type": "binary", "mcp_config": config}})
    assert (start.command, start.args, start.env) == ("server/run", ("--b",), {"A": "1", "B": "2"})
    uv = start_of({"server": {"type": "uv", "entry_point": "src/server.py"}})
    assert (uv.command, uv.args) == ("uv", ("run", "--directory", "${__dirname}", "src/server.py"))


async def test_a_bundle_with_a_binary_of_its_own_runs_that_and_nothing_outside(hosted: McpHost) -> None:
    script = f"#!{sys.executable}\n{PYTHON_SERVER}\nmain()\n"
    binary = {**NODE, "server": {"type": "binary", "mcp_config": {"command": "server/run", "args": ["--x"]}}}
    found = await keep_bundle(hosted, bundle(binary, {"server/run": script}))
    await hosted.add(server(found))
    assert json.loads(text(await hosted.call_when_known("tiny.where")))["argv"] == ["--x"]
    # Whoever sends a form may name another command than the bundle does.
    view = await hosted.add(ServerInput(name="Other", bundle=found.sha256, command="/bin/sh"))
    told = await hosted.until(view.id, "error")
    assert "which is neither in it nor known here" in told.last_error


async def test_a_bundle_of_uv_has_its_packages_installed(hosted: McpHost, index: Indexes) -> None:
    index.python("tiny-library", "1.0.0", programs={})
    project = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = ["tiny-library"]\n'
    manifest = {**NODE, "server": {"type": "uv", "entry_point": "server.py"}}
    files = {"pyproject.toml": project, "server.py": "import tiny_library\ntiny_library.main()\n"}
    found = await keep_bundle(hosted, bundle(manifest, files))
    await hosted.add(server(found))
    said = json.loads(text(await hosted.call_when_known("tiny.where")))
    assert "tiny_library" in str(said["script"])
    assert await asyncio.to_thread(lambda: Path(said["script"]).is_file())


# A build backend that the bundle brings itself: whatever builds the bundle runs it.
BACKEND = """
import pathlib
pathlib.Path({mark!r}).write_text("ran")
def get_requires_for_build_editable(config_settings=None):
    return []
def get_requires_for_build_wheel(config_settings=None):
    return []
"""


@pytest.mark.parametrize(
    ("version", "problem"),
    [('version = "1"', ""), ('dynamic = ["version"]', "Tiny must be built here, which runs code of its packages")],
)
async def test_nothing_of_a_bundle_runs_while_it_is_installed_unless_the_person_allowed_it(
    hosted: McpHost, index: Indexes, tmp_path: Path, version: str, problem: str
) -> None:
    mark = tmp_path / "ran"
    project = (
        f'[project]\nname = "x"\n{version}\nrequires-python = ">=3.10"\n'
        '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    )
    manifest = {**NODE, "server": {"type": "uv", "entry_point": "server.py"}}
    own = {"pyproject.toml": project, "own.py": BACKEND.format(mark=str(mark))}
    found = await keep_bundle(hosted, bundle(manifest, {**own, "server.py": MAIN, "tiny.py": PYTHON_SERVER}))
    view = await hosted.add(server(found), agree=False)
    assert view.consent is not None
    assert view.consent.installs[2].endswith("Nothing is built here, and nothing runs meanwhile.")
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    view = await hosted.until("Tiny", "error" if problem else "connected", timeout=60)
    assert problem in view.last_error
    assert not await asyncio.to_thread(mark.exists)
    # Who allows it is asked again, and told what that means.
    body = msgspec.structs.replace(server(found), scripts=True)
    asked = (await hosted.admin.update(ME, view.id, body)).consent
    assert asked is not None
    assert asked.installs[2].endswith("Packages may be built here.")
