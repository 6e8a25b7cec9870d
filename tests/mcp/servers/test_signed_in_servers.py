"""Servers that want tokens, from the store of secrets to the call of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.mcp.oauth.credentials import Credential, SecretCredentials
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.servers.breaker import Breaker
from pilothouse.net.client import fetch
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import Resumed, ToolOutput, ToolPaused
from pilothouse.types.servers import ServerInput, ServerView
from pilothouse.types.sign_ins import SignInAnswer, SignInStart
from tests.support.fake_issuer import OneTool
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.sign_ins import PATIENCE, SignInSetting, ask, open_sign_in
from tests.support.tiny_http import Answer

pytestmark = pytest.mark.slow


BACK = "http://127.0.0.1:41999/oauth/callback"


@asynccontextmanager
async def wanting_tokens(
    home: Path, *, signed_in: bool = True
) -> AsyncIterator[tuple[SignInSetting, OneTool, McpHost]]:
    """A host with a server that its person signed in to once, or never."""
    async with open_sign_in(OneTool) as setting, open_mcp_host(home, begin=True) as hosted:
        assert isinstance(setting.resource, OneTool)
        await hosted.admin.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
        if signed_in:
            await sign_in(hosted)
        yield setting, setting.resource, hosted


async def browsed(url: str) -> str:
    """Go where a person is sent, who agrees at once; return the address that their browser is sent back to."""
    reply = await fetch(url, timeout=PATIENCE, limit=1024)
    return reply.headers["location"]


async def sign_in(hosted: McpHost, name: str = "One") -> ServerView:
    """Sign in as a person does."""
    begun = await hosted.admin.begin_sign_in(ME, name, SignInStart(redirect_uri=BACK))
    return await hosted.admin.finish_sign_in(ME, SignInAnswer(address=await browsed(begun.url)))


async def kept(setting: SignInSetting, hosted: McpHost) -> Credential:
    found = await SecretCredentials(hosted.secrets).get(setting.resource.mcp)
    assert found is not None
    return found


def answered(paused: ToolOutput | ToolPaused, action: str) -> Resumed:
    assert isinstance(paused, ToolPaused)
    return Resumed(paused.state, {paused.asks[0].id: {"action": action}})


@pytest.mark.case("F-25", "AUT-16", "AUT-23", "AUT-24", "AUT-27")
async def test_a_token_that_ends_during_a_run_is_renewed_and_no_call_notices(home: Path) -> None:
    async with wanting_tokens(home) as (setting, _, hosted):
        output = await hosted.call_when_known("one.look")
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
        setting.issuer.valid.clear()
        outputs = await asyncio.gather(*(hosted.call("one.look") for _ in range(8)))
        assert [output.text for output in outputs if isinstance(output, ToolOutput)] == ["seen"] * 8
        renewals = [asked for asked in setting.issuer.requests_to("/token") if "refresh_token" in asked.form]
        assert len(renewals) == 1
        tokens = (await kept(setting, hosted)).tokens
        assert tokens is not None
        assert tokens.access in setting.issuer.valid
        assert (
            hosted.redactor.redact(f"x {tokens.access} y {tokens.refresh}") != f"x {tokens.access} y {tokens.refresh}"
        )


@pytest.mark.case("SRV-22", "SECRET-01", "AUT-27")
async def test_deleting_a_server_deletes_what_signing_in_brought_unless_another_needs_it(home: Path) -> None:
    async with wanting_tokens(home) as (setting, server, hosted):
        await hosted.call_when_known("one.look")
        [first] = hosted.file.entries()
        await hosted.file.change(lambda entries: entries.append({**first, "id": "two", "name": "Two"}))
        await hosted.admin.delete(ME, "one")
        assert (await kept(setting, hosted)).tokens is not None
        assert (await hosted.admin.test(ME, "two")).ok
        await hosted.admin.delete(ME, "two")
        assert await SecretCredentials(hosted.secrets).get(server.mcp) is None
        assert not [path.name for path in (home / "secrets").iterdir() if "oauth" in path.name]
        # Nor is it still known to who is running.
        await hosted.file.change(lambda entries: entries.append(first))
        assert "asks you to sign in" in (await hosted.admin.test(ME, "one")).message


@pytest.mark.case("F-25", "ERR-05")
async def test_when_only_a_person_can_help_the_call_waits_for_them_and_goes_on(home: Path) -> None:
    async with wanting_tokens(home) as (setting, server, hosted):
        await hosted.call_when_known("one.look")
        setting.issuer.valid.clear()
        setting.issuer.refreshable.clear()
        paused = await hosted.call("one.look")
        assert isinstance(paused, ToolPaused)
        assert paused.asks[0].kind == "sign_in"
        assert "asks you to sign in" in paused.asks[0].message
        assert server.calls == 1
        refused = await hosted.call("one.look", resumed=answered(paused, "decline"))
        assert isinstance(refused, ToolOutput)
        assert refused.error is not None
        assert refused.error.code == "SIGN_IN_NEEDED"
        again = await hosted.call("one.look", resumed=answered(paused, "accept"))
        assert isinstance(again, ToolPaused)
        assert not paused.asks[0].message.startswith("Authorization failed")
        assert again.asks[0].message.startswith("Authorization failed. Please try again. ")
        await sign_in(hosted)
        output = await hosted.call("one.look", resumed=answered(again, "accept"))
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
        assert server.calls == 2


@pytest.mark.case("ERR-05")
async def test_a_person_who_was_refused_reads_that_and_may_try_again() -> None:
    async with open_sign_in() as setting:
        setting.guest.change = lambda query: {"error": "access_denied", "state": query["state"]}
        with pytest.raises(SignInNeeded) as refused:
            await ask(setting.access(), setting.resource.mcp)
        assert refused.value.message == "Authorization failed. Please try again."
        assert "access_denied" in refused.value.fix
        setting.guest.change = lambda query: query
        assert await ask(setting.access(), setting.resource.mcp) == 200


@pytest.mark.case("TST-07")
async def test_a_server_that_was_never_signed_in_to_says_what_it_needs(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (_, _, hosted):
        view = await hosted.until("One", "needs_sign_in")
        assert view.label == "Sign in"
        assert "asks you to sign in" in view.last_error
        assert "Sign in" in view.fix
        assert view.signed_in is None


@pytest.mark.case("AUT-16", "AUT-18", "AUT-22")
async def test_a_person_signs_in_to_a_server_and_uses_it_and_signs_out(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, server, hosted):
        await hosted.until("One", "needs_sign_in")
        begun = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        assert (begun.server, begun.host) == ("One", setting.issuer.url.removeprefix("http://"))
        assert (begun.scopes, begun.added) == (("read",), ("read",))
        assert begun.seconds == 120.0
        view = await hosted.admin.finish_sign_in(ME, SignInAnswer(address=await browsed(begun.url)))
        assert view.auth_type == "oauth"
        assert view.signed_in is not None
        assert view.signed_in.scopes == ("read",)
        assert hosted.signed_in == ["One"]
        await hosted.until("One", "connected")
        output = await hosted.call("one.look")
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
        tokens = (await kept(setting, hosted)).tokens
        assert tokens is not None
        assert tokens.lifetime == 3600
        gone = await hosted.admin.sign_out(ME, "One")
        assert gone.signed_in is None
        assert set(setting.issuer.revoked) == {tokens.access, tokens.refresh}
        assert await SecretCredentials(hosted.secrets).get(server.mcp) is None
        assert not (await hosted.admin.test(ME, "One")).ok
        await hosted.until("One", "needs_sign_in")


@pytest.mark.case("AUT-23")
async def test_a_token_that_is_over_is_renewed_before_it_is_used(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, server, hosted):
        setting.issuer.expires_in = 0
        await sign_in(hosted)
        await hosted.until("One", "connected")
        [code] = [asked for asked in setting.issuer.requests_to("/token") if "code" in asked.form]
        assert code.form["grant_type"] == "authorization_code"
        first = min(setting.issuer.valid, key=lambda token: int(token.split("-")[1]))
        used = {asked.headers.get("authorization", "") for asked in server.requests_to("/mcp")}
        assert f"Bearer {first}" not in used


@pytest.mark.case("OAUTH-06", "AUT-25")
async def test_an_answer_counts_once_for_the_newest_sign_in_of_its_server(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, _, hosted):
        older = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        newer = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        strange = ["", "nonsense", "?code=1", f"{BACK}?state=x.y&code=1", f"{await browsed(newer.url)}&state=again"]
        for address in (*strange, await browsed(older.url)):
            with pytest.raises(PilothouseError, match="not one that waits here") as refused:
                await hosted.admin.finish_sign_in(ME, SignInAnswer(address=address))
            assert refused.value.code == "sign_in_failed"
        assert not setting.issuer.requests_to("/token")
        good = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        address = await browsed(good.url)
        # What a person copies may be the whole address, or only its end.
        await hosted.admin.finish_sign_in(ME, SignInAnswer(address=f"  {address.partition('/callback')[2]}\n"))
        with pytest.raises(PilothouseError, match="not one that waits here"):
            await hosted.admin.finish_sign_in(ME, SignInAnswer(address=address))


async def test_a_sign_in_outlives_a_restart(home: Path) -> None:
    async with open_sign_in(OneTool) as setting:
        async with open_mcp_host(home, begin=True) as hosted:
            await hosted.admin.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
            begun = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        async with open_mcp_host(home, begin=True) as hosted:
            view = await hosted.admin.finish_sign_in(ME, SignInAnswer(address=await browsed(begun.url)))
            assert view.signed_in is not None
        async with open_mcp_host(home, begin=True) as hosted:
            output = await hosted.call_when_known("one.look")
            assert isinstance(output, ToolOutput)
            assert output.text == "seen"


@pytest.mark.parametrize(
    "back",
    [
        "",
        "http://pilothouse.example/oauth/callback",
        "https://pilothouse.example/elsewhere",
        "https://me@pilothouse.example/oauth/callback",
        "javascript:alert(1)",
        "http://[/oauth/callback",
        "https://pilothouse.example/oauth/callback?x=1",
    ],
)
async def test_nobody_is_sent_back_to_another_place_than_this_program(home: Path, back: str) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, _, hosted):
        with pytest.raises(PilothouseError, match="comes back to /oauth/callback") as refused:
            await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=back))
        assert "pilothouse mcp sign-in" in refused.value.fix
        assert not setting.issuer.requests_to("/register")


@pytest.mark.case("AUT-26")
async def test_the_persons_own_client_is_used_and_kept(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, _, hosted):
        setting.issuer.about = {"registration_endpoint": None}
        with pytest.raises(PilothouseError, match="registered there beforehand") as refused:
            await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        assert "client id" in refused.value.fix
        own = SignInStart(redirect_uri=BACK, client_id="mine", client_secret="very-secret")
        begun = await hosted.admin.begin_sign_in(ME, "One", own)
        await hosted.admin.finish_sign_in(ME, SignInAnswer(address=await browsed(begun.url)))
        assert setting.issuer.requests_to("/authorize")[-1].query["client_id"] == "mine"
        assert "authorization" in setting.issuer.requests_to("/token")[-1].headers
        # Whoever signs in again need not enter it again.
        await sign_in(hosted)
        assert setting.issuer.requests_to("/authorize")[-1].query["client_id"] == "mine"
        assert hosted.redactor.redact("x very-secret y") != "x very-secret y"


@pytest.mark.case("AUT-27", "OAUTH-08")
async def test_a_server_whose_address_changes_loses_the_tokens_of_the_old_one(home: Path) -> None:
    async with wanting_tokens(home) as (_, server, hosted):
        await hosted.call_when_known("one.look")
        moved = ServerInput(name="One", command_line=f"{server.url}/elsewhere")
        view = await hosted.admin.update(ME, "One", moved)
        assert view.signed_in is None
        assert await SecretCredentials(hosted.secrets).get(server.mcp) is None


@pytest.mark.case("OAUTH-11")
async def test_more_rights_in_the_middle_of_a_call_are_asked_for_and_the_call_goes_on(home: Path) -> None:
    async with wanting_tokens(home) as (setting, server, hosted):
        await hosted.call_when_known("one.look")
        server.needs = {"write"}
        paused = await hosted.call("one.look")
        assert isinstance(paused, ToolPaused)
        assert "wants more rights" in paused.asks[0].message
        begun = await hosted.admin.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        assert (begun.scopes, begun.added) == (("read", "write"), ("write",))
        await hosted.admin.finish_sign_in(ME, SignInAnswer(address=await browsed(begun.url)))
        tokens = (await kept(setting, hosted)).tokens
        assert tokens is not None
        server.scopes[tokens.access] = {"read", "write"}
        output = await hosted.call("one.look", resumed=answered(paused, "accept"))
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"


async def test_a_server_that_wants_a_key_is_not_taken_for_one_to_sign_in_to(home: Path) -> None:
    async with wanting_tokens(home, signed_in=False) as (setting, _, hosted):
        setting.resource.instead["/.well-known/oauth-protected-resource/mcp"] = Answer(404)
        assert "key" in (await hosted.admin.test(ME, "One")).fix
        assert (await hosted.view("One")).state == "error"


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
        await sign_in(hosted)
        output = await hosted.call("one.look", resumed=answered(paused, "accept"))
        assert isinstance(output, ToolOutput)
        assert output.text == "seen"
