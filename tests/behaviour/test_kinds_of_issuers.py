"""Issuers of every kind, good and bad: each is signed in at, or refused in one sentence, with a way back."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from pilothouse.types.api import ConfigPatch
from pilothouse.types.client_documents import client_document
from pilothouse.types.errors import PilothouseError
from pilothouse.types.servers import ServerInput
from tests.behaviour.sign_in_host import (
    NOT_OURS,
    SignInHost,
    client,
    follow_sign_in,
    open_sign_in_host,
    refusal_of,
    with_query,
)
from tests.support.chats import ME
from tests.support.fake_issuer import PLACES, Issuer, OneTool, document
from tests.support.tiny_http import Answer

pytestmark = pytest.mark.slow

HTML = Answer(200, b"<!doctype html><title>Log in</title>", {"content-type": "text/html"})
DOCUMENT = "https://ada.example/pilothouse.json"


# --- found and used ---


@pytest.mark.case("AUT-16")
@pytest.mark.parametrize("place", ["named", "path", "root"])
async def test_a_server_is_found_to_describe_itself_wherever_it_may(home: Path, place: str) -> None:
    async with open_sign_in_host(home) as made:
        here = {"named": "/about/this", "path": None, "root": "/.well-known/oauth-protected-resource"}[place]
        if here is not None:
            made.server.described_at = here
        if place == "named":
            made.server.challenge = f'Bearer resource_metadata="{made.server.url}{here}"'
        await made.sign_in()
        await made.works()


@pytest.mark.case("AUT-16")
@pytest.mark.parametrize(
    ("path", "place"), [("", "oauth"), ("", "openid"), ("/t", "oauth"), ("/t", "openid"), ("/t", "appended")]
)
async def test_an_issuer_is_found_to_describe_itself_wherever_it_may(home: Path, path: str, place: str) -> None:
    async with open_sign_in_host(home) as made:
        made.issuer.path, made.issuer.place = path, PLACES[place]
        await made.sign_in()
        await made.works()


@pytest.mark.case("AUT-18")
async def test_every_sign_in_has_a_state_and_a_proof_of_its_own(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        begun = [dict(parse_qsl(urlsplit((await made.begin()).url).query)) for _ in range(4)]
        for name in ("state", "code_challenge"):
            values = {one[name] for one in begun}
            assert len(values) == 4
            # After the server's own part, 256 bits.
            assert all(len(value.rpartition(".")[2]) == 43 for value in values)


@pytest.mark.case("AUT-24", "AUT-28")
async def test_tokens_lie_closed_to_others_and_stand_nowhere_in_plain(home: Path) -> None:
    async with open_sign_in_host(home, signed_in=True) as made:
        await made.works()
        made.issuer.valid.clear()
        await made.works()
        secrets = [*made.issuer.valid, *made.issuer.refreshable]
        assert len(secrets) == 2
        kept = [path for path in (home / "secrets").iterdir() if path.name.startswith("mcp-oauth.")]
        assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o600]
        assert stat.S_IMODE((home / "secrets").stat().st_mode) == 0o700
    assert not _holding(home, secrets)


def _holding(home: Path, secrets: list[str]) -> list[Path]:
    """Return the files in which one of the secrets can be read."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(one.encode() in path.read_bytes() for one in secrets)]


async def put_document(made: SignInHost, *origins: str) -> None:
    """Put a document about Pilothouse where the issuer finds it, and say so in the settings."""
    made.issuer.about = {"client_id_metadata_document_supported": True}
    made.issuer.documents[DOCUMENT] = client_document(DOCUMENT, origins or ("http://127.0.0.1",))
    await made.api.settings.update(ME, ConfigPatch(client_document=DOCUMENT))


@pytest.mark.case("AUT-26")
async def test_the_persons_own_client_comes_before_their_document_and_that_before_a_registration(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        await made.sign_in()
        registered = client(made)
        assert registered.startswith("client-")
        # A document that is set is used although a registration is known,
        await put_document(made)
        await made.sign_in()
        assert client(made) == DOCUMENT
        await made.works()
        # but nowhere that does not take it:
        made.issuer.about = {}
        await made.sign_in()
        assert client(made).startswith("client-")
        # and what the person was given there comes before both, also when they sign in again.
        await put_document(made)
        for given in ({"client_id": "mine", "client_secret": "very-secret"}, {}):
            await made.sign_in(**given)
            assert client(made) == "mine"
        assert len(made.issuer.requests_to("/register")) == 2


@pytest.mark.case("AUT-26")
async def test_a_document_that_is_not_set_any_more_is_not_used_any_more(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        await put_document(made)
        await made.sign_in()
        await made.api.settings.update(ME, ConfigPatch(client_document=None))
        await made.sign_in()
        assert client(made).startswith("client-")
        await made.works()


async def test_a_token_of_a_document_is_renewed_in_its_name(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        await put_document(made)
        await made.sign_in()
        await made.works()
        made.issuer.valid.clear()
        await made.works()
        assert made.issuer.requests_to("/token")[-1].form["client_id"] == DOCUMENT


NO_PLACES = [
    ("http://ada.example/pilothouse.json", "must begin with https://"),
    ("ada.example/pilothouse.json", "must begin with https://"),
    ("https://ada.example/pilothouse.json#me", "nothing may follow a “#”"),
    ("https://ada.example", "a path must follow the host"),
    ("https://ada.example/", "a path must follow the host"),
    ("https://ada.example/../pilothouse.json", "a path must follow the host"),
    ("https://127.0.0.1/pilothouse.json", "cannot reach this machine"),
    ("https://localhost/pilothouse.json", "cannot reach this machine"),
    ("https://[::1]/pilothouse.json", "cannot reach this machine"),
    ("https://me:pass@ada.example/pilothouse.json", "a user or a password"),
    ("https://ada.example/a b.json", "is not an address"),
    ("https://[ada/pilothouse.json", "is not an address"),
    ("", "must begin with https://"),
]


@pytest.mark.case("AUT-26")
async def test_no_document_is_where_no_issuer_could_take_it_from(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        for address, why in NO_PLACES:
            told = await refusal_of(made.api.settings.update(ME, ConfigPatch(client_document=address)))
            assert told.message.startswith("A client document cannot be at “")
            assert why in told.message
            assert (await made.api.settings.get(ME)).client_document is None


async def test_an_issuer_that_takes_the_secret_in_the_form_gets_it_there(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        made.issuer.about = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        await made.sign_in(client_id="mine", client_secret="very-secret")
        sent = made.issuer.requests_to("/token")[-1]
        assert (sent.form["client_secret"], "authorization" in sent.headers) == ("very-secret", False)
        await made.works()


# --- refused before one leaves ---


def _names_inside(made: SignInHost) -> None:
    made.server.challenge = 'Bearer resource_metadata="http://169.254.169.254/latest/meta-data"'


def _leads_inside(made: SignInHost) -> None:
    made.issuer.instead["/.well-known/oauth-authorization-server"] = Answer(302, b"", {"location": "http://10.0.0.1/"})


def _about(**fields: object) -> Callable[[SignInHost], None]:
    return lambda made: made.issuer.about.update(fields)


BEFORE: dict[str, tuple[Callable[[SignInHost], None], str]] = {
    "its description is inside": (_names_inside, "only https addresses"),
    "its issuer leads inside": (_leads_inside, "is a private address"),
    "it describes another": (lambda made: made.server.about.update(resource="https://bank.example/"), "another place"),
    "its issuer is another": (_about(issuer="https://accounts.example"), "calls itself https://accounts.example"),
    "no proof of possession": (_about(code_challenge_methods_supported=["plain"]), "PKCE, S256"),
    "a page that is inside": (_about(authorization_endpoint="https://10.0.0.1/authorize"), "nothing is sent there"),
    "a page that is a script": (_about(authorization_endpoint="javascript:alert(1)"), "only https addresses"),
    "tokens without encryption": (_about(token_endpoint="http://issuer.example/token"), "only https addresses"),
    "tokens that are inside": (_about(token_endpoint="https://10.0.0.1/token"), "nothing is sent there"),
    "an address without end": (_about(token_endpoint=f"https://issuer.example/{'a' * 3000}"), "none is so long"),
    "a client without end": (
        lambda made: made.issuer.instead.update({"/register": document({"client_id": "x" * 3000}, 201)}),
        "did not register Pilothouse",
    ),
    "it registers nobody": (_about(registration_endpoint=None), "registered there beforehand"),
    "it is in trouble": (
        lambda made: made.issuer.instead.update({"/.well-known/oauth-authorization-server": Answer(503)}),
        "answered with 503",
    ),
    "it answers with a page": (
        lambda made: made.issuer.instead.update({"/register": HTML}),
        "did not register Pilothouse",
    ),
    "it registers nobody by name": (
        lambda made: made.issuer.instead.update({"/register": document({"client_id": " "}, 201)}),
        "did not register Pilothouse",
    ),
}


@pytest.mark.case("ERR-05")
@pytest.mark.parametrize("kind", BEFORE)
async def test_nobody_leaves_for_a_place_that_is_not_in_order_and_may_once_it_is(home: Path, kind: str) -> None:
    arrange, sentence = BEFORE[kind]
    async with open_sign_in_host(home, arrange=arrange) as made:
        told = await refusal_of(made.begin())
        assert told.code in ("sign_in_failed", "needs_client")
        assert sentence in told.message
        assert told.fix
        made.server.challenge, made.server.about = "Bearer", {}
        made.issuer.about, made.issuer.instead = {}, {}
        await made.sign_in()
        await made.works()


# --- refused when one is back ---


def _denied(address: str) -> str:
    return with_query(address, code=None, error="access_denied", error_description="The person said no.")


BACK_AGAIN: dict[str, tuple[Callable[[SignInHost], None], Callable[[str], str], str]] = {
    "another issuer answers": (_about(), lambda back: with_query(back, iss="https://evil.example"), "in the name of"),
    "a promise is not kept": (
        _about(authorization_response_iss_parameter_supported=True),
        lambda back: back,
        "in the name of",
    ),
    "almost the right one": (
        _about(authorization_response_iss_parameter_supported=True),
        lambda back: with_query(back, iss="http://127.0.0.1:1/"),
        "in the name of",
    ),
    "the person said no": (_about(), _denied, "Authorization failed. Please try again."),
    "no code": (_about(), lambda back: with_query(back, code=None), "ended without a code"),
    "a strange code": (_about(), lambda back: with_query(back, code="made-up"), "gave no token"),
    "a page instead of a token": (
        lambda made: made.issuer.instead.update({"/token": HTML}),
        lambda back: back,
        "gave no token; its answer is something else",
    ),
    "a token of another kind": (
        lambda made: made.issuer.instead.update({"/token": document({"access_token": "x", "token_type": "mac"})}),
        lambda back: back,
        "of a kind that cannot be used here",
    ),
}


@pytest.mark.case("ERR-05", "OAUTH-05")
@pytest.mark.parametrize("kind", BACK_AGAIN)
async def test_an_answer_that_is_not_in_order_is_refused_and_another_try_works(home: Path, kind: str) -> None:
    arrange, change, sentence = BACK_AGAIN[kind]
    async with open_sign_in_host(home) as made:
        arrange(made)
        back = await follow_sign_in((await made.begin()).url)
        asked = len(made.issuer.requests_to("/token"))
        told = await refusal_of(made.finish(change(back)))
        assert (told.code, sentence in told.message, bool(told.fix)) == ("sign_in_failed", True, True), told.message
        if "in the name of" in sentence:
            assert len(made.issuer.requests_to("/token")) == asked
        assert (await made.view()).signed_in is None
        # It counted, whatever came of it; a new one is needed, and good.
        assert NOT_OURS in (await refusal_of(made.finish(back))).message
        made.issuer.about, made.issuer.instead = {}, {}
        await made.sign_in()
        await made.works()


@pytest.mark.case("OAUTH-06", "AUT-25")
async def test_an_answer_that_someone_made_up_costs_nobody_their_sign_in(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        old = await follow_sign_in((await made.begin()).url)
        back = await follow_sign_in((await made.begin()).url)
        server_id = (await made.view()).id
        for wrong in (
            old,
            with_query(back, state=f"{server_id}.x"),
            with_query(back, state=""),
            with_query(back, state=None),
            f"{back}&state=again",
            "https://[",
        ):
            assert NOT_OURS in (await refusal_of(made.finish(wrong))).message
        assert not made.issuer.requests_to("/token")
        await made.finish(back)
        await made.works()


@pytest.mark.case("OAUTH-06")
async def test_an_answer_that_comes_twice_at_once_is_shown_to_its_issuer_once(home: Path) -> None:
    async with open_sign_in_host(home) as made:
        back = await follow_sign_in((await made.begin()).url)
        came = await asyncio.gather(*(made.finish(back) for _ in range(4)), return_exceptions=True)
        assert len([one for one in came if isinstance(one, PilothouseError) and NOT_OURS in one.message]) == 3
        # The issuer would have taken the tokens back.
        assert len(made.issuer.requests_to("/token")) == 1
        await made.works()


async def test_the_answer_of_one_servers_issuer_is_of_no_use_to_another_server(home: Path) -> None:
    evil = Issuer()
    async with open_sign_in_host(home) as made, evil:
        bad = OneTool(evil)
        async with bad:
            await made.api.servers.add(ME, ServerInput(name="Bad", command_line=bad.mcp))
            good, begun = await made.begin("One"), await made.begin("Bad")
            # The bad issuer sends the person on to the good one, in the hope that its code is brought back to it.
            state = dict(part.split("=") for part in begun.url.partition("?")[2].split("&"))["state"]
            told = await refusal_of(
                made.finish(with_query(await follow_sign_in(good.url), state=state, iss=made.issuer.name))
            )
            assert "in the name of another issuer" in told.message
            assert not evil.requests_to("/token")
            await made.sign_in("One")
            await made.works("One")
