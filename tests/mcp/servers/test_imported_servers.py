"""Servers of other programs' files, from the file to the running server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pilothouse.mcp.servers.entries import parse_entry
from pilothouse.mcp.servers.forms import drafted
from pilothouse.mcp.servers.key_places import KeyReader
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.values import KeySources, values_of
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ConsentGiven, ImportReport, ImportRequest, ServerInput, ServersSwitch
from tests.support.mcp_hosting import McpHost
from tests.support.mcp_servers import SCRIPTED

KEY = "sk-a-key-of-mine-0123456789"


def sources(hosted: McpHost) -> KeySources:
    """Return where the keys of the servers come from."""
    return KeySources(hosted.secrets, KeyReader(hosted.home), lambda _value: None)


async def imported(hosted: McpHost, file: object, answers: Mapping[str, str | None] | None = None) -> ImportReport:
    return await hosted.other_programs.import_file(
        ME, ImportRequest(text=json.dumps(file), answers=dict(answers or {}))
    )


def file_with_key(tmp_path: Path) -> dict[str, object]:
    """Return a file whose server gets a key in its arguments and in a larger text of its environment."""
    show = "import os, sys; open(sys.argv[1], 'w').write(sys.argv[2] + ' ' + os.environ['AUTH'])"
    return {
        "inputs": [{"type": "promptString", "id": "key", "description": "The key", "password": True}],
        "servers": {
            "it": {
                "command": sys.executable,
                "args": ["-c", show, str(tmp_path / "seen"), "--key=${input:key}"],
                "env": {"AUTH": "Bearer ${input:key}"},
            }
        },
    }


@pytest.mark.slow
async def test_a_secret_in_arguments_and_inside_a_larger_text_reaches_the_server_alone(
    hosted: McpHost, tmp_path: Path
) -> None:
    file = file_with_key(tmp_path)
    asked = (await hosted.other_programs.import_questions(ME, ImportRequest(text=json.dumps(file)))).questions
    assert [(each.id, each.label, each.secret) for each in asked] == [("input:key", "The key", True)]
    report = await imported(hosted, file, {"input:key": KEY})
    assert [each.outcome for each in report.servers] == ["added"]
    view = await hosted.view("it")
    assert view.consent is not None
    assert view.consent.argv[-1] == "--key=${secret:key}"
    assert view.secret_slots == ("key",)
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    await hosted.until("it", "error", "disconnected", "reconnecting")
    assert (tmp_path / "seen").read_text() == f"--key={KEY} Bearer {KEY}"
    kept = b"".join(path.read_bytes() for path in hosted.home.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    await hosted.admin.delete(ME, view.id)
    assert not [path for path in hosted.home.rglob("*.secret") if "_slot_" in path.name]


@pytest.mark.slow
async def test_what_was_left_open_is_named_and_can_be_entered_later(hosted: McpHost, tmp_path: Path) -> None:
    report = await imported(hosted, file_with_key(tmp_path))
    assert report.servers[0].notes == ("It needs a value for key before it can start.",)
    view = await hosted.view("it")
    assert view.consent is not None
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    failed = await hosted.until("it", "error")
    assert failed.last_error == "“it” needs its key."
    assert "pilothouse mcp keys it" in failed.fix
    now = failed.settings
    body = ServerInput(
        name="it", command=sys.executable, args=now.args, plain_env=now.env, env={}, secrets={"key": KEY}
    )
    await hosted.admin.update(ME, view.id, body)
    await hosted.until("it", "error", "disconnected", "reconnecting")
    assert KEY in (tmp_path / "seen").read_text()


async def test_an_edit_of_other_things_keeps_the_secrets_inside_texts(hosted: McpHost, tmp_path: Path) -> None:
    await imported(hosted, file_with_key(tmp_path), {"input:key": KEY})
    view = await hosted.view("it")
    body = ServerInput(name="other", command=sys.executable, args=view.settings.args, plain_env=view.settings.env)
    await hosted.admin.update(ME, view.id, body)
    entry = hosted.server("other").entry
    assert values_of(entry, sources(hosted)).env == {"AUTH": f"Bearer {KEY}"}
    with pytest.raises(PilothouseError, match="refers to"):
        drafted(ServerInput(command="x", secrets={"nowhere": "x"}), "id")
    with pytest.raises(PilothouseError, match="one line"):
        drafted(ServerInput(command="x", args=("${secret:a}",), secrets={"a": "x\r\ny: z"}), "id")


async def test_a_secret_in_an_address_is_filled_in_and_not_kept_with_it(hosted: McpHost) -> None:
    file = {"mcpServers": {"far": {"url": "http://127.0.0.1:9/mcp?api_key=${API_KEY}"}}}
    await imported(hosted, file, {"env:API_KEY": "a key/of mine"})
    entry = hosted.server("far").entry
    values = values_of(entry, sources(hosted))
    full = values.address(entry.config.url)
    assert full == "http://127.0.0.1:9/mcp?api_key=a%20key/of%20mine"
    assert values.hidden(full) == entry.config.url
    assert "of mine" not in (hosted.home / "config.json").read_text()
    assert "API_KEY}" not in (await hosted.view("far")).address


async def test_a_slot_of_another_servers_secret_is_a_slot_of_ones_own(hosted: McpHost, tmp_path: Path) -> None:
    await imported(hosted, file_with_key(tmp_path), {"input:key": KEY})
    thief = parse_entry(
        {"id": "thief", "package": {"type": "command", "identifier": "x"}, "config": {"args": ["${secret:key}"]}}
    )
    with pytest.raises(Exception, match="needs its key"):
        values_of(thief, sources(hosted))


async def test_several_servers_are_switched_on_with_one_write(hosted: McpHost) -> None:
    file = {"mcpServers": {f"s{number}": {"url": f"http://127.0.0.1:9/{number}"} for number in range(3)}}
    report = await imported(hosted, file)
    ids = tuple(each.id for each in report.servers)
    now = await hosted.admin.switch(ME, ServersSwitch(ids=ids[:2], enabled=True))
    assert [server.enabled for server in now.servers] == [True, True, False]
    with pytest.raises(PilothouseError):
        await hosted.admin.switch(ME, ServersSwitch(ids=("nobody",), enabled=True))


@pytest.mark.slow
async def test_as_many_servers_as_a_file_may_have_are_imported_and_listed_at_once(hosted: McpHost) -> None:
    file = {
        "mcpServers": {
            f"server {number}": {"command": sys.executable, "args": [str(SCRIPTED)], "env": {"N": str(number)}}
            for number in range(limits.IMPORT_SERVERS)
        }
    }
    writes = 0
    change = hosted.file.change

    async def counted(*args: object) -> None:
        nonlocal writes
        writes += 1
        await change(*args)  # type: ignore[arg-type]

    hosted.file.change = counted  # type: ignore[assignment, method-assign]
    report = await imported(hosted, file)
    # Each secret is a file that the disk confirmed; one write of the list for each server took a minute.
    assert writes == 1
    assert {each.outcome for each in report.servers} == {"added"}
    listed = await hosted.admin.list(ME)
    assert len(listed.servers) == limits.IMPORT_SERVERS
    assert {server.state for server in listed.servers} == {"needs_consent"}


async def test_of_two_servers_of_one_name_that_are_added_at_the_same_moment_one_is_kept(hosted: McpHost) -> None:
    bodies = [ServerInput(url=f"https://{each}.example.com/mcp", name="twin", enabled=False) for each in "abc"]
    made = await asyncio.gather(*(hosted.admin.add(ME, body) for body in bodies), return_exceptions=True)
    assert sorted(type(each).__name__ for each in made) == ["PilothouseError", "PilothouseError", "ServerView"]
    assert all("already a server “twin”" in str(each) for each in made if isinstance(each, PilothouseError))
    assert [each.name for each in (await hosted.admin.list(ME)).servers] == ["twin"]
    # Where nobody gave a name, each gets one of its own, whichever comes first.
    urls = ("https://example.com/mcp", "https://example.com/github/mcp")
    text = json.dumps({"mcpServers": {"example.com": {"url": "https://example.com/else"}}})
    await asyncio.gather(
        *(hosted.admin.add(ME, ServerInput(url=url, enabled=False)) for url in urls),
        hosted.other_programs.import_file(ME, ImportRequest(text=text)),
    )
    names = [each.name for each in (await hosted.admin.list(ME)).servers]
    assert len(names) >= 3
    assert len({slug(each) for each in names}) == len(names)
