"""A program signs in by itself: with a client id and a secret, without a person, now and whenever its token ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilothouse.types.servers import ServerInput, ServerView
from pilothouse.types.sign_ins import ProgramSignIn
from pilothouse.wiring import open_host
from tests.behaviour.sign_in_host import SignInHost, open_sign_in_host, refusal_of
from tests.support.chats import ME
from tests.support.fake_issuer import Issuer, OneTool, document
from tests.support.sign_ins import open_sign_in
from tests.support.tiny_http import Answer, Request

pytestmark = pytest.mark.slow

ROBOT = ProgramSignIn(client_id="robot", client_secret="very-secret")


async def sign_in(made: SignInHost, program: ProgramSignIn = ROBOT) -> ServerView:
    return await made.api.servers.sign_in_program(ME, "One", program)


@pytest.mark.case("AUT-16", "AUT-26")
async def test_a_program_signs_in_without_a_person_and_the_server_says_as_what(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        # Such issuers often have no page at all.
        made.issuer.about = {"authorization_endpoint": None, "code_challenge_methods_supported": None}
        view = await sign_in(made)
        assert view.signed_in is not None
        assert (view.signed_in.account, view.signed_in.scopes) == ("robot", ("read",))
        await made.works()
        sent = made.issuer.requests_to("/token")[0]
        asked = {"grant_type": "client_credentials", "scope": "read", "resource": made.server.mcp}
        assert sent.form == {**asked, "client_id": "robot"}
        assert sent.headers["authorization"].startswith("Basic ")
        assert not made.issuer.requests_to("/authorize")
        assert not made.issuer.requests_to("/register")
        out = await made.api.servers.sign_out(ME, "One")
        assert out.signed_in is None
        assert len(made.issuer.revoked) >= 1


@pytest.mark.case("AUT-23", "AUT-27")
async def test_its_token_is_renewed_without_a_person_once_for_many_calls_and_after_a_restart(home: Path) -> None:
    async with open_sign_in(OneTool) as setting:
        assert isinstance(setting.resource, OneTool)
        setting.issuer.gives_refresh = False
        async with open_host(home) as host:
            made = SignInHost(host, setting.resource)
            await host.api.servers.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
            await sign_in(made)
            await made.works()
            made.issuer.valid.clear()
            trials = await asyncio.gather(*(made.call() for _ in range(10)))
            assert {trial.text for trial in trials} == {"seen"}
            assert len(made.issuer.requests_to("/token")) == 2
        setting.issuer.valid.clear()
        async with open_host(home) as host:
            tried = await host.api.servers.test(ME, "One")
            assert tried.ok, tried.message
            await SignInHost(host, setting.resource).works()
        assert len(setting.issuer.requests_to("/token")) == 3


async def test_more_rights_that_a_call_needs_are_asked_for_without_a_person(home: Path) -> None:
    async with open_sign_in_host(home) as made:

        def wide(asked: Request) -> Answer:
            token = asked.headers.get("authorization", "").removeprefix("Bearer ")
            if token in made.issuer.valid:
                made.server.scopes[token] = made.issuer.given[token]
            return made.server.answer(asked)

        made.server.instead["/mcp"] = wide
        await sign_in(made)
        await made.works()
        made.server.needs = {"write"}
        await made.works()
        assert made.issuer.requests_to("/token")[-1].form["scope"] == "read write"


@pytest.mark.case("ERR-05")
async def test_a_program_that_is_not_let_in_is_told_so_in_a_sentence_and_may_try_again(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        for kind, answer, sentence in (
            ("wrong", document({"error": "invalid_client"}, 401), "gave no token: invalid_client"),
            ("a page", Answer(200, b"<!doctype html>"), "gave no token; its answer is something else"),
            ("trouble", Answer(503), "answered with 503"),
        ):
            made.issuer.instead["/token"] = answer
            told = await refusal_of(sign_in(made))
            assert (told.code, sentence in told.message, bool(told.fix)) == ("sign_in_failed", True, True), kind
            assert (await made.view()).signed_in is None
        made.issuer.instead = {}
        for half in (
            ProgramSignIn(client_id=" ", client_secret="x"),
            ProgramSignIn(client_id="robot", client_secret=""),
        ):
            assert (await refusal_of(sign_in(made, half))).code == "bad_request"
        await sign_in(made)
        await made.works()


async def test_a_program_shows_its_secret_to_no_place_that_is_not_in_order(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        for wrong, sentence in (
            ("http://issuer.example/token", "only https addresses"),
            ("https://10.0.0.1/token", "nothing is sent there"),
        ):
            made.issuer.about = {"token_endpoint": wrong}
            assert sentence in (await refusal_of(sign_in(made))).message
        assert not made.issuer.requests_to("/token")


@pytest.mark.case("OAUTH-05")
async def test_a_programs_secret_stays_with_the_issuer_that_it_was_first_shown_to(home: Path) -> None:
    other = Issuer()
    async with open_sign_in_host(home) as made, other:
        await sign_in(made)
        made.server.issuer = other
        told = await refusal_of(sign_in(made))
        assert "its client id belongs to" in told.message
        assert not other.requests_to("/token")


async def test_a_program_that_is_not_let_in_any_more_waits_for_a_person(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        await sign_in(made)
        await made.works()
        made.issuer.valid.clear()
        made.issuer.instead["/token"] = document({"error": "invalid_client"}, 401)
        assert (await made.call()).needs_sign_in
        assert (await made.api.servers.test(ME, "One")).needs_sign_in
        assert len(made.issuer.requests_to("/token")) == 2
