"""A server written for other programs: no secret in it, and read back by our own import it is the same server."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import pytest_asyncio

from pilothouse.mcp.packages.index import PackageIndex
from pilothouse.mcp.packages.locks import Lock
from pilothouse.mcp.packages.pins import Pin, Wanted
from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.entries import parse_entry
from pilothouse.mcp.servers.exporting import command_line, exported
from pilothouse.mcp.servers.forms import Draft, drafted
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.values import values_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.server_sharing import OtherProgram, Snippet
from pilothouse.types.servers import ImportRequest, Package, ServerEntry, ServerInput
from tests.mcp.servers.test_imported_servers import sources
from tests.support.mcp_hosting import McpHost, open_mcp_host

PROGRAMS: tuple[OtherProgram, ...] = get_args(OtherProgram)
TOKEN, PIN, OTHER = "tok-0123456789-abcdefgh", "pin-9876543210-zyxwvuts", "oth-1122334455-qwertzui"
KEYS = (TOKEN, PIN, OTHER)
LOCAL = ServerInput(
    name="My Files",
    command="npx",
    args=("-y", "@x/files@1.2.3", "--pin", "${secret:pin-code}", "a b", 'say "hi"\\n', "größe"),
    env={"FILES_TOKEN": TOKEN},
    plain_env={"LEVEL": "info", "AUTH": "Basic ${secret:other}"},
    secrets={"pin-code": PIN, "other": OTHER},
)
REMOTE = ServerInput(
    name="Far",
    url="https://mcp.example/mcp?key=${secret:pin-code}",
    wire="streamable",
    token=TOKEN,
    headers={"X-Api-Key": OTHER},
    plain_headers={"X-Room": "7"},
    secrets={"pin-code": PIN},
)


@pytest_asyncio.fixture
async def hosted(home: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[McpHost]:
    """The servers of a fresh data folder, whose packages are there; none of them is started."""
    monkeypatch.setattr(PackageIndex, "_resolved", resolved)
    async with open_mcp_host(home) as opened:
        yield opened


async def resolved(_index: PackageIndex, wanted: Wanted) -> Lock:
    """Return a lock of a package, without npm and uv, which would take a second each time."""
    pin = Pin(kind=wanted.kind, name=wanted.name, version=wanted.version or "1.0.0", digest="d", program="files")
    return Lock(pin, "{}")


def facts(entry: ServerEntry, hosted: McpHost) -> JsonObject:
    """Return all that a start or a connection would be made of, secrets filled in."""
    values = values_of(entry, sources(hosted))
    return {
        "name": slug(entry.name),
        "command": tuple(map(values.filled, command_line(entry))) if entry.transport == "stdio" else (),
        "url": values.address(entry.config.url),
        "wire": entry.config.wire,
        "env": dict(values.env),
        "headers": {name.lower(): value for name, value in values.headers.items()},
        "off": entry.config.off_tools,
    }


def answers(snippet: Snippet) -> dict[str, str | None]:
    """Answer what the snippet leaves open, as a person who has the keys does."""
    known = {"FILES_TOKEN": TOKEN, "FAR_TOKEN": TOKEN, "PIN_CODE": PIN, "OTHER": OTHER, "X_API_KEY": OTHER}
    asked = importing.questions(importing.read(snippet.text), {})
    return {each.id: known[each.id.partition(":")[2]] for each in asked}


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("given", [LOCAL, REMOTE], ids=["local", "remote"])
async def test_what_is_exported_is_imported_as_the_same_server_and_holds_no_secret(
    hosted: McpHost, program: OtherProgram, given: ServerInput
) -> None:
    view = await hosted.add(given, agree=False)
    before = facts(hosted.server(view.id).entry, hosted)
    assert [key for key in KEYS if key in str(before)] == list(KEYS)
    snippet = await hosted.other_programs.export(ME, view.id, program)
    assert [key for key in KEYS if key in str(snippet)] == []
    assert len(snippet.notes) >= 3
    await hosted.admin.delete(ME, view.id)
    report = await hosted.other_programs.import_file(ME, ImportRequest(text=snippet.text, answers=answers(snippet)))
    assert [(each.outcome, each.reason) for each in report.servers if each.outcome != "added"] == []
    after = facts(hosted.server(report.servers[0].id).entry, hosted)
    if given is REMOTE and program not in ("claude-desktop", "goose", "cherry-studio"):
        # They say only that it is HTTP, or find out by themselves, as we do then.
        before["wire"] = "auto"
    assert after == before


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_server_without_keys_needs_nothing_to_be_filled_in(hosted: McpHost, program: OtherProgram) -> None:
    view = await hosted.add(ServerInput(name="Time", command="uvx", args=("mcp-server-time",)), agree=False)
    snippet = await hosted.other_programs.export(ME, view.id, program)
    assert [note for note in snippet.notes if "Import from JSON" not in note] == []
    assert importing.questions(importing.read(snippet.text), {}) == ()
    (found,) = importing.taken(importing.read(snippet.text), {})
    assert found.body is not None
    assert (found.body.command, found.body.args, found.notes) == ("uvx", ("mcp-server-time",), ())
    assert bool(snippet.path) == (program != "cherry-studio")


async def test_each_program_gets_its_own_form(hosted: McpHost) -> None:
    local = (await hosted.add(LOCAL, agree=False)).id
    remote = (await hosted.add(REMOTE, agree=False)).id

    async def content(server: str, program: OtherProgram) -> JsonObject:
        made: JsonObject = json.loads((await hosted.other_programs.export(ME, server, program)).text)
        return made

    code = await content(local, "vscode")
    assert [(each["id"], each["password"]) for each in code["inputs"]] == [
        ("PIN_CODE", True),
        ("OTHER", True),
        ("FILES_TOKEN", True),
    ]
    assert code["servers"]["My Files"]["env"]["FILES_TOKEN"] == "${input:FILES_TOKEN}"
    cursor = await content(local, "cursor")
    assert cursor["mcpServers"]["My Files"]["env"]["AUTH"] == "Basic ${env:OTHER}"
    desktop = await content(remote, "claude-desktop")
    assert desktop["mcpServers"]["Far"]["args"][:2] == ["-y", "mcp-remote"]
    windsurf = await content(remote, "windsurf")
    assert windsurf["mcpServers"]["Far"]["serverUrl"].startswith("https://mcp.example/mcp?key=${env:")
    codex = await hosted.other_programs.export(ME, remote, "codex")
    assert 'bearer_token_env_var = "FAR_TOKEN"' in codex.text
    assert 'env_http_headers = { X-Api-Key = "X_API_KEY" }' in codex.text
    assert "Set the variable FAR_TOKEN to the Token where Codex starts." in codex.notes
    goose = await hosted.other_programs.export(ME, local, "goose")
    assert "env_keys:\n    - FILES_TOKEN" in goose.text
    assert (codex.language, goose.language) == ("toml", "yaml")


def draft(**given: object) -> Draft:
    return drafted(ServerInput(**given), "id")  # type: ignore[arg-type]


def test_a_pinned_package_is_named_with_its_exact_version() -> None:
    def line(package: Package) -> str:
        entry = ServerEntry(id="a", name="a", package=package, transport="stdio")
        return " ".join(command_line(entry))

    assert line(Package(type="npm", identifier="@x/files", version="1.2.3")) == "npx -y @x/files@1.2.3"
    pinned = Package(type="pypi", identifier="files", version="1.2.3", requirements=("mcp<2",))
    assert line(pinned) == "uvx --with mcp<2 files==1.2.3"
    assert line(Package(type="docker", identifier="ghcr.io/x/y")) == "docker run -i --rm ghcr.io/x/y"


def test_what_another_program_cannot_do_is_said() -> None:
    entry = draft(name="It", command="x", cwd="/srv", sandbox=True, off_tools=("drop",), args=("${HOME}/x",)).entry
    notes = " ".join(exported(entry, "cursor").notes)
    assert "no place for the folder that it starts in: /srv" in notes
    assert "in Cursor nothing holds it" in notes
    assert "Switched off here, and not there: drop." in notes
    assert "may take for something to fill in" in notes
    assert json.loads(exported(entry, "gemini-cli").text)["mcpServers"]["It"]["excludeTools"] == ["drop"]
    socket = draft(name="It", url="wss://mcp.example/ws").entry
    assert "WebSocket" in exported(socket, "zed").notes[0]
    bundle = ServerEntry(id="a", name="a", package=Package(type="mcpb", identifier="x"), transport="stdio")
    with pytest.raises(PilothouseError, match="came as a bundle"):
        exported(bundle, "cursor")


async def test_keys_that_are_read_from_elsewhere_are_places_to_fill_in(hosted: McpHost, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(TOKEN)
    body = ServerInput(name="It", command="x", keys={"env:A_KEY": KeyInput(file=str(file))})
    snippet = await hosted.other_programs.export(ME, (await hosted.add(body, agree=False)).id, "claude-desktop")
    assert json.loads(snippet.text)["mcpServers"]["It"]["env"] == {"A_KEY": "YOUR_A_KEY"}
    assert snippet.notes == ("Put the A key in the place of YOUR_A_KEY.",)


@pytest.mark.parametrize("program", PROGRAMS)
def test_hostile_names_stay_text_in_a_snippet(program: OtherProgram) -> None:
    name = 'x"]\n[mcp_servers.evil]\ncommand = "rm"\u202e\x1b[31m'
    raw = {"id": "a", "name": name, "package": {"type": "command", "identifier": "x"}, "config": {"args": [name]}}
    snippet = exported(parse_entry(raw), program)
    assert not set(snippet.text) & {"\u202e", "\x1b", "\0"}
    (found,) = importing.taken(importing.read(snippet.text), {})
    assert found.body is not None
    assert (found.body.command, found.body.args) == ("x", (name,))


async def test_a_key_that_was_written_into_the_file_by_hand_is_not_exported(hosted: McpHost) -> None:
    key = "sk-proj-0123456789abcdefghij"
    raw = {
        "id": "a",
        "name": "It",
        "package": {"type": "command", "identifier": "x"},
        "config": {"args": ["--api-key", key]},
    }
    await hosted.file.change(lambda entries: entries.append(raw))
    snippet = await hosted.other_programs.export(ME, "a", "zed")
    assert key not in snippet.text
    assert "YOUR_" in snippet.text


LOUD = "uvx --with extra --from tools-of-mine serve --loud"


@pytest.mark.parametrize(
    ("line", "version", "command"),
    [
        (LOUD, "", LOUD),
        ("uvx --from tools-of-mine[cli]==1.0 serve", "1.1", "uvx --from tools-of-mine[cli]==1.1 serve"),
        ("npx -y --package=@x/files@1.2.3 serve a", "", "npx -y --package=@x/files@1.2.3 serve a"),
        ("npx -y @x/files@1.2.3 a", "1.3.0", "npx -y @x/files@1.3.0 a"),
        ("uvx tools-of-mine", "2.0", "uvx tools-of-mine==2.0"),
    ],
)
def test_the_program_of_a_package_and_the_version_that_was_taken_are_exported(
    line: str, version: str, command: str
) -> None:
    entry = drafted(ServerInput(name="Mine", command_line=line), "s").entry
    taken = msgspec.structs.replace(entry, package=msgspec.structs.replace(entry.package, version=version))
    server = json.loads(exported(taken, "cursor").text)["mcpServers"]["Mine"]
    assert shlex.join((server["command"], *server["args"])) == shlex.join(command.split())
