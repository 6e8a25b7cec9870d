"""Keys of servers: where they lie, and who is given them."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import OldGateway, Socket, Streamable
from tests.support.mcp_hosting import McpHost, open_mcp_host, text
from tests.support.tiny_http import Answer, Request, TinyHttp

KEYS = {"FIRST_TOKEN": "value-of-the-first", "SECOND_TOKEN": "value-of-the-second"}


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.case("AUT-07", "AUT-09", "AUT-11")
async def test_each_key_of_a_local_server_has_a_closed_file_and_is_in_its_environment(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    view = await hosted.add(scripted(env=dict(KEYS)))
    seen = json.loads(text(await hosted.call_when_known("scripted.env")))
    assert {name: seen.get(name) for name in KEYS} == KEYS
    files = list((home / "secrets").glob(f"mcp_{view.id}*"))
    assert len(files) == len(KEYS)
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert not any(value in file.read_text() for value in KEYS.values())
    config = (home / "config.json").read_text()
    assert all(name in config and value not in config for name, value in KEYS.items())


@pytest.mark.case("AUT-12", "AUT-13")
async def test_each_server_is_sent_its_own_token_over_every_wire_and_no_other(hosted: McpHost) -> None:
    async with (
        TinyHttp(Streamable()) as one,
        TinyHttp(OldGateway()) as two,
        TinyHttp(Streamable()) as none,
        Socket().running() as three,
    ):
        urls = {"One": f"{one.url}/mcp", "Two": f"{two.url}/sse", "Three": three.url.replace("http", "ws")}
        for name, url in urls.items():
            await hosted.add(ServerInput(name=name, url=url, token=f"token-of-{name}"))
            assert (await hosted.admin.test(ME, name)).ok
        await hosted.add(ServerInput(name="None", url=f"{none.url}/mcp"))
        assert (await hosted.admin.test(ME, "None")).ok
        assert {request.headers["authorization"] for request in one.requests} == {"Bearer token-of-One"}
        assert {request.headers["authorization"] for request in two.requests} == {"Bearer token-of-Two"}
        requests = [connection.request for connection in three.seen]
        assert {request and request.headers["Authorization"] for request in requests} == {"Bearer token-of-Three"}
        assert all("authorization" not in request.headers for request in none.requests)


@pytest.mark.case("AUT-08")
async def test_of_a_key_file_only_the_path_is_kept_and_its_key_is_read_when_it_is_needed(
    home: Path, hosted: McpHost, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    async with TinyHttp(Streamable()) as server:
        entry = {
            "id": "one",
            "name": "Filed",
            "package": {"type": "http", "identifier": f"{server.url}/mcp"},
            "transport": "http",
            "auth_type": "keyfile",
            "keyfile_path": str(file),
        }
        await hosted.file.change(lambda entries: entries.append(entry))
        hosted.supervisor.reconcile()
        tested = await hosted.admin.test(ME, "Filed")
        assert tested.message == f"The token of “Filed” is to come from {file}, which is not there."
        file.write_text("  key-in-a-file\n")
        file.chmod(0o600)
        assert (await hosted.admin.test(ME, "Filed")).ok
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer key-in-a-file"}
    assert [path for path in files_of(home) if b"key-in-a-file" in path.read_bytes()] == []


def key_file(folder: Path, text: str, name: str = "key") -> Path:
    """Write a file as a person keeps a key."""
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return file


@pytest.mark.case("AUT-06", "AUT-08", "AUT-09", "AUT-11")
async def test_keys_are_pasted_read_from_a_file_and_from_the_environment_side_by_side(
    home: Path, hosted: McpHost, scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_MINE", " value-of-the-environment\n")
    file = key_file(tmp_path, "  value-of-the-file \n")
    keys = {
        "env:A_TOKEN": KeyInput(value="value-that-was-pasted"),
        "env:B_TOKEN": KeyInput(file=str(file)),
        "env:C_TOKEN": KeyInput(environment="OF_MINE"),
    }
    view = await hosted.add(scripted(keys=keys))
    assert {key.label: (key.source, key.path, key.variable) for key in view.keys} == {
        "A token": ("pasted", "", ""),
        "B token": ("file", str(file), ""),
        "C token": ("environment", "", "OF_MINE"),
    }
    names = ("A_TOKEN", "B_TOKEN", "C_TOKEN")
    seen = json.loads(text(await hosted.call_when_known("scripted.env")))
    given = ["value-that-was-pasted", "value-of-the-file", "value-of-the-environment"]
    assert [seen.get(name) for name in names] == given
    for value in given:
        assert [path for path in files_of(home) if value.encode() in path.read_bytes()] == []
        assert hosted.redactor.redact(f"It is {value}.") == "It is [redacted]."
    # Read anew at each start.
    file.write_text("another-value-of-the-file")
    await hosted.admin.disconnect(ME, view.id)
    assert json.loads(text(await hosted.call("scripted.env")))["B_TOKEN"] == "another-value-of-the-file"


@pytest.mark.case("AUT-08", "AUT-12")
async def test_a_key_file_is_sent_to_a_remote_server_as_a_bearer_over_every_wire(
    hosted: McpHost, tmp_path: Path
) -> None:
    keys = {"header:Authorization": KeyInput(file=str(key_file(tmp_path, " of-a-file\n")))}
    own = {"header:X-Api-Key": KeyInput(file=str(key_file(tmp_path, "raw", "raw")))}
    async with TinyHttp(Streamable()) as one, TinyHttp(OldGateway()) as two, Socket().running() as three:
        urls = {"One": f"{one.url}/mcp", "Two": f"{two.url}/sse", "Three": three.url.replace("http", "ws")}
        for name, url in urls.items():
            await hosted.add(ServerInput(name=name, url=url, keys={**keys, **own}))
            assert (await hosted.admin.test(ME, name)).ok
        sent = [(each.headers["authorization"], each.headers["x-api-key"]) for each in (*one.requests, *two.requests)]
        requests = [connection.request for connection in three.seen]
        sent += [(each.headers["Authorization"], each.headers["X-Api-Key"]) for each in requests if each]
        assert set(sent) == {("Bearer of-a-file", "raw")}


@pytest.mark.case("AUT-08")
async def test_a_key_file_that_says_how_it_is_meant_is_sent_as_it_is(hosted: McpHost, tmp_path: Path) -> None:
    async with TinyHttp(Streamable()) as server:
        key = KeyInput(file=str(key_file(tmp_path, "Basic dXNlcjprZXk=\n")))
        await hosted.add(ServerInput(name="One", url=f"{server.url}/mcp", keys={"header:Authorization": key}))
        assert (await hosted.admin.test(ME, "One")).ok
        assert {request.headers["authorization"] for request in server.requests} == {"Basic dXNlcjprZXk="}


def broken(folder: Path, kind: str) -> str:
    """Make a key file with something wrong about it, and return its path."""
    path = folder / kind.replace(" ", "-")
    if kind == "a folder":
        path.mkdir()
    elif kind == "half a path":
        return "keys/token"
    elif kind == "a link to nothing":
        path.symlink_to(folder / "nothing")
    elif kind != "missing":
        content = {"empty": b" \n", "several lines": b"one\ntwo\n", "no text": b"\xff\xfe\x00", "large": b"x" * 70_000}
        path.write_bytes(content.get(kind, b"key"))
        path.chmod({"open to all": 0o604, "writable by all": 0o602}.get(kind, 0o600))
    return str(path)


BAD_FILES = {
    "missing": ("is not there", "pilothouse mcp keys Filed"),
    "a link to nothing": ("is not there", "pilothouse mcp keys Filed"),
    "empty": ("is empty", "Put the key into it."),
    "a folder": ("is a folder", "Give the path of the file in it."),
    "several lines": ("has more than one line", "Leave the key in it and nothing else."),
    "large": ("is too large to hold one key", "pilothouse mcp keys Filed"),
    "no text": ("is no text", "pilothouse mcp keys Filed"),
    "open to all": ("can be read by everybody on this machine", "Close it: chmod 600 "),
    "writable by all": ("can be changed by everybody on this machine", "Close it: chmod 600 "),
    "half a path": ("is half a path", "Give the whole path."),
}


@pytest.mark.case("AUT-08")
@pytest.mark.parametrize("kind", BAD_FILES)
async def test_a_bad_key_file_is_told_in_one_sentence_with_the_way_back(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, kind: str
) -> None:
    said, fix = BAD_FILES[kind]
    path = broken(tmp_path, kind)
    view = await hosted.add(scripted(name="Filed", keys={"env:MY_TOKEN": KeyInput(file=path)}))
    tested = await hosted.admin.test(ME, view.id)
    assert (tested.ok, tested.message) == (
        False,
        f"The My token of “Filed” is to come from {path}, which {said}.",
    )
    assert fix in tested.fix
    assert (await hosted.view("Filed")).keys[0].source == "file"


@pytest.mark.case("AUT-06", "AUT-08")
@pytest.mark.parametrize("kind", ["missing", "empty", "a folder", "open to all", "half a path"])
async def test_a_bad_key_file_takes_the_place_of_no_key_that_was_given_before(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, kind: str
) -> None:
    path = broken(tmp_path, kind)
    view = await hosted.add(scripted(name="Filed", keys={"env:MY_TOKEN": KeyInput(value="pasted-before")}))
    for bad in (KeyInput(file=path), KeyInput(environment="NOT_SET_HERE")):
        with pytest.raises(PilothouseError) as told:
            await hosted.admin.update(ME, view.id, scripted(name="Filed", keys={"env:MY_TOKEN": bad}))
        assert (told.value.code, bool(told.value.fix)) == ("bad_request", True)
        assert "The My token of “Filed” is to come from" in told.value.message
    now = await hosted.view("Filed")
    assert [(key.source, key.path) for key in now.keys] == [("pasted", "")]
    assert (await hosted.admin.test(ME, view.id)).ok
    # A good one does.
    good = KeyInput(file=str(key_file(tmp_path, "of-a-file", "good")))
    turned = await hosted.admin.update(ME, view.id, scripted(name="Filed", keys={"env:MY_TOKEN": good}))
    assert turned.keys[0].source == "file"


@pytest.mark.case("AUT-06")
async def test_a_variable_that_is_not_set_is_told(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET_HERE", raising=False)
    view = await hosted.add(scripted(keys={"env:MY_TOKEN": KeyInput(environment="NOT_SET_HERE")}))
    tested = await hosted.admin.test(ME, view.id)
    assert "is to come from the variable NOT_SET_HERE, which is not set where Pilothouse runs." in tested.message
    assert "Set it and start Pilothouse again, or give it in Settings, MCP" in tested.fix


@pytest.mark.case("AUT-10")
async def test_keys_that_a_server_asks_for_are_known_by_labels_until_they_are_given(
    home: Path, scripted: Scripted, quick: None
) -> None:
    wants = "SLACK_BOT_TOKEN,SLACK_TEAM_ID"
    async with open_mcp_host(home) as hosted:
        view = await hosted.add(scripted("--wants", wants, name="Slack"))
        tested = await hosted.admin.test(ME, view.id)
        assert tested.message == "“Slack” needs its Slack bot token and Slack team ID."
        assert tested.fix == "Give them in Settings, MCP, or with `pilothouse mcp keys Slack`."
    async with open_mcp_host(home) as hosted:
        view = await hosted.view("Slack")
        said = "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables"
        assert [(key.label, key.source, key.about) for key in view.keys] == [
            ("Slack bot token", "missing", said),
            ("Slack team ID", "missing", said),
        ]
        keys = {view.keys[0].id: KeyInput(value="xoxb-of-mine"), view.keys[1].id: KeyInput(value="T012")}
        given = await hosted.admin.update(ME, view.id, scripted("--wants", wants, name="Slack", keys=keys))
        assert given.consent is None, "who gives a key that was asked for agrees that the program gets it"
        assert [key.source for key in given.keys] == ["pasted", "pasted"]
        assert (await hosted.until("Slack", "connected")).keys == given.keys


async def test_a_variable_that_nobody_asked_for_is_agreed_to_first(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted("--wants", "A_TOKEN"))
    await hosted.until("Scripted", "error")
    keys = {"env:A_TOKEN": KeyInput(value="one"), "env:NODE_OPTIONS": KeyInput(value="--require=/tmp/x.js")}
    changed = await hosted.admin.update(ME, view.id, scripted("--wants", "A_TOKEN", keys=keys))
    assert changed.consent is not None
    assert changed.consent.changes == ("Environment: A_TOKEN is new.", "Environment: NODE_OPTIONS is new.")


async def test_a_form_keeps_keys_with_null_and_drops_what_it_leaves_out(
    home: Path, hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    file = key_file(tmp_path, "of-a-file")
    keys = {"env:A_TOKEN": KeyInput(value="pasted-one"), "env:B_TOKEN": KeyInput(file=str(file))}
    view = await hosted.add(scripted(keys=keys))
    kept = await hosted.admin.update(ME, view.id, scripted(keys=dict.fromkeys([*keys, "env:C_TOKEN"])))
    assert kept.keys == view.keys
    assert (await hosted.admin.test(ME, view.id)).ok
    # From a file to a paste, and the other way round.
    keys = {"env:A_TOKEN": KeyInput(file=str(file)), "env:B_TOKEN": KeyInput(value="pasted-two")}
    turned = await hosted.admin.update(ME, view.id, scripted(keys=keys))
    assert {key.id: key.source for key in turned.keys} == {"env:A_TOKEN": "file", "env:B_TOKEN": "pasted"}
    assert [path.name for path in (home / "secrets").glob(f"mcp_{view.id}*")] == [
        f"mcp_{view.id}_env_B_TOKEN.secret"
    ], "what nothing refers to any more is gone"
    seen = json.loads(text(await hosted.call_when_known("scripted.env")))
    assert (seen["A_TOKEN"], seen["B_TOKEN"]) == ("of-a-file", "pasted-two")
    assert (await hosted.admin.update(ME, view.id, scripted())).keys == ()
    assert list((home / "secrets").glob(f"mcp_{view.id}*")) == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"env:A_B": KeyInput()}, "pasted, read from a file, or read from a variable"),
        ({"env:A_B": KeyInput(value="x", file="/y")}, "pasted, read from a file, or read from a variable"),
        ({"env:A_B": KeyInput(value="  ")}, "The A B is empty."),
        ({"env:A_B": KeyInput(file="/a\n/b")}, "must be one line"),
        ({"env:A_B": KeyInput(environment="A=B")}, "“A=B” cannot be the name of an environment variable."),
        ({"header:X-Key": KeyInput(value="x")}, "“header:X-Key” is no key that this server can have."),
        ({"nothing": KeyInput(value="x")}, "“nothing” is no key that this server can have."),
        ({"env:A=B": KeyInput(file="/x")}, "“env:A=B” is no key that this server can have."),
    ],
)
async def test_a_key_that_makes_no_sense_is_refused(
    hosted: McpHost, scripted: Scripted, keys: dict[str, KeyInput], said: str
) -> None:
    with pytest.raises(PilothouseError, match=re.escape(said)) as refused:
        await hosted.admin.add(ME, scripted(keys=keys))
    assert refused.value.code == "bad_request"


@pytest.mark.case("AUT-10")
async def test_a_server_that_starts_and_answers_only_with_an_error_asks_for_its_key_as_well(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted("--say", "no TAVILY_API_KEY set; running in keyless mode"))
    connected = await hosted.until("Scripted", "connected")
    [first] = connected.keys
    assert (first.label, first.source) == ("Tavily API key", "missing")
    await hosted.call_when_known("scripted.fail", {"message": "Error: OPENAI_API_KEY is not set"})
    view = await hosted.view("Scripted")
    assert [(key.label, key.about) for key in view.keys[1:]] == [("OpenAI API key", "Error: OPENAI_API_KEY is not set")]
    await hosted.call("scripted.echo", {"text": "hello"})
    assert len((await hosted.view("Scripted")).keys) == 2, "another tool says nothing about it"


@pytest.mark.case("AUT-10")
async def test_a_remote_server_that_refuses_without_a_key_asks_for_a_token(hosted: McpHost) -> None:
    def closed(request: Request) -> Answer:
        if request.headers.get("x-api-key") == "right":
            return Streamable()(request)
        return Answer(401, b'{"error": "Missing X-API-Key header"}', {"Content-Type": "application/json"})

    async with TinyHttp(closed) as server:
        body = ServerInput(name="Far", url=f"{server.url}/mcp")
        view = await hosted.add(body)
        assert not (await hosted.admin.test(ME, "Far")).ok
        [key] = (await hosted.view("Far")).keys
        assert (key.label, key.source) == ("API key", "missing")
        body = ServerInput(name="Far", url=f"{server.url}/mcp", keys={key.id: KeyInput(value="wrong")})
        await hosted.admin.update(ME, view.id, body)
        refused = await hosted.admin.test(ME, "Far")
        assert refused.message.startswith("Authentication failed. Check your API key.")
        assert [each.source for each in (await hosted.view("Far")).keys] == ["pasted"], "given, and refused"
        body = ServerInput(name="Far", url=f"{server.url}/mcp", keys={key.id: KeyInput(value="right")})
        await hosted.admin.update(ME, view.id, body)
        assert (await hosted.admin.test(ME, "Far")).ok
        assert [each.source for each in (await hosted.view("Far")).keys] == ["pasted"]


@pytest.mark.case("AUT-08")
async def test_the_key_file_of_the_oldest_form_is_for_the_one_key_that_a_local_server_lacks(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    view = await hosted.add(scripted("--wants", "GITHUB_TOKEN", enabled=False), agree=False)
    file = key_file(tmp_path, "of-a-file\n")

    def change(entries: list[JsonObject]) -> None:
        entries[0] |= {"auth_type": "keyfile", "keyfile_path": str(file), "enabled": True}

    await hosted.file.change(change)
    view = await hosted.view("Scripted")
    assert view.consent is not None
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    for _ in range(2):
        assert json.loads(text(await hosted.call_when_known("scripted.env")))["GITHUB_TOKEN"] == "of-a-file"
        assert [(key.id, key.source) for key in (await hosted.view("Scripted")).keys] == [("env:GITHUB_TOKEN", "file")]
        await hosted.admin.disconnect(ME, view.id)
