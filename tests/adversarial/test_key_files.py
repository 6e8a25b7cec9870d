"""Key files as a way to read what one may not: refused, and the honest version of the same works."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.server_checks import ServerCheck
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ServerInput
from tests.support.mcp_gateway import Streamable
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.mcp_servers import scripted
from tests.support.tiny_http import TinyHttp

GUEST = "guest"
KEY = "the-key-of-the-owner"
TOKEN = "header:Authorization"


@pytest_asyncio.fixture
async def hosted(home: Path) -> AsyncIterator[McpHost]:
    async with open_mcp_host(home) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A key file of the owner's."""
    path = tmp_path / "token"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


def remote(url: str, key: KeyInput | None) -> ServerInput:
    return ServerInput(name="Far", url=f"{url}/mcp", keys={TOKEN: key})


def local(path: str, name: str = "Here") -> ServerInput:
    program, *args = scripted()
    return ServerInput(name=name, command=program, args=tuple(args), keys={"env:A_TOKEN": KeyInput(file=path)})


@pytest.mark.parametrize("how", ["file", "environment"])
async def test_a_guest_names_no_file_and_no_variable(
    hosted: McpHost, file: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("OF_THE_OWNER", KEY)
    stolen = KeyInput(file=str(file)) if how == "file" else KeyInput(environment="OF_THE_OWNER")
    async with TinyHttp(Streamable()) as server:
        for verb in (
            lambda: hosted.admin.add(GUEST, remote(server.url, stolen)),
            lambda: hosted.admin.check(GUEST, ServerCheck(server=remote(server.url, stolen))),
        ):
            with pytest.raises(PilothouseError, match="Only the owner of this installation may name a file") as no:
                await verb()
            assert no.value.code == "forbidden"
        view = await hosted.admin.add(GUEST, remote(server.url, KeyInput(value="of-the-guest")))
        with pytest.raises(PilothouseError, match="Only the owner"):
            await hosted.admin.update(GUEST, view.id, remote(server.url, stolen))
        assert (await hosted.admin.test(GUEST, view.id)).ok, "the twin: a key of one's own is pasted"
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer of-the-guest"}


@pytest.mark.case("AUT-08")
@pytest.mark.parametrize("by_hand", [True, False])
async def test_a_key_file_is_not_sent_to_another_address(hosted: McpHost, file: Path, by_hand: bool) -> None:
    async with TinyHttp(Streamable()) as mine, TinyHttp(Streamable()) as thief:
        view = await hosted.admin.add(ME, remote(mine.url, KeyInput(file=str(file))))
        assert (await hosted.admin.test(ME, view.id)).ok
        if by_hand:

            def change(entries: list[JsonObject]) -> None:
                entries[0]["package"]["identifier"] = f"{thief.url}/mcp"

            await hosted.file.change(change)
        else:
            await hosted.admin.update(GUEST, view.id, remote(thief.url, None))
        tested = await hosted.admin.test(ME, view.id)
        assert tested.message == "The token was given for another address and is not sent to where “Far” is now."
        checked = await hosted.admin.check(GUEST, ServerCheck(server=remote(thief.url, None), id=view.id))
        assert checked.message == tested.message
        assert all("authorization" not in request.headers for request in thief.requests)
        if not by_hand:
            await hosted.admin.update(ME, view.id, remote(mine.url, None))
            assert (await hosted.admin.test(ME, view.id)).ok, "the twin: back where it was given for"


async def test_the_key_file_of_an_entry_written_by_hand_stays_at_its_address(hosted: McpHost, file: Path) -> None:
    async with TinyHttp(Streamable()) as mine, TinyHttp(Streamable()) as thief:
        entry = {
            "id": "one",
            "name": "Far",
            "package": {"type": "http", "identifier": f"{mine.url}/mcp"},
            "auth_type": "keyfile",
            "keyfile_path": str(file),
        }
        await hosted.file.change(lambda entries: entries.append(entry))
        assert (await hosted.admin.test(ME, "one")).ok
        await hosted.admin.update(GUEST, "one", remote(thief.url, None))
        assert "was given for another address" in (await hosted.admin.test(ME, "one")).message
        assert all("authorization" not in request.headers for request in thief.requests)


@pytest.mark.parametrize("place", ["secrets/consents.json", "config.json", "secrets"])
@pytest.mark.parametrize("way", ["path", "link", "folder link", "dots"])
async def test_what_is_pilothouses_own_is_nobodys_key(hosted: McpHost, tmp_path: Path, place: str, way: str) -> None:
    own = hosted.home / place
    (hosted.home / "secrets" / "consents.json").touch(mode=0o600)
    path = tmp_path / "link"
    if way == "link":
        path.symlink_to(own)
    elif way == "folder link":
        path.symlink_to(own.parent)
        path = path / own.name
    elif way == "dots":
        path = hosted.home / ".." / hosted.home.name / place
    else:
        path = own
    async with TinyHttp(Streamable()) as server:
        view = await hosted.admin.add(ME, remote(server.url, KeyInput(file=str(path))))
        tested = await hosted.admin.test(ME, view.id)
        assert tested.message.endswith("which leads to what is Pilothouse's own.")
        assert not server.requests


async def test_the_master_key_and_the_programs_own_variables_are_nobodys_key(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    master = tmp_path / "master"
    master.write_text("0123456789abcdef0123456789abcdef")
    master.chmod(0o600)
    monkeypatch.setenv("PILOTHOUSE_MASTER_KEY_FILE", str(master))
    monkeypatch.setenv("PILOTHOUSE_TOKEN", "the-token-of-the-page")
    async with open_mcp_host(home) as hosted, TinyHttp(Streamable()) as server:
        for key in (KeyInput(file=str(master)), KeyInput(environment="PILOTHOUSE_TOKEN")):
            view = await hosted.admin.add(ME, remote(server.url, key))
            assert "Pilothouse's own." in (await hosted.admin.test(ME, view.id)).message
            await hosted.admin.delete(ME, view.id)
        assert not server.requests


@pytest.mark.parametrize("kind", ["fifo", "device", "huge", "grows"])
async def test_nothing_waits_for_a_key_file_or_reads_it_without_end(hosted: McpHost, tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path, 0o600)
    elif kind == "huge":
        path.touch(mode=0o600)
        os.truncate(path, 1 << 40)
    elif kind == "grows":
        path.write_bytes(b"x" * (limits.KEY_FILE_BYTES + 1))
        path.chmod(0o600)
    else:
        path = Path("/dev/zero")
    view = await hosted.add(local(str(path)))
    tested = await hosted.admin.test(ME, view.id)
    assert (tested.ok, tested.seconds < 5) == (False, True)
    assert f"is to come from {path}, which is" in tested.message
    path = tmp_path / "honest"
    path.write_bytes(b"x" * (limits.KEY_FILE_BYTES - 1) + b"\n")
    path.chmod(0o600)
    await hosted.add(local(str(path), "Honest"))
    assert (await hosted.admin.test(ME, "Honest")).ok, "the twin: as long as a key may be"


async def test_a_key_that_someone_writes_into_the_file_of_settings_is_agreed_to_first(
    hosted: McpHost, tmp_path: Path
) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"--require={tmp_path}/evil.js")
    evil.chmod(0o600)
    program, *args = scripted()
    view = await hosted.add(ServerInput(name="Here", command=program, args=tuple(args)))
    assert (await hosted.admin.test(ME, view.id)).ok

    def change(entries: list[JsonObject]) -> None:
        entries[0]["config"]["keys"] = {"env:NODE_OPTIONS": {"file": str(evil)}}

    await hosted.file.change(change)
    changed = await hosted.view("Here")
    assert changed.consent is not None
    assert changed.consent.environment == (f"NODE_OPTIONS, read from {evil}",)
    assert "The variable NODE_OPTIONS can make the program load other code." in changed.consent.warnings


async def test_a_key_stands_in_no_sentence_and_no_log(hosted: McpHost, file: Path) -> None:
    code = "import os, sys; sys.exit(os.environ['A_TOKEN'] + ' is wrong; B_TOKEN is required')"
    keys: dict[str, KeyInput | None] = {"env:A_TOKEN": KeyInput(file=str(file))}
    view = await hosted.add(ServerInput(name="Loud", command=sys.executable, args=("-c", code), keys=keys))
    tested = await hosted.admin.test(ME, view.id)
    shown = await hosted.view("Loud")
    log = await hosted.admin.log(ME, view.id)
    assert KEY not in repr((tested, shown, log))
    await hosted.supervisor.close()
    assert [key.about for key in shown.keys] == ["", "[redacted] is wrong; B_TOKEN is required"]
    assert KEY.encode() not in b"".join(path.read_bytes() for path in hosted.home.rglob("*") if path.is_file())
