"""Several processes on one PostgreSQL have one truth: what one is told, all know, and what one denies none allows."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.secrets.master_key import FILE_VARIABLE
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ModelInput
from pilothouse.types.authority import Pattern, PolicyInput, Rule
from pilothouse.types.errors import PilothouseError
from pilothouse.types.servers import ConsentGiven, ServerInput, ToolTry
from pilothouse.types.sign_ins import SignInAnswer, SignInStart
from pilothouse.wiring import OpenHost, open_host
from tests.behaviour.sign_in_host import BACK, follow_sign_in
from tests.behaviour.two_replicas import Replicas, end_listeners, everything_in, listeners, open_replicas
from tests.support.chats import ME, open_chat
from tests.support.fake_issuer import OneTool
from tests.support.replicas import KEY, set_master_key, stop_settings_watch
from tests.support.sign_ins import open_sign_in
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually

READ = "files__read"
DENIED = Rule(id="no-files", verdict="deny", pattern=Pattern(tool="files.read"), note="Not these.")
SECRET = "sk-a-key-that-nobody-may-read-4711"


@pytest.fixture
async def both(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replicas]:
    set_master_key(monkeypatch, tmp_path)
    async with open_replicas(tmp_path, postgres_url) as made:
        yield made


@pytest.fixture
def deaf_url(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of processes that have one key and hear nothing of each other."""
    set_master_key(monkeypatch, tmp_path)
    stop_settings_watch(monkeypatch)
    return postgres_url


def a_model(**more: Any) -> ModelInput:
    given = {"id": "shared", "name": "Shared", "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    return ModelInput(**{**given, **more})


async def key_at(host: OpenHost, model_id: str) -> str:
    """Return the key that a model would be asked with at a host."""
    models = host.executor._parts.models
    assert isinstance(models, ModelCatalogue)
    [config] = [one for one in await models.configs() if one.id == model_id]
    return await asyncio.to_thread(models.key_for, config)


async def test_a_rule_given_at_one_replica_refuses_a_call_at_another_at_once(tmp_path: Path, deaf_url: str) -> None:
    tool = ToolOf(READ, server="Files")
    turns = [[{"call": READ, "arguments": {}}], "Done."] * 2
    async with (
        open_host(tmp_path / "a", deaf_url) as a,
        open_chat(tmp_path / "b", turns, database_url=deaf_url, settings={"mode": "auto_approve"}) as chat,
    ):
        give_tools(chat.host, tool)
        await chat.say()
        assert len(tool.calls) == 1
        await a.api.permissions.set_policy(ME, PolicyInput(rules=(DENIED,)))
        await chat.say("Again")
        assert len(tool.calls) == 1
        [_, call] = await chat.items("tool_call")
        assert "A rule of yours forbids it" in call.text


async def test_what_was_allowed_before_the_rule_came_is_refused_too(tmp_path: Path, deaf_url: str) -> None:
    tool = ToolOf(READ, server="Files")
    turns = [[{"call": READ, "arguments": {}}], "Done."]
    async with (
        open_host(tmp_path / "a", deaf_url) as a,
        open_chat(tmp_path / "b", turns, database_url=deaf_url) as chat,
    ):
        give_tools(chat.host, tool)
        run = await chat.say()
        assert run.status == "waiting"
        [question] = await chat.items("question")
        await a.api.permissions.set_policy(ME, PolicyInput(rules=(DENIED,)))
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        await chat.settled(run.id)
        assert tool.calls == []


async def test_changes_made_at_both_at_the_same_time_are_all_kept(both: Replicas) -> None:
    async def add(host: OpenHost, name: str) -> None:
        await host.api.models.add(ME, a_model(id=name, name=name))

    names = [f"m-{number}" for number in range(12)]
    await asyncio.gather(*(add((both.a, both.b)[index % 2], name) for index, name in enumerate(names)))
    for host in (both.a, both.b):

        async def all_there(host: OpenHost = host) -> bool:
            return set(names) <= {model.id for model in (await host.api.models.list(ME)).models}

        await eventually(all_there, "every model to be in the list")


async def test_a_model_with_its_key_is_used_at_the_other(both: Replicas) -> None:
    await both.a.api.models.add(ME, a_model(api_key=SECRET))

    async def there() -> bool:
        return any(model.id == "shared" for model in (await both.b.api.models.list(ME)).models)

    async def masked() -> bool:
        return SECRET not in both.b.redactor.redact(f"It is {SECRET}.")

    await eventually(there, "the model to be known")
    # Before anyone here needs it.
    await eventually(masked, "what another replica was given to be masked here")
    assert await key_at(both.b, "shared") == SECRET


async def test_settings_and_servers_are_those_of_all(both: Replicas) -> None:
    await both.a.api.settings.update(ME, ConfigPatch(most_waiting=77))
    await both.a.api.servers.add(ME, ServerInput(name="Far", command_line="http://127.0.0.1:9/mcp"))

    async def there() -> bool:
        servers = (await both.b.api.servers.list(ME)).servers
        return (await both.b.api.settings.get(ME)).most_waiting == 77 and [one.name for one in servers] == ["Far"]

    await eventually(there, "settings and servers to be known")


async def test_what_is_agreed_to_at_one_is_agreed_to_at_the_other_that_waits(both: Replicas) -> None:
    entry = ServerInput(name="Near", command=sys.executable, args=("-c", "import time; time.sleep(60)"))
    await both.a.api.servers.add(ME, entry)

    async def waits(host: OpenHost) -> bool:
        return [one.consent is not None for one in (await host.api.servers.list(ME)).servers] == [True]

    for host in (both.a, both.b):
        await eventually(partial(waits, host), "the server to wait for consent")
    (shown,) = (await both.a.api.servers.list(ME)).servers
    assert shown.consent is not None
    await both.a.api.servers.consent(ME, shown.id, ConsentGiven(fingerprint=shown.consent.fingerprint))

    async def agreed() -> bool:
        return not await waits(both.b)

    await eventually(agreed, "the other to know")


async def changed_at_a_known_at_b(both: Replicas) -> None:
    await both.a.api.settings.update(ME, ConfigPatch(most_waiting=78))

    async def there() -> bool:
        return (await both.b.api.settings.get(ME)).most_waiting == 78

    await eventually(there, "the setting to be known")


async def test_who_could_not_hear_for_a_moment_looks_when_it_can_again(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)
    # Only what is heard counts.
    monkeypatch.setattr(limits, "SETTINGS_LOOK", 600.0)
    async with open_replicas(tmp_path, postgres_url) as both:

        async def both_listen() -> bool:
            return await asyncio.to_thread(listeners, postgres_url) == 2

        await eventually(both_listen, "both to listen")
        assert await asyncio.to_thread(end_listeners, postgres_url) == 2
        await changed_at_a_known_at_b(both)


async def test_who_hears_nothing_at_all_looks_once_a_second(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)

    async def never(_self: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("pilothouse.store.shared_watch.SharedWatch._listen", never)
    async with open_replicas(tmp_path, postgres_url) as both:
        await changed_at_a_known_at_b(both)


async def look(host: OpenHost) -> str:
    return (await host.api.servers.try_tool(ME, ToolTry(server_id="One", tool="look"))).text


async def look_when_signed_in(host: OpenHost) -> str:
    """Call the tool once a host knows of the sign-in; one that learned the tools just before is idle until then."""

    async def signed_in() -> bool:
        servers = (await host.api.servers.list(ME)).servers
        return bool(servers) and servers[0].signed_in is not None and servers[0].tool_count > 0

    await eventually(signed_in, "the sign-in and the tools to be known")
    return await look(host)


async def test_a_sign_in_begun_at_one_ends_at_the_other(both: Replicas) -> None:
    async with open_sign_in(OneTool) as setting:
        await both.a.api.servers.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
        begun = await both.a.api.servers.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        answer = SignInAnswer(address=await follow_sign_in(begun.url))
        server = await both.b.api.servers.finish_sign_in(ME, answer)
        assert server.name == "One"
        for host in (both.a, both.b):
            assert await look_when_signed_in(host) == "seen"
        with pytest.raises(PilothouseError, match="not one that waits here"):
            await both.a.api.servers.finish_sign_in(ME, answer)


async def test_tokens_that_ran_out_at_both_at_once_are_renewed_once(both: Replicas) -> None:
    async with open_sign_in(OneTool) as setting:
        await both.a.api.servers.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
        begun = await both.a.api.servers.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        await both.a.api.servers.finish_sign_in(ME, SignInAnswer(address=await follow_sign_in(begun.url)))
        for host in (both.a, both.b):
            assert await look_when_signed_in(host) == "seen"
        setting.issuer.valid.clear()
        # A refresh token is good once: a second who shows it is refused, and would be taken for signed out.
        assert tuple(await asyncio.gather(look(both.a), look(both.b))) == ("seen", "seen")
        assert tuple(await asyncio.gather(look(both.b), look(both.a))) == ("seen", "seen")


async def test_neither_a_secret_nor_the_master_key_is_in_the_database(both: Replicas) -> None:
    await both.a.api.models.add(ME, a_model(api_key=SECRET))
    kept = await asyncio.to_thread(everything_in, both.url)
    assert b"master-key-check" in kept
    assert b"Shared" in kept
    assert SECRET.encode() not in kept
    assert KEY.encode() not in kept


async def test_a_replica_with_another_master_key_says_what_to_do(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)
    async with open_host(tmp_path / "a", postgres_url) as a:
        await a.api.models.add(ME, a_model(api_key=SECRET))
    file = set_master_key(monkeypatch, tmp_path, "quite another master key of enough bytes")
    with pytest.raises(PilothouseError) as caught:
        async with open_host(tmp_path / "b", postgres_url):
            raise AssertionError("it was opened")
    assert caught.value.message == (f"The secrets in the database were encrypted with another master key than {file}.")
    assert caught.value.fix == "Give all replicas the same master key file: set PILOTHOUSE_MASTER_KEY_FILE to it."


async def test_the_first_replica_brings_its_files_and_secrets_and_no_other_does(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each by itself, with a key of its own.
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    for name in ("a", "b"):
        async with open_host(tmp_path / name) as host:
            await host.api.models.add(ME, a_model(id=f"of-{name}", api_key=f"{SECRET}-{name}"))
    set_master_key(monkeypatch, tmp_path)
    # The folder's own key opens what was kept there.
    (tmp_path / "the-master-key").write_bytes((tmp_path / "a" / "secrets" / "master.key").read_bytes())
    async with open_replicas(tmp_path, postgres_url) as both:
        for host in (both.a, both.b):
            names = {model.id for model in (await host.api.models.list(ME)).models}
            assert "of-a" in names
            assert "of-b" not in names
        assert await key_at(both.b, "of-a") == f"{SECRET}-a"
    log = (tmp_path / "b" / "logs" / "pilothouse.log").read_text()
    assert f"{tmp_path / 'b' / 'models.json'} is not read" in log


async def test_a_broken_file_is_not_taken_over_in_silence(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)
    (tmp_path / "a").mkdir(mode=0o700)
    (tmp_path / "a" / "policy.json").write_text('{"rules": [')
    with pytest.raises(PilothouseError, match="cannot be taken over into the database: line 1 of"):
        async with open_host(tmp_path / "a", postgres_url):
            raise AssertionError("it was opened")


async def test_what_another_version_wrote_denies_on_and_is_not_written_over(both: Replicas) -> None:
    await both.a.api.permissions.set_policy(ME, PolicyInput(rules=(DENIED,)))

    async def known() -> bool:
        return bool((await both.b.api.permissions.policy(ME)).rules)

    await eventually(known, "the rule to be known")
    newer = json.dumps({"version": "9.0", "rules": "of another form"})
    with psycopg.connect(both.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE shared_settings SET version = version + 1, body = %s WHERE name = 'policy.json'", (newer,)
        )

    async def noticed() -> bool:
        return (await both.b.api.permissions.policy(ME)).problem is not None

    await eventually(noticed, "the problem to be told")
    assert [rule.id for rule in (await both.b.api.permissions.policy(ME)).rules] == ["no-files"]
    with pytest.raises(PilothouseError, match="was left as it is"):
        await both.b.api.permissions.set_policy(ME, PolicyInput(rules=()))
