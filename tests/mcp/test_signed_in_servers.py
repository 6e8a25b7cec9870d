"""Servers that want tokens, from the store of secrets to the call of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.mcp.breaker import Breaker
from pilothouse.mcp.oauth.credentials import Credential, SecretCredentials
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.oauth.grants import SignIn
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Resumed, ToolOutput, ToolPaused
from tests.support.fake_issuer import OneTool
from tests.support.mcp_hosting import Hosted, hosting
from tests.support.signing_in import Guest, Setting, ask, signing_in

pytestmark = pytest.mark.slow


@asynccontextmanager
async def wanting_tokens(home: Path, *, signed_in: bool = True) -> AsyncIterator[tuple[Setting, OneTool, Hosted]]:
    """A host with a server that its person signed in to once, or never."""
    async with signing_in(OneTool) as setting, hosting(home, begin=True) as hosted:
        assert isinstance(setting.resource, OneTool)
        if signed_in:
            await sign_in(setting, hosted)
        server = setting.resource
        await hosted.file.change(lambda entries: entries.append(entry_of(server)))
        hosted.supervisor.reconcile()
        yield setting, server, hosted


def entry_of(server: OneTool) -> JsonObject:
    """Return the server as `config.json` has it."""
    return {
        "id": "one",
        "name": "One",
        "package": {"type": "http", "identifier": server.mcp},
        "transport": "http",
        "auth_type": "oauth",
        "config": {"url": server.mcp},
    }


async def sign_in(setting: Setting, hosted: Hosted) -> None:
    """Do what a person does, wherever they do it: afterwards the tokens are among the secrets."""
    setting.restart()
    setting.memory.kept.clear()
    await ask(setting.access(), setting.resource.mcp)
    await SecretCredentials(hosted.secrets).set(setting.kept)


async def kept(setting: Setting, hosted: Hosted) -> Credential:
    found = await SecretCredentials(hosted.secrets).get(setting.resource.mcp)
    assert found is not None
    return found


def answered(paused: ToolOutput | ToolPaused, action: str) -> Resumed:
    assert isinstance(paused, ToolPaused)
    return Resumed(paused.state, {paused.asks[0].id: {"action": action}})


@pytest.mark.case("F-25")
async def test_a_token_that_ends_during_a_run_is_renewed_and_no_call_notices(home: Path) -> None:
    async with wanting_tokens(home) as (setting, _, hosted):
        output = await hosted.call_when_known("one.look")
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
        setting.issuer.valid.clear()
        outputs = await asyncio.gather(*(hosted.call("one.look") for _ in range(8)))
        assert [output.text for output in outputs if isinstance(output, ToolOutput)] == ["seen"] * 8
        renewals = [asked for asked in setting.issuer.requests("/token") if "refresh_token" in asked.form]
        assert len(renewals) == 1
        tokens = (await kept(setting, hosted)).tokens
        assert tokens is not None
        assert tokens.access in setting.issuer.valid
        assert (
            hosted.redactor.redact(f"x {tokens.access} y {tokens.refresh}") != f"x {tokens.access} y {tokens.refresh}"
        )


@pytest.mark.case("SRV-22", "SECRET-01")
async def test_deleting_a_server_deletes_what_signing_in_brought_unless_another_needs_it(home: Path) -> None:
    async with wanting_tokens(home) as (setting, server, hosted):
        await hosted.call_when_known("one.look")
        await hosted.file.change(lambda entries: entries.append({**entries[0], "id": "two", "name": "Two"}))
        await hosted.admin.delete("one")
        assert (await kept(setting, hosted)).tokens is not None
        assert (await hosted.admin.test("two")).ok
        await hosted.admin.delete("two")
        assert await SecretCredentials(hosted.secrets).get(server.mcp) is None
        assert not [path.name for path in (home / "secrets").iterdir() if "oauth" in path.name]
        # Nor is it still known to who is running.
        await hosted.file.change(lambda entries: entries.append(entry_of(server)))
        assert "asks you to sign in" in (await hosted.admin.test("one")).message


@pytest.mark.case("F-25", "ERR-05")
async def test_when_only_a_person_can_help_the_call_waits_for_them_and_goes_on(home: Path) -> None:
    async with wanting_tokens(home) as (setting, server, hosted):
        await hosted.call_when_known("one.look")
        setting.issuer.valid.clear()
        setting.issuer.refreshable.clear()
        paused = await hosted.call("one.look")
        assert isinstance(paused, ToolPaused)
        assert "sign in again" in paused.asks[0].message
        assert server.calls == 1
        refused = await hosted.call("one.look", resumed=answered(paused, "decline"))
        assert isinstance(refused, ToolOutput)
        assert refused.error is not None
        assert refused.error.code == "SIGN_IN_NEEDED"
        again = await hosted.call("one.look", resumed=answered(paused, "accept"))
        assert isinstance(again, ToolPaused)
        assert not paused.asks[0].message.startswith("Authorization failed")
        assert again.asks[0].message.startswith("Authorization failed. Please try again. ")
        await sign_in(setting, hosted)
        output = await hosted.call("one.look", resumed=answered(again, "accept"))
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
        assert server.calls == 2


@pytest.mark.case("ERR-05")
async def test_a_person_who_was_refused_reads_that_and_may_try_again() -> None:
    async with signing_in() as setting:
        setting.guest.change = lambda query: {"error": "access_denied", "state": query["state"]}
        with pytest.raises(SignInNeeded) as refused:
            await ask(setting.access(), setting.resource.mcp)
        assert refused.value.message == "Authorization failed. Please try again."
        assert "access_denied" in refused.value.fix
        setting.guest.change = lambda query: query
        assert await ask(setting.access(), setting.resource.mcp) == 200


@pytest.mark.case("ERR-06")
async def test_a_person_who_does_not_come_back_reads_how_long_that_was_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Away(Guest):
        async def authorize(self, sign_in: SignIn) -> Mapping[str, str]:
            await asyncio.Event().wait()
            return {}

    assert limits.SIGN_IN_SECONDS == 120.0
    monkeypatch.setattr(limits, "SIGN_IN_SECONDS", 0.06)
    async with signing_in() as setting:
        setting.guest = Away()
        with pytest.raises(SignInNeeded, match=r"^Authorization timed out after 0\.001 minutes\.$") as told:
            await ask(setting.access(), setting.resource.mcp)
        assert told.value.fix == "Sign in again."


@pytest.mark.case("TST-07")
async def test_a_server_that_was_never_signed_in_to_says_what_it_needs(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (_, _, hosted):
        view = await hosted.until("One", "error", "disconnected")
        assert "asks you to sign in" in view.last_error
        assert "Sign in" in view.fix


async def test_a_call_that_waits_for_its_person_leaves_the_way_open_for_the_next(home: Path) -> None:
    async with wanting_tokens(home) as (setting, _, hosted):
        await hosted.call_when_known("one.look")
        setting.issuer.valid.clear()
        setting.issuer.refreshable.clear()
        now = 0.0
        breaker = hosted.server("One").breaker = Breaker(lambda: now)
        for _ in range(limits.BREAKER_FAILURES):
            breaker.failed()
        now = limits.BREAKER_OPEN
        # The one call that is let through to try tells nothing about the server: it needs a person first.
        paused = await hosted.call("one.look")
        for _ in range(2):
            refused = await hosted.call("one.look", resumed=answered(paused, "decline"))
            assert isinstance(refused, ToolOutput)
            assert refused.error is not None
            assert refused.error.code == "SIGN_IN_NEEDED"
        await sign_in(setting, hosted)
        output = await hosted.call("one.look", resumed=answered(paused, "accept"))
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
