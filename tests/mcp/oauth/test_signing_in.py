"""The way to a token: found, signed in, kept, renewed, given back."""

from __future__ import annotations

import asyncio
import base64

import msgspec
import pytest

from pilothouse.mcp.oauth.errors import OAuthError, SignInNeeded
from pilothouse.types import limits
from pilothouse.types.client_documents import client_document
from tests.support.fake_issuer import PLACES, document
from tests.support.sign_ins import REDIRECT, ask, known_client, open_sign_in
from tests.support.tiny_http import Answer, Request
from tests.support.waiting import eventually


@pytest.mark.case("OAUTH-04", "OAUTH-08", "AUT-16", "AUT-18", "AUT-22")
async def test_a_person_signs_in_once_and_the_token_goes_with_every_request() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        assert [await ask(access, setting.resource.mcp) for _ in range(3)] == [200, 200, 200]
        assert len(setting.guest.sent_to) == 1
        asked = setting.issuer.requests_to("/authorize")[0].query
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == setting.resource.mcp
        assert setting.issuer.requests_to("/token")[0].form["resource"] == setting.resource.mcp
        assert setting.kept.tokens is not None
        assert setting.kept.tokens.access in setting.learnt


async def test_the_server_that_describes_itself_nowhere_is_its_own_issuer() -> None:
    async with open_sign_in() as setting:
        setting.resource.instead["/.well-known/oauth-protected-resource/mcp"] = Answer(404)
        own = {**setting.issuer.document, "issuer": setting.resource.url}
        setting.resource.instead["/.well-known/oauth-authorization-server"] = document(own)
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert setting.kept.issuer == setting.resource.url


async def test_an_issuer_below_a_path_is_found_by_all_three_ways() -> None:
    async with open_sign_in() as setting:
        setting.issuer.path, setting.issuer.place = "/tenant", PLACES["appended"]
        ways = ["/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant"]
        assert await ask(setting.access(), setting.resource.mcp) == 200
        paths = [asked.path for asked in setting.issuer.requests]
        assert paths[:3] == [*ways, "/tenant/.well-known/openid-configuration"]


async def test_an_issuer_in_trouble_is_told_and_not_worked_around() -> None:
    async with open_sign_in() as setting:
        setting.resource.instead["/.well-known/oauth-protected-resource/mcp"] = Answer(503)
        with pytest.raises(OAuthError, match="answered with 503"):
            await ask(setting.access(), setting.resource.mcp)
        assert not setting.issuer.requests


@pytest.mark.case("AUT-26")
async def test_our_own_address_is_preferred_to_being_registered() -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"client_id_metadata_document_supported": True}
        url = "https://pilothouse.example/client.json"
        setting.issuer.documents[url] = client_document(url, ["http://127.0.0.1"]) | {"redirect_uris": [REDIRECT]}
        assert await ask(setting.access(document_url=url), setting.resource.mcp) == 200
        assert not setting.issuer.requests_to("/register")
        assert setting.issuer.requests_to("/authorize")[0].query["client_id"] == url


@pytest.mark.case("AUT-26")
async def test_a_client_registered_beforehand_is_used_with_its_secret() -> None:
    async with open_sign_in() as setting:
        assert await ask(setting.access(client=known_client()), setting.resource.mcp) == 200
        sent = setting.issuer.requests_to("/token")[0]
        assert base64.b64decode(sent.headers["authorization"].removeprefix("Basic ")) == b"known:very-secret"
        assert "client_secret" not in sent.form
        assert not setting.issuer.requests_to("/register")


async def test_an_issuer_that_registers_nobody_says_what_to_do() -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"registration_endpoint": None}
        with pytest.raises(OAuthError, match="registered there beforehand") as told:
            await ask(setting.access(), setting.resource.mcp)
        assert "client id" in told.value.fix
        assert not setting.guest.sent_to


async def test_scopes_come_from_the_challenge_before_the_description() -> None:
    async with open_sign_in() as setting:
        setting.issuer.about = {"scopes_supported": ["read", "offline_access"]}
        setting.resource.challenge = 'Bearer scope="write extra"'
        assert await ask(setting.access(), setting.resource.mcp) == 200
        asked = setting.issuer.requests_to("/authorize")[0].query
        assert asked["scope"] == "write extra offline_access"
        assert asked["prompt"] == "consent"


async def test_what_is_no_scope_is_neither_shown_nor_asked_for() -> None:
    async with open_sign_in() as setting:
        hidden = "write\u202etxt"
        setting.resource.about = {"scopes_supported": ["", "read", "one admin", hidden, "\x1b[2J", "notes:write"]}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert setting.issuer.requests_to("/authorize")[0].query["scope"] == "read notes:write"


@pytest.mark.case("OAUTH-14")
async def test_rights_that_nobody_could_read_are_neither_shown_nor_asked_for() -> None:
    async with open_sign_in() as setting:
        many = [f"right-{number}" for number in range(5000)]
        setting.resource.about = {"scopes_supported": ["x" * 100_000, "read", "y" * (limits.SCOPE_CHARS + 1), *many]}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        sign_in = setting.guest.sent_to[0]
        assert sign_in.scopes[:2] == ("read", "right-0")
        assert len(sign_in.scopes) == limits.SCOPES_MOST
        assert sign_in.left_out == 5003 - limits.SCOPES_MOST
        assert len(sign_in.url) < 8000


async def test_rights_without_end_leave_room_in_the_address_that_one_is_sent_to() -> None:
    async with open_sign_in() as setting:
        setting.resource.about = {"scopes_supported": [f"{number:0>250}" for number in range(90)]}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        sign_in = setting.guest.sent_to[0]
        assert len(" ".join(sign_in.scopes)) <= limits.SCOPES_CHARS
        assert len(sign_in.scopes) + sign_in.left_out == 90


async def test_what_an_issuer_says_that_a_token_is_for_is_kept_only_as_far_as_it_can_be_read() -> None:
    async with open_sign_in() as setting:
        told = {"access_token": "access-1", "scope": f"read {'x' * 100_000}", "token_type": "Bearer"}
        setting.issuer.instead["/token"] = document(told)
        setting.issuer.valid.add("access-1")
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert setting.kept.tokens is not None
        assert setting.kept.tokens.scopes == ("read",)


async def test_where_nobody_names_scopes_none_are_asked_for() -> None:
    async with open_sign_in() as setting:
        setting.resource.about = {"scopes_supported": None}
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert "scope" not in setting.issuer.requests_to("/authorize")[0].query


async def test_after_a_restart_the_refresh_token_is_used_and_nobody_is_asked() -> None:
    async with open_sign_in() as setting:
        setting.issuer.expires_in = 0
        await ask(setting.access(), setting.resource.mcp)
        setting.restart()
        before = len(setting.issuer.requests)
        assert await ask(setting.alone(), setting.resource.mcp) == 200
        assert [asked.path for asked in setting.issuer.requests[before:]] == ["/token"]
        assert setting.issuer.requests_to("/token")[-1].form["grant_type"] == "refresh_token"
        assert len(setting.guest.sent_to) == 1


async def test_a_registration_that_the_issuer_forgot_is_made_anew() -> None:
    async with open_sign_in() as setting:
        setting.issuer.expires_in = 0
        await ask(setting.access(), setting.resource.mcp)
        setting.issuer.instead["/token"] = document({"error": "invalid_client"}, 401)
        assert await setting.alone().headers(setting.resource.mcp) == {}
        del setting.issuer.instead["/token"]
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert len(setting.issuer.requests_to("/register")) == 2


@pytest.mark.case("OAUTH-13")
async def test_signing_out_revokes_both_tokens_and_forgets_them() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        tokens = setting.kept.tokens
        assert tokens is not None
        assert await access.sign_out()
        assert setting.issuer.revoked == [tokens.refresh, tokens.access]
        assert not setting.memory.kept
        assert await access.headers(setting.resource.mcp) == {}


@pytest.mark.case("OAUTH-13")
async def test_signing_out_forgets_the_tokens_even_if_the_issuer_is_gone() -> None:
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        setting.issuer.instead["/revoke"] = Answer(lost=True)
        assert not await access.sign_out()
        assert not setting.memory.kept


@pytest.mark.case("OAUTH-13")
async def test_nobody_waits_long_for_an_issuer_that_takes_its_time_to_revoke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REVOKE_TIMEOUT", 0.05)
    async with open_sign_in() as setting:
        access = setting.access()
        await ask(access, setting.resource.mcp)
        there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go_on = asyncio.Event()
        setting.issuer.before["/revoke"] = (there, go_on)
        async with asyncio.timeout(5):
            assert not await access.sign_out()
        assert there.done()
        assert not setting.memory.kept
        go_on.set()

        async def took_note() -> bool:
            return bool(setting.issuer.revoked)

        await eventually(took_note, "the issuer to take note after all")


@pytest.mark.case("F-25", "OAUTH-10", "TST-07")
async def test_a_token_that_ends_during_a_run_is_renewed_once_for_all_calls() -> None:
    async with open_sign_in() as setting:
        access, other = setting.access(), setting.access()
        await ask(access, setting.resource.mcp)
        setting.issuer.valid.clear()
        calls = [ask(one, setting.resource.mcp) for one in (access, other) for _ in range(8)]
        assert await asyncio.gather(*calls) == [200] * 16
        renewals = [asked for asked in setting.issuer.requests_to("/token") if "refresh_token" in asked.form]
        assert len(renewals) == 1
        assert len(setting.guest.sent_to) == 1


@pytest.mark.case("F-25", "OAUTH-10")
async def test_when_renewing_fails_a_person_is_needed_and_no_one_tries_for_ever() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        setting.issuer.valid.clear()
        setting.issuer.refreshable.clear()
        access = setting.alone()
        for _ in range(3):
            with pytest.raises(SignInNeeded, match="sign in again"):
                await ask(access, setting.resource.mcp)
        assert len(setting.issuer.requests_to("/token")) == 2
        assert await ask(setting.access(), setting.resource.mcp) == 200
        assert len(setting.issuer.requests_to("/register")) == 1


@pytest.mark.case("F-25")
async def test_a_renewal_that_gives_the_same_token_leads_to_signing_in() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        old = setting.kept.tokens
        assert old is not None
        setting.issuer.valid.clear()
        same = {"access_token": old.access, "refresh_token": old.refresh, "expires_in": 3600}
        setting.issuer.instead["/token"] = document(same)
        with pytest.raises(SignInNeeded):
            await ask(setting.alone(), setting.resource.mcp)
        assert len(setting.issuer.requests_to("/token")) == 2


@pytest.mark.case("OAUTH-10")
async def test_a_renewal_whose_answer_was_lost_ends_in_signing_in_again() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        setting.issuer.valid.clear()

        def spend_and_drop(asked: Request) -> Answer:
            setting.issuer.refreshable.pop(asked.form["refresh_token"])
            return Answer(lost=True)

        setting.issuer.instead["/token"] = spend_and_drop
        access = setting.alone()
        with pytest.raises(OAuthError, match="could not be asked"):
            await ask(access, setting.resource.mcp)
        del setting.issuer.instead["/token"]
        with pytest.raises(SignInNeeded):
            await ask(access, setting.resource.mcp)
        assert len(setting.issuer.requests_to("/token")) == 3


@pytest.mark.case("OAUTH-10")
async def test_who_is_cancelled_while_a_token_is_renewed_does_not_lose_the_new_one() -> None:
    async with open_sign_in() as setting:
        setting.issuer.expires_in = 0
        await ask(setting.access(), setting.resource.mcp)
        setting.issuer.expires_in = 3600
        there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go_on = asyncio.Event()
        setting.issuer.before["/token"] = (there, go_on)
        asking = asyncio.create_task(setting.alone().headers(setting.resource.mcp))
        await there
        asking.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asking
        before = len(setting.issuer.requests_to("/token"))
        assert await ask(setting.alone(), setting.resource.mcp) == 200
        assert len(setting.issuer.requests_to("/token")) == before


async def test_an_issuer_out_of_order_costs_nobody_their_sign_in() -> None:
    async with open_sign_in() as setting:
        setting.issuer.expires_in = 0
        await ask(setting.access(), setting.resource.mcp)
        setting.issuer.instead["/token"] = Answer(503)
        with pytest.raises(OAuthError, match="answered with 503"):
            await setting.alone().headers(setting.resource.mcp)
        del setting.issuer.instead["/token"]
        assert await ask(setting.alone(), setting.resource.mcp) == 200


async def test_a_token_that_is_still_good_is_used_while_the_issuer_is_out_of_order() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        tokens = setting.kept.tokens
        assert tokens is not None
        nearly_over = msgspec.structs.replace(tokens, given_at=tokens.given_at - 3599.0 + 10)
        await setting.credentials.keep(msgspec.structs.replace(setting.kept, tokens=nearly_over))
        setting.issuer.instead["/token"] = Answer(503)
        assert await ask(setting.alone(), setting.resource.mcp) == 200


async def test_a_token_that_lives_shortly_is_not_renewed_with_every_request() -> None:
    async with open_sign_in() as setting:
        setting.issuer.expires_in = 20
        access = setting.access()
        assert [await ask(access, setting.resource.mcp) for _ in range(3)] == [200, 200, 200]
        assert len(setting.issuer.requests_to("/token")) == 1


async def test_a_registration_names_where_people_come_back_to() -> None:
    async with open_sign_in() as setting:
        await ask(setting.access(), setting.resource.mcp)
        sent = setting.issuer.requests_to("/register")[0].json
        assert sent["redirect_uris"] == [REDIRECT]
        assert sent["token_endpoint_auth_method"] == "none"
        assert sent["application_type"] == "native"
